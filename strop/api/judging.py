"""The referee on its own: ``verify`` says whether a candidate is right, ``compare`` also how its time relates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from strop.api.asking import Asked
from strop.api.candidates import candidate_named
from strop.api.workloads import workload_named
from strop.pipeline.stations import LocalStations
from strop.records.candidate import Candidate
from strop.records.decision import Judgement
from strop.records.explanation import Explanation
from strop.records.measurement import Comparison
from strop.records.target import Target
from strop.records.verdict import Inconclusive, Verdict
from strop.records.workload import Mode, Workload
from strop.wiring import Home, Say, calibrated, find_kind, home_of, open_stations, silent

ADMISSION = "admission"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """A verdict with everything that it holds for; ``comparison`` is None when nothing was timed, ``explanation`` when
    none was asked for, or nothing could be judged.
    """

    workload: Workload
    target: Target
    contract: str
    mode: Mode
    candidate: Candidate
    verdict: Verdict
    comparison: Comparison | None = None
    explanation: Explanation | None = None

    @property
    def passed(self) -> bool:
        """True when the candidate is right."""
        return self.verdict.outcome == "passed"


def verify_named(workload: str, candidate: str, asked: Asked, say: Say = silent, *, explain: bool = False) -> Ruling:
    """Judge what was typed; nothing is timed. ``explain``: say how far it errs for each kind of inputs."""
    return _rule_named(workload, candidate, asked, say, timed=False, explain=explain)


def compare_named(workload: str, candidate: str, asked: Asked, say: Say = silent) -> Ruling:
    """Judge what was typed and, when it is right, time it against the best baseline in fresh processes."""
    return _rule_named(workload, candidate, asked, say, timed=True)


def _rule_named(
    typed: str, typed_candidate: str, asked: Asked, say: Say, *, timed: bool, explain: bool = False
) -> Ruling:
    asked.checked()
    home = home_of()
    kind = find_kind(asked.target)
    workload = workload_named(typed, home, kind.device, asked.chosen_mode(), asked.suite)
    candidate = candidate_named(typed_candidate, workload)
    target = calibrated(kind, home.settings, say)
    return rule(home, workload, candidate, target, asked, say, timed=timed, explain=explain)


def rule(
    house: Home,
    workload: Workload,
    candidate: Candidate,
    target: Target,
    asked: Asked,
    say: Say,
    *,
    timed: bool,
    explain: bool = False,
) -> Ruling:
    """Have one candidate judged in fresh processes.

    Raises:
        BadWorkload: the workload's own code does not load, raises, or makes NaN.
        WorkloadInconclusive: no baseline could be built.
    """
    (ruling,) = rulings(house, workload, [candidate], target, asked, say, timed=timed, explain=explain)
    return ruling


def rulings(
    house: Home,
    workload: Workload,
    candidates: Sequence[Candidate],
    target: Target,
    asked: Asked,
    say: Say,
    *,
    timed: bool = False,
    explain: bool = False,
) -> Iterator[Ruling]:
    """Have several candidates judged one after the other, each in a fresh process, beside one reference.

    Raises:
        BadWorkload: the workload's own code does not load, raises, or makes NaN.
        WorkloadInconclusive: no baseline could be built.
    """
    request = asked.checked()
    with open_stations(house, workload, target, request, timed=timed) as (stations, _):
        say("loading the workload behind the wall")
        mode = stations.describe().description.mode
        say("checking that a wrong answer would be noticed")
        admitted = stations.admit()
        for candidate in candidates:
            if admitted.admissible:
                judgement = _timed(stations, candidate, say) if timed else _judged(stations, candidate, say)
            else:
                judgement = Judgement(verdict=_not_admitted(candidate, stations.wall.isolation, admitted.because))
            explanation = stations.explain(candidate, say) if explain and admitted.admissible else None
            yield Ruling(
                workload=workload,
                target=target,
                contract=request.contract.name,
                mode=mode,
                candidate=candidate,
                verdict=judgement.verdict,
                comparison=judgement.comparison,
                explanation=explanation,
            )


def _judged(stations: LocalStations, candidate: Candidate, say: Say) -> Judgement:
    say("judging the candidate")
    return stations.verify(candidate)


def _timed(stations: LocalStations, candidate: Candidate, say: Say) -> Judgement:
    say("timing the baselines")
    found = stations.baselines()
    say(f"the one to beat is {found.best}; judging and timing the candidate in fresh processes")
    return stations.judge(candidate, fresh=True)


def _not_admitted(candidate: Candidate, isolation: str, because: str) -> Verdict:
    finding = Inconclusive(check=ADMISSION, because=because)
    return Verdict(candidate_id=candidate.id, findings=(finding,), isolation=isolation)
