"""From launches that were traced to the device kernels of a profile, with what the Triton compiler says about its own.

A module of Inductor's holds its kernels under their names once they are compiled. They are looked at as they lie there
(torch 2.11 to 2.13: ``launchers``, each with ``config``, ``n_regs``, ``n_spills`` and ``shared``), and a kernel that
looks otherwise only lacks these two facts.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from strop.profiling.trace import Launch
from strop.records.profile import DeviceKernel, KernelResources
from strop.targets._kernel_names import library_of

GENERATED_MODULES = "torch._inductor.runtime.compile_tasks."
GENERATED_PREFIX = "triton_"


@dataclass(frozen=True, slots=True)
class Compiled:
    """What the compiler says about one variant of a Triton kernel; registers are per thread."""

    registers: int
    shared_bytes: int
    spilled_registers: int
    stages: int | None


def device_kernels(calls: Sequence[Sequence[Launch]]) -> tuple[DeviceKernel, ...]:
    """The kernels among the launches of several traced calls, by name, heaviest first; a median call's amounts."""
    names = dict.fromkeys(launch.name for launches in calls for launch in launches)
    found = [_device_kernel(name, [[each for each in call if each.name == name] for call in calls]) for name in names]
    return tuple(sorted((each for each in found if each.calls), key=lambda each: -each.time_ns))


def _device_kernel(name: str, calls: Sequence[Sequence[Launch]]) -> DeviceKernel:
    heaviest = max((launch for call in calls for launch in call), key=lambda launch: launch.duration_ns)
    return DeviceKernel(
        name=name,
        calls=round(statistics.median(len(call) for call in calls)),
        time_ns=float(statistics.median(sum(launch.duration_ns for launch in call) for call in calls)),
        library=library_of(name),
        resources=_with_compiled(name, heaviest.resources),
    )


def _with_compiled(name: str, taken: KernelResources | None) -> KernelResources | None:
    """Spills and stages, from the variant that takes what was launched."""
    if taken is None or not name.startswith(GENERATED_PREFIX):
        return taken
    known = list(dict.fromkeys(compiled_variants(name)))
    same = [each for each in known if each.registers == taken.registers and each.shared_bytes <= taken.shared_bytes]
    # A single variant is the one that ran, whatever a tool adds to its figures.
    fitting = same or (known if len(known) == 1 else [])
    if not fitting:
        return taken
    spills = {each.spilled_registers for each in fitting}
    stages = {each.stages for each in fitting}
    return replace(
        taken,
        spilled_registers=spills.pop() if len(spills) == 1 else None,
        stages=stages.pop() if len(stages) == 1 else None,
    )


def compiled_variants(name: str) -> Iterator[Compiled]:
    """What the compiler says about each variant of the generated kernels of this name that this process has loaded."""
    for key, module in list(sys.modules.items()):
        kernel = vars(module).get(name) if key.startswith(GENERATED_MODULES) else None
        for launcher in getattr(kernel, "launchers", None) or ():
            found = _read(launcher)
            if found is not None:
                yield found


def _read(launcher: Any) -> Compiled | None:
    found = (getattr(launcher, name, None) for name in ("n_regs", "shared", "n_spills"))
    numbers = [number for number in found if isinstance(number, int)]
    if len(numbers) < 3:
        return None
    stages = getattr(getattr(launcher, "config", None), "num_stages", None)
    return Compiled(*numbers, stages=stages if isinstance(stages, int) else None)
