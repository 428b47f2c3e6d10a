"""One layer of a Llama of the size of Llama 3.2 1B in bfloat16: causal attention with grouped keys and rotary
positions, then the gated feed-forward network; no cache, random weights.

Touvron et al., LLaMA, 2023; the layer is that of transformers. KernelBench convention: Model, get_init_inputs,
get_inputs.
"""

import torch
from torch import nn
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding

MODE = "eval"
BATCH, TOKENS, WIDTH, HEADS, KEY_HEADS = 4, 1024, 2048, 32, 8


class Model(nn.Module):
    """Hidden states of shape (batch, tokens, width) to hidden states; each token sees itself and those before it."""

    def __init__(self, width, heads, key_heads):
        super().__init__()
        config = LlamaConfig(
            hidden_size=width,
            num_attention_heads=heads,
            num_key_value_heads=key_heads,
            intermediate_size=4 * width,
            attn_implementation="sdpa",
        )
        self.layer = LlamaDecoderLayer(config, 0).to(torch.bfloat16)
        # Positions are turned in single precision, as the library has it.
        self.rotary = LlamaRotaryEmbedding(config)

    def forward(self, states):
        positions = torch.arange(states.shape[1], device=states.device)[None]
        result = self.layer(states, position_embeddings=self.rotary(states, positions))
        return result[0] if isinstance(result, tuple) else result


def get_init_inputs():
    return [WIDTH, HEADS, KEY_HEADS]


def get_inputs():
    return [torch.randn(BATCH, TOKENS, WIDTH).to(torch.bfloat16)]
