"""DrawParameters: the module's own initialisation, or values around it that show what only held for the initial
ones.
"""

from __future__ import annotations

import math

import torch

from strop.records.evidence import FEW_CHANGED
from strop.worker.opened import Opened

_SPREAD = 0.25
_BIAS_SIZE = 0.2
_FLIPPED_SHARE = 0.1
_FEW = 64
"""One element in so many changes where few do, and one at least."""
_COUNTER, _MANY = "num_batches_tracked", 100
"""Cumulative averages weigh a batch by how many came before; more of them would hide what a batch adds."""
_DEAD = 0.02
"""Weights this much smaller than He's rule would let the signal die; they are drawn anew by it."""


def draw_parameters(opened: Opened, seed: int, draw: int) -> dict[str, torch.Tensor]:
    """Parameters and buffers by name.

    Draw 0 is the initialisation under the construction seed. Later draws move every parameter around it, relative to
    the tensor's own size: constants (scales of one, biases of zero) get values of their own, what was positive stays
    positive except in the scales of normalisation layers, and weights too small to carry a signal follow K. He et al.
    (ICCV 2015). Running means and variances move too, and so do the counters of batches; tables keep their values. Draw
    ``FEW_CHANGED`` is the one before it but for few elements at random places.
    """
    module = opened.module
    named = {name: each.detach().clone() for name, each in (*module.named_parameters(), *module.named_buffers())}
    if draw == 0:
        return named
    if draw == FEW_CHANGED:
        return _few_changed(opened, seed)
    generator = torch.Generator(opened.workload.device).manual_seed(seed + draw)
    parameters = {name for name, _ in module.named_parameters()}
    norms = {name for name, each in module.named_modules() if "norm" in type(each).__name__.lower()}
    return {
        name: _moved(value, name, generator, parameter=name in parameters, norm=name.rpartition(".")[0] in norms)
        for name, value in named.items()
    }


def _few_changed(opened: Opened, seed: int) -> dict[str, torch.Tensor]:
    drawn, others = (draw_parameters(opened, seed, FEW_CHANGED + step) for step in (-1, 1))
    generator = torch.Generator(opened.workload.device).manual_seed(seed)
    for name, value in drawn.items():
        count = value.numel()
        if count:
            few = (max(1, count // _FEW),)
            places = torch.randint(count, few, generator=generator, device=value.device)
            drawn[name] = value.reshape(-1).index_copy(0, places, others[name].reshape(-1)[places]).view(value.shape)
    return drawn


def _moved(value: torch.Tensor, name: str, generator: torch.Generator, *, parameter: bool, norm: bool) -> torch.Tensor:
    kind = name.rpartition(".")[2]
    if kind == _COUNTER:
        return value + torch.randint(1, _MANY, (), generator=generator, device=value.device).to(value.dtype)
    if not value.numel() or not (value.is_floating_point() or value.is_complex()):
        return value
    if value.is_complex():
        parts = torch.view_as_real(value)
        return torch.view_as_complex(_around(parts.double(), generator, norm=False).to(parts.dtype).contiguous())
    if parameter:
        return _around(value.double(), generator, norm=norm).to(value.dtype)
    if kind == "running_var":
        return (value.double() * torch.exp(0.5 * _normal(value, generator))).to(value.dtype)
    if kind == "running_mean":
        return (value.double() + 0.5 * _normal(value, generator)).to(value.dtype)
    return value


def _normal(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.randn(like.shape, generator=generator, dtype=torch.float64, device=like.device)


def _around(value: torch.Tensor, generator: torch.Generator, *, norm: bool) -> torch.Tensor:
    noise = _normal(value, generator)
    first = float(value.reshape(-1)[0])
    if value.numel() > 1 and bool((value == first).all()):
        if first == 0:
            return _BIAS_SIZE * noise
        moved = first * torch.exp(_SPREAD * noise)
        return moved * _signs(value, generator) if norm else moved
    if bool((value > 0).all()) or bool((value < 0).all()):
        return value * torch.exp(_SPREAD * noise)
    size = float(value.square().mean().sqrt())
    if value.dim() >= 2:
        he = math.sqrt(2 * value.shape[0] / value.numel())
        if size < _DEAD * he:
            return he * noise
    return value * (1 + _SPREAD * noise) + _SPREAD * max(size, 1e-3) * _normal(value, generator)


def _signs(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Mostly +1: a scale may be negative, and code that silently assumes otherwise is to be found."""
    flipped = torch.rand(like.shape, generator=generator, dtype=torch.float64, device=like.device) < _FLIPPED_SHARE
    return torch.where(flipped, -1.0, 1.0)
