"""The regions of the workload that a recipe replaces, each written down as a workload of its own."""

from __future__ import annotations

from strop.lowering.regions import regions_of
from strop.wire.regions import AskRegions, RegionCode, RegionsReply
from strop.worker.capturing import captured
from strop.worker.guard import foreign
from strop.worker.questions._base import Question
from strop.worker.session import Session


class AboutRegions(Question):
    """The recipe is applied to fresh captures, whose graphs are run to see what lies around each region."""

    name = "regions"
    summary = "the regions that a recipe replaces, as workloads"

    def answer(self, session: Session, request: AskRegions) -> RegionsReply:
        """Ask every step.

        Raises:
            BadCandidate: a step makes a graph that does not fit its outputs.
            Blamed: the workload's code raises.
        """
        opened = session.opened
        graphs = [(each.module, each.inputs) for each in captured(opened).modules]
        with opened.calling(), foreign("workload", "Running the workload's graphs"):
            found = regions_of(request.recipe, graphs, request.target, opened.workload.name)
        return RegionsReply(
            regions=tuple(RegionCode(step=each.step, text=each.text) for each in found if each.text),
            left_out=tuple(f"{each.step}: {each.because}" for each in found if each.because),
        )


ITEM = AboutRegions()
