"""What every search on the shelf must do, whatever its strategy."""

import pytest

from strop.records.decision import Keep
from strop.records.opportunity import Legality
from strop.searches import SHELF
from tests.unit.searches.landscapes import World, explore, product
from tests.unit.supervisor.makers import opportunity, proposal, recipe_of

WHOLE = [opportunity(("a",), 500_000, 300_000), opportunity(("b",), 400_000, 300_000)]


def independent():
    """Gains that multiply, one loss, one that fails."""
    names = {"fold": 1.2, "fuse": 1.3, "pack": 1.1, "slow": 0.8}
    rule = product(names)
    return World(
        proposals=[proposal(name, 50_000 * i) for i, name in enumerate([*names, "wrong"], start=1)],
        opportunities=WHOLE,
        rule=lambda steps: "matches_reference" if any(step.name == "wrong" for step in steps) else rule(steps),
        optimum=1.2 * 1.3 * 1.1,
    )


def exclusive():
    """The fastest alone clashes with the other two, which are faster together."""
    return World(
        proposals=[proposal("big", 300_000), proposal("left", 200_000), proposal("right", 200_000)],
        opportunities=WHOLE,
        rule=product(
            {"big": 1.5, "left": 1.4, "right": 1.4}, (frozenset({"big", "left"}), frozenset({"big", "right"}))
        ),
        optimum=1.4 * 1.4,
    )


def tunable():
    """One step whose default is only near, in a grid of six, beside a plain one."""
    best = {"tile": 64, "unroll": 2}

    def rule(steps):
        total = 1.0
        for step in steps:
            if step.name == "fuse":
                total *= 1.25
            else:
                hits = sum(step.argument(name, 0) == value for name, value in best.items())
                total *= (0.97, 1.1, 1.4)[hits]
        return total

    return World(
        proposals=[
            proposal("block{at=mm tile=16 unroll=1}", 90_000, parameters={"tile": (16, 32, 64), "unroll": (1, 2)}),
            proposal("fuse", 100_000),
        ],
        opportunities=WHOLE,
        rule=rule,
        optimum=1.25 * 1.4,
    )


WORLDS = [independent, exclusive, tunable]
SEARCHES = SHELF.names()


def fastest(told):
    return max((answer.comparison.speedup for _, answer in told if isinstance(answer, Keep)), default=1.0)


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("make", WORLDS)
def test_finds_the_optimum(name, make):
    world = make()
    assert fastest(explore(SHELF.get(name), world)) == pytest.approx(world.optimum)


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("make", WORLDS)
def test_tries_nothing_twice_and_only_for_this_workload(name, make):
    world = make()
    tried = [what.id for what, _ in explore(SHELF.get(name), world)]
    assert len(tried) == len(set(tried))
    assert len({what.workload_id for what, _ in explore(SHELF.get(name), world)}) == 1


@pytest.mark.parametrize("name", SEARCHES)
def test_respects_what_is_forbidden(name):
    world = independent()
    world.proposals.append(proposal("cheat", 400_000, legality=(Legality.BIT_EXACT, Legality.WORK_REMOVED)))
    world.rule = product({"fold": 1.2, "fuse": 1.3, "pack": 1.1, "slow": 0.8, "wrong": 1.0, "cheat": 5.0})
    assert fastest(explore(SHELF.get(name), world)) > 5
    world.forbid = frozenset({Legality.WORK_REMOVED})
    told = explore(SHELF.get(name), world)
    assert told
    assert not any(step.name == "cheat" for what, _ in told for step in recipe_of(what).steps)
    world.forbid = frozenset(Legality)
    assert explore(SHELF.get(name), world) == []


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("make", WORLDS)
def test_same_answers_lead_the_same_way(name, make):
    first = explore(SHELF.get(name), make())
    again = explore(SHELF.get(name), make())
    assert first == again
