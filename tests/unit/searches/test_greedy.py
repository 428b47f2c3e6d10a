"""What greedy promises beyond what every search must do: order, where a recipe comes from, knowing when to stop."""

import pytest

from strop.records.candidate import Origin
from strop.records.decision import Keep, Repair
from strop.records.opportunity import Legality
from strop.searches._headroom import expected_gain_ns, headroom_ns
from strop.searches._tuning import TRIALS, Tuner
from strop.searches.greedy import ITEM
from tests.unit.searches.landscapes import World, explore, product
from tests.unit.supervisor.makers import BASELINE_NS, opportunity, proposal, recipe_of

WHOLE = [opportunity(("a",), 500_000, 300_000), opportunity(("b",), 400_000, 300_000)]


def world(proposals, rule, opportunities=WHOLE, **more):
    return World(proposals=proposals, opportunities=opportunities, rule=rule, optimum=0.0, **more)


def recipes(told):
    return [str(recipe_of(what)) for what, _ in told]


def always(outcome):
    return lambda steps: outcome


def test_most_headroom_first_and_losses_last():
    proposals = [
        proposal("loss", -50_000, nodes=("a",)),
        proposal("boast", 900_000, nodes=("b",)),
        proposal("modest", 200_000, nodes=("a",)),
        proposal("strong", 310_000, nodes=("a",)),
        proposal("speck", 10, nodes=("a",)),
    ]
    roomy = [opportunity(("a",), 500_000, 400_000), opportunity(("b",), 400_000, 150_000)]
    told = explore(ITEM, world(proposals, always(0.95), roomy))
    assert recipes(told) == ["strong", "modest", "boast", "speck", "loss"]


def test_no_gain_beyond_the_headroom_unless_the_floor_moves():
    ops = [opportunity(("a",), 500_000, 100_000), opportunity(("b",), 400_000, 0)]
    brief = world([], always(1.0), ops).brief()

    def gain(nodes, legality, gain_ns=450_000):
        return expected_gain_ns(proposal("x", gain_ns, nodes, (legality,)), brief)

    assert gain(("a",), Legality.BIT_EXACT) == 100_000
    assert gain(("a",), Legality.WORK_REMOVED) == 450_000
    assert gain(("a",), Legality.WORK_REMOVED, 800_000) == 500_000
    assert gain(("a", "b"), Legality.BIT_EXACT) == 450_000
    assert gain((), Legality.REASSOCIATED, 2e6) == 900_000
    assert gain((), Legality.BIT_EXACT, 2e6) == pytest.approx(100_000)
    assert gain(("b",), Legality.BIT_EXACT) == 400_000
    assert gain(("elsewhere",), Legality.BIT_EXACT) == pytest.approx(100_000)
    assert gain(("a",), Legality.BIT_EXACT, -7) == -7
    assert headroom_ns(brief) == pytest.approx(100_000 + 400_000 + 100_000)


def test_stops_near_the_ceiling():
    ops = [opportunity(("a",), 1_000_000, 250_000)]
    proposals = [proposal(name, 200_000 - i, nodes=("a",)) for i, name in enumerate("pqrst")]
    far = explore(ITEM, world(proposals, always(0.9), ops))
    assert recipes(far) == list("pqrst")
    near = explore(ITEM, world(proposals, product(dict.fromkeys("pqrst", 1 / 0.758)), ops))
    assert recipes(near) == ["p"]


def test_what_changes_the_work_is_tried_at_the_ceiling_too():
    ops = [opportunity(("a",), 1_000_000, 1_000)]
    proposals = [
        proposal("same", 100_000, nodes=("a",)),
        proposal("less", 500_000, nodes=("a",), legality=(Legality.WORK_REMOVED,)),
    ]
    assert recipes(explore(ITEM, world(proposals, always(0.95), ops))) == ["less"]


def test_every_recipe_stands_on_what_the_baseline_does():
    graph = proposal("graph", 90_000, nodes=(), legality=(Legality.BIT_EXACT,), origin=Origin.COMPILER)
    proposals = [proposal("fast", 300_000, nodes=("a",)), proposal("slow", 200_000, nodes=("b",)), graph]
    factors = product({"fast": 1.3, "slow": 1.2, "graph": 1.0})
    told = explore(ITEM, world(proposals, factors, base=[graph]))
    assert recipes(told) == ["fast ; graph", "slow ; graph", "fast ; slow ; graph"]
    origins = {str(recipe_of(what)): what.origin for what, _ in told}
    assert origins["fast ; graph"] is Origin.CATALOGUE
    assert told[0][0].legality == (Legality.BIT_EXACT, Legality.REASSOCIATED)


def test_joined_recipes_say_where_they_come_from():
    proposals = [
        proposal("less", 300_000, legality=(Legality.WORK_REMOVED,)),
        proposal("options", 200_000, legality=(Legality.BIT_EXACT,), origin=Origin.COMPILER),
        proposal("flags", 100_000, legality=(Legality.BIT_EXACT,), origin=Origin.COMPILER),
    ]
    told = explore(ITEM, world(proposals, product({"less": 1.5, "options": 1.3, "flags": 1.2})))
    by_recipe = {str(recipe_of(what)): what for what, _ in told}
    alone = by_recipe["options"]
    assert (alone.origin, alone.lineage) == (Origin.COMPILER, ())
    both = by_recipe["less ; options"]
    assert both.origin is Origin.CATALOGUE
    assert both.legality == (Legality.BIT_EXACT, Legality.WORK_REMOVED)
    assert both.lineage == (by_recipe["less"].id, alone.id)
    assert both.idea
    assert by_recipe["less ; options ; flags"].lineage == (both.id, by_recipe["flags"].id)
    # Scored without work_removed, the two options of the compiler are joined by themselves.
    assert by_recipe["options ; flags"].origin is Origin.COMPILER


def test_a_step_whose_place_is_gone_is_tried_first_instead():
    def rule(steps):
        names = [step.name for step in steps]
        if names == ["early", "late"]:
            return 1.9
        return {"late": 1.5, "early": 1.4}[names[0]] if len(names) == 1 else "builds"

    told = explore(ITEM, world([proposal("late", 300_000), proposal("early", 200_000)], rule))
    assert recipes(told)[-2:] == ["late ; early", "early ; late"]
    assert told[-1][1].comparison.speedup == 1.9


def test_a_step_that_no_longer_applies_is_left_out():
    gone = product({"big": 1.5, "same_place": 1.4, "other": 1.2}, (frozenset({"big", "same_place"}),))
    told = explore(ITEM, world([proposal("big"), proposal("same_place"), proposal("other")], gone))
    best = max((answer for _, answer in told if isinstance(answer, Keep)), key=lambda keep: keep.comparison.speedup)
    assert str(recipe_of(best.candidate)) == "big ; other"


def test_a_repair_is_as_good_as_a_no():
    class Mending(World):
        def answer(self, what):
            if len(recipe_of(what).steps) > 1:
                return Repair(candidate=what, because="step 2 does not apply")
            return super().answer(what)

    told = explore(ITEM, Mending([proposal("x"), proposal("y")], WHOLE, product({"x": 1.5, "y": 1.4}), optimum=1.5))
    assert recipes(told) == ["x", "y", "x ; y", "y ; x"]


def test_a_longer_recipe_must_win_more_than_noise():
    told = explore(
        ITEM,
        world(
            [proposal("x", 300_000), proposal("y", 200_000), proposal("z", 100_000)],
            lambda steps: 1.5 if any(step.name == "x" for step in steps) else 1.2,
        ),
    )
    assert recipes(told)[:5] == ["x", "y", "z", "x ; y", "x ; z"]
    assert "x ; y ; z" not in recipes(told)


def test_wrong_and_far_slower_steps_are_not_tuned():
    ranges = {"tile": (16, 32)}
    for outcome in ("matches_reference", 0.5, "inconclusive"):
        told = explore(ITEM, world([proposal("block{tile=16}", parameters=ranges)], always(outcome)))
        assert recipes(told) == ["block{tile=16}"]
    told = explore(ITEM, world([proposal("block{tile=16}", parameters=ranges)], always(0.95)))
    assert recipes(told) == ["block{tile=16}", "block{tile=32}"]
    assert told[1][0].lineage == (told[0][0].id,)


def test_tuned_values_enter_the_joined_recipe():
    def rule(steps):
        total = 1.0
        for step in steps:
            total *= {"fuse": 1.3, "block": 1.5 if step.argument("tile", 0) == 32 else 1.1}[step.name]
        return total

    told = explore(ITEM, world([proposal("fuse"), proposal("block{tile=16}", parameters={"tile": (16, 32)})], rule))
    assert told[-1][1].comparison.speedup == pytest.approx(1.3 * 1.5)
    assert "block{tile=32}" in recipes(told)[-1]


def test_large_spaces_get_few_trials_and_a_sampler_that_learns():
    choices = tuple(2**i for i in range(10))
    step = proposal("block{tile=1 warps=1}").step
    ranges = proposal("block{tile=1 warps=1}", parameters={"tile": choices, "warps": choices}).parameters
    walks = []
    for _ in range(2):
        tuner, walk = Tuner(step, ranges, seed=7), []
        tuner.tell(step, 1.0)
        while asked := tuner.ask():
            (other,) = asked
            walk.append(other)
            tuner.tell(other, None if other.argument("tile", 1) == 512 else 1.1)
        walks.append(walk)
    assert walks[0] == walks[1]
    assert len(walks[0]) == len(set(walks[0])) == TRIALS
    assert step not in walks[0]


def test_grid_is_walked_from_the_defaults_outwards():
    ranges = proposal("block{x=1 y=1}", parameters={"x": (1, 2), "y": (1, 2)}).parameters
    step = proposal("block{x=1 y=1}").step
    tuner, walk = Tuner(step, ranges, seed=0), []
    tuner.tell(step, 1.0)
    while asked := tuner.ask():
        (other,) = asked
        walk.append(str(other))
        tuner.tell(other, 1.0)
    assert walk == ["block{x=1 y=2}", "block{x=2 y=1}", "block{x=2 y=2}"]


def test_the_same_step_from_two_graphs_is_one_option():
    told = explore(ITEM, world([proposal("fold{at=a}"), proposal("fold{at=a}", 5.0)], always(1.5)))
    assert recipes(told) == ["fold{at=a}"]


def test_without_a_profile_everything_is_tried():
    told = explore(ITEM, world([proposal("x"), proposal("y")], always(0.95), opportunities=[]))
    assert recipes(told) == ["x", "y"]
    assert headroom_ns(world([], always(1.0), opportunities=[]).brief()) == BASELINE_NS
