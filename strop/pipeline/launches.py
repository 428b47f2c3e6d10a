"""Launches of generated kernels, tried alone before they are proposed: a judgement takes a hundred times as long as a
launch, and the estimate that ranks launches is only a model.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from strop.errors import ChildFault, WorkloadInconclusive
from strop.pipeline.court import Court
from strop.records.candidate import CompiledForm
from strop.records.opportunity import Proposal
from strop.records.profile import KernelProfile
from strop.records.recipe import Step
from strop.wire.messages import AskLaunches, ChildRole, LaunchesReply, LaunchTime

HASH = "hash"
MOST_LAUNCHES = 24
"""Per proposal; they are compiled on all processors, and each is launched a dozen times."""
LIMIT_S = 30.0


def measured(court: Court, proposals: Sequence[Proposal], kernels: Sequence[KernelProfile]) -> tuple[Proposal, ...]:
    """The same proposals; those that leave the launch of a kernel open now name the one that was fastest alone, and
    expect to win what it won there.

    A child of its own does it, since a launch may be impossible and end it. Where nothing could be measured the
    proposals stay what they were.
    """
    open_ones = [each for each in proposals if each.parameters and each.step.argument(HASH, "")]
    if not open_ones:
        return tuple(proposals)
    times = _times(court, [step for each in open_ones for step in variants(each)])
    return tuple(_settled(each, times, kernels) if each in open_ones else each for each in proposals)


def variants(proposal: Proposal) -> list[Step]:
    """Steps with other values of the parameters, those nearest to the first choices first."""
    names = [each.name for each in proposal.parameters]
    places = itertools.product(*(range(len(each.choices)) for each in proposal.parameters))
    nearest = sorted(places, key=lambda place: (sum(place), place))[:MOST_LAUNCHES]
    chosen = [[each.choices[at] for each, at in zip(proposal.parameters, place, strict=True)] for place in nearest]
    fixed = dict(proposal.step.arguments)
    return [
        Step(proposal.step.name, tuple((fixed | dict(zip(names, values, strict=True))).items())) for values in chosen
    ]


def _times(court: Court, steps: Sequence[Step]) -> dict[Step, LaunchTime]:
    request = AskLaunches(
        steps=tuple(dict.fromkeys(steps)), cache_bytes=court.target.last_level_cache_bytes, limit_s=LIMIT_S
    )
    try:
        with ExitStack() as stack:
            child = court.loaded(stack, ChildRole.BASELINE, CompiledForm(mode=court.baseline_mode))
            with court.device():
                reply = child.ask(request, LaunchesReply, LIMIT_S + court.timeouts.build_s)
    except (ChildFault, WorkloadInconclusive):
        return {}
    return {each.step: each for each in reply.times}


def _settled(proposal: Proposal, times: dict[Step, LaunchTime], kernels: Iterable[KernelProfile]) -> Proposal:
    """The proposal with its fastest launch."""
    tried = [times[step] for step in variants(proposal) if step in times and not times[step].because]
    if not tried:
        return proposal
    best = min(tried, key=lambda each: each.time_ns)
    wanted = proposal.step.argument(HASH, "")
    calls = sum(kernel.calls for kernel in kernels if kernel.hash == wanted)
    return replace(proposal, step=best.step, parameters=(), gain_ns=calls * max(0.0, best.own_ns - best.time_ns))
