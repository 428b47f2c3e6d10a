"""Small modules that the capture and lowering tests share: each shows one habit of real models."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F


class ConvNet(nn.Module):
    """Convolution, batch norm, ReLU, pool, linear: the shape of half of KernelBench."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(8 * 16, 4)

    def forward(self, x):
        return self.head(self.pool(F.relu(self.norm(self.conv(x)))).flatten(1))


class Mlp(nn.Module):
    """Linear, GELU, dropout, layer norm, linear."""

    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 16)
        self.norm = nn.LayerNorm(16)
        self.drop = nn.Dropout(0.5)
        self.down = nn.Linear(16, 4)

    def forward(self, x):
        return self.down(self.norm(self.drop(F.gelu(self.up(x)))))


@dataclass
class Answer:
    """A result type that is no tuple."""

    scores: torch.Tensor
    steps: int


class Decoder(nn.Module):
    """One step of attention that writes its key-value cache in place; takes a number and keyword arguments."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(8, 24)
        self.register_buffer("keys", torch.zeros(1, 6, 8))
        self.register_buffer("values", torch.zeros(1, 6, 8))

    def forward(self, x, *, at, scale=1.0, extra=None):
        query, key, value = self.project(x).chunk(3, dim=-1)
        self.keys[:, at : at + 1] = key
        self.values[:, at : at + 1] = value
        seen = slice(0, at + 1)
        weights = torch.softmax(query @ self.keys[:, seen].transpose(1, 2) * scale, dim=-1)
        result = weights @ self.values[:, seen]
        if extra is not None:
            result = result + extra["bias"][0]
        return {"result": result, "answer": (result.argmax(-1), at)}


class Broken(nn.Module):
    """Leaves the graph twice: once for a value, once in a submodule."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.inner = Inner()

    def forward(self, x):
        y = self.first(x)
        if y.sum() > 1e9:
            y = y * 2
        return self.inner(y + 1)


class Inner(nn.Module):
    """A submodule with a break of its own; after it Dynamo's names are relative to this module."""

    def __init__(self):
        super().__init__()
        self.second = nn.Linear(4, 4)
        self.third = nn.Linear(4, 4)

    def forward(self, y):
        z = self.second(y)
        torch._dynamo.graph_break()
        return self.third(z)


class Odd(nn.Module):
    """A constant made in forward, a tensor attribute that is no buffer, tied weights, a view of an input returned."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 4)
        self.out = nn.Linear(4, 5, bias=False)
        self.out.weight = self.table.weight
        self.mask = torch.tensor([1.0, 0.0, 1.0, 1.0])

    def forward(self, ids, x):
        hidden = self.table(ids) * self.mask + torch.tensor([1.0, 2.0, 3.0, 4.0])
        return self.out(hidden), x.t(), hidden.view(-1)
