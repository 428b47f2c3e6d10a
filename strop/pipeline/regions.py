"""A replaced region is judged alone before the whole is: what a loose operator beside it licenses, or an attenuating
one behind it hides, does not help it.

A region is a workload like any other, so it goes before a court of its own, with the same bound and the same kinds of
inputs. The whole decides on everything else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from strop.checks._base import Rules
from strop.errors import BadWorkload, ChildFault, ChildLost, NotSupported, WorkloadInconclusive
from strop.pipeline.blame import owned
from strop.pipeline.cases import screening_plan
from strop.pipeline.court import Court
from strop.pipeline.judge import Depth, Floor, judge
from strop.pipeline.verify import Cascade
from strop.records.candidate import Candidate, Origin, RecipeForm
from strop.records.decision import Judgement
from strop.records.evidence import CrashKind
from strop.records.measurement import Conditions
from strop.records.opportunity import Legality
from strop.records.recipe import Recipe
from strop.records.verdict import Failed
from strop.records.workload import SourceKind, Workload, WorkloadSource
from strop.transforms import SHELF
from strop.transforms._base import KernelTransform
from strop.wire.messages import ChildRole
from strop.wire.regions import AskRegions, RegionCode, RegionsReply

ALONE = Depth(plan=screening_plan, processes=0, looks=None)
NOTHING = Floor(minimal_bytes=0, product_flop=0)
CHECK, BUILDS = "matches_reference", "builds"
UNKNOWN = "could not be judged alone, only within the whole"


@dataclass(frozen=True, slots=True)
class Alone:
    """What came of one region: why it failed, or why that could not be found out; empty where it passed."""

    failed: str = ""
    unknown: str = ""


@dataclass(slots=True, kw_only=True)
class Regions:
    """Regions that were judged so far: candidates share steps, and a step's region is the same in all of them."""

    rules: Rules
    conditions: Conditions
    _known: dict[RegionCode, Alone] = field(default_factory=dict[RegionCode, Alone])

    def judged(self, court: Court, candidate: Candidate, whole: Callable[[], Judgement]) -> Judgement:
        """The candidate's judgement: of a region that fails, else of the whole, with a note on each region."""
        if not isinstance(candidate.form, RecipeForm) or not _may_differ(candidate.form.recipe):
            return whole()
        reply = _asked(court, candidate.form.recipe)
        notes = [f"{UNKNOWN}: {each}" for each in reply.left_out]
        for region in reply.regions:
            found = self._known.get(region) or self._alone(court, candidate, region)
            self._known[region] = found
            if found.failed:
                return _failed(court, candidate, self.rules, region, found.failed)
            unknown = f"{UNKNOWN}: {region.step}: {found.unknown}"
            notes.append(unknown if found.unknown else f"what {region.step} replaces passed alone as well")
        judgement = whole()
        return replace(judgement, verdict=replace(judgement.verdict, notes=(*judgement.verdict.notes, *notes)))

    def _alone(self, court: Court, candidate: Candidate, region: RegionCode) -> Alone:
        """Judge the step that replaces the region on the region, in a court like the candidate's."""
        form = RecipeForm(recipe=Recipe((region.step,)))
        try:
            with TemporaryDirectory(prefix="strop-") as folder:
                workload = _workload(region, court.workload, Path(folder))
                step = replace(candidate, workload_id=workload.id, form=form, lineage=())
                with Court(
                    wall=court.wall,
                    workload=workload,
                    contract=court.contract,
                    target=court.target,
                    timeouts=court.timeouts,
                    held_bytes=court.held_bytes,
                ) as own:
                    verdict = judge(own, step, self.rules, self.conditions, NOTHING, ALONE).verdict
        except ChildLost:
            raise
        except (BadWorkload, NotSupported, WorkloadInconclusive) as error:
            return Alone(unknown=str(error))
        objection = verdict.objection
        if objection is None:
            return Alone()
        # What applies within the workload alone may ask for more of the graph than it replaces.
        is_telling = isinstance(objection, Failed) and objection.check != BUILDS
        return Alone(failed=objection.because) if is_telling else Alone(unknown=objection.because)


def _may_differ(recipe: Recipe) -> bool:
    """Whether some step replaces a region by another whose results may differ in their bits, and by no code of the
    candidate's own.
    """
    names = SHELF.names()
    # What is on no shelf the candidate's own child will say.
    transforms = [SHELF.get(step.name) for step in recipe.steps if step.name in names]
    return not recipe.brings_code and any(
        each.origin is not Origin.COMPILER
        and not isinstance(each, KernelTransform)
        and each.legality != (Legality.BIT_EXACT,)
        for each in transforms
    )


def _asked(court: Court, recipe: Recipe) -> RegionsReply:
    """By a child that is there for nothing else: running the graph takes memory, and may be impossible."""
    request = AskRegions(recipe=recipe, target=court.target)
    with court.wall.child(ChildRole.BASELINE) as child, owned(child):
        court.open(child)
        try:
            return child.ask(request, RegionsReply, court.timeouts.build_s)
        except ChildFault as fault:
            if fault.evidence.kind is CrashKind.INFRASTRUCTURE:
                raise
            return RegionsReply(regions=(), left_out=(fault.evidence.detail,))


def _workload(region: RegionCode, whole: Workload, folder: Path) -> Workload:
    data = region.text.encode()
    path = folder / f"{region.step.name}.py"
    path.write_bytes(data)
    source = WorkloadSource(kind=SourceKind.FILE, where=str(path), digest=hashlib.sha256(data).hexdigest())
    return Workload(name=path.name, source=source, mode=whole.mode, device=whole.device)


def _failed(court: Court, candidate: Candidate, rules: Rules, region: RegionCode, because: str) -> Judgement:
    cascade = Cascade(rules=rules)
    cascade.findings[CHECK] = Failed(check=CHECK, because=f"What {region.step} replaces, judged alone: {because}")
    return Judgement(verdict=cascade.verdict(candidate, court.wall.isolation), comparison=None)
