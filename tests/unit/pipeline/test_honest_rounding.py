"""The model of honest rounding costs most of a judgement, so it is asked only where its answer can matter."""

import numpy as np
import pytest

from strop.pipeline.cases import full_plan, screening_plan
from strop.pipeline.judge import Depth
from strop.pipeline.verify import verify
from strop.records.evidence import Case, Distribution
from strop.stats.errors import HONEST_SAMPLES
from strop.wire import messages as m
from strop.wire.messages import ChildRole
from tests.unit.pipeline.scripted import DESCRIPTION, Script, ScriptedWall, crash
from tests.unit.pipeline.test_line import RECIPE, RULES, court, failed_check, run

RANDOM = np.random.default_rng(0)


def coarse(x, w):
    """Rounds as far as honest rounding explains, and more than twice as far as the baseline does."""
    noise = RANDOM.uniform(-1.4, 1.4, x.shape) * 2.0**-24
    return (x.astype(np.float64) * w * (1 + noise)).astype(np.float32)


class Late:
    """As good as the baseline at first; ``then`` from the given call on."""

    def __init__(self, exact_calls, then):
        self.calls, self.exact_calls, self.then = 0, exact_calls, then

    def __call__(self, x, w):
        self.calls += 1
        return x * w if self.calls <= self.exact_calls else self.then(self.calls)(x, w)


def perturbed(wall):
    return sum(isinstance(request, m.Perturb) for _, request in wall.asked)


def cascade_of(wall, plan):
    with court(wall) as trusted, wall.child(ChildRole.RECIPE) as child:
        return verify(trusted, child, RECIPE, RULES, plan(DESCRIPTION))


def test_where_the_baselines_error_covers_the_candidates_the_model_is_not_asked():
    wall = ScriptedWall(candidate=Script(compute=lambda x, w: w * x))
    cascade = cascade_of(wall, full_plan)
    assert cascade.passing and perturbed(wall) == 0
    assert cascade.leaves and all(leaf.honest is None for leaf in cascade.leaves)


def test_where_it_does_not_the_model_decides_and_is_asked_once_a_draw():
    wall = ScriptedWall(candidate=Script(compute=coarse))
    cascade = cascade_of(wall, screening_plan)
    assert cascade.passing
    assert all(leaf.honest is not None and leaf.honest.max > 0 for leaf in cascade.leaves)
    assert perturbed(wall) == HONEST_SAMPLES * len(cascade.counted)


def test_the_error_ratio_compares_all_cases_beside_the_model_or_none():
    """One case late in the plan needs it; the earlier ones are then run again beside it."""
    wall = ScriptedWall(candidate=Script(compute=Late(5, lambda call: coarse)))
    cascade = cascade_of(wall, screening_plan)
    assert cascade.passing
    assert all(leaf.honest is not None for leaf in cascade.leaves)


@pytest.mark.parametrize(("broken", "check"), [("wrong", "matches_reference"), ("dead", "survives")])
def test_the_second_run_is_judged_too(broken, check):
    calls = len(screening_plan(DESCRIPTION).values) + len(screening_plan(DESCRIPTION).parameters)

    def then(call):
        if call <= calls + 2:  # the interface runs it twice before
            return coarse
        if broken == "dead":
            raise crash()
        return lambda x, w: x * 0

    wall = ScriptedWall(candidate=Script(compute=Late(5, then)))
    assert failed_check(run_screening(wall)) == check


def run_screening(wall):

    return run(wall, depth=Depth(plan=screening_plan, processes=0, looks=None))


def test_samples_are_kept_with_their_draw_and_never_mixed_with_another():
    with court(ScriptedWall()) as trusted:
        case = Case(index=0, distribution=Distribution.OWN)
        first = trusted.beside_honest(trusted.gold(case))
        again = trusted.beside_honest(trusted.gold(case))
        assert again.honest is first.honest
        stranger = trusted.gold(Case(index=10, distribution=Distribution.OWN))
        foreign = type(stranger)(
            case=case, inputs=stranger.inputs, expected=stranger.expected, baseline=stranger.baseline
        )
        assert trusted.beside_honest(foreign).honest is not first.honest
        assert trusted.beside_honest(trusted.gold(case)).honest is first.honest
