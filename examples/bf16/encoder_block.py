"""One layer of BERT-large in bfloat16: attention both ways, then the feed-forward network; random weights.

Devlin et al., BERT, 2018; the layer is that of transformers. KernelBench convention: Model, get_init_inputs,
get_inputs.
"""

import torch
from torch import nn
from transformers import BertConfig
from transformers.models.bert.modeling_bert import BertLayer

MODE = "eval"
BATCH, TOKENS, WIDTH, HEADS = 8, 512, 1024, 16


class Model(nn.Module):
    """Hidden states of shape (batch, tokens, width) to hidden states."""

    def __init__(self, width, heads):
        super().__init__()
        config = BertConfig(
            hidden_size=width,
            num_attention_heads=heads,
            intermediate_size=4 * width,
            attn_implementation="sdpa",
        )
        self.layer = BertLayer(config).to(torch.bfloat16)

    def forward(self, states):
        result = self.layer(states)
        return result[0] if isinstance(result, tuple) else result


def get_init_inputs():
    return [WIDTH, HEADS]


def get_inputs():
    return [torch.randn(BATCH, TOKENS, WIDTH).to(torch.bfloat16)]
