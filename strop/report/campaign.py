"""A campaign as JSON: one row per workload, and scores that leave nothing out. All comes from the runs' events."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from strop.records.event import KERNELBENCH_RULE, RuleAsked, StopReason
from strop.records.measurement import Conditions
from strop.records.result import Kept, RunResult
from strop.records.target import Target
from strop.report.family import family_of
from strop.report.jsons import SCHEMA, Json, kept_json, target_json
from strop.report.story import Story
from strop.stats.score import UNIMPROVED, Gain, gain_of, geometric_mean

KEPT, NONE, INADMISSIBLE, FAILED, NOT_RUN = "kept", "none", "inadmissible", "failed", "not_run"

NOTES = (
    "geomean is over every workload that was begun and came to an end; what was not improved, is inadmissible or "
    "failed counts as 1.0, because the compiler's version stays. geomean_with_not_run counts what was not run as well.",
    "Only what was confirmed in fresh processes counts as kept.",
    "low and high are the 95 % interval of a two-level bootstrap: over workloads, and over each one's measurement.",
    "baselines_ns are single measurements by which the baseline was chosen; speedup is the paired timing against it.",
    "kernelbench_rule is KernelBench's own check on the kept candidate; it decides nothing.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One workload with what the ledger knows of its run. ``trouble`` is why it could not even be begun or gone on
    with; ``rule_trouble`` why KernelBench's rule could not be asked.
    """

    workload: str
    suite: str
    contract: str
    level: int | None = None
    problem_id: int | None = None
    story: Story | None = None
    result: RunResult | None = None
    trouble: str = ""
    rule_trouble: str = ""

    @property
    def standing(self) -> tuple[str, str]:
        """The status, and the sentence that says why."""
        if self.trouble:
            return FAILED, self.trouble
        if self.result is None or self.story is None:
            return NOT_RUN, "it was not begun"
        if self.story.inadmissible:
            return INADMISSIBLE, self.story.inadmissible
        because = self.result.because
        match self.result.reason:
            case None:
                return NOT_RUN, "it was begun and has no end yet; the same command goes on with it"
            case StopReason.INTERRUPTED:
                return NOT_RUN, "it was interrupted; the same command goes on with it"
            case StopReason.FAULT | StopReason.INCONCLUSIVE:
                return FAILED, because
            case _:
                return (KEPT if confirmed(self.result.kept) else NONE), because

    @property
    def rule(self) -> RuleAsked | None:
        """What KernelBench's rule said about what is kept."""
        kept = confirmed(self.result.kept) if self.result is not None else None
        if kept is None or self.story is None:
            return None
        return self.story.rules.get((KERNELBENCH_RULE, kept.keep.candidate.id))


def confirmed(kept: Kept | None) -> Kept | None:
    """What is kept, if it was confirmed: a speedup that chose its candidate flatters it."""
    return kept if kept is not None and kept.confirmed else None


def row_json(row: Row) -> Json:
    """One row of the table."""
    status, because = row.standing
    result, is_kept = row.result, status == KEPT
    rule = row.rule if is_kept else None
    return {
        "workload": row.workload,
        "suite": row.suite,
        "level": row.level,
        "problem_id": row.problem_id,
        "family": _family(row.story),
        "contract": row.contract,
        "status": status,
        "because": because,
        "baselines_ns": dict(result.baselines_ns) if result else {},
        "baselines_failed": dict(result.baselines_failed) if result else {},
        "baseline": result.baseline if result else None,
        "kept": kept_json(_shown(row, result and result.kept)),
        "without_work_removed": kept_json(_shown(row, result and result.without_work_removed)),
        "without_compiler": kept_json(_shown(row, result and result.without_compiler)),
        "kernelbench_rule": NOT_RUN if rule is None else "passed" if rule.passed else "failed",
        "kernelbench_because": rule.because if rule is not None else row.rule_trouble if is_kept else "",
        "run": result.run if result else None,
        "proposed": result.proposed if result else 0,
        "failed": dict(result.failed) if result else {},
        "inconclusive": result.inconclusive if result else 0,
        "not_faster": result.not_faster if result else 0,
        "card": (row.story.started.target.identity or None) if row.story and row.story.started else None,
        "device_seconds": result.device_seconds_s if result else 0.0,
        "wall_seconds": result.wall_seconds_s if result else 0.0,
    }


def _shown(row: Row, kept: Kept | None) -> Kept | None:
    return confirmed(kept) if row.standing[0] == KEPT else None


def _family(story: Story | None) -> str | None:
    if story is None or story.captured is None:
        return None
    return family_of(story.captured.capture, story.profiled.profile if story.profiled else None)


def campaign_json(
    rows: Sequence[Row], *, target: Target, conditions: Conditions, identity: Json, started: str, command: str
) -> Json:
    """The whole campaign. ``started`` is when its first run began; ``command`` repeats it."""
    shown = [row_json(row) for row in rows]
    return {
        "schema": SCHEMA,
        "suite": _joined(row.suite for row in rows),
        "contract": _joined(row.contract for row in rows),
        "machine": {**target_json(replace(target, identity="")), "identity": identity},
        "versions": dict(conditions.versions),
        "started": started,
        "command": command,
        "finished": all(each["status"] != NOT_RUN for each in shown),
        "device_seconds": math.fsum(each["device_seconds"] for each in shown),
        "wall_seconds": math.fsum(each["wall_seconds"] for each in shown),
        "rows": shown,
        "scores": scores_json(rows),
        "notes": list(NOTES),
    }


def _joined(words: Any) -> str:
    return " + ".join(dict.fromkeys(words))


def scores_json(rows: Sequence[Row]) -> Json:
    """Scores over all rows, and apart by level, by suite and by contract where there are several."""
    groups: dict[str, list[Row]] = {"all": list(rows)}
    suites, contracts = {row.suite for row in rows}, {row.contract for row in rows}
    for row in rows:
        if row.level is not None:
            groups.setdefault(f"level{row.level}", []).append(row)
        if len(suites) > 1:
            groups.setdefault(f"suite:{row.suite}", []).append(row)
        if len(contracts) > 1:
            groups.setdefault(f"contract:{row.contract}", []).append(row)
    return {name: score_json(groups[name]) for name in groups}


def score_json(rows: Sequence[Row]) -> Json:
    """The score of one group of rows. Figures are null where no workload came to an end."""
    statuses = [row.standing[0] for row in rows]
    ended = [row for row, status in zip(rows, statuses, strict=True) if status != NOT_RUN]
    mean = geometric_mean(_gains(ended, lambda result: result.kept))
    return {
        "geomean": mean.geomean if mean else None,
        "low": mean.low if mean else None,
        "high": mean.high if mean else None,
        "improved": statuses.count(KEPT),
        "workloads": len(ended),
        "without_work_removed": _point(ended, lambda result: result.without_work_removed),
        "without_compiler": _point(ended, lambda result: result.without_compiler),
        "geomean_with_not_run": _point(rows, lambda result: result.kept),
        "unchanged": statuses.count(NONE),
        "inadmissible": statuses.count(INADMISSIBLE),
        "failed": statuses.count(FAILED),
        "not_run": statuses.count(NOT_RUN),
    }


Which = Callable[[RunResult], Kept | None]


def _gains(rows: Sequence[Row], which: Which) -> list[Gain]:
    return [_gain(row, which) for row in rows]


def _gain(row: Row, which: Which) -> Gain:
    kept = _shown(row, which(row.result)) if row.result is not None else None
    return gain_of(kept.keep.comparison) if kept is not None else UNIMPROVED


def _point(rows: Sequence[Row], which: Which) -> float | None:
    mean = geometric_mean(_gains(rows, which), resamples=1)
    return mean.geomean if mean else None
