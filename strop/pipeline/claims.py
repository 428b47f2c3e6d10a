"""What a workload claims beyond its own inputs, as a few inputs that would show a kernel that was made for these alone:
the smallest and the largest, sizes that no tile divides, a secret one, and other orders of memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from secrets import randbelow

from strop.records.tensor import Symbol, TensorSpec
from strop.records.workload import Description, Leaf, Variant
from strop.wire.tensors import sizes, steps

SHAPES = 4
GROWTH = 4.0
"""Of all inputs together; the largest that are claimed may be larger still."""
GROWN_BYTES = 1 << 30
VECTORS = (16, 8, 4, 2, 1)
"""Elements that kernels take at a time; no tile is as short."""
PADDING = 3
"""Elements between two rows, and between two blocks of rows, that belong to neither."""


def claimed_variants(description: Description) -> tuple[Variant, ...]:
    """At most so many other shapes: the sets of arguments that it brings, then boundaries of what it declares; and its
    own shapes in two other layouts, if it claims any.
    """
    brought = [Variant(sample=number + 1) for number in range(description.other_samples)]
    shapes = [*brought, *_boundaries(description)][:SHAPES]
    return (*shapes, *(_layouts(description) if description.any_layout else ()))


def told(variant: Variant, own: Sequence[Leaf], inputs: Sequence[Leaf] = ()) -> str:
    """A variant in words: its inputs where they differ from the workload's own. ``inputs`` is what they were found to
    be.
    """
    known = {leaf.path: leaf.tensor for leaf in own}
    changed = [leaf for leaf in inputs or variant.inputs if leaf.tensor != known[leaf.path]]
    if not changed:
        return f"its set {variant.sample} of other arguments"
    return ", ".join(f"{leaf.path} of {_shown(leaf.tensor)}" for leaf in changed)


def _shown(tensor: TensorSpec) -> str:
    shape = " x ".join(map(str, sizes(tensor)))
    return shape if tensor.stride is None else f"{shape} with strides {tuple(steps(tensor) or ())}"


def _boundaries(description: Description) -> Iterator[Variant]:
    """Each dimension at another kind of boundary: with all of them at the smallest there is little to get wrong."""
    own = {leaf.path: leaf for leaf in description.inputs}
    now: dict[Symbol, int] = {}
    for claim in description.claims:
        pairs = zip(claim.tensor.shape, sizes(own[claim.path].tensor), strict=True)
        now |= {dim: size for dim, size in pairs if isinstance(dim, Symbol)}
    held_bytes = sum(leaf.tensor.size_bytes for leaf in description.inputs)
    # A symbol may stand for several dimensions of one input, which then grow together.
    grown = max((sum(isinstance(dim, Symbol) for dim in each.tensor.shape) for each in description.claims), default=0)
    growth = min(GROWTH, max(1.0, GROWN_BYTES / max(1, held_bytes))) ** (1 / max(1, len(now), grown))
    chosen = [_turned(boundary_sizes(symbol, size, growth), place) for place, (symbol, size) in enumerate(now.items())]
    for row in zip_longest(*chosen):
        at = {symbol: size or now[symbol] for symbol, size in zip(now, row, strict=True)}
        yield Variant(inputs=tuple(_resized(own[claim.path], claim, at) for claim in description.claims))


def _turned(sizes: Sequence[int], by: int) -> Sequence[int]:
    start = by % max(1, len(sizes))
    return (*sizes[start:], *sizes[:start])


def boundary_sizes(symbol: Symbol, own: int, growth: float) -> tuple[int, ...]:
    """Other sizes of a dimension: the smallest, one more than its own, the largest, and a secret one, because whoever
    is told where it failed might mend just that. Others take the place of those that are out of range.
    """
    high = max(own + 1, int(own * growth))
    if symbol.high is not None:
        high = min(high, symbol.high)
    power = 1 << (own.bit_length() - 1)
    secret = _secret(symbol.low, high, own)
    wanted = dict.fromkeys((symbol.low, own + 1, high, secret, power - 1, own - 1, power + 1, own // 2 + 1))
    return tuple(size for size in wanted if symbol.low <= size <= high and size != own)[:SHAPES]


def _secret(low: int, high: int, own: int) -> int:
    """A size that divides into vectors where its own does, and into nothing longer: with vectors alone whoever forgot
    the end of the last tile meets it here.
    """
    for vector in VECTORS:
        sizes = range((-(-low // vector) | 1) * vector, high + 1, 2 * vector)
        if own % vector == 0 and len(sizes) > (own in sizes):
            at = randbelow(len(sizes))
            return sizes[at] if sizes[at] != own else sizes[at - 1]
    return own


def _resized(own: Leaf, claim: Leaf, at: Mapping[Symbol, int]) -> Leaf:
    shape = [at[dim] if isinstance(dim, Symbol) else dim for dim in claim.tensor.shape]
    stride = steps(own.tensor)
    if stride is not None:
        order = sorted(range(len(shape)), key=lambda dim: -stride[dim])
        return replace(own, tensor=replace(own.tensor, shape=tuple(shape), stride=_strides(shape, order)))
    return replace(own, tensor=replace(own.tensor, shape=tuple(shape)))


def _strides(shape: Sequence[int], order: Sequence[int], padding: int = 0) -> tuple[int, ...]:
    """Strides of a tensor whose dimensions lie in this order in memory, the outermost first, with so much between them
    that no two can be taken for one.
    """
    stride, step = [1] * len(shape), 1
    for dim in reversed(order):
        stride[dim] = step
        step = step * shape[dim] + padding
    return tuple(stride)


def _layouts(description: Description) -> Iterator[Variant]:
    """Two dimensions the other way round, and rows of something wider."""
    for lay in (_transposed, _sliced):
        inputs = tuple(lay(leaf) for leaf in description.inputs if leaf.tensor.elements > 1)
        changed = tuple(leaf for leaf in inputs if leaf not in description.inputs)
        if changed:
            yield Variant(inputs=changed)


def _transposed(leaf: Leaf) -> Leaf:
    shape = sizes(leaf.tensor)
    order = [*range(len(shape))]
    order[-2:] = reversed(order[-2:])
    return _laid_out(leaf, _strides(shape, order)) if 1 not in shape[-2:] else leaf


def _sliced(leaf: Leaf) -> Leaf:
    """Rows with something between them; of a single row every other element."""
    shape = sizes(leaf.tensor)
    return _laid_out(leaf, _strides(shape, range(len(shape)), PADDING) if len(shape) > 1 else (2,))


def _laid_out(leaf: Leaf, stride: tuple[int, ...]) -> Leaf:
    dense = _strides(sizes(leaf.tensor), range(len(stride)))
    return replace(leaf, tensor=replace(leaf.tensor, stride=None if stride == dense else stride))
