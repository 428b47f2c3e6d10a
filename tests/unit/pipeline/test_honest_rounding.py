"""The model of honest rounding costs most of a judgement, so it is asked only where its answer can matter."""

from dataclasses import replace

import pytest
import torch

from strop.pipeline.cases import full_plan, screening_plan
from strop.pipeline.court import copied
from strop.pipeline.judge import Depth
from strop.pipeline.verify import verify
from strop.records.evidence import Case, Distribution
from strop.stats.errors import HONEST_SAMPLES
from strop.wire import messages as m
from strop.wire.messages import ChildRole
from tests.unit.pipeline.scripted import DESCRIPTION, Script, ScriptedWall, crash
from tests.unit.pipeline.test_line import RECIPE, RULES, court, failed_check, run

RANDOM = torch.Generator().manual_seed(0)


def coarse(x, w):
    """Rounds as far as honest rounding explains, and more than twice as far as the baseline does."""
    # Of one size and either sign: whatever is drawn, no case is covered by luck.
    signs = torch.rand(x.shape, generator=RANDOM, dtype=torch.float64) * 2 - 1
    noise = signs.sign() * 1.05 * 2.0**-24
    return (x.double() * w * (1 + noise)).float()


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
    # Under circumstances too it is asked where it is needed, and whether that is so depends on the draw.
    cascade = cascade_of(wall, lambda description: replace(screening_plan(description), state=()))
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
    wall = ScriptedWall()
    with court(wall) as trusted:
        case = Case(index=0, distribution=Distribution.OWN)
        first = list(trusted.honest(trusted.gold(case)))
        again = list(trusted.honest(trusted.gold(case)))
        assert len(first) == HONEST_SAMPLES == perturbed(wall)
        # What the first walk yielded lay where the reference's next answer overwrote it; what was kept did not.
        assert len({sample["out"].data_ptr() for sample in first}) == 1
        assert len({sample["out"].numpy().tobytes() for sample in again}) == HONEST_SAMPLES
        stranger = trusted.gold(Case(index=10, distribution=Distribution.OWN))
        foreign = replace(stranger, case=case)
        strange = [copied(sample) for sample in trusted.honest(foreign)]
        assert perturbed(wall) == 2 * HONEST_SAMPLES
        assert torch.allclose(strange[0]["out"], stranger.expected["out"], rtol=1e-6, atol=0)
        known = list(trusted.honest(trusted.gold(case)))
        assert all(one["out"] is other["out"] for one, other in zip(known, again, strict=True))
        assert perturbed(wall) == 2 * HONEST_SAMPLES


def test_a_walk_that_was_not_finished_keeps_nothing():
    wall = ScriptedWall()
    with court(wall) as trusted:
        gold = trusted.gold(Case(index=0, distribution=Distribution.OWN))
        next(trusted.honest(gold))
        assert len(list(trusted.honest(gold))) == HONEST_SAMPLES
        assert perturbed(wall) == 1 + HONEST_SAMPLES


def test_another_baseline_means_other_golds_and_other_samples():
    wall = ScriptedWall()
    with court(wall) as trusted:
        case = Case(index=0, distribution=Distribution.OWN)
        before = trusted.gold(case)
        list(trusted.honest(before))
        trusted.change_baseline("default")
        after = trusted.gold(case)
        assert after.baseline["out"] is not before.baseline["out"]
        list(trusted.honest(after))
        assert perturbed(wall) == 2 * HONEST_SAMPLES
