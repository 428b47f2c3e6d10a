"""The ledger's table as this version of Strop writes it, and the headline under which people find an event."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from strop.records.candidate import Candidate
from strop.records.decision import Decision, Drop, Keep
from strop.records.event import Best, Decided, Happening, Judged, Proposed, RunEnded, RunStarted

HEAD = "0001"
"""The newest script under ``migrations/versions``; a ledger that stands there is used as it is."""

VIEWS = ("runs", "candidates", "kept", "failures")

EVENTS = sa.Table(
    "events",
    sa.MetaData(),
    sa.Column("run", sa.Text),
    sa.Column("sequence", sa.Integer),
    sa.Column("at", sa.Text),
    sa.Column("kind", sa.Text),
    sa.Column("subject", sa.Text),
    sa.Column("title", sa.Text),
    sa.Column("outcome", sa.Text),
    sa.Column("reason", sa.Text),
    sa.Column("speedup", sa.Float),
    sa.Column("low", sa.Float),
    sa.Column("high", sa.Float),
    sa.Column("final", sa.Boolean),
    sa.Column("body", sa.Text),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """What the views show of an event without opening its body; the body alone is what Strop reads back.

    ``subject`` is the id of the candidate or workload that the event is about, ``title`` its recipe or name.
    """

    subject: str | None = None
    title: str | None = None
    outcome: str | None = None
    reason: str | None = None
    speedup: float | None = None
    low: float | None = None
    high: float | None = None
    final: bool = False


def headline(what: Happening) -> Headline:
    """Pick the headline of any event."""
    match what:
        case RunStarted():
            return Headline(
                subject=what.workload.id,
                title=what.workload.name,
                outcome=what.target.name,
                reason=what.request.contract.name,
            )
        case Proposed(candidate=candidate):
            legality = " ".join(candidate.legality)
            return Headline(
                subject=candidate.id, title=_title(candidate), outcome=candidate.origin.value, reason=legality
            )
        case Judged(verdict=verdict):
            objection = verdict.objection
            return Headline(
                subject=verdict.candidate_id, outcome=verdict.outcome, reason=objection.check if objection else None
            )
        case Decided(decision=decision, final=final):
            return _decided(decision, final)
        case Best(kept=Keep() as keep):
            return _decided(keep, False)
        case RunEnded():
            return Headline(outcome=what.reason.value, reason=what.because)
        case _:
            return Headline()


def _title(candidate: Candidate) -> str:
    return candidate.recipe if candidate.recipe is not None else candidate.idea or candidate.form.form


def _decided(decision: Decision, final: bool) -> Headline:
    comparison = decision.comparison if isinstance(decision, Keep | Drop) else None
    return Headline(
        subject=decision.candidate.id,
        title=_title(decision.candidate),
        outcome=decision.decision,
        reason=decision.reason if isinstance(decision, Drop) else None,
        speedup=comparison.speedup if comparison else None,
        low=comparison.low if comparison else None,
        high=comparison.high if comparison else None,
        final=final,
    )
