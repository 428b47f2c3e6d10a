"""ATen operators by how they round: exact ones, the contract's classes, and how long the sums in them are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from functools import cache
from typing import Any

import torch
from torch._decomp import decomposition_table

from strop.worker.spy import arguments


class OpClass(Enum):
    """How an operator rounds. MATMUL, CONV and RNN are the contract's classes, OTHER is its ``storage``."""

    EXACT = auto()
    MATMUL = auto()
    CONV = auto()
    RNN = auto()
    OTHER = auto()


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


_MATMUL = words(
    """
    mm addmm bmm baddbmm addbmm addmv mv dot vdot matmul linear einsum _grouped_mm _addmm_activation
    mkldnn_linear _trilinear tensordot _cdist_forward
    """
)
_MOVED = words(
    """
    unsafe_split unsafe_split_with_sizes unsafe_chunk detach alias cat stack gather index index_select take embedding
    where masked_fill masked_scatter masked_select clone copy _to_copy contiguous lift_fresh flip roll repeat tril
    triu diag_embed constant_pad_nd reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d
    replication_pad2d replication_pad3d pixel_shuffle pixel_unshuffle channel_shuffle unfold im2col scatter
    select_scatter slice_scatter diagonal_scatter index_copy index_fill fill zero upsample_nearest1d
    upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d resize
    as_strided_scatter repeat_interleave one_hot split_with_sizes_copy unbind_copy
    """
)
_MADE = words(
    """
    empty empty_like empty_strided new_empty new_empty_strided zeros zeros_like new_zeros ones ones_like
    new_ones full full_like new_full arange eye scalar_tensor tril_indices triu_indices
    """
)
_SELECTED = words(
    """
    max min amax amin aminmax maximum minimum fmax fmin sort topk kthvalue median nanmedian mode cummax cummin
    max_pool1d max_pool2d_with_indices max_pool3d_with_indices max_pool2d max_pool3d adaptive_max_pool2d
    adaptive_max_pool3d fractional_max_pool2d max_unpool2d max_unpool3d unique2 _unique2 searchsorted
    bucketize
    """
)
_EXACT_ARITHMETIC = words(
    """
    relu clamp clamp_min clamp_max hardtanh relu6 threshold abs neg sign sgn floor ceil round trunc frac frexp
    ldexp copysign nan_to_num positive real imag conj _conj _local_scalar_dense item logical_not
    """
)
_COPIED = words(
    """
    clone copy _to_copy contiguous lift_fresh detach alias fill zero resize _unsafe_view unsafe_split
    unsafe_split_with_sizes unsafe_chunk split_with_sizes_copy unbind_copy
    """
)
_EXACT = _MOVED | _MADE | _SELECTED | _EXACT_ARITHMETIC
_DECOMPOSED = words(
    """
    native_layer_norm native_group_norm native_batch_norm _native_batch_norm_legit _softmax _log_softmax var
    var_mean std std_mean gelu silu mish softplus log_sigmoid_forward mse_loss smooth_l1_loss huber_loss
    soft_margin_loss binary_cross_entropy binary_cross_entropy_with_logits
    _scaled_dot_product_flash_attention_for_cpu _fused_rms_norm hardswish hardsigmoid elu logsumexp
    linalg_vector_norm norm nll_loss_forward addcmul addcdiv lerp _euclidean_dist cosine_embedding_loss
    """
)
_SCANS = ("cumsum", "cumprod", "logcumsumexp")
_SPECTRAL = ("_fft_c2c", "_fft_r2c", "_fft_c2r")
_ACCUMULATING = ("index_put", "_index_put_impl", "_unsafe_index_put")


def name_of(func: Any) -> str:
    """The operator's base name, in-place or not."""
    name = func._schema.name.rpartition("::")[2]
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


@cache
def classify(func: Any) -> OpClass:
    """The class of one operator; what is not known rounds like an element-wise one."""
    name = name_of(func)
    if name in _EXACT or getattr(func, "is_view", False) or not _makes_tensors(func):
        return OpClass.EXACT
    if name in _MATMUL or "attention" in name:
        return OpClass.MATMUL
    if "conv" in name:
        return OpClass.CONV
    if any(word in name for word in ("lstm", "gru", "rnn")):
        return OpClass.RNN
    return OpClass.OTHER


@cache
def computes(func: Any) -> bool:
    """True for operators that make values out of values: no views, copies or fills."""
    if name_of(func) in _MADE | _COPIED or getattr(func, "is_view", False) or not _makes_tensors(func):
        return False
    return any("Tensor" in str(each.type) for each in func._schema.arguments)


def _makes_tensors(func: Any) -> bool:
    return any("Tensor" in str(each.type) for each in func._schema.returns)


@cache
def decomposition(func: Any) -> Callable[..., Any] | None:
    """The operator in terms of simpler ones, for those in which cancellation can hide."""
    if func is torch.ops.prims.var.default:
        return _variance
    return decomposition_table.get(func) if name_of(func) in _DECOMPOSED else None


def _variance(
    values: torch.Tensor, dims: Sequence[int] | None, correction: float = 1, *, output_dtype: torch.dtype | None = None
) -> torch.Tensor:
    """Where torch's own decompositions of variances end: the mean is rounded, and so is every distance from it."""
    axes = tuple(range(values.dim())) if dims is None else tuple(dims)
    count = math.prod(values.shape[axis] for axis in axes)
    apart = values - values.mean(dim=axes, keepdim=True)
    squares = (apart * apart.conj()).real if apart.is_complex() else apart.mul_(apart)
    return squares.sum(dim=axes) / max(count - correction, 0)


def reduction_length(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> int:
    """K: how many terms are summed for one number of the result; 1 for element-wise operators."""
    name = name_of(func)
    given = {argument.name: value for argument, value in arguments(func, args, kwargs)}
    kind = classify(func)
    if kind is OpClass.MATMUL:
        return max(1, _inner(given))
    if kind is OpClass.CONV:
        return max(1, _conv_length(given))
    if kind is OpClass.RNN:
        return max(1, max((t.shape[-1] for t in _tensors(args) if t.dim()), default=1))
    if name in _SCANS:
        values = args[0]
        return max(1, values.shape[given.get("dim", 0)]) if values.dim() else 1
    if name in _SPECTRAL:
        return max(1, math.ceil(math.log2(max(2, args[0].numel()))))
    if name.startswith(("linalg_", "_linalg_")):
        return max((t.shape[-1] for t in _tensors(args) if t.dim()), default=1)
    if name.startswith(("avg_pool", "_adaptive_avg_pool", "adaptive_avg_pool")):
        return _pool_length(given, args, result)
    if name in _ACCUMULATING or "scatter" in name or name.startswith(("index_add", "_embedding_bag", "segment_reduce")):
        return _shrinkage(args, result)
    return _shrinkage(args, result) if torch.Tag.pointwise not in func.tags else 1


def _tensors(values: Sequence[Any]) -> list[torch.Tensor]:
    return [each for each in values if isinstance(each, torch.Tensor)]


def _inner(given: Mapping[str, Any]) -> int:
    """Length of the inner products: the last dimension of the left factor."""
    for name in ("mat1", "batch1", "mat", "mat_a"):
        if isinstance(given.get(name), torch.Tensor):
            return given[name].shape[-1]
    if isinstance(given.get("query"), torch.Tensor):
        return max(given["query"].shape[-1], given["key"].shape[-2])
    left = next((each for each in given.values() if isinstance(each, torch.Tensor)), None)
    return left.shape[-1] if left is not None and left.dim() else 1


def _conv_length(given: Mapping[str, Any]) -> int:
    weight = given.get("weight")
    if not isinstance(weight, torch.Tensor) or not weight.dim():
        return 1
    if given.get("transposed"):
        return weight.numel() // max(1, weight.shape[1]) // max(1, int(given.get("groups") or 1))
    return weight.numel() // max(1, weight.shape[0])


def is_windowed(args: Sequence[Any]) -> bool:
    """True for a convolution (given its arguments) whose weight spans more than one position."""
    weight = args[1] if len(args) > 1 and isinstance(args[1], torch.Tensor) else None
    return weight is not None and math.prod(weight.shape[2:]) > 1


def _pool_length(given: Mapping[str, Any], args: Sequence[Any], result: Any) -> int:
    window = given.get("kernel_size")
    return max(1, math.prod(window)) if isinstance(window, list | tuple) else _shrinkage(args, result)


def _shrinkage(args: Sequence[Any], result: Any) -> int:
    """How many numbers went in for each that came out."""
    sizes = [each.numel() for each in _tensors(args)]
    made = result[0] if isinstance(result, list | tuple) and result else result
    if not sizes or not isinstance(made, torch.Tensor) or not made.numel():
        return 1
    return max(1, math.ceil(max(sizes) / made.numel()))
