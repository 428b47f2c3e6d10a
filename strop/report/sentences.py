"""The sentences that terminal, Markdown and HTML share: the result first, then why, then how to repeat it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence

from strop.records.event import Request, StopReason
from strop.records.graph import KernelKind
from strop.records.measurement import Comparison
from strop.records.profile import DeviceKernel, KernelCounters, KernelProfile, KernelResources
from strop.records.result import Kept, RunResult
from strop.records.target import Target
from strop.records.verdict import Verdict
from strop.records.workload import Mode, SourceKind, Workload
from strop.report.phrases import (
    amount_text,
    chained_text,
    interval_text,
    legality_text,
    plural,
    ratio_text,
    seconds_text,
    share_text,
    time_text,
)
from strop.report.story import Story

_BASELINES = {
    "eager": "eager PyTorch",
    "default": "torch.compile",
}


EDITS_TITLE = "What it changes in the compiler's kernels"
EDITS_MEASURED = (
    "Each of these profiles the kernels, with the device's counters where they can be read: first as the compiler made "
    "them, then as changed."
)
NO_LINE = "No line of its text changed."


def baseline_text(mode: str) -> str:
    """A baseline as a person would call it."""
    return _BASELINES.get(mode, f"torch.compile (mode {mode})")


def same_text(pairs: Iterable[tuple[str, str]], mode: str) -> str:
    """That a baseline is the same code as another one on this target; empty when it was measured itself."""
    twin = dict(pairs).get(mode)
    return f"the same code as {baseline_text(twin)} here, measured once" if twin else ""


def ceilings_text(target: Target) -> str:
    """The measured ceilings in one line."""
    ceilings = target.ceilings
    rates = ", ".join(f"{dtype} {amount_text(rate, 'flop/s')}" for dtype, rate in ceilings.product_flop_per_s)
    copy, call = amount_text(ceilings.copy_bytes_per_s, "B/s"), time_text(ceilings.call_overhead_ns)
    return f"copies {copy}; products {rates}; {call} per call; {plural(target.threads, 'thread')}"


def kernel_labels(kernels: Sequence[KernelProfile]) -> list[str]:
    """What each kernel is asked for by: the compiler's name for it, with ``#2`` and so on behind a name that came
    before (a library function that is called again, a kernel of another graph).
    """
    seen: Counter[str] = Counter()
    labels: list[str] = []
    for kernel in kernels:
        seen[kernel.name] += 1
        labels.append(kernel.name if seen[kernel.name] == 1 else f"{kernel.name}#{seen[kernel.name]}")
    return labels


def kind_text(kernel: KernelProfile) -> str:
    """Who wrote a kernel, and in what."""
    if kernel.kind is KernelKind.GENERATED:
        return f"generated {kernel.language}"
    if kernel.language == "device":
        return "device kernel"
    who = "extern call" if kernel.kind is KernelKind.EXTERN else "operator"
    return f"{who}, {kernel.library}" if kernel.library else who


def launched_text(kernel: DeviceKernel) -> str:
    """One kernel that an accelerator ran: how often, for how long, and what each launch takes."""
    said = [f"{time_text(kernel.time_ns)} in {plural(kernel.calls, 'launch', 'launches')}"]
    if kernel.library:
        said.append(kernel.library)
    return "; ".join([*said, *([resources_text(kernel.resources)] if kernel.resources else [])])


def resources_text(taken: KernelResources) -> str:
    """What one launch takes, in one line."""
    said = [
        f"{plural(taken.blocks, 'block')} of {plural(taken.block_threads, 'thread')}",
        f"{plural(taken.registers, 'register')}",
        f"{amount_text(taken.shared_bytes, 'B')} shared" if taken.shared_bytes else "no shared memory",
    ]
    if taken.spilled_registers is not None:
        said.append(f"{taken.spilled_registers} spilled" if taken.spilled_registers else "no spills")
    if taken.stages is not None:
        said.append(plural(taken.stages, "stage"))
    if taken.occupancy_ratio is not None:
        limit = f" limited by {taken.limited_by}" if taken.limited_by else ""
        said.append(f"occupancy {share_text(taken.occupancy_ratio)}{limit}")
    return ", ".join(said)


def counters_facts(counters: KernelCounters) -> list[tuple[str, str]]:
    """What the device's counters say of one launch, as (name, value) pairs."""
    shares = (
        ("memory", counters.memory_ratio),
        ("memory chips", counters.dram_ratio),
        ("arithmetic", counters.compute_ratio),
        ("occupancy", counters.achieved_occupancy_ratio),
        ("L2 hits", counters.l2_hit_ratio),
    )
    found = [(name, share_text(ratio)) for name, ratio in shares if ratio is not None]
    amounts = (("memory moves", counters.dram_bytes), ("spills move", counters.local_bytes))
    found += [(name, amount_text(size, "B")) for name, size in amounts if size is not None]
    return found + [("advice", rule) for rule in counters.rules]


def headline(result: RunResult) -> str:
    """The result in one sentence."""
    if result.kept is not None:
        return kept_sentence(result.kept)
    if result.reason is None:
        return f"Run {result.run} has not ended; strop optimize with --resume {result.run} goes on with it."
    if result.reason is StopReason.INCONCLUSIVE:
        return f"Inconclusive: {result.because}"
    if result.baseline is None:
        return f"No result: {result.because}"
    stays, tried = baseline_text(result.baseline), plural(result.proposed, "candidate")
    if not result.proposed:
        return f"Nothing was tried, so {stays} stays: {result.because}."
    if result.reason in (StopReason.INTERRUPTED, StopReason.FAULT):
        return f"Stopped before anything beat {stays}, which stays; {tried} tried: {result.because}."
    within = " within the budget" if result.reason is StopReason.BUDGET else ""
    return f"Nothing beat the compiler{within}: {stays} stays; {tried} tried."


def kept_sentence(kept: Kept) -> str:
    """What was won, over what, and whether it was confirmed."""
    comparison = kept.keep.comparison
    said = f"{interval_text(comparison)} over {baseline_text(comparison.baseline)}"
    if kept.confirmed:
        return f"Kept: {said}."
    return f"Kept from screening, not yet confirmed in fresh processes: {said}."


def kept_facts(kept: Kept) -> list[tuple[str, str]]:
    """What there is to know about a kept candidate, as (name, value) pairs."""
    keep = kept.keep
    comparison, verdict = keep.comparison, keep.verdict
    what = keep.candidate.recipe or keep.candidate.idea or "source text"
    return [
        ("candidate", keep.candidate.id),
        ("recipe" if keep.candidate.recipe is not None else "idea", what),
        ("proposed by", str(keep.candidate.origin)),
        ("legality", legality_text(keep)),
        ("speedup", interval_text(comparison)),
        ("with calls chained", chained_text(comparison)),
        ("one call", f"{time_text(comparison.candidate_ns)} against {time_text(comparison.baseline_ns)}"),
        ("kernels alone", ratio_text(comparison.kernel_speedup)),
        ("peak memory", ratio_text(comparison.peak_memory_ratio)),
        ("error against fp64", error_text(verdict)),
        ("verdict", f"{verdict.outcome}, isolation {verdict.isolation}, {scope_text(verdict)}"),
    ]


def error_text(verdict: Verdict) -> str:
    """The candidate's error as a multiple of the baseline's."""
    if verdict.error_ratio is None:
        return "compared by distribution" if verdict.scope.by_distribution else "not compared"
    return f"{ratio_text(verdict.error_ratio)} that of the baseline"


def scope_text(verdict: Verdict) -> str:
    """How far a verdict reaches."""
    others = len(verdict.scope.variants)
    shapes = f"its own shapes and {plural(others, 'other')} that it claims" if others else "these exact shapes"
    finite = ", finite inputs only" if verdict.scope.finite_inputs else ""
    return f"{shapes}{finite}{', by distribution' if verdict.scope.by_distribution else ''}"


def other_classes(result: RunResult) -> list[tuple[str, Kept | None]]:
    """The best without ``work_removed`` and without what a user could have switched on, where they are not the best."""
    if result.kept is None:
        return []
    named = [
        ("without work_removed", result.without_work_removed),
        ("without compiler options", result.without_compiler),
    ]
    best = result.kept.keep.candidate.id
    return [(name, kept) for name, kept in named if kept is None or kept.keep.candidate.id != best]


def other_text(kept: Kept | None) -> str:
    """One of the classes that are scored apart."""
    if kept is None:
        return "nothing beat the compiler"
    candidate = kept.keep.candidate
    return f"{interval_text(kept.keep.comparison)} with {candidate.recipe or candidate.idea or candidate.id}"


def cost_text(result: RunResult) -> str:
    """What the run cost and why it stopped."""
    held = seconds_text(result.device_seconds_s)
    cost = f"{seconds_text(result.wall_seconds_s)}, {held} of them holding the device"
    return f"{cost}; it stopped because {result.because}" if result.because else cost


def conditions_facts(story: Story) -> list[tuple[str, str]]:
    """Under which conditions the figures were taken."""
    if story.started is None:
        return []
    conditions, target = story.started.conditions, story.started.target
    versions = ", ".join(f"{name} {version}" for name, version in conditions.versions)
    return [
        ("target", f"{target.name}: {target.summary}"),
        ("machine", conditions.machine),
        *([("card", target.identity)] if target.identity else []),
        ("device", conditions.device),
        ("threads", str(conditions.threads)),
        ("contract", conditions.contract),
        ("versions", versions),
    ]


def repeat_run(story: Story) -> str:
    """The command that repeats the run; empty for a live module, which no command line can name."""
    if story.started is None or story.started.workload.source.kind is SourceKind.LIVE:
        return ""
    request = story.started.request
    words = ["strop", "optimize", *_workload_words(story.started.workload), *_request_words(request)]
    return shlex.join(words)


def repeat_kept(story: Story, result: RunResult) -> str:
    """The command that judges and times the kept recipe again; empty where there is none."""
    recipe, started = _kept_recipe(result), story.started
    if recipe is None or started is None or started.workload.source.kind is SourceKind.LIVE:
        return ""
    words = [*_workload_words(started.workload), recipe, *_contract_words(started.request)]
    return shlex.join(["strop", "compare", *words])


def profile_kept(story: Story, result: RunResult) -> list[str]:
    """The commands that profile the compiler's kernels, and those that the kept recipe makes of them; none where there
    is no such recipe.
    """
    recipe, started = _kept_recipe(result), story.started
    if recipe is None or started is None or started.workload.source.kind is SourceKind.LIVE:
        return []
    words = ["strop", "profile", *_workload_words(started.workload), *_contract_words(started.request)]
    return [shlex.join(words), shlex.join([*words, "--candidate", recipe])]


def _kept_recipe(result: RunResult) -> str | None:
    return result.kept.keep.candidate.recipe if result.kept else None


def _contract_words(request: Request) -> list[str]:
    return [] if request.contract.name == "fp32" else ["--contract", request.contract.name]


def _workload_words(workload: Workload) -> list[str]:
    return [workload.name] if workload.mode is Mode.TRAIN else [workload.name, "--mode", str(workload.mode)]


def _request_words(request: Request) -> list[str]:
    plain = Request(contract=request.contract)
    words = ["--budget", f"{request.budget_s:g}s", *_contract_words(request)]
    if request.baselines != plain.baselines:
        words += ["--baseline", ",".join(request.baselines)]
    if request.max_memory_ratio != plain.max_memory_ratio:
        words += ["--max-memory-ratio", f"{request.max_memory_ratio:g}"]
    if request.max_error_ratio != plain.max_error_ratio:
        words += ["--max-error-ratio", f"{request.max_error_ratio:g}"]
    if request.forbid:
        words += ["--forbid", ",".join(request.forbid)]
    return [*words, "--seed", str(request.seed)] if request.seed else words


def verdict_headline(verdict: Verdict, comparison: Comparison | None) -> str:
    """The result of ``strop verify`` or ``strop compare`` in one sentence."""
    objection = verdict.objection
    if verdict.outcome == "failed" and objection is not None:
        return f"Failed ({objection.check}): {objection.because}"
    if verdict.outcome == "inconclusive":
        because = f"{objection.check}: {objection.because}" if objection else "no check could look at it."
        return f"Inconclusive ({because})"
    right = f"Passed: no check found anything wrong; error {error_text(verdict)}."
    if comparison is None:
        return right
    return f"{right} {comparison_sentence(comparison)}"


def comparison_sentence(comparison: Comparison) -> str:
    """What the timing says, in one sentence."""
    over = baseline_text(comparison.baseline)
    figure = interval_text(comparison)
    match str(comparison.decision):
        case "faster":
            return f"Faster than {over}: {figure}."
        case "slower":
            return f"Not faster than {over}: {figure}."
        case _:
            return f"Undecided against {over}: {figure}, which more pairs might settle."
