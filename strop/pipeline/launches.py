"""Launches of generated kernels, tried alone before they are proposed: a judgement takes seconds, a launch
milliseconds, and the estimate that ranks launches is only a model. What leaves other values alone than the compiler's
own version counts as what cannot be launched: a sieve before the referee, who decides.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from strop.errors import ChildFault, WorkloadInconclusive
from strop.pipeline.court import Court
from strop.ports import ChildPort
from strop.records.candidate import CompiledForm
from strop.records.ids import content_id
from strop.records.opportunity import Proposal
from strop.records.profile import KernelProfile
from strop.records.recipe import Scalar, Step
from strop.searches._tuning import Tuner
from strop.wire.launches import AskLaunches, LaunchesReply, LaunchTime
from strop.wire.messages import ChildRole

LOG = logging.getLogger("strop.pipeline")

HASH = "hash"
MOST_LAUNCHES = 60
"""Per proposal; a launch is made a dozen times."""
FIRST_LAUNCHES = 12
"""Those that the estimate likes best; from what they take Optuna's sampler learns where to look."""
LAUNCHES_AT_ONCE = 12
"""They are compiled side by side, on all processors."""
LIMIT_S = 30.0
SHARE_OF_BUDGET = 0.25


def measured(
    court: Court, proposals: Sequence[Proposal], kernels: Sequence[KernelProfile], budget_s: float
) -> tuple[Proposal, ...]:
    """The same proposals; those that leave the launch of a kernel open now name the one that was fastest alone, and
    expect to win what it won there. ``budget_s`` is what the whole run may take, of which a part is for this.

    A child of its own does it, since a launch may be impossible and end it. Where nothing could be measured the
    proposals stay what they were; one whose launch was tried and failed, like all others that were tried, is left out.
    """
    open_ones = [each for each in proposals if each.parameters and each.step.argument(HASH, "")]
    times = _Times(court, left_s=min(LIMIT_S, SHARE_OF_BUDGET * budget_s))
    tuners = [_tuner(each) for each in open_ones]
    with ExitStack() as stack:
        while asked := [(each, step) for each in tuners if not each.is_hopeless for step in each.ask(LAUNCHES_AT_ONCE)]:
            times.learn(stack, [step for _, step in asked])
            for tuner, step in asked:
                tuner.tell(step, times.speedup(step))
            if times.left_s <= 0:
                break
    left = [each for each in proposals if each not in open_ones or not times.failed(each)]
    return tuple(_settled(each, times, kernels) if each in open_ones else each for each in left)


def _tuner(proposal: Proposal) -> Tuner:
    seed = int(content_id("t", str(proposal.step))[2:10], 16)
    return Tuner(proposal.step, proposal.parameters, seed, trials=MOST_LAUNCHES, startup=FIRST_LAUNCHES)


@dataclass(slots=True)
class _Times:
    """What was learned of launches so far, from one child that lives until it fails or the time is over."""

    court: Court
    left_s: float
    found: dict[Step, LaunchTime] = field(default_factory=dict[Step, LaunchTime])
    _child: ChildPort | None = None

    def learn(self, stack: ExitStack, steps: Sequence[Step]) -> None:
        """Time those that are not known yet."""
        new = tuple(dict.fromkeys(step for step in steps if step not in self.found))
        court, began_s = self.court, time.monotonic()
        request = AskLaunches(steps=new, cache_bytes=court.target.last_level_cache_bytes, limit_s=self.left_s)
        try:
            form = CompiledForm(mode=court.baseline_mode)
            child = self._child = self._child or court.loaded(stack, ChildRole.BASELINE, form)
            with court.device():
                reply = child.ask(request, LaunchesReply, self.left_s + court.timeouts.build_s)
        except (ChildFault, WorkloadInconclusive) as fault:
            LOG.warning("launches could not be timed alone, so an estimate ranks them: %s", fault)
            self.left_s = 0.0
            return
        self.left_s -= time.monotonic() - began_s
        self.found |= {each.step: each for each in reply.times}
        for each in reply.times:
            if each.because:
                LOG.info("%s is left out: %s", each.step, each.because)

    def speedup(self, step: Step) -> float | None:
        """Over the compiler's own launch; None for a step that cannot be launched, or was not."""
        known = self.found.get(step)
        return known.own_ns / known.time_ns if known is not None and known.time_ns > 0 else None

    def best(self, proposal: Proposal) -> LaunchTime | None:
        """The fastest launch of the kernel, in the form that is proposed; None where none could be launched."""
        wanted = _fixed(proposal.step, proposal)
        tried = [each for each in self.found.values() if not each.because and _fixed(each.step, proposal) == wanted]
        return min(tried, key=lambda each: each.time_ns, default=None)

    def failed(self, proposal: Proposal) -> bool:
        """Whether the proposed launch failed and no other was found."""
        own = self.found.get(proposal.step)
        return own is not None and bool(own.because) and self.best(proposal) is None


def _fixed(step: Step, proposal: Proposal) -> dict[str, Scalar]:
    """What about a step is not for choice."""
    names = {each.name for each in proposal.parameters}
    return {"": step.name} | {name: value for name, value in step.arguments if name not in names}


def _settled(proposal: Proposal, times: _Times, kernels: Iterable[KernelProfile]) -> Proposal:
    """The proposal with its fastest launch."""
    best = times.best(proposal)
    if best is None:
        return proposal
    wanted = proposal.step.argument(HASH, "")
    calls = sum(kernel.calls for kernel in kernels if kernel.hash == wanted)
    return replace(proposal, step=best.step, parameters=(), gain_ns=calls * max(0.0, best.own_ns - best.time_ns))
