"""Sums, products, convolutions and moments in other honest orders of rounding.

Every way here is one that libraries or careful people take in single precision; what is narrower is widened first and
rounded once, as matrix units do. Variances as mean of squares less square of mean are left out: they cancel.
"""

import torch
import torch.nn.functional

aten = torch.ops.aten
_PAIRS = 1 << 22
"""Products of elements that may lie in memory at once."""


def wide(values):
    return values.float() if values.dtype in (torch.bfloat16, torch.float16) else values


def _shuffled(draw, values, axis):
    """The elements along an axis in another order, and that order."""
    order = list(range(values.shape[axis]))
    draw.shuffle(order)
    return torch.tensor(order, device=values.device)


# Sums along the last axis.


def one_by_one(draw, values):
    total = values[..., 0].clone()
    for each in values.unbind(-1)[1:]:
        total += each
    return total


def _in_parts(draw, values):
    return one_by_one(draw, torch.stack([part.sum(-1) for part in values.chunk(draw.randint(2, 9), -1)], -1))


def _by_halves(draw, values):
    while values.shape[-1] > 1:
        half = values.shape[-1] // 2
        values = torch.cat([values[..., :half] + values[..., half : 2 * half], values[..., 2 * half :]], -1)
    return values[..., 0]


def _by_lanes(draw, values):
    """As vector units do: one sum for each lane, then over the lanes."""
    lanes = draw.choice([4, 8, 16, 32])
    filled = torch.nn.functional.pad(values, (0, -values.shape[-1] % lanes))
    return _by_halves(draw, one_by_one(draw, filled.unflatten(-1, (-1, lanes)).transpose(-1, -2)))


def _shuffled_sum(draw, values):
    return values[..., _shuffled(draw, values, -1)].sum(-1)


def _backwards(draw, values):
    return one_by_one(draw, values.flip(-1))


def _by_ones(draw, values):
    return values @ torch.ones(values.shape[-1], dtype=values.dtype, device=values.device)


SUMS = (one_by_one, _in_parts, _by_halves, _by_lanes, _shuffled_sum, _backwards, _by_ones)


def total(draw, values):
    """The sum along the last axis."""
    return draw.choice(SUMS)(draw, values) if values.shape[-1] else values.sum(-1)


def mean(draw, values):
    """The mean along the last axis."""
    count = values.shape[-1]
    if draw.random() < 0.3:
        return total(draw, values) * (1 / count)
    return total(draw, values) / count


# Products of matrices; those of batches broadcast.


def _turned(draw, left, right):
    return (right.mT @ left.mT).mT


def _another_layout(draw, left, right):
    return left.mT.contiguous().mT @ right.mT.contiguous().mT


def _split(draw, left, right):
    parts = draw.randint(2, 8)
    products = [a @ b for a, b in zip(left.chunk(parts, -1), right.chunk(parts, -2), strict=True)]
    return one_by_one(draw, torch.stack(products, -1))


def _shuffled_product(draw, left, right):
    order = _shuffled(draw, left, -1)
    return left[..., order] @ right[..., order, :]


def _one_term_more(draw, left, right):
    """As a kernel with one thread for each result: a chain of fused multiply-adds."""
    result = left[..., :1] * right[..., :1, :]
    for k in range(1, left.shape[-1]):
        result = torch.addcmul(result, left[..., k : k + 1], right[..., k : k + 1, :])
    return result


def _terms_then_sums(draw, left, right):
    if left.numel() * right.shape[-1] > _PAIRS:
        return _split(draw, left, right)
    return total(draw, left[..., :, None, :] * right.mT[..., None, :, :])


PRODUCTS = (_turned, _another_layout, _split, _shuffled_product, _one_term_more, _terms_then_sums)


def product(draw, left, right):
    """The product of two matrices, or of two batches of them."""
    return draw.choice(PRODUCTS)(draw, left, right)


def matrix_product(draw, left, right):
    return product(draw, wide(left), wide(right)).to(left.dtype)


def with_bias(draw, bias, left, right, *, beta=1, alpha=1):
    a, b, added = wide(left), wide(right), wide(bias) * beta
    if draw.random() < 0.3 and a.dim() == 2:
        column = torch.ones(a.shape[0], 1, dtype=a.dtype, device=a.device)
        a, b = torch.cat([a * alpha, column], 1), torch.cat([b, added.expand(a.shape[0], -1)[:1]], 0)
        if added.dim() == 1:
            return product(draw, a, b).to(left.dtype)
        return NotImplemented
    return (product(draw, a, b) * alpha + added).to(left.dtype)


def by_vector(draw, matrix, vector):
    return matrix_product(draw, matrix, vector[:, None])[:, 0]


def dot(draw, left, right):
    return total(draw, left * right)


# Convolutions.


def convolution(draw, values, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    rest = (stride, padding, dilation, transposed, output_padding, groups)
    ways = [_bias_last, _permuted_channels] if groups == 1 else [_bias_last]
    if weight.dim() == 4:
        ways.append(_channels_last)
        if groups == 1 and not transposed:
            ways += [_by_columns, _by_position]
    return draw.choice(ways)(draw, values, weight, bias, rest)


def _added(result, bias):
    return result if bias is None else result + bias.reshape(-1, *[1] * (result.dim() - 2))


def _bias_last(draw, values, weight, bias, rest):
    return _added(aten.convolution(values, weight, None, *rest), bias)


def _channels_last(draw, values, weight, bias, rest):
    last = torch.channels_last
    made = aten.convolution(values.contiguous(memory_format=last), weight.contiguous(memory_format=last), bias, *rest)
    return made.contiguous()


def _permuted_channels(draw, values, weight, bias, rest):
    """Input channels in another order, in two parts."""
    axis = 0 if rest[3] else 1
    order = _shuffled(draw, weight, axis)
    parts = [
        aten.convolution(values[:, some], weight.index_select(axis, some), None, *rest)
        for some in order.chunk(draw.randint(1, 3))
    ]
    return _added(one_by_one(draw, torch.stack(parts, -1)), bias)


def _by_columns(draw, values, weight, bias, rest):
    stride, padding, dilation = rest[:3]
    columns = torch.nn.functional.unfold(values, weight.shape[2:], dilation, padding, stride)
    flat = product(draw, weight.flatten(1).expand(values.shape[0], -1, -1), columns)
    height = (values.shape[2] + 2 * padding[0] - dilation[0] * (weight.shape[2] - 1) - 1) // stride[0] + 1
    return _added(flat.unflatten(-1, (height, -1)), bias)


def _by_position(draw, values, weight, bias, rest):
    """One product of matrices for each position of the window."""
    (down, across), padding, dilation = rest[:3]
    framed = torch.nn.functional.pad(values, (padding[1], padding[1], padding[0], padding[0]))
    height, width = (
        (framed.shape[2 + axis] - dilation[axis] * (weight.shape[2 + axis] - 1) - 1) // (down, across)[axis] + 1
        for axis in (0, 1)
    )
    parts = []
    for i in range(weight.shape[2]):
        for j in range(weight.shape[3]):
            seen = framed[:, :, i * dilation[0] :: down, j * dilation[1] :: across][:, :, :height, :width]
            parts.append(torch.einsum("bchw,oc->bohw", seen, weight[:, :, i, j]))
    return _added(total(draw, torch.stack(parts, -1)), bias)


# Sums, means and variances along axes.


def _last(values, axes):
    """The axes as one, at the end."""
    if not axes:
        return values.flatten()[None].squeeze(0)
    axes = sorted(axis % values.dim() for axis in axes)
    kept = [axis for axis in range(values.dim()) if axis not in axes]
    return values.permute(*kept, *axes).flatten(len(kept))


def along(compute):
    """A way for an operator that takes axes."""

    def way(draw, values, axes=None, keepdim=False, *, dtype=None, **named):
        if dtype not in (None, values.dtype) or not values.is_floating_point() or not values.dim():
            return NotImplemented
        found = compute(draw, _last(wide(values), axes), **named).to(values.dtype)
        if keepdim:
            gone = [axis % values.dim() for axis in axes or range(values.dim())]
            found = found.reshape([1 if axis in gone else size for axis, size in enumerate(values.shape)])
        return found

    return way


def _two_passes(draw, values):
    centre = mean(draw, values)
    return centre, total(draw, (values - centre[..., None]).square())


def _relative_to_a_guess(draw, values):
    """One pass over both sums, relative to a guess of the mean (Chan, Golub and LeVeque 1983), which is that of a part.

    The guess is no single value: x - v is rounded by up to u |x - v|, so an outlier in that place makes the mean many
    times less accurate than any order of summing does, and to reject that is right.
    """
    guess = values[..., : -(-values.shape[-1] // draw.randint(2, 4))].mean(-1)
    apart = values - guess[..., None]
    centre = mean(draw, apart)
    return guess + centre, (total(draw, apart.square()) - values.shape[-1] * centre.square()).clamp_min(0)


def _merged(draw, values):
    """Chan's way: parts with means of their own are merged."""
    parts = values.chunk(draw.randint(2, 9), -1)
    centre, spread, count = parts[0].mean(-1), torch.zeros_like(values[..., 0]), 0
    for part in parts:
        its, more = part.mean(-1), part.shape[-1]
        its_spread = (part - its[..., None]).square().sum(-1)
        apart = its - centre
        spread = spread + its_spread + apart.square() * (count * more / (count + more))
        centre = centre + apart * (more / (count + more))
        count += more
    return centre, spread


def _welford(draw, values):
    """One value after the other."""
    centre, spread = values[..., 0].clone(), torch.zeros_like(values[..., 0])
    for count, value in enumerate(values.unbind(-1)[1:], 2):
        apart = value - centre
        centre = centre + apart / count
        spread = spread + apart * (value - centre)
    return centre, spread


def moments(draw, values):
    """The mean and the sum of squared distances from it."""
    return draw.choice([_two_passes, _relative_to_a_guess, _merged, _welford])(draw, values)


def variance(draw, values, *, correction=1):
    spread = moments(draw, values)[1]
    left = values.shape[-1] - (1 if correction is None else correction)
    return NotImplemented if left <= 0 else spread / left


def _norm(draw, values):
    return total(draw, values.square()).sqrt()


def vector_norm(draw, values, order=2, axes=None, keepdim=False, *, dtype=None):
    return along(_norm)(draw, values, axes, keepdim, dtype=dtype) if order == 2 else NotImplemented
