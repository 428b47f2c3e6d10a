"""The best candidate of each class that is scored apart, and which of them still wait for their confirmation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from strop.records.candidate import Candidate, Origin
from strop.records.decision import Decision, Drop, Keep
from strop.records.event import Best, Challenged
from strop.records.opportunity import Legality

Admits = Callable[[Candidate], bool]


def _anything(candidate: Candidate) -> bool:
    return True


def _without_work_removed(candidate: Candidate) -> bool:
    return Legality.WORK_REMOVED not in candidate.legality


def _without_compiler(candidate: Candidate) -> bool:
    return candidate.origin is not Origin.COMPILER


CLASSES: tuple[Admits, ...] = (_anything, _without_work_removed, _without_compiler)


def best_of(screened: Mapping[str, Decision], confirmed: Mapping[str, Decision]) -> Best:
    """The best of each class: the fastest confirmed one; before there is any, the fastest that was not refuted.

    A speedup that chose a candidate flatters it, so what was measured at the confirmation always goes before.
    """
    kept, without_work_removed, without_compiler = (_best(admits, screened, confirmed) for admits in CLASSES)
    return Best(kept=kept, without_work_removed=without_work_removed, without_compiler=without_compiler)


def waiting(screened: Mapping[str, Decision], confirmed: Mapping[str, Decision]) -> bool:
    """True when the best of some class has not been confirmed."""
    best = best_of(screened, confirmed)
    kept = (best.kept, best.without_work_removed, best.without_compiler)
    return any(keep is not None and keep.candidate.id not in confirmed for keep in kept)


def _best(admits: Admits, screened: Mapping[str, Decision], confirmed: Mapping[str, Decision]) -> Keep | None:
    sure = fastest_first(confirmed.values(), admits)
    unrefuted = (decision for name, decision in screened.items() if name not in confirmed)
    return next(iter(sure or fastest_first(unrefuted, admits)), None)


def fastest_first(decisions: Iterable[Decision], admits: Admits) -> list[Keep]:
    """What was kept and is admitted, by measured speedup; equals stay in the order in which they were found."""
    kept = [decision for decision in decisions if isinstance(decision, Keep) and admits(decision.candidate)]
    return sorted(kept, key=lambda keep: -keep.comparison.speedup)


def overtaken(keep: Keep, challenges: Iterable[Challenged]) -> Drop | None:
    """The end of a candidate that was not confirmed yet, where a mode that challenged another one takes less time than
    the least that this one can have taken when it was screened; None where there is no such mode.
    """
    screened = keep.comparison
    least_ns = screened.baseline_ns / screened.high
    for each in challenges:
        rival = each.comparison
        if rival is not None and each.outdoes and rival.baseline_ns < least_ns:
            because = (
                f"{each.mode} takes {rival.baseline_ns / 1e6:.4g} ms, and this took {least_ns / 1e6:.4g} ms at the "
                f"least when it was screened against {screened.baseline}"
            )
            return Drop(candidate=keep.candidate, reason="not_faster", because=because)
    return None
