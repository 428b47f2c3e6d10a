"""The first stations: what the workload is, whether verdicts on it can mean anything, and which of the compiler's
versions is to be beaten.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack
from dataclasses import dataclass

import torch

from strop.checks._base import Rules
from strop.checks._bound import allowed, breach
from strop.errors import WorkloadInconclusive
from strop.pipeline.blame import trusted
from strop.pipeline.court import Court, Wanted
from strop.pipeline.draws import collected, draws_errors
from strop.pipeline.gold import Gold, Runs, within_memory
from strop.pipeline.lanes import lane
from strop.pipeline.layouts import made_leaves
from strop.pipeline.measure import call_time_ns
from strop.pipeline.slots import slots_for, supply
from strop.pipeline.values import case_errors
from strop.ports import ChildPort
from strop.records.candidate import CompiledForm
from strop.records.event import Admitted, BaselinesMeasured, Captured
from strop.records.evidence import Case, Distribution, ErrorQuantiles, LeafErrors
from strop.records.workload import Description, Leaf, Mode
from strop.stats.draws import RUNS
from strop.stats.power import excerpt, judge_power
from strop.wire.messages import AskCapture, CaptureReply, ChildRole
from strop.wire.tensors import Tensors, real

BASELINE_ROUNDS = 5
POWER_DRAWS = 3
SEEN_SCATTER = 1.5
"""A verdict on random answers has to see that they scatter so much further than they should."""


def capture(court: Court) -> Captured:
    """The graphs of the workload, by the one road."""
    with trusted("The workload could not be captured"):
        reply = court.reference.ask(AskCapture(), CaptureReply, court.timeouts.build_s)
    return Captured(capture=reply.capture)


@within_memory()
def admit(court: Court) -> Admitted:
    """Can its answers be compared at all, and then power: would a trivial answer pass? The bound must be small beside
    the spread of the answers between independent inputs.
    """
    notes = [*court.description.notes, *_on_random(court.description)]
    weak: list[str] = []
    for draw in (0, 1):
        gold = court.gold(_power_case(0, draw)) if court.is_random else None
        if gold is not None and gold.runs is not None:
            weak = _weak_draws(court, gold, gold.runs)
        else:
            weak = _weak_outputs(court, draw)
        if not weak:
            notes += ["parameters were re-drawn to give the values power"] if draw else []
            return Admitted(admissible=True, notes=tuple(notes))
        if not court.description.parameters:
            break
    return Admitted(
        admissible=False,
        because="A trivial answer would pass: "
        + "; ".join(weak)
        + ". No verdict on this workload would mean anything."
        + (f" {_IN_EVAL_MODE}" if court.is_random and court.description.mode is Mode.TRAIN else ""),
        notes=tuple(notes),
    )


_IN_EVAL_MODE = "In eval mode dropout is off: --mode eval, or model.eval() in Python."


def _on_random(description: Description) -> list[str]:
    """How a workload that draws random numbers is judged."""
    if not description.random_ops:
        return []
    names = ", ".join(description.random_ops)
    return [
        f"The workload draws random numbers ({names}): answers are judged by the distribution that {RUNS} of them come "
        "from, and those on the clock by their distance from the mean and by what does not vary."
    ]


def _power_case(index: int, draw: int) -> Case:
    return Case(index=700 + index, distribution=Distribution.OWN, parameters_draw=draw)


def _weak_draws(court: Court, gold: Gold, runs: Runs) -> list[str]:
    """Outputs for which a trivial answer passes where random numbers are drawn: as many runs as are judged."""
    factor = Rules(contract=court.contract).error_factor
    outputs = [leaf for leaf in court.description.outputs if leaf.tensor.dtype.is_floating and leaf.tensor.elements]
    passing: dict[str, list[str]] = {leaf.path: [] for leaf in outputs}
    for name, is_random, got in _trivial_runs(court, runs, gold.case.parameters_draw):
        for leaf in draws_errors(court, gold, runs, got, None, court.honest(gold)):
            # What is random about an answer can only be wrong where something is.
            is_tried = leaf.path in passing and (bool(leaf.draws) or not is_random)
            if is_tried and not breach(leaf, factor, Distribution.OWN):
                passing[leaf.path].append(name)
    weak = [f"{path}: {' and '.join(names)} would pass" for path, names in passing.items() if names]
    return weak if len(weak) == len(passing) else []


def _trivial_runs(court: Court, runs: Runs, draw: int) -> Iterator[tuple[str, bool, Tensors]]:
    """Names of runs that anybody could hand back, or that are off by what a verdict should see; whether that is about
    random numbers alone; and the runs.
    """
    drawn = runs.baseline
    strange = (court.answer_of_baseline(court.other_inputs, draw) for _ in range(RUNS))
    yield "zeros", False, {path: torch.zeros_like(each) for path, each in drawn.items()}
    yield "answers for other inputs", False, collected(made_leaves(court.description), runs.places, strange)
    means = {path: each.mean(0) for path, each in runs.expected.items()}
    yield "the mean of all answers", True, {path: means[path].expand_as(each) for path, each in drawn.items()}
    yield "one answer for every call", True, {path: each[:1].expand_as(each) for path, each in drawn.items()}
    wider = {path: means[path] + SEEN_SCATTER * (each - means[path]) for path, each in drawn.items()}
    yield "answers that scatter half as far again", True, wider


def _weak_outputs(court: Court, draw: int) -> list[str]:
    """Outputs for which a trivial answer lies within the bound under one draw of the parameters."""
    rows: list[LeafErrors] = []
    answers: list[Tensors] = []
    given: Tensors = {}
    floating = [leaf for leaf in court.description.outputs if leaf.tensor.dtype.is_floating and leaf.tensor.elements]
    for index in range(POWER_DRAWS):
        # One after the other, and of large answers excerpts: they would not all find room.
        gold = court.gold(_power_case(index, draw))
        rows += case_errors(court.description, gold, gold.baseline, court.honest(gold))
        answers.append({leaf.path: excerpt(real(gold.expected[leaf.path])) for leaf in floating})
        given = given or _inputs_like(gold.inputs, floating)
        del gold
    factor = Rules(contract=court.contract).error_factor
    weak: list[str] = []
    for leaf in floating:
        limits = zip(*(allowed(row, factor) for row in rows if row.path == leaf.path), strict=True)
        p50, p99, p999, largest = (max(each) for each in limits)
        bound = ErrorQuantiles(p50=p50, p99=p99, p999=p999, max=largest)
        reason = judge_power([each[leaf.path] for each in answers], bound, given.get(leaf.path))
        if reason:
            weak.append(f"{leaf.path}: {reason}")
    return weak if len(weak) == len(floating) else []


def _inputs_like(inputs: Tensors, outputs: Sequence[Leaf]) -> Tensors:
    """By an output's path the input that has its shape, if any, for the trivial answer 'the input itself'."""
    usable = [each for each in inputs.values() if each.is_floating_point()]
    return {
        leaf.path: excerpt(each) for each in reversed(usable) for leaf in outputs if each.shape == leaf.tensor.shape
    }


@dataclass(frozen=True, slots=True)
class Contenders:
    """A child for each of ``modes``, on its way; ``twins`` names modes that give the same code as another one here.
    ``children`` ends them, and the court does when it ends.
    """

    modes: tuple[str, ...]
    twins: Mapping[str, str]
    begun: Mapping[str, Future[ChildPort]]
    children: ExitStack


def contenders(court: Court, modes: tuple[str, ...]) -> Contenders:
    """Begin to load the baselines in the background."""
    twins = {mode: twin for mode, twin in court.target.same_modes if mode in modes and twin in modes}
    measured = [mode for mode in modes if mode not in twins]
    children = ExitStack()
    court.keep(children)
    # The one whose answers the court uses already takes part as it is.
    others = [mode for mode in measured if mode != court.baseline_mode]
    wanted: list[Wanted] = [(ChildRole.BASELINE, CompiledForm(mode=mode)) for mode in others]
    begun = dict(zip(others, court.begun(children, wanted), strict=True))
    return Contenders(modes, twins, {mode: begun.get(mode) or court.begin_baseline() for mode in measured}, children)


@within_memory()
def baselines(court: Court, found: Contenders) -> BaselinesMeasured:
    """Time eager and the compile modes in turn, round by round, and name the fastest. A mode that fails is said so.

    A mode that gives the same code as another one here is not built a second time: it is listed with the other's time,
    or fails with it, and ``same`` says so.
    """
    twins, failed = found.twins, list[tuple[str, str]]()
    with found.children as stack:
        children: dict[str, ChildPort] = {}
        wait(found.begun.values())
        for mode, opened in found.begun.items():
            try:
                children[mode] = opened.result()
            except WorkloadInconclusive as fault:
                failed.append((mode, str(fault)))
        court.null  # noqa: B018 - loaded now, because nothing is while the clock runs
        with court.device(timed=True):
            times = _time_in_turn(court, children)
        best = min(times, key=lambda mode: times[mode], default="")
        for mode, child in children.items():
            if mode != best:
                child.close()
        if best:
            # Compiling it a second time would take longer than all that it is needed for.
            court.change_baseline(best, children[best])
            court.keep(stack.pop_all())
            court.step_down()
    call_ns = tuple((mode, times[key]) for mode in found.modes if (key := twins.get(mode, mode)) in times)
    reasons = dict(failed)
    gone = [(mode, twin) for mode, twin in twins.items() if twin in reasons]
    failed += [(mode, f"It is the same code as {twin} here. {reasons[twin]}") for mode, twin in gone]
    return BaselinesMeasured(call_ns=call_ns, failed=tuple(failed), best=best, same=tuple(twins.items()))


def _time_in_turn(court: Court, children: dict[str, ChildPort]) -> dict[str, float]:
    """Median time of one call per mode, hand-off subtracted, all modes taking turns on equal contents."""
    if not children:
        return {}
    source = supply(court)
    fastest_ns = min(call_time_ns(court, child, rounds=1) for child in children.values())
    slots = source.fewer(slots_for(court.description, court.target, fastest_ns))
    lanes = {mode: lane(court, child, slots) for mode, child in children.items()}
    null = lane(court, court.null, slots)
    rounds: dict[str, list[float]] = {mode: [] for mode in children}
    for turn in range(BASELINE_ROUNDS + 1):
        contents = source.round(slots)
        hand_off_ns, _ = null.block(contents, court.timeouts.run_s)
        for mode, clocked in lanes.items():
            elapsed_ns, _ = clocked.block(contents, court.timeouts.run_s)
            if turn:
                rounds[mode].append(max(1.0, (elapsed_ns - hand_off_ns) / slots))
    return {mode: statistics.median(values) for mode, values in rounds.items()}
