"""The products of a captured graph that no honest algebra removes: the arithmetic below which a candidate is
impossible.

A product counts only if nothing linear stands between it and another product, a sum, a mask or a slice: otherwise
associativity may remove it. A convolution counts as one multiplication per pair of channels and result, which neither
Winograd's nor Fourier's method undercuts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch.fx import Node

from strop.profiling.cost import elements, hint, tensors
from strop.profiling.operators import is_unpacking, packet, packets

_CONVOLUTION = torch.ops.aten.convolution
_ADDING = packets("addmm", "baddbmm")
"""Their factors come second and third."""
_PRODUCTS = _ADDING | packets("mm", "bmm", "convolution")
_ENDS = _PRODUCTS | packets(
    *("sum", "mean", "cumsum", "var", "var_mean", "avg_pool1d", "avg_pool2d", "avg_pool3d"),
    *("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "tril", "triu", "where", "masked_fill"),
    *("slice", "select", "index", "gather", "diagonal", "embedding"),
)
_LINEAR = packets(
    *("add", "sub", "mul", "div", "neg", "view", "permute", "expand", "unsqueeze", "squeeze", "clone", "_to_copy"),
    *("cat", "constant_pad_nd", "transpose", "t", "reshape", "alias", "split", "split_with_sizes", "copy"),
    *("native_dropout", "_native_batch_norm_legit_no_training"),
)
_REPEATS = packets("expand")
_TRANSPOSED = 6
"""Position of ``transposed`` among the arguments of ``aten.convolution``."""


def irreducible_flop(node: Node, *, goes_on: bool = False) -> int:
    """Floating-point operations of one node that have to be done, two per multiplication; 0 for what is no product, or
    for one that might be avoided. ``goes_on``: another graph takes up what this one returns.
    """
    if packet(node) not in _PRODUCTS or not tensors(node) or _may_vanish(node, goes_on):
        return 0
    factors = [tensor for factor in _factors(node) for tensor in tensors(factor)]
    if len(factors) < 2:
        return 0
    results = elements(tensors(node)[0])
    if packet(node) is _CONVOLUTION:
        return 0 if node.args[_TRANSPOSED] else 2 * results * hint(factors[1].shape[1])
    return 2 * results * hint(factors[0].shape[-1])


def _may_vanish(node: Node, goes_on: bool) -> bool:
    """True if, through linear operators alone, it meets something with which it could be exchanged."""
    after = _reached(node, lambda each: list(each.users))
    before = (found for factor in _factors(node) for found in (factor, *_reached(factor, _sources)))
    if any(packet(each) in _ENDS or (goes_on and each.op == "output") for each in after):
        return True
    return any(packet(each) in _ENDS | _REPEATS for each in before)


def _sources(node: Node) -> list[Node]:
    return node.all_input_nodes if _is_linear(node) else []


def _reached(node: Node, neighbours: Callable[[Node], list[Node]]) -> Iterator[Node]:
    """Everything around a node up to and including the first operators that are not linear."""
    seen: set[Node] = set()
    todo = list(neighbours(node))
    while todo:
        each = todo.pop()
        if each not in seen:
            seen.add(each)
            yield each
            if _is_linear(each):
                todo.extend(neighbours(each))


def _is_linear(node: Node) -> bool:
    return is_unpacking(node) or packet(node) in _LINEAR


def _factors(node: Node) -> list[Node]:
    first = 1 if packet(node) in _ADDING else 0
    return [each for each in node.args[first : first + 2] if isinstance(each, Node)]
