"""The reports that commands end with, as Rich renderables; printing them is the caller's business."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from strop.records.graph import Capture, KernelEdit, KernelKind
from strop.records.measurement import Comparison
from strop.records.opportunity import Decline, Opportunity, Proposal
from strop.records.profile import KernelProfile, Profile
from strop.records.result import RunResult
from strop.records.target import Target
from strop.records.verdict import Verdict
from strop.report.phrases import (
    amount_text,
    chained_text,
    interval_text,
    plural,
    ratio_text,
    share_text,
    short,
    time_text,
)
from strop.report.sentences import (
    EDITS_MEASURED,
    EDITS_TITLE,
    NO_LINE,
    baseline_text,
    ceilings_text,
    conditions_facts,
    cost_text,
    counters_facts,
    headline,
    kept_facts,
    kernel_labels,
    kind_text,
    launched_text,
    other_classes,
    other_text,
    profile_kept,
    repeat_kept,
    repeat_run,
    same_text,
    scope_text,
    verdict_headline,
)
from strop.report.story import CandidateStory, Story

PROFILES = ("strop profile WORKLOAD", "strop profile WORKLOAD --candidate RECIPE")
MANY_KERNELS = 10
BAR_CELLS = 20
FATE_STYLE = {
    "kept": "bold green",
    "to be confirmed": "green",
    "not faster": "yellow",
    "inconclusive": "yellow",
    "failed": "red",
    "to be mended": "red",
    "in work": "cyan",
}
DIFF_STYLE = {"+": "green", "-": "red", "@": "dim"}
OUTCOME_STYLE = {"passed": "green", "failed": "bold red", "inconclusive": "yellow", "skipped": "dim"}


def bar(share: float, cells: int = BAR_CELLS) -> str:
    """A share as a bar of blocks."""
    filled = round(max(0.0, min(1.0, share)) * cells)
    return "█" * filled + "·" * (cells - filled)


def section(title: str, body: RenderableType) -> Group:
    """A titled part of a report."""
    return Group(Text(title, style="bold"), Padding(body, (0, 0, 1, 2)))


def grid(*columns: str, right: Sequence[int] = ()) -> Table:
    """A table without lines whose ``right`` columns hold figures."""
    table = Table(box=None, pad_edge=False, show_header=any(columns), header_style="dim", expand=False)
    for index, name in enumerate(columns):
        table.add_column(name, justify="right" if index in right else "left", overflow="fold")
    return table


def facts(pairs: Iterable[tuple[str, str]]) -> Table:
    """Names and values."""
    table = grid("", "")
    for name, value in pairs:
        table.add_row(Text(name, style="dim"), Text(value))
    return table


def run_report(story: Story, result: RunResult) -> Group:
    """The end report of ``strop optimize``."""
    parts: list[RenderableType] = [_about(story), _headline(result), Text()]
    if story.baselines is not None:
        parts.append(section("Baselines", baselines_table(story)))
    if story.profiled is not None:
        parts.append(section("Where the time goes", _kernels(story, MANY_KERNELS)))
    if result.kept is not None:
        parts.append(section("What is kept", facts(kept_facts(result.kept))))
        parts += _edits(result.kept.keep.verdict.edits, profile_kept(story, result))
    others = other_classes(result)
    if others:
        parts.append(section("Scored apart", facts((name, other_text(kept)) for name, kept in others)))
    if story.candidates:
        parts.append(section("What was tried", candidates_table(list(story.candidates.values()))))
    if story.notes:
        parts.append(section("Notes", Group(*(Text(note) for note in story.notes))))
    parts.append(section("Conditions", facts(conditions_facts(story))))
    parts.append(section("Cost", Text(cost_text(result))))
    parts.append(section("Repeat it", _repeats(story, result)))
    return Group(*parts)


def _edits(edits: Sequence[KernelEdit], commands: Sequence[str]) -> list[RenderableType]:
    """What a candidate changes in generated kernels, and the ``commands`` that say what comes of it."""
    lines: list[RenderableType] = []
    for edit in edits:
        lines.append(Text(_plain(f"{edit.kernel} ({edit.hash})"), style="bold"))
        lines += [Text(line, style=DIFF_STYLE.get(line[:1], "")) for line in _plain(edit.diff or NO_LINE).split("\n")]
        lines.append(Text())
    if edits and commands:
        lines += [Text(EDITS_MEASURED), *(Text(command, style="cyan") for command in commands)]
    return [section(EDITS_TITLE, Group(*lines))] if edits else []


def _plain(text: str) -> str:
    """Text from behind the wall without what could move a terminal's cursor."""
    return "".join(mark if mark.isprintable() or mark in "\n\t" else "\ufffd" for mark in text)


def _headline(result: RunResult) -> Text:
    return Text(headline(result), style="bold green" if result.kept else "bold yellow")


def _about(story: Story) -> Text:
    started = story.started
    if started is None:
        return Text(story.run, style="dim")
    words = (story.name, started.target.name, started.request.contract.name, f"{story.mode} mode")
    return Text(" · ".join(words), style="dim")


def _repeats(story: Story, result: RunResult) -> RenderableType:
    commands = [command for command in (repeat_kept(story, result), repeat_run(story)) if command]
    commands.append(f"strop report {result.run} --output report.html")
    return Group(*(Text(command, style="cyan") for command in commands))


def runs_report(results: Sequence[RunResult]) -> RenderableType:
    """The runs of a ledger, newest first."""
    if not results:
        return Text("The ledger holds no run yet.")
    table = grid("run", "workload", "result")
    for result in results:
        table.add_row(Text(result.run, style="cyan"), Text(short(result.workload, 40)), Text(headline(result)))
    return table


def baselines_table(story: Story) -> Table:
    """Time of one call per baseline, the best one marked; those that failed with their reason."""
    table = grid("", "one call", "", right=(1,))
    if story.baselines is None:
        return table
    for mode, call_ns in story.baselines.call_ns:
        best = mode == story.baselines.best
        remark = "the one to beat" if best else same_text(story.baselines.same, mode)
        table.add_row(Text(baseline_text(mode), style="bold" if best else ""), time_text(call_ns), remark)
    for mode, because in story.baselines.failed:
        table.add_row(baseline_text(mode), "failed", Text(short(because), style="red"))
    return table


def _kernels(story: Story, limit: int) -> RenderableType:
    """Kernels beside the ceilings; nothing before the profile."""
    if story.profiled is None or story.started is None:
        return Text()
    return kernels_table(story.profiled.profile, story.started.target, limit)


def kernels_table(profile: Profile, target: Target, limit: int = MANY_KERNELS) -> RenderableType:
    """The heaviest kernels, some lines each: who wrote it, its share, what it moves and computes, what binds it and why
    that is said, and its headroom above the floor.
    """
    columns = ("kernel\nfrom\nwhy so slow", "kind\nbound", "time\nshare", "moves\ncomputes", "floor\nheadroom")
    table = grid(*columns, right=(2, 3, 4))
    for label, kernel in list(zip(kernel_labels(profile.kernels), profile.kernels, strict=True))[:limit]:
        table.add_row(*_kernel_cells(label, kernel))
    rest = profile.kernels[limit:]
    if rest:
        share, time_ns = sum(kernel.share for kernel in rest), sum(kernel.time_ns for kernel in rest)
        table.add_row(f"{len(rest)} more", "", f"{time_text(time_ns)}\n{share_text(share)}", "", "")
    lines = [
        f"One call takes {time_text(profile.call_ns)}, {time_text(profile.overhead_ns)} of it outside any kernel.",
        f"Floors are at the ceilings measured on this machine: {ceilings_text(target)}.",
        *profile.notes,
    ]
    return Group(table, *(Text(line, style="dim") for line in lines))


def _kernel_cells(label: str, kernel: KernelProfile) -> list[RenderableType]:
    name = Text(short(label, 60), style="bold")
    name.append(f"\n{short(', '.join(kernel.nodes) or 'no node of the graph', 80)}", style="not bold dim")
    if kernel.diagnosis:
        name.append(f"\n{kernel.diagnosis}", style="not bold italic")
    amounts = f"{amount_text(kernel.moved_bytes, 'B')}\n{amount_text(kernel.work_flop, 'flop')}"
    floor = time_text(kernel.floor_ns)
    if not kernel.calls:
        return [name, kind_text(kernel), "not seen", amounts, floor]
    return [
        name,
        f"{kind_text(kernel)}\n{kernel.bound}",
        f"{time_text(kernel.time_ns)}\n{share_text(kernel.share)}",
        amounts,
        f"{floor}\n{time_text(kernel.headroom_ns)}",
    ]


def candidates_table(stories: Sequence[CandidateStory]) -> Table:
    """Every candidate with its fate, its speedup where it was timed, and why it was dropped."""
    table = grid("fate", "candidate", "speedup", "because", right=(2,))
    for story in stories:
        timed = ratio_text(story.comparison.speedup) if story.comparison else "–"
        reason = f"{story.reason}: {story.because}" if story.reason else story.because
        fate = Text(story.fate, style=FATE_STYLE[story.fate])
        table.add_row(fate, Text(short(story.label, 80)), timed, Text(short(reason, 240)))
    return table


def candidate_report(story: CandidateStory) -> Group:
    """One candidate of a run, as ``strop show`` prints it."""
    candidate = story.candidate
    pairs = [
        ("fate", story.fate),
        ("because", f"{story.reason}: {story.because}" if story.reason else story.because),
        ("proposed by", str(candidate.origin)),
        ("legality", ", ".join(candidate.legality) or "none declared"),
        ("made from", ", ".join(candidate.lineage) or "nothing else"),
    ]
    parts: list[RenderableType] = [Text(story.label, style="bold"), facts(pairs), Text()]
    if story.verdict is not None:
        parts.append(verdict_report(story.verdict, story.comparison))
    return Group(*parts)


def verdict_report(verdict: Verdict, comparison: Comparison | None) -> Group:
    """The report of ``strop verify`` and ``strop compare``."""
    table = grid("check", "outcome", "because")
    for finding in verdict.findings:
        outcome = Text(finding.outcome, style=OUTCOME_STYLE[finding.outcome])
        table.add_row(finding.check, outcome, Text(short(finding.because, 300)))
    parts: list[RenderableType] = [
        Text(verdict_headline(verdict, comparison), style=OUTCOME_STYLE[verdict.outcome]),
        Text(),
        section("Checks", table),
    ]
    if comparison is not None:
        parts.append(section("Time", facts(_comparison_facts(comparison))))
    parts += _edits(verdict.edits, PROFILES)
    pairs = [("candidate", verdict.candidate_id), ("isolation", verdict.isolation), ("holds for", scope_text(verdict))]
    pairs += [("shown with", variant) for variant in verdict.scope.variants]
    if verdict.compile_s is not None:
        pairs.append(("ready after", f"{time_text(verdict.compile_s * 1e9)} of building, compiling and warming up"))
    parts.append(section("Verdict", facts([*pairs, *(("note", note) for note in verdict.notes)])))
    return Group(*parts)


def _comparison_facts(comparison: Comparison) -> list[tuple[str, str]]:
    return [
        ("baseline", f"{baseline_text(comparison.baseline)}: {time_text(comparison.baseline_ns)}"),
        ("candidate", time_text(comparison.candidate_ns)),
        ("speedup", f"{interval_text(comparison)}, {comparison.decision}"),
        ("with calls chained", chained_text(comparison)),
        ("kernels alone", ratio_text(comparison.kernel_speedup)),
        ("peak memory", ratio_text(comparison.peak_memory_ratio)),
        ("samples", f"{plural(comparison.pairs, 'pair')} in {plural(comparison.processes, 'process', 'processes')}"),
    ]


def profile_report(story: Story) -> Group:
    """The report of ``strop profile``."""
    parts: list[RenderableType] = [_about(story), Text()]
    if story.inadmissible:
        parts.append(Text(f"Not admissible: {story.inadmissible}", style="bold yellow"))
    if story.baselines is not None:
        parts.append(section("Baselines", baselines_table(story)))
    if story.profiled is not None:
        parts.append(section("Kernels", _kernels(story, limit=40)))
        parts.append(section("Where a proposal could win", opportunities_table(story.profiled.opportunities)))
    if story.captured is not None:
        parts.append(section("Graphs", Text(_graphs_text(story.captured.capture))))
    if story.catalogue is not None:
        parts.append(section("What the catalogue proposes", proposals_table(story.catalogue.proposals)))
        parts.append(section("What does not apply, and why", declines_table(story.catalogue.declines)))
    parts.append(section("Conditions", facts(conditions_facts(story))))
    return Group(*parts)


def _graphs_text(capture: Capture) -> str:
    sizes = ", ".join(plural(len(graph.nodes), "node") for graph in capture.graphs)
    breaks = "".join(f"\ngraph break at {each.where}: {short(each.reason)}" for each in capture.breaks)
    return f"{plural(len(capture.graphs), 'graph')} ({sizes}){breaks or ', no graph break'}"


def opportunities_table(opportunities: Sequence[Opportunity]) -> Table:
    """Regions with their headroom against the target's ceilings."""
    table = grid("headroom", "share", "bound", "kernels", right=(0, 1))
    for each in opportunities:
        kernels = short(", ".join(each.kernels), 80)
        table.add_row(time_text(each.headroom_ns), share_text(each.share), str(each.bound), Text(kernels))
    return table


def proposals_table(proposals: Sequence[Proposal]) -> Table:
    """Where transforms apply, with the gain they estimate."""
    table = grid("step", "estimated gain", "legality", right=(1,))
    for each in proposals:
        table.add_row(Text(str(each.step)), time_text(each.gain_ns), ", ".join(each.legality))
    return table


def declines_table(declines: Sequence[Decline]) -> Table:
    """Transforms that do not apply, each with its reason."""
    table = grid("transform", "because")
    for each in declines:
        table.add_row(each.transform, Text(each.because))
    return table


def kernel_report(kernel: KernelProfile, of: int = 1) -> Group:
    """One kernel, as ``strop show`` prints it; ``of`` so many with its name."""
    pairs = [("kind", kind_text(kernel)), ("language", kernel.language)]
    if kernel.calls:
        pairs += [
            ("time", f"{time_text(kernel.time_ns)} per call of the workload, in {plural(kernel.calls, 'call')}"),
            ("share", share_text(kernel.share)),
            ("bound", f"{kernel.bound}: {kernel.diagnosis}" if kernel.diagnosis else str(kernel.bound)),
            ("floor", f"{time_text(kernel.floor_ns)}, headroom {time_text(kernel.headroom_ns)}"),
        ]
    else:
        pairs += [("time", "not seen: it left no range in the trace"), ("floor", time_text(kernel.floor_ns))]
    pairs += [
        ("moves", amount_text(kernel.moved_bytes, "B")),
        ("computes", amount_text(kernel.work_flop, "flop")),
        ("comes from", ", ".join(kernel.nodes) or "no node of the graph"),
    ]
    if of > 1:
        pairs.append(
            ("others", f"{of} kernels have this name; #2 behind the name shows the second heaviest, and so on")
        )
    parts: list[RenderableType] = [Text(kernel.name, style="bold"), facts(pairs)]
    if kernel.launched:
        parts += [Text(), section("On the device", facts((each.name, launched_text(each)) for each in kernel.launched))]
    if kernel.counters is not None:
        parts.append(section("Counted on its heaviest launch", facts(counters_facts(kernel.counters))))
    if kernel.launch:
        parts += [Text(), section(_launch_title(kernel), Text(kernel.launch))]
    if kernel.source:
        parts.append(section("Source", Text(kernel.source)))
    return Group(*parts)


def _launch_title(kernel: KernelProfile) -> str:
    if kernel.kind is KernelKind.EXTERN:
        return "Arguments"
    return "Loops" if kernel.language == "cpp" else "Launch"
