"""Parameters that are drawn again where the candidate lacks some of them."""

import pytest
import torch

from strop.records.workload import Leaf
from tests.unit.pipeline.scripted import Script, ScriptedWall, W, description
from tests.unit.pipeline.test_line import failed_check, run


@pytest.mark.parametrize(("missing", "check"), [("w", ""), ("b", "follows_parameters")])
def test_what_cannot_be_handed_in_keeps_its_values_and_all_else_is_redrawn(missing, check):
    known = {}

    def keeps_its_first(x, w):
        return x * known.setdefault("w", w.clone())

    script = Script(delivered={"matched_by": "seed", "missing": (missing,)}, compute=keeps_its_first)
    two = description(parameters=(Leaf(path="w", tensor=W), Leaf(path="b", tensor=W)))
    judgement = run(ScriptedWall(candidate=script, description=two))
    assert (failed_check(judgement) if check else judgement.verdict.outcome) == (check or "passed")


def test_a_constant_that_has_no_counterpart_moves_all_the_same():
    """A scale of one that was left out looks like one that is out of reach."""
    known = {}

    def has_no_scale(x, w):
        return x * known.setdefault("w", torch.ones(4))

    class Plain(ScriptedWall):
        first_parameters = torch.ones(4)

    script = Script(delivered={"matched_by": "seed", "missing": ("w",)}, compute=has_no_scale)
    assert failed_check(run(Plain(candidate=script))) == "follows_parameters"
