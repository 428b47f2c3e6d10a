"""What the values of an input mean: declared by the workload, else learned from its own generator by these rules.

- Floating values that are not all finite, or beyond 1e30 (masks of -Inf), are FIXED.
- Rows along the last dimension that are distributions stay distributions.
- Otherwise the input is tried with standard normal values, then (if its own values allow) with positive ones, then with
  probabilities; the first on which the workload neither raises nor makes NaN is its domain. If none works it is FIXED.
- Integers that are constant, sorted or permutations carry meaning and are FIXED; others lie between the smallest and
  largest value that was seen.
- Booleans are free if they differ from draw to draw, else FIXED.

FIXED does not mean constant: the workload's own generator still draws the value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from strop.errors import BadWorkload
from strop.records.workload import Domain, DomainKind
from strop.wire.tensors import same_bits
from strop.worker.brought import nearest
from strop.worker.calls import paths_named

Tensors = Mapping[str, torch.Tensor]
Probe = Callable[[Tensors], bool]

_HUGE = 1e30
_ROW_SUM_TOLERANCE = 1e-3
_FAR = 6.0
_SEED = 20_011
_NAMES = {kind.value: kind for kind in DomainKind} | {
    "token_ids": DomainKind.INTEGER,
    "indices": DomainKind.INTEGER,
    "mask": DomainKind.BOOLEAN,
    "any": DomainKind.REAL,
}


def learn_domains(draws: Sequence[Tensors], declared: Mapping[str, Domain], copes: Probe) -> dict[str, Domain]:
    """The domain of every input.

    Args:
        draws: a few draws of the workload's own generator (one, if it has but one set of inputs).
        declared: domains that the workload declares; they are never questioned.
        copes: whether the workload gives an answer without NaN for some inputs.
    """
    first = draws[0]
    where = next((each.device for each in first.values()), torch.device("cpu"))
    generator = torch.Generator(where).manual_seed(_SEED)
    copes = _shortcut(first, declared, copes, generator)
    found: dict[str, Domain] = {}
    for path in first:
        seen = [draw[path] for draw in draws]
        if path in declared:
            found[path] = _with_range(declared[path], seen)
        elif first[path].dtype.is_floating_point or first[path].dtype.is_complex:
            found[path] = _floating(path, seen, first, copes, generator)
        elif first[path].dtype is torch.bool:
            found[path] = Domain(kind=DomainKind.BOOLEAN if _differ(seen) else DomainKind.FIXED)
        else:
            found[path] = _integer(seen)
    return _together(found, first, copes, generator)


def _shortcut(first: Tensors, declared: Mapping[str, Domain], copes: Probe, generator: torch.Generator) -> Probe:
    """If the workload copes with normal values everywhere at once, it need not be asked input by input."""
    free = [path for path, each in first.items() if path not in declared and each.is_floating_point() and each.numel()]
    return (lambda _: True) if free and _copes_with(free, first, copes, generator) else copes


def _copes_with(free: Sequence[str], first: Tensors, copes: Probe, generator: torch.Generator) -> bool:
    """Whether the workload takes any real values for these inputs together: some, and their negatives."""
    trial = {path: _real_values(first[path], generator) for path in free}
    return copes({**first, **trial}) and copes({**first, **{path: -each for path, each in trial.items()}})


def _together(found: dict[str, Domain], first: Tensors, copes: Probe, generator: torch.Generator) -> dict[str, Domain]:
    """Inputs that are free one by one may still depend on each other; then none of them is."""
    free = [path for path, domain in found.items() if domain.kind is DomainKind.REAL and not domain.declared]
    if len(free) < 2:
        return found
    if _copes_with(free, first, copes, generator):
        return found
    return {path: Domain(kind=DomainKind.FIXED) if path in free else domain for path, domain in found.items()}


def _floating(
    path: str, seen: Sequence[torch.Tensor], first: Tensors, copes: Probe, generator: torch.Generator
) -> Domain:
    if seen[0].numel() == 0 or not all(_ordinary(each) for each in seen):
        return Domain(kind=DomainKind.FIXED)
    if seen[0].dtype.is_complex:
        return Domain(kind=DomainKind.REAL)
    if all(_rows_are_distributions(each) for each in seen):
        return Domain(kind=DomainKind.DISTRIBUTION)
    low = min(float(each.min()) for each in seen)
    high = max(float(each.max()) for each in seen)
    if _copes_with([path], first, copes, generator):
        return Domain(kind=DomainKind.REAL)
    real = _real_values(seen[0], generator)
    if low >= 0 and copes({**first, path: real.exp()}) and copes({**first, path: (-real).exp()}):
        return Domain(kind=DomainKind.POSITIVE)
    if low >= 0 and high <= 1 and copes({**first, path: real.sigmoid()}) and copes({**first, path: (-real).sigmoid()}):
        return Domain(kind=DomainKind.PROBABILITY)
    return Domain(kind=DomainKind.FIXED)


def _real_values(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Normal values, one of them surely outside of (-1, 1)."""
    values = torch.randn(like.shape, generator=generator, dtype=torch.float64, device=like.device)
    values.view(-1)[0] = _FAR
    return values.to(like.dtype)


def _ordinary(values: torch.Tensor) -> bool:
    return bool(torch.isfinite(values).all()) and bool((values.abs() < _HUGE).all())


def _rows_are_distributions(values: torch.Tensor) -> bool:
    if values.dim() == 0 or values.shape[-1] < 2:
        return False
    if float(values.min()) < 0 or float(values.max()) > 1:
        return False
    sums = values.double().sum(-1)
    return bool(((sums - 1).abs() < _ROW_SUM_TOLERANCE).all())


def _differ(seen: Sequence[torch.Tensor]) -> bool:
    return any(not same_bits(seen[0], each) for each in seen[1:])


def _integer(seen: Sequence[torch.Tensor]) -> Domain:
    if seen[0].numel() == 0 or all(_has_meaning(each) for each in seen):
        return Domain(kind=DomainKind.FIXED)
    return _with_range(Domain(kind=DomainKind.INTEGER), seen)


def _has_meaning(values: torch.Tensor) -> bool:
    """Constant, sorted along the last dimension (positions, offsets), or a permutation of it (orders)."""
    rows = values.reshape(-1, values.shape[-1]) if values.dim() else values.reshape(1, 1)
    if bool((values == values.reshape(-1)[0]).all()):
        return True
    steps = rows.diff(dim=-1)
    if steps.numel() and (bool((steps >= 0).all()) or bool((steps <= 0).all())):
        return True
    ordered = rows.sort(-1).values
    return rows.shape[-1] >= 3 and bool((ordered == torch.arange(rows.shape[-1], device=rows.device)).all())


def _with_range(domain: Domain, seen: Sequence[torch.Tensor]) -> Domain:
    if domain.kind is not DomainKind.INTEGER or not seen[0].numel():
        return domain
    low = min(int(each.min()) for each in seen) if domain.low is None else domain.low
    high = max(int(each.max()) for each in seen) if domain.high is None else domain.high
    return Domain(kind=domain.kind, low=low, high=high, declared=domain.declared)


def declared_domains(written: Mapping[str, Any], paths: Sequence[str], names: Sequence[str]) -> dict[str, Domain]:
    """Read ``{"args[0]": "token_ids", "mask": ("integer", 0, 1)}``; a key is a path, the beginning of one, or an
    argument's name.

    Raises:
        BadWorkload: a key that is no input, or a value that is no domain.
    """
    found: dict[str, Domain] = {}
    for key, value in written.items():
        domain = _read(key, value)
        found |= dict.fromkeys(paths_named(key, paths, names, "domains"), domain)
    return found


def _read(key: str, value: Any) -> Domain:
    parts = value if isinstance(value, list | tuple) else (value,)
    if isinstance(value, Mapping):
        parts = (value.get("kind"), value.get("low"), value.get("high"))
    if isinstance(value, Domain):
        parts = (value.kind.value, value.low, value.high)
    name = parts[0] if parts else None
    if name not in _NAMES:
        raise BadWorkload(
            f"domains[{key!r}] is {value!r}.{nearest(str(name), list(_NAMES))} Known domains are {', '.join(_NAMES)}; "
            "write one of them, or (name, low, high)."
        )
    low, high = (*parts[1:3], None, None)[:2]
    return Domain(kind=_NAMES[name], low=low, high=high, declared=True)
