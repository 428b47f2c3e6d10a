"""DrawInputs: inputs under a secret seed, from the workload's own generator or from the referee's mixture, never
outside a domain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import torch

from strop.errors import BadWorkload
from strop.records.evidence import Distribution
from strop.records.workload import Domain, DomainKind, Leaf
from strop.worker.leaves import flatten_call
from strop.worker.opened import Opened

Tensors = Mapping[str, torch.Tensor]

ATTEMPTS = 8
_OUTLIER_SHARE = 0.05
_OUTLIER_FACTOR = 100.0
_LOG_NORMAL_SIGMA = 1.5
_SCALE_EXPONENT = 6.0
_SPECIAL_EVERY = 4096
_ALIKE_EVERY = 8
_SMALLEST = 1e-40
"""A denormal number of float32."""


def own_draw(opened: Opened, seed: int) -> dict[str, torch.Tensor]:
    """The workload's own generator under ``seed``, on the workload's device; with one set of inputs, those.

    Raises:
        BadWorkload: it never again returned the shapes of its first draw.
        Blamed: it raises.
    """
    if not opened.brought.varies:
        return dict(opened.sample)
    for attempt in range(ATTEMPTS):
        shape, tensors = flatten_call(opened.draw(seed + attempt))
        if shape.paths == opened.shape.paths and _same_shapes(tensors, opened.sample):
            return {path: tensor.to(opened.workload.device) for path, tensor in tensors.items()}
    raise BadWorkload(
        "The inputs have other shapes from draw to draw: return the same shapes every time, one workload per shape."
    )


def _same_shapes(tensors: Tensors, sample: Tensors) -> bool:
    return all(tensors[path].shape == each.shape and tensors[path].dtype == each.dtype for path, each in sample.items())


def draw_inputs(
    opened: Opened, leaves: Sequence[Leaf], constants: Sequence[float], seed: int, distribution: Distribution
) -> dict[str, torch.Tensor]:
    """Inputs for one case, by path; every value inside its leaf's domain.

    Args:
        leaves: the described inputs with their domains.
        constants: the numbers that occur in the workload.
        seed: drawn by the judge, after everybody has loaded.
        distribution: what real values are drawn from.
    """
    own = own_draw(opened, seed)
    generator = torch.Generator(opened.workload.device).manual_seed(seed)
    made = {}
    for leaf in leaves:
        domain = leaf.domain or Domain(kind=DomainKind.REAL)
        made[leaf.path] = _draw(own[leaf.path], domain, distribution, constants, generator, opened.brought.varies)
    return made


def _draw(
    own: torch.Tensor,
    domain: Domain,
    distribution: Distribution,
    constants: Sequence[float],
    generator: torch.Generator,
    varies: bool,
) -> torch.Tensor:
    kind = domain.kind
    if kind is DomainKind.FIXED or own.numel() == 0:
        return own
    if kind in (DomainKind.INTEGER, DomainKind.BOOLEAN):
        keep = distribution is Distribution.OWN and varies
        return own if keep else _discrete(own, domain, distribution, generator)
    if distribution is Distribution.OWN:
        return own if varies else _permuted(own, kind, generator)
    if own.dtype.is_complex:
        parts = torch.view_as_real(own)
        real = _real(parts, distribution, constants, generator)
        return torch.view_as_complex(real.contiguous()).to(own.dtype)
    return _into_domain(_real(own, distribution, constants, generator), own, domain, distribution).to(own.dtype)


def _permuted(own: torch.Tensor, kind: DomainKind, generator: torch.Generator) -> torch.Tensor:
    """The same values in another order; distributions are permuted as whole rows."""
    if kind is DomainKind.DISTRIBUTION:
        rows = own.reshape(-1, own.shape[-1])
        return rows[_order(rows, generator)].reshape(own.shape)
    return own.reshape(-1)[_order(own.reshape(-1), generator)].reshape(own.shape)


def _order(values: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """The positions along the first axis, shuffled."""
    return torch.randperm(values.shape[0], generator=generator, device=values.device)


def _discrete(
    own: torch.Tensor, domain: Domain, distribution: Distribution, generator: torch.Generator
) -> torch.Tensor:
    if domain.kind is DomainKind.BOOLEAN:
        drawn = torch.randint(0, 2, own.shape, generator=generator, device=own.device)
        # In one kind of inputs alone: where the workload makes NaN of that, all others keep their real values.
        return (_some_rows_alike(drawn, generator) if distribution is Distribution.HALF_ZEROS else drawn).to(own.dtype)
    low, high = int(domain.low or 0), int(domain.high if domain.high is not None else 1)
    drawn = torch.randint(low, high + 1, own.shape, generator=generator, device=own.device)
    return drawn.to(own.dtype)


def _some_rows_alike(drawn: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """One row in so many is all false, as many are all true: a mask may hide everything or nothing, and chance alone
    would hardly ever draw that.
    """
    if drawn.dim() < 2 or not drawn.numel():
        return drawn
    lot = torch.randint(0, _ALIKE_EVERY, (*drawn.shape[:-1], 1), generator=generator, device=drawn.device)
    return drawn.masked_fill(lot == 0, 0).masked_fill(lot == 1, 1)


def _into_domain(values: torch.Tensor, own: torch.Tensor, domain: Domain, distribution: Distribution) -> torch.Tensor:
    """Map any real values into the domain."""
    match domain.kind:
        case DomainKind.DISTRIBUTION:
            return torch.softmax(torch.nan_to_num(values).clamp(-30, 30), -1)
        case DomainKind.PROBABILITY:
            inside = torch.sigmoid(torch.nan_to_num(values).clamp(-12, 12))
            return _ranged(inside, domain)
        case DomainKind.POSITIVE:
            positive = torch.nan_to_num(values.abs(), nan=1.0, posinf=1.0).clamp_min(torch.finfo(own.dtype).tiny)
            return _ranged(positive, domain)
        case DomainKind.FINITE:
            return _ranged(torch.nan_to_num(values, nan=0.0, posinf=1.0, neginf=-1.0), domain)
        case _:
            return values if distribution is Distribution.SPECIAL else _ranged(values, domain)


def _ranged(values: torch.Tensor, domain: Domain) -> torch.Tensor:
    if domain.low is None and domain.high is None:
        return values
    if domain.low is not None and domain.high is not None:
        return domain.low + (domain.high - domain.low) * torch.sigmoid(values)
    return values.clamp(domain.low, domain.high)


def _real(
    own: torch.Tensor, distribution: Distribution, constants: Sequence[float], generator: torch.Generator
) -> torch.Tensor:
    """Real values in double precision, of the shape of ``own``."""
    if distribution is Distribution.BEYOND_CONSTANTS:
        return _beyond(own, constants, generator)
    return _MIXTURE[distribution](own.double(), generator)


def _normal(own: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.randn(own.shape, generator=generator, dtype=torch.float64, device=own.device)


def _uniform(own: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.rand(own.shape, generator=generator, dtype=torch.float64, device=own.device)


def _scaled(own: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    exponent = (2 * torch.rand((), generator=generator, dtype=torch.float64, device=own.device) - 1) * _SCALE_EXPONENT
    return own * 2.0**exponent


def _negated(own: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return -own


def _outlier_channels(own: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Some channels are a hundred times larger; channels are the second or the last dimension, as the seed will have
    it.
    """
    values = _normal(own, generator)
    if values.dim() == 0:
        return values * _OUTLIER_FACTOR
    last = bool(torch.randint(0, 2, (), generator=generator, device=own.device)) or values.dim() == 1
    axis = values.dim() - 1 if last else 1
    size = values.shape[axis]
    count = max(1, round(_OUTLIER_SHARE * size))
    chosen = torch.randperm(size, generator=generator, device=own.device)[:count]
    factor = torch.ones(size, dtype=torch.float64, device=own.device)
    factor[chosen] = _OUTLIER_FACTOR
    return values * factor.reshape([-1 if i == axis else 1 for i in range(values.dim())])


def _log_normal(own: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.exp(_LOG_NORMAL_SIGMA * _normal(own, generator))


def _half_zeros(own: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.where(_uniform(own, generator) < 0.5, 0.0, _normal(own, generator))


def _rows(own: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    shape = [*own.shape[:-1], 1] if own.dim() else []
    return torch.randn(shape, generator=generator, dtype=torch.float64, device=own.device)


def _constant_rows(own: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return _rows(own, generator).expand(own.shape).clone()


def _row_offsets(own: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return _normal(own, generator) + 10 * _rows(own, generator)


def _ties(own: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.round(2 * _normal(own, generator)) / 2


def _small_integers(own: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.randint(-4, 5, own.shape, generator=generator, device=own.device).double()


def _special(own: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Normal values with a few NaN, infinities, negative zeros and denormals among them."""
    values = _normal(own, generator)
    flat = values.reshape(-1)
    each = max(1, flat.numel() // _SPECIAL_EVERY)
    for special in (math.nan, math.inf, -math.inf, -0.0, _SMALLEST, -_SMALLEST):
        flat[torch.randint(0, flat.numel(), (each,), generator=generator, device=own.device)] = special
    return flat.reshape(own.shape)


def _beyond(own: torch.Tensor, constants: Sequence[float], generator: torch.Generator) -> torch.Tensor:
    """Values on both sides of every constant of the workload, none of them more than three times as large as the
    largest.
    """
    bound = max((abs(each) for each in constants if abs(each) <= 1e4), default=1.0)
    return (2 * _uniform(own, generator) - 1) * 3 * max(bound, 1.0)


_MIXTURE: Mapping[Distribution, Callable[[torch.Tensor, torch.Generator], torch.Tensor]] = {
    Distribution.NORMAL: _normal,
    Distribution.UNIFORM: _uniform,
    Distribution.SCALED: _scaled,
    Distribution.NEGATED: _negated,
    Distribution.OUTLIER_CHANNELS: _outlier_channels,
    Distribution.LOG_NORMAL: _log_normal,
    Distribution.HALF_ZEROS: _half_zeros,
    Distribution.CONSTANT_ROWS: _constant_rows,
    Distribution.ROW_OFFSETS: _row_offsets,
    Distribution.TIES: _ties,
    Distribution.SMALL_INTEGERS: _small_integers,
    Distribution.SPECIAL: _special,
}
