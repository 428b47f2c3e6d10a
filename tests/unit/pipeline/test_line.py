"""The line on scripted children: right passes, wrong fails by the intended check, and faults find their owner."""

from dataclasses import replace

import pytest
import torch

from strop.checks._base import Rules
from strop.errors import BadWorkload, WorkloadInconclusive
from strop.pipeline.court import Court
from strop.pipeline.judge import CONFIRMATION, SCREENING, VERIFICATION, Floor, judge
from strop.pipeline.stations import LocalStations
from strop.records.candidate import Candidate, Origin, RecipeForm, SourceForm
from strop.records.contract import CONTRACTS
from strop.records.decision import Keep
from strop.records.event import BaselinesMeasured, Captured
from strop.records.evidence import Circumstance, CrashKind, Distribution, Stage
from strop.records.graph import Capture
from strop.records.measurement import TimeDecision
from strop.records.opportunity import Legality
from strop.records.recipe import parse_recipe
from strop.records.verdict import Failed, Inconclusive, Passed, Skipped
from strop.records.workload import Leaf
from strop.wire import messages as m
from tests.unit.pipeline.scripted import (
    CONDITIONS,
    DESCRIPTION,
    REQUEST,
    TARGET,
    WORKLOAD,
    Script,
    ScriptedWall,
    X,
    crash,
    description,
)

RECIPE = Candidate(workload_id=WORKLOAD.id, form=RecipeForm(recipe=parse_recipe("a")), origin=Origin.CATALOGUE)
SOURCE = replace(RECIPE, form=SourceForm(text="import torch\nclass ModelNew: ..."))
RULES = Rules(contract=CONTRACTS["fp32"])
FLOOR = Floor(minimal_bytes=2048, product_flop=1000)


def court(wall, spare=False):
    return Court(wall=wall, workload=WORKLOAD, contract=CONTRACTS["fp32"], target=TARGET, spare=spare)


def run(wall, candidate=RECIPE, depth=VERIFICATION, rules=RULES, spare=False):
    with court(wall, spare) as trusted:
        return judge(trusted, candidate, rules, CONDITIONS, FLOOR, depth)


def failed_check(judgement):
    objection = judgement.verdict.objection
    assert isinstance(objection, Failed), objection
    return objection.check


def test_an_honest_candidate_passes_every_stage():
    wall = ScriptedWall(candidate=Script(compute=lambda x, w: w * x))
    judgement = run(wall, SOURCE)
    assert judgement.verdict.outcome == "passed" and judgement.comparison is None
    assert judgement.verdict.error_ratio == pytest.approx(1.0) and judgement.verdict.isolation == "C"
    assert "built" in judgement.verdict.notes
    asked = [request.circumstance for role, request in wall.asked if isinstance(request, m.Run) and role.is_judged]
    assert set(asked) == set(Circumstance)
    assert all(child.closed for child in wall.children)


def test_the_candidate_learns_shapes_before_values_and_never_the_expected_ones():
    wall = ScriptedWall()
    run(wall)
    mine = [type(request) for role, request in wall.asked if role.is_judged]
    assert mine.index(m.Load) < mine.index(m.Deliver) < mine.index(m.Run)
    assert not {m.DrawInputs, m.DrawParameters, m.Expect, m.Perturb, m.Describe} & set(mine)
    first_draw = next(i for i, (_, request) in enumerate(wall.asked) if isinstance(request, m.DrawInputs))
    loaded = next(i for i, (role, r) in enumerate(wall.asked) if role.is_judged and isinstance(r, m.Load))
    assert loaded < first_draw, "a seed was drawn before the candidate had loaded"


LIARS = {
    "zeros": (Script(compute=lambda x, w: x * 0), "matches_reference"),
    "half precision": (Script(compute=lambda x, w: (x * w).half()), "matches_reference"),
    "writes nothing": (Script(compute=lambda x, w: None), "keeps_interface"),
    "wrong shape": (Script(ran={"outputs": ()}), "keeps_interface"),
    "aliases": (Script(ran={"aliases": ("out",)}), "aliases_nothing"),
    "moves parameters": (Script(ran={"changed_parameters": ("w",)}), "leaves_inputs_alone"),
}


@pytest.mark.parametrize("name", LIARS)
def test_liars_fail_by_the_intended_check(name):
    script, check = LIARS[name]
    judgement = run(ScriptedWall(candidate=script))
    assert failed_check(judgement) == check
    assert any(isinstance(finding, Skipped) and check in finding.because for finding in judgement.verdict.findings)


def test_touching_inputs_or_guards_fails():
    def eats_inputs(child, slot, circumstance):
        child.given.views(slot)["x"][0, 0] = 5

    def overruns(child, slot, circumstance):
        child.made.buffer[0] = 3

    for spoil in (eats_inputs, overruns):
        assert failed_check(run(ScriptedWall(candidate=Script(spoil=spoil)))) == "leaves_inputs_alone"


@pytest.mark.parametrize(
    "key",
    [lambda x, w: "w", lambda x, w: float(w[0]), lambda x, w: x.numpy().tobytes()],
    ids=["once", "until its corner changes", "by inputs alone"],
)
def test_what_is_remembered_of_parameters_fails_when_they_are_redrawn(key):
    known = {}

    def remembers(x, w):
        return x * known.setdefault(key(x, w), w.clone())

    assert failed_check(run(ScriptedWall(candidate=Script(compute=remembers)))) == "follows_parameters"


def test_no_timed_round_repeats_an_earlier_one():
    seen = []

    def watches(x, w):
        seen.append(x.numpy().tobytes())
        return x * w

    with court(ScriptedWall(candidate=Script(compute=watches))) as trusted:
        judge(trusted, RECIPE, RULES, CONDITIONS, FLOOR, SCREENING)
    timed = seen[-4 * 3 * 4 :]
    assert len(set(timed)) == len(timed)


def test_a_second_instance_that_differs_fails():
    def forgets(child, slot, circumstance):
        if circumstance is Circumstance.SECOND_INSTANCE:
            child.made.views(slot)["out"].zero_()

    assert failed_check(run(ScriptedWall(candidate=Script(spoil=forgets)))) == "repeats_itself"


def test_special_values_narrow_the_claim_unless_the_same_bits_were_promised_or_it_is_forbidden():
    def careless(x, w):
        return torch.nan_to_num(x * w, nan=0.0, posinf=0.0, neginf=0.0)

    loose = run(ScriptedWall(candidate=Script(compute=careless)))
    assert loose.verdict.outcome == "passed" and loose.verdict.scope.finite_inputs
    assert any("finite inputs" in note for note in loose.verdict.notes)
    exact = replace(RECIPE, legality=(Legality.BIT_EXACT,))
    assert failed_check(run(ScriptedWall(candidate=Script(compute=careless)), exact)) == "matches_reference"
    strict = replace(RULES, forbid=("finite_inputs",))
    assert failed_check(run(ScriptedWall(candidate=Script(compute=careless)), rules=strict)) == "matches_reference"


@pytest.mark.parametrize(("request_kind", "check"), [(m.Load, "builds"), (m.Deliver, "survives"), (m.Run, "survives")])
def test_a_crash_is_a_verdict_that_names_the_stage(request_kind, check):
    judgement = run(ScriptedWall(candidate=Script(faults={request_kind: crash(CrashKind.SIGNAL, "killed by SIGSEGV")})))
    assert failed_check(judgement) == check and "SIGSEGV" in judgement.verdict.objection.because


def test_our_own_fault_is_tried_once_more_and_then_inconclusive():
    fault = crash(CrashKind.INFRASTRUCTURE, "the disk went away")
    once = run(ScriptedWall(candidate=Script(faults={m.Run: fault}, broken_times=1)))
    assert once.verdict.outcome == "passed"
    always = run(ScriptedWall(candidate=Script(faults={m.Run: fault})))
    assert isinstance(always.verdict.objection, Inconclusive)


def test_a_child_that_ends_before_the_candidate_is_loaded_is_our_fault():
    wall = ScriptedWall(candidate_before_load=Script(faults={m.Open: crash(CrashKind.EXITED, "gone")}))
    assert isinstance(run(wall).verdict.objection, Inconclusive)


def test_parameters_matched_by_shape_are_noted():
    wall = ScriptedWall(candidate=Script(delivered={"matched_by": "shape"}))
    assert any("matched by shape" in note for note in run(wall).verdict.notes)


def test_parameters_without_a_counterpart_are_said_so():
    wall = ScriptedWall(candidate=Script(delivered={"missing": ("w",)}))
    found = next(f for f in run(wall).verdict.findings if f.check == "keeps_interface")
    assert "no counterpart of w" in found.because


def test_parameters_that_only_the_seed_makes_equal_cannot_be_redrawn():
    wall = ScriptedWall(candidate=Script(delivered={"matched_by": "seed", "missing": ("w",)}))
    verdict = run(wall).verdict
    assert verdict.outcome == "passed" and any("matched by seed" in note for note in verdict.notes)
    assert any(isinstance(f, Skipped) and f.check == "follows_parameters" for f in verdict.findings)


def test_a_workload_without_parameters_skips_their_stage_and_gains_no_power_from_them():
    wall = ScriptedWall(description=description(parameters=()))
    judgement = run(wall)
    assert judgement.verdict.outcome == "passed"
    assert any(isinstance(f, Skipped) and f.check == "follows_parameters" for f in judgement.verdict.findings)
    constant = Script(compute=lambda x, w: x * 0)
    wall = ScriptedWall(description=description(parameters=()), reference=constant.compute, eager=constant)
    with stations(wall) as line:
        assert not line.admit().admissible


def test_suspicious_text_is_noted_and_never_decides():
    wary = replace(RECIPE, form=SourceForm(text="import threading\nclass ModelNew: ..."))
    judgement = run(ScriptedWall(), wary)
    assert judgement.verdict.outcome == "passed"
    assert any(note.startswith("static_policy") for note in judgement.verdict.notes)


def test_an_output_of_another_shape_than_any_input_is_not_tried_as_the_input_itself():
    narrow = Leaf(path="out", tensor=replace(X, shape=(64,)))
    script = Script(compute=lambda x, w: (x * w).sum(1))
    wall = ScriptedWall(description=description(outputs=(narrow,)), reference=script.compute, eager=script)
    with stations(wall) as line:
        assert line.admit().admissible


def test_the_users_acceptance_function_is_asked():
    wall = ScriptedWall(description=description(has_acceptance=True))
    assert run(wall).verdict.outcome == "passed"
    wall = ScriptedWall(description=description(has_acceptance=True))
    wall.accepts = False
    assert failed_check(run(wall)) == "user_accepts"


def test_faults_of_the_workload_are_told_to_its_author_and_of_the_machine_to_nobody():
    broken = ScriptedWall(reference_before_load=Script(faults={m.Describe: crash(detail="forward() raised")}))
    with pytest.raises(BadWorkload, match=r"could not be loaded.*forward\(\) raised"):
        run(broken)
    small = ScriptedWall(reference_before_load=Script(faults={m.Expect: crash(CrashKind.MEMORY, "memory")}))
    with pytest.raises(WorkloadInconclusive, match="could not answer"):
        run(small)
    no_baseline = ScriptedWall(eager=Script(faults={m.Load: crash()}))
    with pytest.raises(WorkloadInconclusive, match="baseline failed: it broke"):
        run(no_baseline)


def test_a_draw_that_overflows_is_redrawn_and_a_model_that_makes_nan_is_refused():
    wall = ScriptedWall()
    wall.overflowing = (Distribution.LOG_NORMAL,)
    assert run(wall).verdict.outcome == "passed"
    wall.overflowing = tuple(Distribution)
    with pytest.raises(BadWorkload, match="NaN or Inf from its own inputs"):
        run(wall)


def test_a_court_is_used_only_after_it_was_entered():
    closed = court(ScriptedWall())
    for use in (lambda: closed.description, lambda: closed.reference):
        with pytest.raises(RuntimeError, match="before it was entered"):
            use()


def test_screening_times_one_pair_of_processes_and_stops_when_it_is_decided():
    judgement = run(ScriptedWall(candidate=Script(call_ns=5e5)), depth=SCREENING)
    assert judgement.comparison.decision is TimeDecision.FASTER
    assert judgement.comparison.speedup == pytest.approx(2.0, rel=0.05)
    assert judgement.comparison.processes == 1 and judgement.comparison.pairs < 8
    assert judgement.comparison.kernel_speedup is None and judgement.comparison.peak_memory_ratio == 1.0
    assert any(isinstance(f, Passed) and f.check == "obeys_physics" for f in judgement.verdict.findings)


def test_equal_times_are_not_faster():
    judgement = run(ScriptedWall(), depth=SCREENING)
    assert judgement.comparison.decision is not TimeDecision.FASTER


def test_confirmation_uses_three_pairs_of_fresh_processes():
    wall = ScriptedWall(candidate=Script(call_ns=5e5, kernel_ns=50.0, memory_bytes=150))
    judgement = run(wall, depth=CONFIRMATION)
    assert judgement.comparison.processes == 3 and judgement.comparison.pairs == 15
    assert judgement.comparison.peak_memory_ratio == pytest.approx(1.5)
    assert sum(child.role is m.ChildRole.RECIPE for child in wall.children) == 3


def test_a_memory_ratio_that_cannot_be_seen_is_left_out():
    silent = {"eager": Script(memory_bytes=0), "candidate": Script(call_ns=5e5)}
    judgement = run(ScriptedWall(**silent), depth=CONFIRMATION)
    assert judgement.comparison.kernel_speedup is None and judgement.comparison.peak_memory_ratio is None


def test_impossible_speed_fails():
    judgement = run(ScriptedWall(candidate=Script(call_ns=1.0), null=Script(call_ns=0.5)), depth=SCREENING)
    assert failed_check(judgement) == "obeys_physics"


def test_what_the_clock_saw_must_be_right():
    def lazy_on_the_clock(child, slot, circumstance):
        if child.made.layout.slots > 2:
            child.made.views(slot)["out"].fill_(1.0)

    judgement = run(ScriptedWall(candidate=Script(call_ns=5e5, spoil=lazy_on_the_clock)), depth=SCREENING)
    assert failed_check(judgement) == "answers_on_the_clock"


def test_a_crash_on_the_clock_is_a_verdict_and_the_baselines_is_nobodys():
    hang = Script(clock_fault=crash(CrashKind.TIMEOUT, "it hung"))
    assert failed_check(run(ScriptedWall(candidate=hang), depth=SCREENING)) == "survives"
    with pytest.raises(WorkloadInconclusive, match="baseline failed: it hung"):
        run(ScriptedWall(eager=hang), depth=SCREENING)


def stations(wall, request=REQUEST):
    return LocalStations(wall=wall, workload=WORKLOAD, target=TARGET, request=request, conditions=CONDITIONS)


def test_the_stations_in_walking_order():
    wall = ScriptedWall(eager=Script(call_ns=2e6), candidate=Script(call_ns=4e5))
    with stations(wall) as line:
        assert line.describe().description == DESCRIPTION
        assert line.admit().admissible
        assert line.capture().capture.graphs[0].id == "g"
        measured = line.baselines()
        assert measured.best == "default" and dict(measured.call_ns)["eager"] > dict(measured.call_ns)["default"]
        profiled = line.profile()
        assert profiled.opportunities[0].kernels == ("heavy",)
        asked = line.catalogue()
        assert asked.proposals and asked.declines
        for fresh in (False, True):
            judgement = line.judge(RECIPE, fresh=fresh)
            assert judgement.comparison.baseline == "default"
            assert isinstance(line.decide(RECIPE, judgement), Keep)
    assert all(child.closed for child in wall.children)
    assert set(wall.locks) == {"nowhere"}


def test_stations_after_a_resume_need_no_earlier_station():
    with stations(ScriptedWall()) as line:
        assert line.profile().profile.kernels
    with stations(ScriptedWall(candidate=Script(call_ns=4e5))) as line:
        line.recall(BaselinesMeasured(call_ns=(("default", 1.0),), failed=(), best="default"))
        line.recall(Captured(capture=Capture(graphs=())))
        assert line.device_seconds_s() == 0
        assert line.profile().opportunities == ()
        assert line.judge(RECIPE, fresh=False).comparison.baseline == "default"
        line.use_baseline("default")
        line.use_baseline("eager")
        assert line.judge(RECIPE, fresh=False).comparison.baseline == "eager"


def test_what_a_profile_found_out_is_told_to_the_catalogue_after_a_resume_too():
    with stations(ScriptedWall()) as line:
        profiled = line.profile()
    wall = ScriptedWall()
    with stations(wall) as line:
        line.recall(profiled)
        line.catalogue()
    (asked,) = [request for _, request in wall.asked if isinstance(request, m.AskProposals)]
    assert asked.kernels == profiled.profile.kernels != ()


def test_the_best_baseline_is_not_built_again():
    wall = ScriptedWall(eager=Script(call_ns=2e6), candidate=Script(call_ns=4e5))
    with stations(wall) as line:
        best = line.baselines().best
        measuring = [child for child in wall.children if child.role is m.ChildRole.BASELINE]
        assert sum(not child.closed for child in measuring) >= 1
        assert line.judge(RECIPE, fresh=False).comparison.baseline == best
    modes = [getattr(request.form, "mode", "") for _, request in wall.asked if isinstance(request, m.Load)]
    assert modes.count(best) == 1
    assert all(child.closed for child in wall.children)


def test_source_text_is_confined_and_a_recipe_shares_the_compile_cache():
    text = replace(RECIPE, form=RecipeForm(recipe=parse_recipe('a ; b{source="x = 1"}')))
    confined, shared = m.ChildRole.CANDIDATE, m.ChildRole.RECIPE
    for candidate, role in ((SOURCE, confined), (RECIPE, shared), (text, confined)):
        wall = ScriptedWall()
        run(wall, candidate)
        assert [child.role for child in wall.children if child.role.is_judged] == [role]


def test_a_candidate_that_ends_while_its_values_are_judged_is_asked_no_more():
    calls = iter(range(100))

    def compute(x, w):
        if next(calls) == 5:
            raise crash(stage=Stage.VALUES)
        return x * w

    wall = ScriptedWall(candidate=Script(compute=compute))
    assert failed_check(run(wall)) == "survives"
    assert next(calls) == 6
