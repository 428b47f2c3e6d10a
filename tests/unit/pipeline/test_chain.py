"""The chained clock on scripted children: what it says, what it judges, and where it does not run."""

import pytest

from strop.pipeline import chain as chains
from strop.pipeline.cases import screening_plan
from strop.pipeline.judge import CONFIRMATION, SCREENING, Depth
from strop.records.measurement import TimeDecision
from strop.records.verdict import Passed, Skipped
from strop.stats.sequential import Plan as Looks
from tests.unit.pipeline.scripted import Script, ScriptedWall
from tests.unit.pipeline.test_line import failed_check, run

CHAINED = Depth(plan=screening_plan, processes=1, looks=Looks((5,)), chained=True)
UNTIMED_SLOTS = 2


@pytest.fixture(autouse=True)
def calls_can_be_chained_here(monkeypatch):
    monkeypatch.setattr(chains, "HOST", "nowhere")


def scripted(**script):
    """A candidate beside a baseline whose calls are so long that a round has eight."""
    return ScriptedWall(candidate=Script(**({"call_ns": 1e7} | script)), eager=Script(call_ns=2e7))


def chained(wall, depth=CHAINED):
    judgement = run(wall, depth=depth)
    (finding,) = [each for each in judgement.verdict.findings if each.check == "chain_agrees"]
    return judgement, finding


@pytest.mark.parametrize("depth", [CHAINED, CONFIRMATION])
def test_an_honest_gain_is_seen_by_both_clocks(depth):
    judgement, finding = chained(scripted(), depth)
    assert isinstance(finding, Passed) and "2.0" in finding.because
    comparison = judgement.comparison
    assert comparison.decision is TimeDecision.FASTER
    assert comparison.chained.speedup == pytest.approx(2.0, rel=0.05) and comparison.chained.pairs == 5
    assert comparison.chained.glue_ratio == pytest.approx(0.01, abs=0.001)
    assert comparison.chained.shift_ratio == pytest.approx(0.0, abs=0.01)


def test_a_gain_that_needs_all_inputs_from_the_start_fails():
    judgement, finding = chained(scripted(chained_ns=2e7))
    assert failed_check(judgement) == "chain_agrees"
    assert "1.0" in finding.because and "2.0" in finding.because


def test_a_gain_that_noise_would_hide_is_told_as_such(monkeypatch):
    monkeypatch.setattr("tests.unit.pipeline.scripted.GLUE_NS", 1e10)
    judgement, finding = chained(scripted(chained_ns=2e7))
    assert judgement.verdict.outcome == "passed" and "would not show" in finding.because


def test_where_nothing_is_claimed_nothing_is_contradicted():
    _, finding = chained(scripted(call_ns=4e7, chained_ns=9e7))
    assert isinstance(finding, Passed) and "no gain is claimed" in finding.because


@pytest.mark.parametrize("index", [0, 1, 5])
def test_what_a_chained_call_left_is_judged(index, monkeypatch):
    """One call of every round is wrong, and only the chained clock looks at that one."""
    monkeypatch.setattr(chains, "_secret", lambda calls: index)
    monkeypatch.setattr("strop.pipeline.measure._secret", lambda slots: 7)

    def lazy(child, slot, circumstance):
        if child.made.layout.slots > UNTIMED_SLOTS and slot == index:
            child.made.views(slot)["out"].mul_(1.5)

    judgement, finding = chained(scripted(spoil=lazy))
    assert failed_check(judgement) == "chain_agrees" and "Wrong in a chained call" in finding.because


def test_results_that_are_put_right_afterwards_do_not_follow_from_one_another(monkeypatch):
    """Each is right for its inputs as the clock stops, but those inputs follow from what was there before."""
    monkeypatch.setattr(chains, "_secret", lambda calls: 3)

    def defers(child, slot, circumstance):
        slots = child.made.layout.slots
        if slots <= UNTIMED_SLOTS:
            return
        child.made.views(slot)["out"].fill_(float(slot))
        for each in range(slot + 1 if slot >= slots - 1 - chains.DRAWS else 0):
            child.made.views(each)["out"].copy_(child.given.views(each)["x"] * child.w)

    judgement, _ = chained(scripted(spoil=defers))
    assert failed_check(judgement) == "chain_agrees"


def test_something_is_judged_whatever_the_lot_says(monkeypatch):
    monkeypatch.setattr(chains, "JUDGED_SHARE", 0.0)
    seen, judged = [], chains.judged
    monkeypatch.setattr(chains, "judged", lambda *given: seen.append(given) or judged(*given))
    chained(scripted())
    assert len(seen) == 1


def test_keys_are_never_none_and_every_call_can_be_the_secret_one():
    assert all(0 < chains._key() < 1 << 64 for _ in range(100))
    assert {chains._secret(3) for _ in range(200)} == {0, 1, 2}


def test_calls_are_not_chained_where_they_cannot_be_and_never_at_screening(monkeypatch):
    _, finding = chained(scripted(), SCREENING)
    assert isinstance(finding, Skipped)
    monkeypatch.setattr(chains, "HOST", "elsewhere")
    judgement, finding = chained(scripted())
    assert isinstance(finding, Skipped) and "on a CPU alone" in finding.because
    assert judgement.comparison.chained is None and judgement.verdict.outcome == "passed"
    monkeypatch.setattr(chains, "HOST", "nowhere")
    monkeypatch.setattr(chains, "LEAST_CALLS", 1000)
    assert isinstance(chained(scripted())[1], Skipped)
