"""A generated kernel judged alone: it is run in several launches on the tensors of a real call, and each is timed.

What is fastest alone need not be in the whole model, where other kernels leave their data in the caches: this only says
what is worth judging there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from strop.lowering.lower import LoweringOptions, lower, unchanged
from strop.lowering.torch_shims import kernel_timings, own_launches
from strop.records.profile import KernelProfile
from strop.records.recipe import Step
from strop.transforms._base import Timing

UNCACHED: Mapping[str, object] = {"autotune_local_cache": False}
"""A launch that an earlier run found fastest would be taken without timing any."""


def time_alone(
    module: torch.nn.Module, call: Callable[[Callable[..., Any]], object], trials: Mapping[Step, KernelProfile]
) -> dict[Step, tuple[Timing, ...]]:
    """Time the launches that each trial step tries, all in one call of the module.

    Args:
        module: lowered as it is, but for the trials.
        call: calls what it is given as the module is called, and waits for the device.
        trials: steps that give a kernel several launches (``KernelTransform.trial``), with their kernel; none twice.

    Raises:
        BadCandidate: a step does not fit its kernel.
    """
    options = LoweringOptions(inductor=UNCACHED, edits=tuple(trials))
    with kernel_timings() as found:
        call(lower(module, unchanged, options))
    return {step: _timings(found.get(kernel.name, []), kernel) for step, kernel in trials.items()}


def _timings(found: list[tuple[dict[str, int], float]], kernel: KernelProfile) -> tuple[Timing, ...]:
    own = own_launches(kernel.source)
    return tuple(Timing(launch=launch, time_ns=time_ns, own=launch in own) for launch, time_ns in found)
