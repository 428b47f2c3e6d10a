"""Proposals for generated kernels are tried alone on the device before they are made."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from strop.errors import BadCandidate
from strop.lowering.alone import time_alone
from strop.records.opportunity import Proposal
from strop.records.profile import KernelProfile
from strop.records.recipe import Step
from strop.targets._devices import on_host, synchronise
from strop.transforms._base import KernelTransform, Timing
from strop.worker.guard import Blamed, foreign
from strop.worker.opened import Opened

log = logging.getLogger("strop.worker")

ENOUGH_S = 90.0
"""After this no further round of trials begins; what was not tried is proposed as it was estimated."""

Timings = Sequence[Timing] | None
"""None for a step that the compiler has no code for; nothing where a trial failed or was left out."""


def tried(
    opened: Opened, transform: KernelTransform, kernels: Sequence[KernelProfile], proposals: Sequence[Proposal]
) -> list[Proposal]:
    """What remains of the proposals after each kernel ran alone; all of them where nothing can be run."""
    if on_host(opened.workload.device):
        return list(proposals)
    known = {each.hash: each for each in kernels}
    steps = {proposal: step for proposal in proposals if (step := transform.trial(proposal)) is not None}
    timed: dict[Step, Timings] = {}
    began_s = time.monotonic()
    for together in _rounds({step: known[str(step.argument("hash", ""))] for step in steps.values()}):
        if time.monotonic() - began_s < ENOUGH_S:
            timed |= _timed(opened, together)
    answers = [(proposal, timed.get(steps[proposal], ()) if proposal in steps else ()) for proposal in proposals]
    possible = [(proposal, timings) for proposal, timings in answers if timings is not None]
    return list(transform.settled(kernels, possible))


def _rounds(trials: Mapping[Step, KernelProfile]) -> list[dict[Step, KernelProfile]]:
    """Steps that can be tried in one call: no kernel twice."""
    rounds: list[dict[Step, KernelProfile]] = []
    for step, kernel in sorted(trials.items(), key=lambda pair: str(pair[0])):
        free = next((each for each in rounds if kernel not in each.values()), None)
        if free is None:
            rounds.append(free := {})
        free[step] = kernel
    return rounds


def _timed(opened: Opened, trials: Mapping[Step, KernelProfile]) -> dict[Step, Timings]:
    """One call for all; where that fails, one for each, so that one step cannot spoil the others."""

    def call(lowered: Callable[..., Any]) -> None:
        built = opened.shape.build(opened.fresh_sample())
        with opened.calling():
            lowered(*built.args, **built.kwargs)
            synchronise(opened.workload.device)

    try:
        with foreign("strop", "Trying kernels alone"):
            return dict(time_alone(opened.build(), call, trials))
    except Blamed as fault:
        log.warning("%s", fault.detail)
        if len(trials) == 1:
            return dict.fromkeys(trials, None if fault.error == BadCandidate.__name__ else ())
    found: dict[Step, Timings] = {}
    for step, kernel in trials.items():
        found |= _timed(opened, {step: kernel})
    return found
