"""One layer of a vision transformer of the size of ViT-L/16 at 384 pixels in bfloat16: attention both ways, then the
feed-forward network, each behind its norm; random weights.

Dosovitskiy et al., An image is worth 16 x 16 words, 2020; the layer is that of transformers. KernelBench convention:
Model, get_init_inputs, get_inputs.
"""

import torch
from torch import nn
from transformers import ViTConfig
from transformers.models.vit.modeling_vit import ViTLayer

MODE = "eval"
# 24 x 24 patches and the token of the class.
BATCH, TOKENS, WIDTH, HEADS = 8, 577, 1024, 16


class Model(nn.Module):
    """Hidden states of shape (batch, tokens, width) to hidden states."""

    def __init__(self, width, heads):
        super().__init__()
        config = ViTConfig(
            hidden_size=width,
            num_attention_heads=heads,
            intermediate_size=4 * width,
            attn_implementation="sdpa",
        )
        self.layer = ViTLayer(config).to(torch.bfloat16)

    def forward(self, states):
        result = self.layer(states)
        return result[0] if isinstance(result, tuple) else result


def get_init_inputs():
    return [WIDTH, HEADS]


def get_inputs():
    return [torch.randn(BATCH, TOKENS, WIDTH).to(torch.bfloat16)]
