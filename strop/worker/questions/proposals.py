"""Where each transform applies, in the captured graphs or in the kernels of the profile, and why the others do not."""

from __future__ import annotations

from collections.abc import Sequence

from strop.capture import CapturedModule
from strop.profiling.minimal import minimal_cost
from strop.records.graph import Region
from strop.records.opportunity import Decline, Proposal
from strop.records.target import Target
from strop.transforms import SHELF
from strop.transforms._base import KernelTransform, Transform
from strop.wire.messages import AskProposals, ProposalsReply
from strop.worker.capturing import captured
from strop.worker.questions._base import Question
from strop.worker.session import Session


class AboutProposals(Question):
    """The catalogue is asked about every captured graph; asking changes nothing."""

    name = "proposals"
    summary = "where each transform applies, and why the others do not"

    def answer(self, session: Session, request: AskProposals) -> ProposalsReply:
        """Ask every transform on the shelf.

        Raises:
            BrokenShelf: a transform's file is not what it should be.
        """
        modules = captured(session.opened).modules
        proposals: list[Proposal] = []
        declines: list[Decline] = []
        for transform in SHELF:
            found = _proposals(transform, modules, request)
            proposals += found
            if not found:
                declines.append(Decline(transform=transform.name, because=_why_not(transform, modules, request.target)))
        minimal_bytes, product_flop = minimal_cost(modules)
        return ProposalsReply(
            proposals=tuple(proposals),
            declines=tuple(declines),
            minimal_bytes=minimal_bytes,
            product_flop=product_flop,
        )


def _is_made_for(transform: Transform, target: Target) -> bool:
    return target.device.partition(":")[0] in transform.devices


def _proposals(transform: Transform, modules: Sequence[CapturedModule], request: AskProposals) -> list[Proposal]:
    if not _is_made_for(transform, request.target):
        return []
    if isinstance(transform, KernelTransform):
        return list(transform.proposals(request.kernels, request.target))
    return [
        Proposal(
            step=rewrite.step,
            region=Region(graph_id=each.record.id, nodes=rewrite.nodes),
            legality=transform.legality,
            gain_ns=rewrite.gain_ns,
            parameters=transform.parameters if rewrite.tunable else (),
            origin=transform.origin,
        )
        for each in modules
        for rewrite in transform.applications(each.module, request.target, {})
    ]


def _why_not(transform: Transform, modules: Sequence[CapturedModule], target: Target) -> str:
    if not _is_made_for(transform, target):
        return f"It is made for {' and '.join(transform.devices)}, and this is {target.device}."
    return " ".join(dict.fromkeys(transform.why_not(each.module, target) for each in modules))


ITEM = AboutProposals()
