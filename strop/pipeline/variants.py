"""Step 7 of the cascade: other shapes and layouts, where the workload claims them; the same process, the same instance,
the same parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from strop.errors import BadWorkload, WorkloadInconclusive
from strop.pipeline.cases import variant_cases
from strop.pipeline.claims import told
from strop.pipeline.court import Court
from strop.pipeline.verify import Cascade, answer, contained
from strop.ports import ChildPort
from strop.records.candidate import Candidate, RecipeForm
from strop.records.evidence import Case, CrashEvidence, Distribution, Stage
from strop.records.workload import Leaf, Variant

_BACK = Case(index=800, distribution=Distribution.OWN)
"""What was never seen before: an answer that was remembered would hide that there is no new one."""


def judge_variants(
    court: Court, child: ChildPort, candidate: Candidate, variants: Sequence[Variant], cascade: Cascade
) -> None:
    """Judge a candidate on other inputs, then once more on the workload's own."""
    if not variants:
        return
    if isinstance(candidate.form, RecipeForm):
        cascade.notes.append(
            "The workload claims other shapes or layouts; a recipe is compiled for its own, so it is judged for these."
        )
        return
    own = court.description.inputs
    with court.with_eager(), court.device():
        for variant in variants:
            if not _at(court, child, variant, own, cascade):
                return
        court.turn(None)
        _judge(court, child, (_BACK,), "Back at its own shapes", cascade)


def _at(court: Court, child: ChildPort, variant: Variant, own: Sequence[Leaf], cascade: Cascade) -> bool:
    try:
        court.turn(variant)
        name = told(variant, own, court.description.inputs)
        if not _judge(court, child, variant_cases(court.description, variant), f"With {name}", cascade):
            return False
        cascade.variants.append(name)
    except BadWorkload as error:
        cascade.notes.append(f"Left out, for the workload itself does not answer with {told(variant, own)}: {error}")
    except WorkloadInconclusive as error:
        raise type(error)(f"With {told(variant, own)}, which the workload claims: {error}") from error
    return True


def _judge(court: Court, child: ChildPort, cases: Sequence[Case], where: str, cascade: Cascade) -> bool:
    """Cases of the inputs that the court deals with now. What came back is looked at before what it holds: results of
    a wrong shape were never copied.
    """
    ended = contained(Stage.SHAPES, partial(court.vary, child))
    if ended is not None:
        cascade.hear(Stage.SHAPES, ended, where)
        return False
    for case in cases:
        found = contained(Stage.SHAPES, partial(answer, court, child, court.gold(case), Stage.SHAPES, cascade.factor))
        if isinstance(found, CrashEvidence):
            cascade.hear(Stage.SHAPES, found, where)
            return False
        evidence, conduct = found
        if not (cascade.hear(Stage.INTERFACE, conduct, where) and cascade.hear(Stage.SHAPES, evidence, where)):
            return False
    return True
