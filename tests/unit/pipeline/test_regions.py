"""What a recipe replaces is judged alone first: what fails alone fails, and what cannot be judged alone is said."""

from types import SimpleNamespace

import pytest

from strop.errors import ChildLost
from strop.pipeline import regions
from strop.pipeline.stations import LocalStations
from strop.records.candidate import Candidate, Origin, RecipeForm, SourceForm
from strop.records.evidence import CrashKind
from strop.records.opportunity import Legality
from strop.records.recipe import parse_recipe
from strop.transforms._base import KernelTransform
from strop.wire import messages as m
from strop.wire.regions import AskRegions, RegionCode
from tests.unit.pipeline.scripted import CONDITIONS, REQUEST, TARGET, WORKLOAD, Script, ScriptedWall, crash

A, B = (RegionCode(step=parse_recipe(name).steps[0], text=f"# {name}") for name in "ab")
WRONG = Script(compute=lambda x, w: x * w + 1e-3)


class _Kernel(KernelTransform):
    proposals = edited = None


KINDS = {
    "kernel": (_Kernel, Origin.CATALOGUE, (Legality.REASSOCIATED,)),
    "options": (SimpleNamespace, Origin.COMPILER, (Legality.REASSOCIATED,)),
    "same_bits": (SimpleNamespace, Origin.CATALOGUE, (Legality.BIT_EXACT,)),
}


@pytest.fixture(autouse=True)
def shelf(monkeypatch):
    """Steps of these names are of these kinds; all others replace a region, with other bits."""

    def get(name):
        kind, origin, legality = KINDS.get(name, (SimpleNamespace, Origin.CATALOGUE, (Legality.REASSOCIATED,)))
        made = kind()
        made.origin, made.legality = origin, legality
        return made

    names = ("a", "b", "c", *KINDS)
    monkeypatch.setattr(regions, "SHELF", SimpleNamespace(get=get, names=lambda: names))


def recipe(text):
    form = RecipeForm(recipe=parse_recipe(text))
    return Candidate(workload_id=WORKLOAD.id, form=form, origin=Origin.CATALOGUE)


def verdicts(wall, *candidates, ask=LocalStations.verify):
    with LocalStations(wall=wall, workload=WORKLOAD, target=TARGET, request=REQUEST, conditions=CONDITIONS) as stations:
        found = [ask(stations, candidate).verdict for candidate in candidates]
    assert all(child.closed for child in wall.children)
    return found


def walled(*regions, left_out=(), **scripts):
    wall = ScriptedWall(**scripts)
    wall.regions, wall.left_out = regions, left_out
    return wall


def opened(wall):
    """The workloads of all courts, in the order in which they were opened."""
    names = [request.workload.name for role, request in wall.asked if isinstance(request, m.Open)]
    return list(dict.fromkeys(names))


def test_regions_and_the_whole_pass():
    wall = walled(A, B)
    (verdict,) = verdicts(wall, recipe("a ; b"))
    assert verdict.outcome == "passed" and verdict.candidate_id == recipe("a ; b").id
    assert verdict.notes[-2:] == tuple(f"what {name} replaces passed alone as well" for name in "ab")
    assert opened(wall) == [WORKLOAD.name, "a.py", "b.py"]


def test_a_region_that_is_wrong_fails_a_whole_that_hides_it():
    wall = walled(A, B, **{"b": WRONG})
    (verdict,) = verdicts(wall, recipe("a ; b"))
    assert (verdict.outcome, verdict.objection.check) == ("failed", "matches_reference")
    assert verdict.objection.because.startswith("What b replaces, judged alone: Wrong values")
    assert not any(isinstance(request, m.Load) and "a ; b" in str(request) for _, request in wall.asked)


def test_candidates_share_what_was_found_out():
    wall = walled(A)
    verdicts(wall, recipe("a"), recipe("a ; c"))
    opens = [request.workload.name for _, request in wall.asked if isinstance(request, m.Open)]
    assert opens.count("a.py") == 3, "reference, baseline and candidate, once"


def test_a_confirmation_judges_regions_and_a_screening_does_not():
    for fresh in (False, True):
        wall = walled(A)
        (verdict,) = verdicts(
            wall, recipe("a"), ask=lambda stations, one, fresh=fresh: stations.judge(one, fresh=fresh)
        )
        assert ("a.py" in opened(wall)) is fresh and verdict.outcome == "passed"


@pytest.mark.parametrize(
    "form",
    [
        SourceForm(text="class ModelNew: ..."),
        *(recipe(text).form for text in ('a{source="x = 1"}', "kernel ; options ; same_bits", "unknown")),
    ],
)
def test_only_recipes_of_our_own_steps_that_may_change_bits_are_asked_about(form):
    wall = walled(A)
    verdicts(wall, Candidate(workload_id=WORKLOAD.id, form=form, origin=Origin.HUMAN))
    assert not any(isinstance(request, AskRegions) for _, request in wall.asked)


@pytest.mark.parametrize(
    ("script", "because"),
    [
        (Script(faults={m.Load: crash(detail="a does not apply")}), "a does not apply"),
        (Script(faults={m.Run: crash(CrashKind.INFRASTRUCTURE, "it was killed")}), "it was killed"),
    ],
)
def test_what_could_not_be_found_out_is_a_note(script, because):
    (verdict,) = verdicts(walled(A, left_out=("c: its shapes are open",), **{"a": script}), recipe("a ; c"))
    assert verdict.outcome == "passed"
    assert "could not be judged alone, only within the whole: c: its shapes are open" in verdict.notes
    assert any(note.startswith("could not be judged alone") and because in note for note in verdict.notes)


def test_a_region_that_the_reference_cannot_answer_is_a_note():
    wall = walled(A)

    def reference(x, w):
        last = [request for _, request in wall.asked if isinstance(request, m.Open)][-1]
        return x * w / (last.workload.name != "a.py")

    wall.reference = reference
    (verdict,) = verdicts(wall, recipe("a"))
    assert any("makes NaN or Inf" in note for note in verdict.notes)


@pytest.mark.parametrize("kind", [CrashKind.RAISED, CrashKind.MEMORY, CrashKind.TIMEOUT])
def test_whose_graphs_cannot_be_looked_at_is_judged_whole(kind):
    fault = crash(kind, "there is no room for it")
    (verdict,) = verdicts(walled(A, baseline_before_load=Script(faults={AskRegions: fault})), recipe("a"))
    assert verdict.outcome == "passed" and any("there is no room for it" in note for note in verdict.notes)


def test_a_child_that_is_killed_is_asked_once_more():
    killed = crash(CrashKind.INFRASTRUCTURE, "gone")
    script = Script(faults={AskRegions: killed}, broken_times=1)
    (verdict,) = verdicts(walled(A, baseline_before_load=script), recipe("a"))
    assert verdict.outcome == "passed" and "what a replaces passed alone as well" in verdict.notes
    with pytest.raises(ChildLost, match="gone"):
        verdicts(walled(A, baseline_before_load=Script(faults={AskRegions: killed})), recipe("a"))
