"""The device's own counters for a profile's heaviest kernels, where a tool that reads them is there and permitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from strop.pipeline.court import Court
from strop.records.candidate import Form
from strop.records.profile import Counted, CountedLaunch, DeviceKernel, KernelCounters
from strop.targets._kernel_names import plain_kernel_name
from strop.wire.messages import AskCounters, ChildRole, KernelSample, Load, ProfileReply

HEAVIEST = 5
TIMEOUT_S = 90.0
"""Starting and compiling take most of it; the launches themselves are replayed in seconds."""


def count(court: Court, role: ChildRole, form: Form, kernels: Sequence[str]) -> Counted:
    """Counters of launches of ``kernels`` (plain names) in one call of ``form``, in a process of its own."""
    if not kernels:
        return Counted(because="no kernel ran on a device that has counters")
    requests = [court.open_request(), Load(form=form, target=court.target), AskCounters()]
    with court.device():
        return court.wall.counted(role, requests, kernels, TIMEOUT_S)


def heaviest(reply: ProfileReply, number: int = HEAVIEST) -> tuple[str, ...]:
    """Plain names of the device's heaviest kernels, copies and fills left out."""
    times: dict[str, float] = {}
    for kernel in _launched(reply):
        if kernel.resources is not None:
            name = plain_kernel_name(kernel.name)
            times[name] = times.get(name, 0.0) + kernel.time_ns
    return tuple(sorted(times, key=lambda name: -times[name]))[:number]


def with_counters(reply: ProfileReply, counted: Counted) -> ProfileReply:
    """The profile with what was counted beside the kernels that it was counted of; a note where nothing was."""
    if not counted.launches:
        note = f"There are no counters: {counted.because.removesuffix('.')}. Bounds are from the roofline."
        return replace(reply, notes=(*reply.notes, note))
    return replace(reply, kernels=tuple(_sample(sample, counted) for sample in reply.kernels))


def _sample(sample: KernelSample, counted: Counted) -> KernelSample:
    launched = (replace(kernel, counters=_counters(kernel, counted)) for kernel in sample.launched)
    return replace(sample, launched=tuple(launched))


def _counters(kernel: DeviceKernel, counted: Counted) -> KernelCounters | None:
    """The longest launch of the kernel's name, grid and block; two tools may write its full name differently, so that
    counts only where the plain one is shared.
    """
    fitting = [launch for launch in counted.launches if _is_one(launch, kernel)]
    exact = [launch for launch in fitting if launch.name == kernel.name]
    longest = max(exact or fitting, key=lambda launch: launch.counters.time_ns or 0.0, default=None)
    return longest.counters if longest is not None else None


def _is_one(launch: CountedLaunch, kernel: DeviceKernel) -> bool:
    taken = kernel.resources
    if taken is None or (launch.grid, launch.block) != (taken.grid, taken.block):
        return False
    return plain_kernel_name(launch.name) == plain_kernel_name(kernel.name)


def _launched(reply: ProfileReply) -> list[DeviceKernel]:
    return [kernel for sample in reply.kernels for kernel in sample.launched]
