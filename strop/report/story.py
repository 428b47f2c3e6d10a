"""A run as its events tell it. Live view and reports are drawn from the same Story, so that they cannot disagree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from strop.records.candidate import Candidate
from strop.records.decision import Decision, Drop, Keep, Repair
from strop.records.event import (
    Admitted,
    BaselinesMeasured,
    Best,
    Captured,
    CatalogueAsked,
    Challenged,
    Decided,
    Described,
    Event,
    Happening,
    Judged,
    Noted,
    Profiled,
    Proposed,
    RuleAsked,
    RunEnded,
    RunStarted,
)
from strop.records.measurement import Comparison
from strop.records.verdict import Verdict

Fate = Literal["in work", "kept", "to be confirmed", "not faster", "inconclusive", "failed", "to be mended"]
NOT_FASTER = "not_faster"
INCONCLUSIVE = "inconclusive"


@dataclass(slots=True)
class CandidateStory:
    """One candidate: what it is, what the referee said, what became of it. A confirmation overrules the screening."""

    candidate: Candidate
    verdict: Verdict | None = None
    decision: Decision | None = None
    final: bool = False

    @property
    def label(self) -> str:
        """The recipe, or the idea of a candidate that is source text."""
        return self.candidate.recipe or self.candidate.idea or f"source text {self.candidate.id}"

    @property
    def fate(self) -> Fate:
        """What became of it, as a word."""
        match self.decision:
            case None:
                return "in work"
            case Keep():
                return "kept" if self.final else "to be confirmed"
            case Repair():
                return "to be mended"
            case Drop(reason=reason):
                words: dict[str, Fate] = {NOT_FASTER: "not faster", INCONCLUSIVE: "inconclusive"}
                return words.get(reason, "failed")

    @property
    def reason(self) -> str:
        """The name of the check that failed; ``build`` for what did not even build; empty when nothing failed."""
        if isinstance(self.decision, Drop) and self.fate == "failed":
            return self.decision.reason
        if isinstance(self.decision, Repair):
            objection = self.verdict.objection if self.verdict else None
            return objection.check if objection else "build"
        return ""

    @property
    def because(self) -> str:
        """One sentence; empty for what was kept or is still in work."""
        return self.decision.because if isinstance(self.decision, Drop | Repair) else ""

    @property
    def comparison(self) -> Comparison | None:
        """Its timing, where it was timed."""
        return self.decision.comparison if isinstance(self.decision, Keep | Drop) else None


@dataclass(slots=True)
class Story:
    """Everything that is known about one run so far; ``rules`` by the rule's name and the candidate's id."""

    run: str = ""
    started_at: str = ""
    started: RunStarted | None = None
    described: Described | None = None
    admitted: Admitted | None = None
    captured: Captured | None = None
    baselines: BaselinesMeasured | None = None
    profiled: Profiled | None = None
    catalogue: CatalogueAsked | None = None
    candidates: dict[str, CandidateStory] = field(default_factory=dict)
    best: Best | None = None
    ended: RunEnded | None = None
    notes: list[str] = field(default_factory=list)
    rules: dict[tuple[str, str], RuleAsked] = field(default_factory=dict)

    def hear(self, event: Event) -> None:
        """Take in the next event of the run."""
        if not self.run:
            self.run, self.started_at = event.run, event.at
        self._take(event.what)

    def _take(self, what: Happening) -> None:
        match what:
            case RunStarted():
                self.started, self.ended = what, None
            case Proposed(candidate=candidate):
                self.candidates.setdefault(candidate.id, CandidateStory(candidate))
            case Judged(verdict=verdict):
                if verdict.candidate_id in self.candidates:
                    self.candidates[verdict.candidate_id].verdict = verdict
            case Decided():
                self._decide(what)
            case Challenged():
                self._challenge(what)
            case Noted(text=text):
                self.notes.append(text)
            case RuleAsked(rule=rule, candidate_id=candidate_id):
                self.rules[rule, candidate_id] = what
            case _:
                self._station(what)

    def _station(self, what: Happening) -> None:
        match what:
            case Described():
                self.described = what
            case Admitted():
                self.admitted = what
            case Captured():
                self.captured = what
            case BaselinesMeasured():
                self.baselines = what
            case Profiled():
                self.profiled = what
            case CatalogueAsked():
                self.catalogue = what
            case Best():
                self.best = what
            case RunEnded():
                self.ended = what

    def _decide(self, what: Decided) -> None:
        candidate = what.decision.candidate
        story = self.candidates.setdefault(candidate.id, CandidateStory(candidate))
        if what.final or not story.final:
            story.decision, story.final = what.decision, what.final
            if isinstance(what.decision, Keep):
                story.verdict = what.decision.verdict

    def _challenge(self, what: Challenged) -> None:
        story = self.candidates.get(what.candidate_id)
        if story is not None and story.decision is not None:
            story.decision = what.settle(story.decision)
        if self.baselines is not None:
            self.baselines = self.baselines.joined_by(what)

    @property
    def name(self) -> str:
        """The workload as the user named it, or the run where nothing is known yet."""
        return self.started.workload.name if self.started else self.run

    @property
    def mode(self) -> str:
        """The mode in which the workload runs, which its own declaration may have decided."""
        if self.described is not None:
            return str(self.described.description.mode)
        return str(self.started.workload.mode) if self.started else ""

    @property
    def inadmissible(self) -> str:
        """Why nothing can be concluded on this workload; empty when it was admitted or not yet looked at."""
        return self.admitted.because if self.admitted and not self.admitted.admissible else ""

    def baseline_ns(self) -> dict[str, float]:
        """Time of one call for every baseline that ran."""
        return dict(self.baselines.call_ns) if self.baselines else {}


def told(events: Iterable[Event]) -> Story:
    """Fold the events of one run."""
    story = Story()
    for event in events:
        story.hear(event)
    return story
