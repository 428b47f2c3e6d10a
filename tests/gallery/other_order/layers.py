"""Norms, softmax, attention, activations, scans and losses in other honest orders, and the mode that takes them.

The exponential by way of exp2 is taken where its argument is a distance from the largest one; elsewhere it would err by
the size of the argument. The sigmoid by way of tanh is left out: it cancels for negative arguments.
"""

import math
import random

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.gallery.other_order.sums import (
    along,
    by_vector,
    convolution,
    dot,
    matrix_product,
    mean,
    moments,
    product,
    total,
    variance,
    vector_norm,
    wide,
    with_bias,
)

aten = torch.ops.aten


def _inverse_root(draw, values):
    return draw.choice([torch.rsqrt, lambda each: 1 / each.sqrt(), lambda each: each.sqrt().reciprocal()])(values)


def _affine(draw, apart, inverse, weight, bias):
    """Scaled before or after the weight."""
    if weight is None:
        result = apart * inverse
    elif draw.random() < 0.5:
        result = apart * inverse * weight
    else:
        result = apart * (inverse * weight)
    return result if bias is None else result + bias


def _layer_norm(draw, values, shape, weight, bias, epsilon):
    flat = values.flatten(values.dim() - len(shape))
    centre, spread = moments(draw, flat)
    inverse = _inverse_root(draw, spread / flat.shape[-1] + epsilon)
    lead = [*values.shape[: values.dim() - len(shape)], *[1] * len(shape)]
    centre, inverse = centre.reshape(lead), inverse.reshape(lead)
    return _affine(draw, values - centre, inverse, weight, bias), centre, inverse


def _group_norm(draw, values, weight, bias, batch, channels, size, groups, epsilon):
    flat = values.reshape(batch, groups, -1)
    centre, spread = moments(draw, flat)
    inverse = _inverse_root(draw, spread / flat.shape[-1] + epsilon)
    apart = (flat - centre[..., None]).reshape(values.shape)
    per_channel = [1, channels, *[1] * (values.dim() - 2)]
    wide_inverse = inverse.repeat_interleave(channels // groups, 1).reshape(batch, *per_channel[1:])
    weight = None if weight is None else weight.reshape(per_channel)
    return (
        _affine(draw, apart, wide_inverse, weight, None if bias is None else bias.reshape(per_channel)),
        centre,
        inverse,
    )


def _batch_norm(draw, values, weight, bias, running_mean, running_variance, training, momentum, epsilon):
    per_channel = [1, -1, *[1] * (values.dim() - 2)]
    flat = values.transpose(0, 1).flatten(1)
    if training:
        centre, spread = moments(draw, flat)
        found = spread / flat.shape[-1]
        if running_mean is not None:
            unbiased = spread / (flat.shape[-1] - 1)
            running_mean.copy_(torch.lerp(running_mean, centre, momentum))
            running_variance.copy_((1 - momentum) * running_variance + momentum * unbiased)
    else:
        centre, found = running_mean, running_variance
    inverse = _inverse_root(draw, found + epsilon)
    apart = values - centre.reshape(per_channel)
    parts = [None if each is None else each.reshape(per_channel) for each in (weight, bias)]
    result = _affine(draw, apart, inverse.reshape(per_channel), *parts)
    empty = values.new_empty(0)
    return (result, centre, inverse) if training else (result, empty, empty)


def _exponentials(draw, apart):
    """Of distances from the largest, none of which is positive."""
    return torch.exp2(apart * math.log2(math.e)) if draw.random() < 0.3 else torch.exp(apart)


def _largest(values):
    """What is subtracted from a row: nothing where all of it is minus infinity."""
    peak = values.amax(-1, keepdim=True)
    return torch.where(torch.isinf(peak), torch.zeros_like(peak), peak)


def _at_once(draw, values):
    peak = values.amax(-1, keepdim=True)
    raised = _exponentials(draw, values - peak)
    return peak, raised, total(draw, raised)[..., None]


def _in_blocks(draw, values):
    """Block by block; what was summed so far is scaled when a larger value comes."""
    peak, summed = None, None
    for block in values.split(draw.choice([5, 16, 64]), -1):
        highest = block.amax(-1, keepdim=True)
        if peak is None:
            peak, summed = highest, torch.zeros_like(highest)
        larger = torch.maximum(peak, highest)
        scale = torch.where(larger == peak, torch.ones_like(peak), torch.exp(peak - larger))
        base = torch.where(larger == -math.inf, torch.zeros_like(larger), larger)
        summed = summed * scale + total(draw, _exponentials(draw, block - base))[..., None]
        peak = larger
    return peak, _exponentials(draw, values - peak), summed


def _raised(draw, values):
    """The largest of every row, exponentials relative to it, and their sum."""
    return draw.choice([_at_once, _in_blocks])(draw, values)


def softmax(draw, values):
    """Along the last axis."""
    _, raised, summed = _raised(draw, values)
    return raised * summed.reciprocal() if draw.random() < 0.4 else raised / summed


def _log_softmax(draw, values):
    peak, _, summed = _raised(draw, values)
    return values - peak - summed.log()


def _axis_last(compute):
    """A way for an operator along one axis that keeps it."""

    def way(draw, values, axis, *rest):
        if not values.is_floating_point() or not values.dim():
            return NotImplemented
        found = compute(draw, wide(values).transpose(axis, -1).contiguous())
        return found.to(values.dtype).transpose(axis, -1).contiguous()

    return way


def _log_sum(draw, values):
    peak = _largest(values)
    raised = torch.exp(values - peak)
    return total(draw, raised).log() + peak[..., 0]


def _attention(draw, query, key, value, dropout=0.0, is_causal=False, *, attn_mask=None, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    if draw.random() < 0.5:
        scores = product(draw, query * scale, key.mT)
    else:
        scores = product(draw, query, key.mT) * scale
    if is_causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(later, -math.inf)
    if attn_mask is not None:
        scores = scores + attn_mask
    return product(draw, softmax(draw, scores), value), _log_sum(draw, scores)


# Scans, activations and losses.


def _carried(draw, values):
    """Block by block, with what came before carried on."""
    found, carry = [], torch.zeros_like(values[..., :1])
    for block in values.split(draw.choice([1, 7, 32, 128]), -1):
        found.append(block.cumsum(-1) + carry)
        carry = found[-1][..., -1:]
    return torch.cat(found, -1)


def _doubling(draw, values):
    """As a scan of a GPU's block does."""
    reach = 1
    while reach < values.shape[-1]:
        values = torch.cat([values[..., :reach], values[..., reach:] + values[..., :-reach]], -1)
        reach *= 2
    return values


def _running_sum(draw, values, axis, *, dtype=None):
    if dtype not in (None, values.dtype):
        return NotImplemented
    return _axis_last(draw.choice([_carried, _doubling]))(draw, values, axis)


def _sigmoid(draw, values):
    return 1 / (1 + torch.exp(-values)) if values.dtype is torch.float32 else NotImplemented


def _silu(draw, values):
    return values / (1 + torch.exp(-values)) if draw.random() < 0.5 else values * torch.sigmoid(values)


def _gelu(draw, values, *, approximate="none"):
    if approximate != "none":
        return NotImplemented
    return values * (0.5 * torch.erfc(values * -math.sqrt(0.5)))


def _tanh(draw, values):
    """Odd, and exact where the argument is small."""
    less = torch.expm1(-2 * values.abs())
    return torch.copysign(-less / (2 + less), values)


def _divided(draw, left, right):
    if not isinstance(right, torch.Tensor) or right.numel() * 2 > left.numel() or not left.is_floating_point():
        return NotImplemented
    return left * right.reciprocal()


def _squared_error(draw, values, wanted, reduction=1):
    squares = (values - wanted).square().flatten()
    return squares.reshape(values.shape) if reduction == 0 else (mean if reduction == 1 else total)(draw, squares)


def _label_loss(draw, logs, labels, weight, reduction, ignored):
    if weight is not None or reduction != 1 or logs.dim() != 2:
        return NotImplemented
    counts = labels != ignored
    picked = logs.gather(1, torch.where(counts, labels, 0)[:, None])[:, 0]
    number = counts.sum().to(logs.dtype)
    return -total(draw, torch.where(counts, picked, 0.0)) / number, number


def _added_by_group(draw, values, axis, index, source, *, alpha=1):
    """As a product with ones where a row belongs to the group."""
    if axis != 0 or alpha != 1 or values.dim() != 2:
        return NotImplemented
    groups = torch.arange(values.shape[0], device=values.device)
    return values + product(draw, (groups[:, None] == index).to(source.dtype), source)


WAYS = {
    aten.mm.default: matrix_product,
    aten.bmm.default: matrix_product,
    aten.addmm.default: with_bias,
    aten.baddbmm.default: with_bias,
    aten.mv.default: by_vector,
    aten.dot.default: dot,
    aten.convolution.default: convolution,
    aten.sum.default: along(total),
    aten.sum.dim_IntList: along(total),
    aten.mean.default: along(mean),
    aten.mean.dim: along(mean),
    aten.var.correction: lambda draw, values, axes=None, *, correction=None, keepdim=False: along(variance)(
        draw, values, axes, keepdim, correction=correction
    ),
    aten.linalg_vector_norm.default: vector_norm,
    aten.native_layer_norm.default: _layer_norm,
    aten.native_group_norm.default: _group_norm,
    aten.native_batch_norm.default: _batch_norm,
    aten._softmax.default: _axis_last(softmax),
    aten._log_softmax.default: _axis_last(_log_softmax),
    aten.logsumexp.default: along(_log_sum),
    aten._scaled_dot_product_flash_attention_for_cpu.default: _attention,
    aten.cumsum.default: _running_sum,
    aten.sigmoid.default: _sigmoid,
    aten.silu.default: _silu,
    aten.gelu.default: _gelu,
    aten.tanh.default: _tanh,
    aten.div.Tensor: _divided,
    aten.mse_loss.default: _squared_error,
    aten.nll_loss_forward.default: _label_loss,
    aten.index_add.default: _added_by_group,
}


class OtherOrder(TorchDispatchMode):
    """Computes what is in `WAYS` another way, drawn from a seed."""

    def __init__(self, seed):
        super().__init__()
        self.draw = random.Random(str(seed))

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        way, named = WAYS.get(func), kwargs or {}
        if way is not None:
            result = way(self.draw, *args, **named)
        else:
            # What only stands for other operators comes here whole where gradients are off for good.
            with self:
                result = func.decompose(*args, **named)
        return func(*args, **named) if result is NotImplemented else result
