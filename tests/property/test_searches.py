"""Whatever a search is told, it keeps its promises: nothing twice, nothing forbidden, the same way again."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strop.records.candidate import Origin
from strop.records.opportunity import Legality
from strop.searches import SHELF
from tests.unit.searches.landscapes import World, explore
from tests.unit.supervisor.makers import opportunity, proposal, recipe_of

nodes = st.lists(st.sampled_from("abcd"), max_size=3, unique=True).map(tuple)
classes = st.lists(st.sampled_from(list(Legality)), min_size=1, max_size=2, unique=True).map(tuple)
ranges = st.one_of(
    st.none(),
    st.just({"tile": (1, 2, 4)}),
    st.just({"tile": (1, 2, 4, 8, 16), "warps": (1, 2, 4, 8)}),
)


@st.composite
def worlds(draw):
    proposals = [
        proposal(
            f"step_{number}{{tile=1 warps=1}}",
            draw(st.floats(-1e5, 1e6)),
            draw(nodes),
            draw(classes),
            draw(ranges),
            draw(st.sampled_from(list(Origin))),
        )
        for number in range(draw(st.integers(0, 5)))
    ]
    times = draw(st.lists(st.floats(1e3, 5e5), max_size=3))
    rooms = [opportunity((name,), each, each * draw(st.floats(0, 1))) for name, each in zip("abc", times, strict=False)]
    salt = draw(st.integers(0, 1000))

    def rule(steps):
        digest = hashlib.sha256(f"{salt} {' '.join(map(str, steps))}".encode()).digest()
        if digest[0] < 60:
            return ("builds", "matches_reference", "inconclusive")[digest[0] % 3]
        return 0.7 + digest[1] / 255 * 1.3

    forbid = draw(st.frozensets(st.sampled_from(list(Legality)), max_size=2))
    return World(proposals, rooms, rule, 0.0, forbid=forbid, seed=draw(st.integers(0, 9)))


@pytest.mark.parametrize("name", SHELF.names())
@given(world=worlds())
@settings(max_examples=60)
def test_promises_hold_in_any_world(name, world):
    search = SHELF.get(name)
    told = explore(search, world, limit=500)
    assert len(told) < 500
    seen = set()
    steps = {each.step.name: each for each in world.proposals}
    for what, _ in told:
        assert what.id not in seen
        assert set(what.lineage) <= seen
        assert not world.forbid & set(what.legality)
        parts = [steps[step.name] for step in recipe_of(what).steps]
        assert set(what.legality) == {each for part in parts for each in part.legality}
        assert (what.origin is Origin.COMPILER) == all(part.origin is Origin.COMPILER for part in parts)
        assert what.idea
        seen.add(what.id)
    assert explore(search, world, limit=500) == told
