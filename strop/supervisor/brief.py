"""What the search is told, made from what the survey left in the ledger; the same for every sitting of a run."""

from __future__ import annotations

from collections.abc import Iterable

from strop.errors import UnknownName, WorkloadInconclusive
from strop.records.event import BaselinesMeasured, CatalogueAsked, Profiled, RunStarted
from strop.records.opportunity import Legality
from strop.searches._base import Brief, Entry

WORTH_SPEEDUP = 1.01
"""*Faster* asks for this point estimate at least, so less can never be kept."""


def forbidden(names: Iterable[str]) -> frozenset[Legality]:
    """The legality classes that the user forbade.

    Raises:
        UnknownName: no such class.
    """
    known = {each.value: each for each in Legality}
    for name in names:
        if name not in known:
            raise UnknownName("legality class", name, known)
    return frozenset(known[name] for name in names)


def make_brief(
    started: RunStarted, baselines: BaselinesMeasured, profiled: Profiled, catalogue: CatalogueAsked
) -> Brief:
    """Everything that the search may know.

    Raises:
        WorkloadInconclusive: no baseline ran, so there is nothing to beat.
    """
    times_ns = dict(baselines.call_ns)
    if baselines.best not in times_ns:
        failed = "; ".join(f"{mode}: {because}" for mode, because in baselines.failed) or "none was asked for"
        raise WorkloadInconclusive(f"No baseline could be timed ({failed}). Mend that, or name others with --baseline.")
    baseline_ns = times_ns[baselines.best]
    return Brief(
        workload_id=started.workload.id,
        baseline_ns=baseline_ns,
        entries=tuple(Entry(proposal=proposal, origin=proposal.origin) for proposal in catalogue.proposals),
        opportunities=profiled.opportunities,
        forbid=forbidden(started.request.forbid),
        worth_ns=baseline_ns * (1 - 1 / WORTH_SPEEDUP),
        seed=started.request.seed,
    )
