"""The view of a run while it goes: what is tried, kept and dropped, why, and how much time is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from strop.records.decision import Keep
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
from strop.report.phrases import interval_text, plural, ratio_text, seconds_text, short, time_text
from strop.report.sentences import baseline_text
from strop.report.story import CandidateStory, Story
from strop.report.terminal import FATE_STYLE, bar, grid

ROWS = 12
REFRESHES_PER_S = 4


def stage_text(story: Story) -> str:
    """What is being done now, from what was heard last."""
    if story.ended is not None:
        return "done"
    if story.catalogue is not None:
        return _search_stage(story)
    stages = (
        (story.profiled, "asking the catalogue"),
        (story.baselines, "profiling the compiler's version"),
        (story.captured, "timing the baselines"),
        (story.admitted, "capturing the graph"),
        (story.described, "checking that a wrong answer would be noticed"),
        (story.started, "loading the workload behind the wall"),
    )
    return next((text for heard, text in stages if heard is not None), "starting")


def _search_stage(story: Story) -> str:
    at_work = [each for each in story.candidates.values() if each.decision is None]
    if not at_work:
        waiting = [each for each in story.candidates.values() if each.fate == "to be confirmed"]
        return f"confirming {waiting[-1].label}" if waiting else "searching"
    doing = "timing" if at_work[-1].verdict else "judging"
    return f"{doing} {at_work[-1].label}"


def line_of(what: Happening) -> str:
    """One event as one line of a log; empty for what a reader need not see."""
    match what:
        case RunStarted(workload=workload, target=target, request=request, resumed=resumed):
            begins = "resumed" if resumed else "started"
            budget = seconds_text(request.budget_s)
            return f"{begins}: {workload.name} on {target.name}, contract {request.contract.name}, budget {budget}"
        case Described(description=description):
            inputs, outputs = len(description.inputs), len(description.outputs)
            return f"loaded: {plural(inputs, 'input')}, {plural(outputs, 'output')}, " + plural(
                len(description.parameters), "parameter tensor"
            )
        case Admitted(admissible=admissible, because=because):
            return "admitted: wrong answers would be noticed" if admissible else f"not admissible: {because}"
        case Captured(capture=capture):
            return f"captured: {plural(len(capture.graphs), 'graph')}, {plural(len(capture.breaks), 'graph break')}"
        case BaselinesMeasured():
            return _baselines_line(what)
        case Profiled(profile=profile):
            heaviest = profile.kernels[0] if profile.kernels else None
            most = f", most time in {heaviest.name}" if heaviest else ""
            return f"profiled: {plural(len(profile.kernels), 'kernel')}{most}"
        case CatalogueAsked(proposals=proposals, declines=declines):
            return f"catalogue: {plural(len(proposals), 'proposal')}, {len(declines)} transforms do not apply"
        case _:
            return _candidate_line(what)


def _baselines_line(what: BaselinesMeasured) -> str:
    times = ", ".join(f"{mode} {time_text(call_ns)}" for mode, call_ns in what.call_ns)
    failed = "".join(f"; {mode} failed: {short(because)}" for mode, because in what.failed)
    same = "".join(f"; {mode} is {twin} here" for mode, twin in what.same)
    return f"baselines: {times}; to beat: {baseline_text(what.best)}{same}{failed}"


def _candidate_line(what: Happening) -> str:
    match what:
        case Proposed(candidate=candidate):
            return f"trying {candidate.recipe or candidate.idea or candidate.id}"
        case Judged(verdict=verdict):
            objection = verdict.objection
            return f"  {verdict.outcome}" + (f" ({objection.check}): {objection.because}" if objection else "")
        case Decided(decision=Keep(comparison=comparison), final=final):
            return f"  {'kept' if final else 'faster, to be confirmed'}: {interval_text(comparison)}"
        case Decided(decision=decision, final=final):
            story = CandidateStory(decision.candidate, decision=decision, final=final)
            return f"  {story.fate}: {story.because}"
        case Challenged(mode=mode, comparison=comparison, because=because):
            return f"  {mode}: {f'{interval_text(comparison)} over it' if comparison else because}"
        case Best(kept=kept):
            return f"best so far: {ratio_text(kept.comparison.speedup)} with {kept.candidate.recipe}" if kept else ""
        case RunEnded(because=because, wall_seconds_s=wall_s):
            return f"ended after {seconds_text(wall_s)}: {because}"
        case Noted(text=text):
            return f"note: {text}"
        case RuleAsked(rule=rule, passed=passed, because=because):
            return f"the rule of {rule} says {'right' if passed else 'wrong'}" + (f": {because}" if because else "")
        case _:
            return ""


class LiveView:
    """A listener that draws on standard error: a live picture on a terminal, plain lines elsewhere."""

    def __init__(self, console: Console, clock_s: Callable[[], float] = time.monotonic) -> None:
        self.console = console
        self.story = Story()
        self._clock_s = clock_s
        self._began_s: float | None = None
        self._said = "starting"
        self._used_before_s = 0.0
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live = Live(
                console=self.console,
                get_renderable=self.picture,
                refresh_per_second=REFRESHES_PER_S,
                transient=True,
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def say(self, sentence: str) -> None:
        """Something that is being done before the run has its first event."""
        self._said = sentence
        if self._live is None:
            self.console.print(f"{sentence} …", markup=False, highlight=False, soft_wrap=True)

    def heard(self, event: Event) -> None:
        """Take in one event and show it."""
        if self._began_s is None or isinstance(event.what, RunStarted):
            self._began_s = self._clock_s()
        if isinstance(event.what, RunEnded):
            self._used_before_s = event.what.wall_seconds_s
        self.story.hear(event)
        if self._live is None:
            line = line_of(event.what)
            if line:
                self.console.print(f"{self._elapsed_text()} {line}", markup=False, highlight=False, soft_wrap=True)

    def picture(self) -> RenderableType:
        """The whole view."""
        story = self.story
        if story.started is None:
            return Text(f"{self._said} …", style="dim")
        about = f"{story.started.workload.name} · {story.started.target.name} · {story.started.request.contract.name}"
        parts: list[RenderableType] = [Text(about, style="bold"), self._clock_line()]
        if story.baselines is not None:
            parts.append(Text(_baselines_line(story.baselines), style="dim"))
        if story.candidates:
            parts += [Text(), _recent(list(story.candidates.values()))]
        if story.best is not None and story.best.kept is not None:
            parts += [Text(), Text(line_of(story.best), style="bold green")]
        return Group(*parts)

    def _clock_line(self) -> Text:
        left_s, budget_s = self._left_s(), self._budget_s()
        spent = 1.0 - left_s / budget_s if budget_s > 0 else 1.0
        left = f" {seconds_text(left_s)} left · "
        return Text.assemble((bar(spent), "blue"), left, (stage_text(self.story), "cyan"), overflow="ellipsis")

    def _budget_s(self) -> float:
        return self.story.started.request.budget_s if self.story.started else 0.0

    def _left_s(self) -> float:
        began_s = self._began_s if self._began_s is not None else self._clock_s()
        return max(0.0, self._budget_s() - self._used_before_s - (self._clock_s() - began_s))

    def _elapsed_text(self) -> str:
        began_s = self._began_s if self._began_s is not None else self._clock_s()
        return f"[{self._clock_s() - began_s:6.1f} s]"


def _recent(stories: list[CandidateStory]) -> RenderableType:
    table = grid("fate", "candidate", "speedup", "because", right=(2,))
    for story in stories[-ROWS:]:
        timed = ratio_text(story.comparison.speedup) if story.comparison else ""
        fate = Text(story.fate, style=FATE_STYLE[story.fate])
        table.add_row(fate, Text(short(story.label, 60)), timed, Text(short(story.because, 100), style="dim"))
    earlier = len(stories) - ROWS
    return Group(Text(f"{earlier} earlier", style="dim"), table) if earlier > 0 else table
