"""Where processors are to spare children are loaded before they are needed, and never beside a running clock."""

from contextlib import contextmanager
from dataclasses import replace

import pytest

from strop.pipeline.judge import CONFIRMATION
from strop.pipeline.stations import LocalStations
from strop.records.evidence import Distribution
from strop.wire import messages as m
from tests.unit.pipeline.scripted import CONDITIONS, REQUEST, TARGET, WORKLOAD, Script, ScriptedWall
from tests.unit.pipeline.test_line import court, failed_check, run

MODES = ("eager", "default", "reduce-overhead")


class Noting(ScriptedWall):
    """Notes how many children were loaded by whom whenever a clock may start."""

    def __init__(self, **scripts):
        super().__init__(**scripts)
        self.at_the_clock = []

    def loads(self, role=None):
        return sum(isinstance(request, m.Load) and role in (None, by) for by, request in self.asked)

    @contextmanager
    def device_lock(self, device, *, still):
        if still:
            self.at_the_clock.append(self.loads())
        with super().device_lock(device, still=still):
            yield
        if still:
            assert self.at_the_clock[-1] == self.loads()


def line(wall, spare=True):
    request = replace(REQUEST, baselines=MODES)
    return LocalStations(
        wall=wall, workload=WORKLOAD, target=TARGET, request=request, conditions=CONDITIONS, spare=spare
    )


def test_the_baselines_load_while_the_workload_is_admitted():
    wall = Noting()
    with line(wall) as stations:
        assert stations.admit().admissible
        before = wall.loads(m.ChildRole.BASELINE)
        measured = stations.baselines()
        assert [mode for mode, _ in measured.call_ns] == list(MODES)
        # One for each mode, of which the court takes its answers from one, and the null worker.
        assert wall.loads(m.ChildRole.BASELINE) == len(MODES) + 1 >= before
        assert stations.baselines().best in MODES
        assert wall.loads(m.ChildRole.BASELINE) == 2 * len(MODES), "the second time others but for the best"
    assert all(child.closed for child in wall.children)


def test_baselines_that_nobody_asks_for_end_with_the_line():
    wall = Noting(reference=lambda x, w: x * 0 + 3, eager=Script(compute=lambda x, w: x * 0 + 3))
    with line(wall) as stations:
        assert not stations.admit().admissible
    assert wall.loads(m.ChildRole.BASELINE) >= 1 and all(child.closed for child in wall.children)


@pytest.mark.parametrize("spare", [True, False])
def test_the_pairs_of_a_confirmation_are_all_there_before_the_clock(spare):
    wall = Noting(candidate=Script(call_ns=5e5))
    judgement = run(wall, depth=CONFIRMATION, spare=spare)
    assert judgement.verdict.outcome == "passed" and judgement.comparison.speedup > 1
    assert wall.loads(m.ChildRole.RECIPE) == 3 and wall.loads(m.ChildRole.BASELINE) == 5
    assert len(wall.at_the_clock) == 3
    assert all(child.closed for child in wall.children)


def test_a_candidate_that_fails_ends_those_that_wait_for_it():
    wall = Noting(candidate=Script(compute=lambda x, w: x * w * 2))
    assert failed_check(run(wall, depth=CONFIRMATION, spare=True)) == "matches_reference"
    assert wall.at_the_clock == [] and all(child.closed for child in wall.children)


def test_what_could_not_be_loaded_ahead_is_told_when_it_is_needed():
    wall = Noting()
    with court(wall, spare=True) as trusted:
        trusted.expect_clock()
        trusted.expect_clock()
        assert trusted.null is not trusted.baseline
        assert trusted.draw_inputs(Distribution.OWN)
    assert wall.loads(m.ChildRole.BASELINE) == 2
