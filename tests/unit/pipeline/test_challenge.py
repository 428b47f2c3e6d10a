"""A winner against a mode that takes long to build, on scripted children: cap, comparison, and whose fault it is."""

from dataclasses import replace

import pytest

from strop.pipeline.challenge import CAP_S, PROCESSES
from strop.pipeline.stations import LocalStations
from strop.records.candidate import Candidate, Origin, RecipeForm
from strop.records.decision import Keep
from strop.records.evidence import CrashKind
from strop.records.measurement import TimeDecision
from strop.records.opportunity import Legality
from strop.records.recipe import parse_recipe
from strop.wire import messages as m
from tests.unit.pipeline.scripted import CONDITIONS, REQUEST, TARGET, WORKLOAD, Script, ScriptedWall, crash

CANDIDATE = Candidate(
    workload_id=WORKLOAD.id,
    form=RecipeForm(recipe=parse_recipe("double")),
    origin=Origin.CATALOGUE,
    legality=(Legality.BIT_EXACT,),
)


def challenged(wall, claimed=2.0):
    with LocalStations(wall=wall, workload=WORKLOAD, target=TARGET, request=REQUEST, conditions=CONDITIONS) as line:
        judged = line.judge(CANDIDATE, fresh=False)
        kept = Keep(candidate=CANDIDATE, verdict=judged.verdict, comparison=replace(judged.comparison, speedup=claimed))
        wall.asked.clear()
        return line.challenge(kept, "max-autotune")


def wall_with(**scripts):
    return ScriptedWall(**({"candidate": Script(call_ns=5e5), "eager": Script(call_ns=1e6)} | scripts))


def builds(wall):
    return [request.form for _, request in wall.asked if isinstance(request, m.Load)]


@pytest.mark.parametrize(
    ("rival_ns", "outdoes", "decision"),
    [(2e6, False, TimeDecision.FASTER), (7.5e5, True, TimeDecision.FASTER), (4e5, True, TimeDecision.SLOWER)],
)
def test_the_mode_is_built_once_and_timed_against_fresh_processes(rival_ns, outdoes, decision):
    wall = wall_with(max_autotune=Script(call_ns=rival_ns))
    found = challenged(wall)
    assert (found.outdoes, found.comparison.decision, found.because) == (outdoes, decision, "")
    assert found.comparison.speedup == pytest.approx(rival_ns / 5e5, rel=0.02)
    assert (found.comparison.baseline, found.comparison.processes) == ("max-autotune", PROCESSES)
    assert (found.mode, found.candidate_id) == ("max-autotune", CANDIDATE.id)
    modes = [getattr(form, "mode", form.form) for form in builds(wall)]
    assert modes.count("max-autotune") == 1 and modes.count("recipe") == PROCESSES
    assert all(child.closed for child in wall.children)


def test_a_build_past_the_cap_is_said():
    late = Script(faults={m.Load: crash(CrashKind.TIMEOUT, "gave no answer")})
    found = challenged(wall_with(max_autotune=late))
    assert (found.comparison, found.because) == (None, f"did not finish in {CAP_S:g} s")


def test_a_build_that_fails_is_said():
    broken = Script(faults={m.Load: crash(CrashKind.RAISED, "no valid triton configs")})
    found = challenged(wall_with(max_autotune=broken))
    assert (found.comparison, found.because) == (None, "no valid triton configs")


def test_a_clock_that_fails_leaves_the_claim():
    broken = Script(clock_fault=crash(CrashKind.SIGNAL, "was ended by SIGKILL"))
    found = challenged(wall_with(max_autotune=broken))
    assert found.comparison is None and "was ended by SIGKILL" in found.because
