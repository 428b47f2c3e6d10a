"""What a proposal may be expected to win: its own estimate, held against what was measured where it applies."""

from __future__ import annotations

from collections.abc import Iterable

from strop.records.opportunity import Legality, Opportunity, Proposal
from strop.searches._base import Brief

CHANGES_THE_WORK = frozenset(
    {Legality.WORK_REMOVED, Legality.PARAMETERS_FROZEN, Legality.EMULATED, Legality.LOWER_PRECISION}
)
"""With these the floor of the old kernels does not bind: less is computed, or on other units."""


def expected_gain_ns(proposal: Proposal, brief: Brief) -> float:
    """The proposal's roofline estimate, never more than what can be won where it applies.

    Where the floor holds that is the measured headroom, elsewhere the time that is spent there. A region that no
    opportunity covers, or a proposal that leaves every kernel as it is, may win what no opportunity accounts for.
    """
    here = overlapping(proposal, brief.opportunities)
    if not here or leaves_kernels_alone(proposal):
        return min(proposal.gain_ns, unaccounted_ns(brief))
    if floor_holds(proposal, brief):
        return min(proposal.gain_ns, room_ns(here[0]))
    return min(proposal.gain_ns, sum(opportunity.time_ns for opportunity in here))


def floor_holds(proposal: Proposal, brief: Brief) -> bool:
    """True when the measured floor bounds the proposal: it does the same work inside one opportunity.

    A rewrite that changes the work, or that joins kernels and so saves the traffic between them, moves the floor.
    """
    same_work = not CHANGES_THE_WORK & set(proposal.legality)
    return same_work and (leaves_kernels_alone(proposal) or len(overlapping(proposal, brief.opportunities)) <= 1)


def leaves_kernels_alone(proposal: Proposal) -> bool:
    """True when it replaces no node and promises the same bits: all that it changes is how the kernels are launched."""
    return not proposal.region.nodes and proposal.legality == (Legality.BIT_EXACT,)


def overlapping(proposal: Proposal, opportunities: Iterable[Opportunity]) -> tuple[Opportunity, ...]:
    """The opportunities that share a node with the proposal; a region without nodes stands for its whole graph."""
    region, nodes = proposal.region, frozenset(proposal.region.nodes)
    return tuple(
        opportunity
        for opportunity in opportunities
        if opportunity.region.graph_id == region.graph_id and (not nodes or nodes & set(opportunity.region.nodes))
    )


def room_ns(opportunity: Opportunity) -> float:
    """The headroom; the whole time for a kernel that is already faster than its floor.

    Its data come from a cache then, and the ceilings, which are those of memory, do not bind it.
    """
    return opportunity.headroom_ns if opportunity.headroom_ns > 0 else opportunity.time_ns


def unaccounted_ns(brief: Brief) -> float:
    """Time of a call that no opportunity accounts for: launches, the framework, kernels without known nodes."""
    return max(0.0, brief.baseline_ns - sum(opportunity.time_ns for opportunity in brief.opportunities))


def headroom_ns(brief: Brief) -> float:
    """What all proposals for which the floor holds could win together: everything above the ceilings."""
    return unaccounted_ns(brief) + sum(room_ns(opportunity) for opportunity in brief.opportunities)
