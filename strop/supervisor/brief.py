"""What the search is told, made from what the survey left in the ledger; the same for every sitting of a run."""

from __future__ import annotations

from collections.abc import Iterable

from strop.errors import UnknownName, WorkloadInconclusive
from strop.records.event import BaselinesMeasured, CatalogueAsked, Profiled, RunStarted
from strop.records.opportunity import Legality
from strop.searches._base import Brief, Entry

WORTH_SPEEDUP = 1.01
"""*Faster* asks for this point estimate at least, so less can never be kept."""

BASES = {
    "reduce-overhead": ("cuda_graph",),
    "max-autotune": ("inductor_options{set=max_autotune}", "cuda_graph"),
    "max-autotune-no-cudagraphs": ("inductor_options{set=max_autotune}",),
}
"""What a mode of ``torch.compile`` does beyond ``default``, as steps of the catalogue."""


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
    entries = tuple(Entry(proposal=proposal, origin=proposal.origin) for proposal in catalogue.proposals)
    forbid = forbidden(started.request.forbid)
    return Brief(
        workload_id=started.workload.id,
        baseline_ns=baseline_ns,
        entries=entries,
        opportunities=profiled.opportunities,
        forbid=forbid,
        worth_ns=baseline_ns * (1 - 1 / WORTH_SPEEDUP),
        seed=started.request.seed,
        base=_base(baselines.best, entries, forbid),
    )


def _base(mode: str, entries: Iterable[Entry], forbid: frozenset[Legality]) -> tuple[Entry, ...]:
    """The steps of the baseline's mode that the catalogue proposes for this workload and the user allows."""
    known = {str(entry.proposal.step): entry for entry in entries if not forbid & set(entry.proposal.legality)}
    return tuple(known[step] for step in BASES.get(mode, ()) if step in known)
