"""Which tensors lie in which arena, from what the reference said about the workload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from strop.records.tensor import DType
from strop.records.workload import Description, Leaf
from strop.wire.layout import Layout, plan_layout

STATE_INPUT = "state:inputs:"
STATE_BUFFER = "state:buffers:"

_WIDE = {
    DType.FLOAT16: DType.FLOAT64,
    DType.BFLOAT16: DType.FLOAT64,
    DType.FLOAT32: DType.FLOAT64,
    DType.COMPLEX64: DType.COMPLEX128,
}


def made_leaves(description: Description) -> tuple[Leaf, ...]:
    """Everything a run is judged by: the outputs, then the inputs and buffers that the workload itself changes."""
    inputs = {leaf.path: leaf for leaf in description.inputs}
    buffers = {leaf.path: leaf for leaf in description.buffers}
    state = [replace(inputs[path], path=STATE_INPUT + path) for path in description.mutates]
    state += [replace(buffers[path], path=STATE_BUFFER + path) for path in description.updates]
    return tuple(_dense(leaf) for leaf in (*description.outputs, *state))


def given_layout(description: Description, slots: int) -> Layout:
    """Parameters and buffers once, inputs per slot."""
    return plan_layout((*description.parameters, *description.buffers), description.inputs, slots)


def made_layout(description: Description, slots: int, *, wide: bool) -> Layout:
    """What a run leaves behind, per slot; ``wide`` holds floating values in double precision."""
    leaves = made_leaves(description)
    return plan_layout((), _widened(leaves) if wide else leaves, slots)


def _dense(leaf: Leaf) -> Leaf:
    return replace(leaf, tensor=replace(leaf.tensor, stride=None))


def widened(dtype: DType) -> DType:
    """The type in which the reference answers."""
    return _WIDE.get(dtype, dtype)


def _widened(leaves: Sequence[Leaf]) -> tuple[Leaf, ...]:
    return tuple(replace(leaf, tensor=replace(leaf.tensor, dtype=widened(leaf.tensor.dtype))) for leaf in leaves)
