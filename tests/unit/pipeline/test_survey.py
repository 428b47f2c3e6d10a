"""The first stations on scripted children: which workloads are admitted, and which baselines are to be beaten."""

from dataclasses import replace

import pytest

from strop.errors import WorkloadInconclusive
from strop.pipeline.stations import LocalStations
from strop.wire import messages as m
from tests.unit.pipeline.scripted import (
    CONDITIONS,
    REQUEST,
    TARGET,
    WORKLOAD,
    Script,
    ScriptedWall,
    crash,
)


def stations(wall, request=REQUEST, target=TARGET):
    return LocalStations(wall=wall, workload=WORKLOAD, target=target, request=request, conditions=CONDITIONS)


def test_a_mode_that_is_another_by_name_is_not_measured_twice():
    target = replace(TARGET, same_modes=(("reduce-overhead", "default"), ("max-autotune", "eager")))
    request = replace(REQUEST, baselines=("eager", "default", "reduce-overhead"))
    wall = ScriptedWall()
    with stations(wall, request, target) as line:
        measured = line.baselines()
    times = dict(measured.call_ns)
    assert list(times) == ["eager", "default", "reduce-overhead"]
    assert times["reduce-overhead"] == times["default"]
    assert measured.same == (("reduce-overhead", "default"),)
    assert measured.best in ("eager", "default")
    built = [
        request.form.mode for _, request in wall.asked if isinstance(request, m.Load) and hasattr(request.form, "mode")
    ]
    assert "reduce-overhead" not in built


def test_a_mode_fails_with_the_one_whose_code_it_is():
    target = replace(TARGET, same_modes=(("reduce-overhead", "default"),))
    request = replace(REQUEST, baselines=("eager", "default", "reduce-overhead"))
    wall = ScriptedWall(default=Script(faults={m.Load: crash(detail="no compiler")}))
    with stations(wall, request, target) as line:
        measured = line.baselines()
    assert (
        dict(measured.failed)["reduce-overhead"]
        == f"It is the same code as default here. {dict(measured.failed)['default']}"
    )
    assert [mode for mode, _ in measured.call_ns] == ["eager"]


def test_a_mode_that_fails_is_said_so_and_without_any_nothing_is_concluded():
    broken = Script(faults={m.Load: crash(detail="no compiler")})
    with stations(ScriptedWall(default=broken)) as line:
        measured = line.baselines()
        assert measured.failed == (("default", "The baseline failed: no compiler"),) and measured.best == "eager"
    with (
        stations(ScriptedWall(default=broken, eager=broken)) as line,
        pytest.raises(WorkloadInconclusive, match="eager: The baseline failed: no"),
    ):
        line.baselines()


@pytest.mark.parametrize("answer", [lambda x, w: x * 0 + 3, lambda x, w: x])
def test_a_workload_that_a_trivial_answer_would_pass_is_not_admitted(answer):
    constant = Script(compute=answer)
    with stations(ScriptedWall(reference=answer, eager=constant)) as line:
        admitted = line.admit()
    assert not admitted.admissible and "trivial answer" in admitted.because


def test_parameters_may_give_a_workload_power():
    def dead_at_first(x, w):
        return x * w if dead_at_first.wall.asked and _drawn(dead_at_first.wall) else x * 0

    wall = ScriptedWall(reference=dead_at_first, eager=Script(compute=dead_at_first))
    dead_at_first.wall = wall
    with stations(wall) as line:
        admitted = line.admit()
    assert admitted.admissible and any("re-drawn" in note for note in admitted.notes)


def _drawn(wall):
    return any(isinstance(request, m.DrawParameters) and request.draw == 1 for _, request in wall.asked)
