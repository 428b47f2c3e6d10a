"""The JSON that scripts rely on: keys are stable within a schema number. A figure that does not exist is null."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from strop.records.graph import KernelEdit, KernelKind
from strop.records.ids import plain
from strop.records.measurement import Comparison
from strop.records.opportunity import Proposal
from strop.records.profile import DeviceKernel, KernelCounters, KernelProfile, KernelResources
from strop.records.result import Kept, RunResult
from strop.records.target import Target
from strop.records.verdict import Verdict
from strop.records.workload import Mode, Workload
from strop.report.story import CandidateStory, Story

SCHEMA = 1
Json = dict[str, Any]


def text(value: Json, indent: int | None = None) -> str:
    """Strict JSON, one line unless it is to be indented; figures that are not finite become null."""
    return json.dumps(_strict(value), ensure_ascii=False, allow_nan=False, indent=indent)


def _strict(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    return value


def error_json(kind: str, message: str, exit_code: int, report: str | None = None) -> Json:
    """What ``--json`` prints when a command could not do its work."""
    more = {"report": report} if report else {}
    return {"schema": SCHEMA, "error": {"kind": kind, "message": message, "exit_code": exit_code, **more}}


def comparison_json(comparison: Comparison) -> Json:
    """Paired timing."""
    return {
        "baseline": comparison.baseline,
        "baseline_ns": comparison.baseline_ns,
        "candidate_ns": comparison.candidate_ns,
        "speedup": comparison.speedup,
        "low": comparison.low,
        "high": comparison.high,
        "raw_speedup": comparison.raw_speedup,
        **_chained_json(comparison),
        "kernel_speedup": comparison.kernel_speedup,
        "peak_memory_ratio": comparison.peak_memory_ratio,
        "decision": str(comparison.decision),
        "pairs": comparison.pairs,
        "processes": comparison.processes,
        "noise_ratio": comparison.noise_ratio,
        "conditions": plain(comparison.conditions),
    }


def _chained_json(comparison: Comparison) -> Json:
    """What chained rounds say; nulls where there were none."""
    chained = comparison.chained
    return {
        "chained_speedup": chained.speedup if chained else None,
        "chained_low": chained.low if chained else None,
        "chained_high": chained.high if chained else None,
    }


def verdict_json(
    verdict: Verdict,
    workload: Workload,
    target: Target,
    contract: str,
    comparison: Comparison | None = None,
    mode: Mode | None = None,
) -> Json:
    """The answer of ``strop verify`` and ``strop compare``; ``mode`` is the one in which the workload really ran."""
    objection = verdict.objection
    failed = objection.check if objection is not None and objection.outcome == "failed" else None
    return {
        "schema": SCHEMA,
        "verdict": verdict.outcome,
        "isolation": verdict.isolation,
        "mode": str(mode or workload.mode),
        "scope": {
            "shapes": verdict.scope.shapes,
            "finite_inputs": verdict.scope.finite_inputs,
            "by_distribution": verdict.scope.by_distribution,
            "variants": list(verdict.scope.variants),
        },
        "notes": list(verdict.notes),
        "error_ratio": verdict.error_ratio,
        "checks": [{"name": f.check, "outcome": f.outcome, "because": f.because} for f in verdict.findings],
        "failed_check": failed,
        "because": objection.because if objection else "",
        "contract": contract,
        "workload": workload.name,
        "workload_id": workload.id,
        "target": target.name,
        "candidate_id": verdict.candidate_id,
        "compile_s": verdict.compile_s,
        "edits": _edits_json(verdict.edits),
        "comparison": comparison_json(comparison) if comparison else None,
    }


def _edits_json(edits: Sequence[KernelEdit]) -> list[Json]:
    return [{"kernel": each.kernel, "hash": each.hash, "diff": each.diff} for each in edits]


def kept_json(kept: Kept | None) -> Json | None:
    """One kept candidate as the answer of ``strop optimize`` shows it."""
    if kept is None:
        return None
    candidate, comparison = kept.keep.candidate, kept.keep.comparison
    return {
        "candidate_id": candidate.id,
        "recipe": candidate.recipe,
        "origin": str(candidate.origin),
        "legality": [str(each) for each in candidate.legality],
        "speedup": comparison.speedup,
        "low": comparison.low,
        "high": comparison.high,
        **_chained_json(comparison),
        "kernel_speedup": comparison.kernel_speedup,
        "error_ratio": kept.keep.verdict.error_ratio,
        "peak_memory_ratio": comparison.peak_memory_ratio,
        "baseline_ns": comparison.baseline_ns,
        "candidate_ns": comparison.candidate_ns,
        "compile_s": kept.keep.verdict.compile_s,
        "confirmed": kept.confirmed,
    }


def optimize_json(result: RunResult) -> Json:
    """The answer of ``strop optimize``; also what ``strop show RUN`` prints, with more beside it."""
    return {
        "schema": SCHEMA,
        "run": result.run,
        "workload": result.workload,
        "workload_id": result.workload_id,
        "target": result.target,
        "contract": result.contract,
        "baselines_ns": dict(result.baselines_ns),
        "baselines_failed": dict(result.baselines_failed),
        "baselines_same": dict(result.baselines_same),
        "baseline": result.baseline,
        "kept": kept_json(result.kept),
        "without_work_removed": kept_json(result.without_work_removed),
        "without_compiler": kept_json(result.without_compiler),
        "proposed": result.proposed,
        "failed": dict(result.failed),
        "inconclusive": result.inconclusive,
        "not_faster": result.not_faster,
        "pending": result.pending,
        "device_seconds": result.device_seconds_s,
        "wall_seconds": result.wall_seconds_s,
        "tokens": result.tokens,
        "interrupted": result.interrupted,
        "stopped": str(result.reason) if result.reason else None,
        "because": result.because,
    }


def candidate_json(story: CandidateStory) -> Json:
    """One candidate with its fate and reason."""
    verdict = story.verdict
    return {
        "candidate_id": story.candidate.id,
        "workload_id": story.candidate.workload_id,
        "recipe": story.candidate.recipe,
        "origin": str(story.candidate.origin),
        "legality": [str(each) for each in story.candidate.legality],
        "lineage": list(story.candidate.lineage),
        "idea": story.candidate.idea,
        "form": plain(story.candidate.form),
        "fate": story.fate,
        "reason": story.reason or None,
        "because": story.because,
        "confirmed": story.final,
        "error_ratio": verdict.error_ratio if verdict else None,
        "checks": [{"name": f.check, "outcome": f.outcome, "because": f.because} for f in verdict.findings]
        if verdict
        else [],
        "compile_s": verdict.compile_s if verdict else None,
        "edits": _edits_json(verdict.edits) if verdict else [],
        "comparison": comparison_json(story.comparison) if story.comparison else None,
    }


def kernel_json(kernel: KernelProfile) -> Json:
    """One kernel's cost per call; a kernel that left no range in the trace has no time."""
    seen = kernel.calls > 0
    return {
        "name": kernel.name,
        "kind": str(kernel.kind) if kernel.kind else None,
        "language": kernel.language,
        "graph_id": kernel.graph_id or None,
        "nodes": list(kernel.nodes),
        "calls": kernel.calls,
        "time_ns": kernel.time_ns if seen else None,
        "share": kernel.share if seen else None,
        "moved_bytes": kernel.moved_bytes,
        "work_flop": kernel.work_flop,
        "bound": str(kernel.bound) if seen else None,
        "diagnosis": kernel.diagnosis or None,
        "library": kernel.library or None,
        "floor_ns": kernel.floor_ns,
        "headroom_ns": kernel.headroom_ns if seen else None,
        "launched": [_launched_json(each) for each in kernel.launched],
    }


def _launched_json(kernel: DeviceKernel) -> Json:
    """One kernel that an accelerator ran: its launches, what each takes, what was counted of one."""
    return {
        "name": kernel.name,
        "calls": kernel.calls,
        "time_ns": kernel.time_ns,
        "library": kernel.library or None,
        "resources": _fields(kernel.resources) if kernel.resources else None,
        "counters": _fields(kernel.counters) if kernel.counters else None,
    }


def _fields(record: KernelResources | KernelCounters) -> Json:
    """A record's own fields under their names; ``limited_by`` is null where nothing is short."""
    return {name: None if value == "" else value for name, value in asdict(record).items()}


def compiled_json(kernel: KernelProfile) -> Json:
    """The same, and what the compiler made: the whole source of a generated kernel with its launch parameters or loops,
    the arguments of an extern call.
    """
    generated, extern = kernel.kind is KernelKind.GENERATED, kernel.kind is KernelKind.EXTERN
    return {
        **kernel_json(kernel),
        "launch": kernel.launch if generated else None,
        "arguments": kernel.launch if extern else None,
        "source": kernel.source if generated else None,
        "hash": kernel.hash or None,
    }


def target_json(target: Target) -> Json:
    """A target with the ceilings that were measured on this machine."""
    ceilings = target.ceilings
    return {
        "name": target.name,
        "device": target.device,
        "card": target.identity or None,
        "threads": target.threads,
        "copy_bytes_per_s": ceilings.copy_bytes_per_s,
        "product_flop_per_s": dict(ceilings.product_flop_per_s),
        "call_overhead_ns": ceilings.call_overhead_ns,
    }


def profile_json(story: Story) -> Json:
    """The answer of ``strop profile``: what the compiler made of the workload and where a proposal could win."""
    profile = story.profiled.profile if story.profiled else None
    opportunities = story.profiled.opportunities if story.profiled else ()
    capture = story.captured.capture if story.captured else None
    catalogue = story.catalogue
    return {
        "schema": SCHEMA,
        "workload": story.started.workload.name if story.started else "",
        "target": story.started.target.name if story.started else "",
        "machine": target_json(story.started.target) if story.started else None,
        "contract": story.started.request.contract.name if story.started else "",
        "inadmissible": story.inadmissible or None,
        "baselines_ns": story.baseline_ns(),
        "baselines_same": dict(story.baselines.same) if story.baselines else {},
        "baseline": story.baselines.best if story.baselines else None,
        "call_ns": profile.call_ns if profile else None,
        "overhead_ns": profile.overhead_ns if profile else None,
        "kernels": [compiled_json(kernel) for kernel in profile.kernels] if profile else [],
        "opportunities": [plain(each) for each in opportunities],
        "graphs": [{"id": graph.id, "nodes": len(graph.nodes)} for graph in capture.graphs] if capture else [],
        "graph_breaks": [plain(each) for each in capture.breaks] if capture else [],
        "proposals": [_proposal_json(each) for each in catalogue.proposals] if catalogue else [],
        "declines": [plain(each) for each in catalogue.declines] if catalogue else [],
        "notes": [*(profile.notes if profile else ()), *story.notes],
    }


def _proposal_json(proposal: Proposal) -> Json:
    return {
        "step": str(proposal.step),
        "nodes": list(proposal.region.nodes),
        "legality": [str(each) for each in proposal.legality],
        "gain_ns": proposal.gain_ns,
    }


def run_json(story: Story, result: RunResult) -> Json:
    """The answer of ``strop show RUN``: the run's result, its kernels and every candidate."""
    return {
        **optimize_json(result),
        "started": story.started_at,
        "mode": story.mode,
        "request": plain(story.started.request) if story.started else None,
        "conditions": plain(story.started.conditions) if story.started else None,
        "kernels": [kernel_json(kernel) for kernel in story.profiled.profile.kernels] if story.profiled else [],
        "candidates": [candidate_json(each) for each in story.candidates.values()],
        "notes": list(story.notes),
    }


def runs_json(results: Sequence[RunResult]) -> Json:
    """The answer of ``strop show`` without an id: the runs of the ledger, newest first."""
    return {"schema": SCHEMA, "runs": [optimize_json(result) for result in results]}
