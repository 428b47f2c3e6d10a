"""What a killed process of the trusted side interrupts is asked once more of a fresh one, and nothing else is."""

import pytest

from strop.errors import ChildLost, WorkloadInconclusive
from strop.pipeline.stations import LocalStations
from strop.records.candidate import Candidate, Origin, RecipeForm
from strop.records.evidence import CrashKind
from strop.records.recipe import parse_recipe
from strop.wire import messages as m
from tests.unit.pipeline.scripted import CONDITIONS, REQUEST, TARGET, WORKLOAD, Script, ScriptedWall, crash

RECIPE = Candidate(workload_id=WORKLOAD.id, form=RecipeForm(recipe=parse_recipe("a")), origin=Origin.CATALOGUE)
KILLED = crash(CrashKind.INFRASTRUCTURE, "was ended by SIGKILL")
REFERENCES = (m.Open, m.Describe, m.DrawParameters, m.DrawInputs, m.Expect)


def judged(wall):
    with LocalStations(wall=wall, workload=WORKLOAD, target=TARGET, request=REQUEST, conditions=CONDITIONS) as stations:
        assert stations.describe().description == wall.description
        assert stations.admit().admissible
        verdict = stations.judge(RECIPE, fresh=False).verdict
    assert all(child.closed for child in wall.children)
    return verdict


@pytest.mark.parametrize("question", REFERENCES)
def test_a_reference_that_is_killed_once_changes_nothing(question):
    script = Script(faults={question: KILLED}, broken_times=1)
    assert judged(ScriptedWall(reference_before_load=script)).outcome == "passed"


def test_a_baseline_that_is_killed_once_changes_nothing():
    assert judged(ScriptedWall(eager=Script(faults={m.Run: KILLED}, broken_times=1))).outcome == "passed"


@pytest.mark.parametrize("scripts", [{"reference_before_load": m.Expect}, {"eager": m.Run}])
def test_what_is_killed_again_and_again_is_told(scripts):
    ((name, question),) = scripts.items()
    with pytest.raises(ChildLost, match="SIGKILL"):
        judged(ScriptedWall(**{name: Script(faults={question: KILLED})}))


def test_a_fault_of_the_workload_is_told_at_once():
    script = Script(faults={m.Expect: crash(CrashKind.MEMORY, "held too much")}, broken_times=1)
    with pytest.raises(WorkloadInconclusive, match="held too much"):
        judged(ScriptedWall(reference_before_load=script))
