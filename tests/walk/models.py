"""Modules of transformers at tiny sizes with random weights, as a user hands them over: nothing here is Strop's."""

import torch
from transformers import (
    BertConfig,
    BertModel,
    DynamicCache,
    LlamaConfig,
    LlamaForCausalLM,
    StaticCache,
    ViTConfig,
    ViTForImageClassification,
)

VOCABULARY = 211
HIDDEN, HEADS, LAYERS = 64, 4, 2
BATCH, TOKENS = 2, 16
PAST, ROOM = 12, 32


def encoder():
    """BERT over token ids; the second text of the batch is shorter, so its mask has zeros."""
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=2 * HIDDEN,
        max_position_embeddings=TOKENS,
    )

    def inputs():
        mask = torch.ones(BATCH, TOKENS, dtype=torch.long)
        mask[1, TOKENS // 2 :] = 0
        return {"input_ids": torch.randint(0, VOCABULARY, (BATCH, TOKENS)), "attention_mask": mask}

    return {"module": BertModel(config), "inputs": inputs, "init": [config], "mode": "eval"}


def _decoder_config():
    return LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        intermediate_size=2 * HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS // 2,
        max_position_embeddings=ROOM,
        use_cache=True,
    )


def decoder():
    """One step of decoding: Llama reads one token and writes it into a cache that already holds a prompt."""
    model = LlamaForCausalLM(_decoder_config())

    def inputs():
        cache = StaticCache(config=model.config, max_cache_len=ROOM)
        with torch.no_grad():
            model(torch.randint(0, VOCABULARY, (BATCH, PAST)), past_key_values=cache)
        return {
            "input_ids": torch.randint(0, VOCABULARY, (BATCH, 1)),
            "past_key_values": cache,
            "cache_position": torch.tensor([PAST]),
        }

    return {"module": model, "inputs": inputs, "init": [model.config], "mode": "eval"}


def growing_decoder():
    """The same step with a cache that grows: the call puts longer tensors into the cache object that it was given."""
    model = LlamaForCausalLM(_decoder_config())

    def inputs():
        cache = DynamicCache(config=model.config)
        with torch.no_grad():
            model(torch.randint(0, VOCABULARY, (BATCH, PAST)), past_key_values=cache)
        return {"input_ids": torch.randint(0, VOCABULARY, (BATCH, 1)), "past_key_values": cache}

    return {"module": model, "inputs": inputs, "init": [model.config], "mode": "eval"}


def vision():
    """ViT over images: patches by a strided convolution, then a transformer."""
    config = ViTConfig(
        image_size=32,
        patch_size=8,
        hidden_size=HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=2 * HIDDEN,
        num_labels=10,
    )
    return {
        "module": ViTForImageClassification(config),
        "inputs": lambda: {"pixel_values": torch.randn(BATCH, 3, 32, 32)},
        "init": [config],
        "mode": "eval",
    }
