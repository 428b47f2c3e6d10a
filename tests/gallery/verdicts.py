"""What a judgement has to say about a card of the galleries, on whatever device it was judged."""

from strop.records.decision import Judgement
from strop.records.measurement import TimeDecision
from strop.records.verdict import Failed, Verdict
from tests.gallery.cards import Card

THE_CLOCK = "the clock"
"""Catches what is right and takes longer than it says."""
NO_GAIN = "no gain"
"""What is right each time, and saves nothing where nothing comes twice."""
BY_TIME = (THE_CLOCK, NO_GAIN)
ANY_SCOPE = "any"


def first_failure(verdict: Verdict) -> Failed | None:
    """The finding that ended the cascade."""
    return next((finding for finding in verdict.findings if isinstance(finding, Failed)), None)


def assert_caught(judged: Judgement, card: Card) -> None:
    """The check that the head names objects, and none before it."""
    failure = first_failure(judged.verdict)
    if card["caught-by"] in BY_TIME:
        assert failure is None, failure
        assert judged.comparison is not None
        assert judged.comparison.decision is not TimeDecision.FASTER
        assert judged.comparison.speedup < 0.5 or card["caught-by"] == NO_GAIN
    else:
        assert failure is not None, judged.verdict
        assert failure.check == card["caught-by"], failure.because
        assert judged.verdict.outcome == "failed"


def assert_passed(verdict: Verdict, card: Card) -> None:
    """Nobody objects, and the claim is as wide as the head says."""
    assert verdict.outcome == "passed", verdict.objection
    if card.get("scope") != ANY_SCOPE:
        assert verdict.scope.finite_inputs is (card.get("scope") == "finite_inputs")
    assert card.get("notes") in " ".join(verdict.notes)
