"""What kinds of ATen operators there are, as far as their cost is concerned."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node
from torch.utils.flop_counter import flop_registry

_aten = torch.ops.aten


def packets(*names: str) -> frozenset[Any]:
    """Operators by name; one that this torch does not have is left out."""
    return frozenset(getattr(_aten, name) for name in names if hasattr(_aten, name))


GATHERS = packets("embedding", "index_select", "gather", "index", "take", "take_along_dim", "_embedding_bag")
"""They read of their table only what they return."""

SCATTERS = packets(
    *("index_put", "index_copy", "index_add", "index_fill", "scatter", "scatter_add", "scatter_reduce"),
    *("slice_scatter", "select_scatter", "diagonal_scatter", "as_strided_scatter", "masked_scatter"),
    *("index_put_", "index_copy_", "index_add_", "index_fill_", "scatter_", "scatter_add_", "scatter_reduce_"),
)
"""They change a part of their first argument."""

SHAPE_ONLY = packets(
    *("zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like", "randint_like"),
    *("new_zeros", "new_ones", "new_full", "new_empty", "new_empty_strided", "sym_size", "sym_stride", "sym_numel"),
)
"""They look at their argument's shape and never at its values."""


NO_WORK = packets("_unsafe_view", "_reshape_alias", "alias", "detach", "lift_fresh", "lift")
"""They give back what they got, though their schemas do not call them views."""


def packet(node: Node) -> Any:
    """The operator without its overload, or the plain function that the node calls."""
    return getattr(node.target, "overloadpacket", node.target)


def is_view(node: Node) -> bool:
    """True for a node that moves no data: views, and the unpacking of several results."""
    if node.op != "call_function":
        return False
    is_declared = is_unpacking(node) or bool(getattr(node.target, "is_view", False))
    return is_declared or packet(node) in NO_WORK


def is_unpacking(node: Node) -> bool:
    """True for a node that takes one of several results."""
    return node.target is operator.getitem


def is_inplace(node: Node) -> bool:
    """True when the node writes to its first argument."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.arguments:
        return False
    alias = schema.arguments[0].alias_info
    return alias is not None and alias.is_write


def product_formula(node: Node) -> Callable[..., int] | None:
    """The function that counts the node's floating-point operations, for products; None for everything else."""
    if node.op != "call_function":
        return None
    which = packet(node)
    return _MORE_PRODUCTS.get(which) or flop_registry.get(which)


def _attention_flop(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    """Two batched products: scores, and the weighted sum of values. Shapes are (batch, heads, length, width)."""
    *batch, length, width = query.shape
    pairs = length * key.shape[-2]
    for size in batch:
        pairs *= size
    return 2 * pairs * (width + value.shape[-1])


def _rnn_flop(steps: Any, *weights: Any, **_: Any) -> int:
    """Input and recurrent products of one layer of ``mkldnn_rnn_layer``: ``steps`` is (time, batch, features)."""
    matrices = [each for each in weights if isinstance(each, torch.Tensor) and each.dim() == 2][:2]
    return 2 * steps.shape[0] * steps.shape[1] * sum(each.numel() for each in matrices)


def _vector_flop(*tensors: Any, **_: Any) -> int:
    """``mv``, ``dot`` and their kin: two operations per element of the largest operand."""
    return 2 * max(each.numel() for each in tensors if isinstance(each, torch.Tensor))


# Products that torch.utils.flop_counter does not know, and attention, which it refuses where queries share keys;
# its own formulas count two operations per multiply-add as well.
_MORE_PRODUCTS: dict[Any, Callable[..., int]] = {
    **dict.fromkeys(
        packets(
            "_scaled_dot_product_flash_attention",
            "_scaled_dot_product_efficient_attention",
            "_scaled_dot_product_cudnn_attention",
            "_scaled_dot_product_flash_attention_for_cpu",
            "_scaled_dot_product_fused_attention_overrideable",
            "_scaled_dot_product_attention_math",
        ),
        _attention_flop,
    ),
    **dict.fromkeys(packets("mkldnn_rnn_layer"), _rnn_flop),
    **dict.fromkeys(packets("mv", "addmv", "dot", "vdot"), _vector_flop),
}
