"""Modules whose generated kernels the tests edit: a pointwise kernel, looped and persistent reductions, and several."""

import torch
from torch import nn

from strop.records.graph import KernelKind
from strop.records.recipe import Step
from strop.transforms._kernel_text import read_kernel


class Pointwise(nn.Module):
    """One kernel without a reduction, and without functions that Triton's interpreter lacks."""

    def forward(self, x):
        return (x * 3 + 1).relu()


class RowSums(nn.Module):
    """A reduction along contiguous rows."""

    def forward(self, x):
        return (x * 2).sum(-1)


class Softmax(nn.Module):
    """A reduction that goes over its rows several times where they do not fit."""

    def forward(self, x):
        return torch.softmax(x * 2, -1)


class Transposed(nn.Module):
    """A pointwise kernel in two dimensions."""

    def forward(self, x, y):
        return x + y.t()


class Several(nn.Module):
    """A library call and kernels of both kinds."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 2048)

    def forward(self, x):
        return torch.softmax(self.linear(x.relu() + 1), -1)


def generated(lowered):
    """The generated kernels of the only graph, in order."""
    (graph,) = lowered.graphs
    return [kernel for kernel in graph.output.kernels if kernel.kind is KernelKind.GENERATED]


def kernel_of(lowered, kind):
    """The first kernel with this heuristic."""
    return next(kernel for kernel in generated(lowered) if read_kernel(kernel.source).kind == kind)


def retune(kernel, **values):
    """The step that gives a kernel another launch."""
    return Step("retune_generated_kernel", (("kernel", kernel.name), ("hash", kernel.hash), *values.items()))


def replace_source(kernel, source):
    """The step that gives a kernel another text."""
    return Step("edit_generated_kernel", (("kernel", kernel.name), ("hash", kernel.hash), ("source", source)))
