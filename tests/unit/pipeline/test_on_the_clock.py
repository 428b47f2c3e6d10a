"""What a candidate cannot know: which of its timed calls are judged by value."""

from contextlib import ExitStack

import pytest
import torch

from strop.pipeline import measure
from strop.pipeline.judge import CONFIRMATION, SCREENING
from strop.records.candidate import CompiledForm
from strop.stats.sequential import Plan as Looks
from strop.wire.messages import ChildRole
from tests.unit.pipeline.scripted import CONDITIONS, Script, ScriptedWall
from tests.unit.pipeline.test_line import RECIPE, court, failed_check, run

UNTIMED_SLOTS = 2


def idle_in(rounds):
    """Does nothing in the timed rounds that ``rounds`` says yes to; the first one warms up and has the number 0."""

    def spoil(child, slot, circumstance):
        if child.made.layout.slots > UNTIMED_SLOTS and slot == 0:
            child.rounds = getattr(child, "rounds", -1) + 1
        if child.made.layout.slots > UNTIMED_SLOTS and rounds(child.rounds):
            child.made.views(slot)["out"].fill_(torch.nan)

    return Script(spoil=spoil, call_ns=5e5)


@pytest.mark.parametrize("depth", [SCREENING, CONFIRMATION])
@pytest.mark.parametrize("phase", [0, 1])
def test_whoever_works_in_every_other_round_alone_is_caught(depth, phase):
    wall = ScriptedWall(candidate=idle_in(lambda number: number > 0 and number % 2 == phase))
    assert failed_check(run(wall, depth=depth)) == "answers_on_the_clock"


def graded(script, share, looks, monkeypatch):
    monkeypatch.setattr(measure, "GRADED_SHARE", share)
    monkeypatch.setattr(measure, "consider", lambda looks, look, effect: type("GoOn", (), {"stop": False}))
    # The baseline's calls are so long that a round has four.
    wall = ScriptedWall(candidate=script, eager=Script(call_ns=1e8))
    with court(wall) as trusted, ExitStack() as stack:
        child = trusted.loaded(stack, ChildRole.RECIPE, RECIPE.form)
        baseline = trusted.loaded(stack, ChildRole.BASELINE, CompiledForm(mode="eager"))
        _, found = measure.compare(
            trusted, CONDITIONS, 2.0, lambda process: (baseline, child), processes=1, looks=Looks(looks)
        )
    # What the baseline answered beside it was asked the very same.
    assert all(leaf.baseline.max < 1e-3 for evidence in found for leaf in evidence.leaves)
    return [any(leaf.mask_mismatches for leaf in evidence.leaves) for evidence in found]


@pytest.mark.parametrize("secret", [0, 2, 3])
def test_the_secret_call_is_the_one_that_is_judged(secret, monkeypatch):
    def idle_on(idle):
        def spoil(child, slot, circumstance):
            if child.made.layout.slots > UNTIMED_SLOTS and slot == idle:
                child.made.views(slot)["out"].fill_(torch.nan)

        return Script(spoil=spoil)

    monkeypatch.setattr(measure, "_secret", lambda slots: secret)
    found = {idle: graded(idle_on(idle), 1.0, (2,), monkeypatch) for idle in range(4)}
    assert found == {idle: [idle == secret] * 4 for idle in range(4)}


@pytest.mark.parametrize("wrong", [1, 2, 5, 9, 12])
def test_every_round_of_every_look_can_be_judged(wrong, monkeypatch):
    found = graded(idle_in(lambda number: number == wrong), 1.0, (2, 6), monkeypatch)
    assert found == [number == wrong for number in range(1, 13)]


def test_no_call_is_likelier_to_be_looked_at_than_another():
    seen = [measure._secret(4) for _ in range(800)]
    assert all(130 < seen.count(slot) < 270 for slot in range(4))


def test_something_is_judged_whatever_the_lot_says(monkeypatch):
    found = graded(idle_in(lambda number: number in (3, 4)), 0.0, (2, 6), monkeypatch)
    assert found == [True, True], "the last pair of the first look"
