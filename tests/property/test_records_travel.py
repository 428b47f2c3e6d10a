"""Every event survives its way into the ledger and back, every recipe its way into a line of text and back."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.records.candidate import Candidate
from strop.records.decision import Drop, Keep, Repair
from strop.records.event import (
    Admitted,
    BaselinesMeasured,
    Best,
    Captured,
    CatalogueAsked,
    Decided,
    Described,
    Event,
    Happening,
    Judged,
    Noted,
    Profiled,
    Proposed,
    RunEnded,
    RunStarted,
)
from strop.records.measurement import Comparison, TimeDecision
from strop.records.recipe import Recipe, Step, parse_recipe
from strop.records.verdict import Passed, Verdict
from strop.wire.codec import CodecError, decode, encode
from tests.unit.supervisor.makers import candidate, comparison, verdict

# What JSON cannot hold never happens: text in ledgers is Unicode without lone surrogates.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
floats = st.floats(allow_nan=False)
whole = st.integers(-(2**40), 2**40)
names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
scalars = st.one_of(st.booleans(), whole, st.floats(allow_nan=False, allow_infinity=False), texts)
steps = st.builds(Step, names, st.dictionaries(names, scalars, max_size=3).map(lambda items: tuple(items.items())))
recipes = st.lists(steps, max_size=3).map(lambda items: Recipe(tuple(items)))

for kind, strategy in ((str, texts), (float, floats), (int, whole), (Step, steps), (Recipe, recipes)):
    st.register_type_strategy(kind, strategy)

candidates = st.from_type(Candidate)
comparisons = st.from_type(Comparison)


@st.composite
def keeps(draw):
    what = draw(candidates)
    fast = draw(st.builds(Comparison, decision=st.just(TimeDecision.FASTER)))
    verdict = draw(
        st.builds(
            Verdict,
            candidate_id=st.just(what.id),
            findings=st.lists(st.builds(Passed), min_size=1, max_size=2).map(tuple),
        )
    )
    return Keep(candidate=what, verdict=verdict, comparison=fast)


decisions = st.one_of(keeps(), st.builds(Repair), st.builds(Drop))
maybe = st.one_of(st.none(), keeps())
happenings = st.one_of(
    *(
        st.from_type(kind)
        for kind in (
            RunStarted,
            Described,
            Admitted,
            Captured,
            BaselinesMeasured,
            Profiled,
            CatalogueAsked,
            Proposed,
            Judged,
            RunEnded,
            Noted,
        )
    ),
    st.builds(Decided, decision=decisions),
    st.builds(Best, kept=maybe, without_work_removed=maybe, without_compiler=maybe),
)


@given(what=happenings, run=texts, sequence=whole)
def test_an_event_comes_back_as_it_went(what, run, sequence):
    event = Event(run=run, sequence=sequence, at="2026-11-30T08:00:00.000+00:00", what=what)
    assert decode(Event, encode(event)) == event
    assert decode(Happening, encode(what, Happening)) == what
    assert hash(decode(Event, encode(event))) == hash(event)


def test_infinities_and_nan_stay_what_they_are_however_deep():
    what = candidate()
    worst = replace(comparison(1.5), noise_ratio=math.inf, high=math.nan)
    told = Decided(decision=Drop(candidate=what, reason="not_faster", because="", comparison=worst))
    for kind, record in ((Happening, told), (Decided, told), (Event, Event(run="r", sequence=1, at="", what=told))):
        text = encode(record, kind)
        assert b'"noise_ratio":Infinity' in text
        assert b'"high":NaN' in text
        decode(kind, text)
    judged = Judged(verdict=replace(verdict(what), error_ratio=math.inf))
    assert decode(Happening, encode(judged, Happening)) == judged


@given(what=happenings)
def test_an_unknown_key_is_an_error_and_never_dropped(what):
    fields = json.loads(encode(what, Happening))
    with pytest.raises(CodecError):
        decode(Happening, json.dumps(fields | {"mood": "good"}))


@given(what=candidates)
def test_a_candidate_keeps_its_id_on_the_way(what):
    assert decode(Candidate, encode(what)).id == what.id


@given(recipe=recipes)
def test_a_recipe_prints_and_parses_back(recipe):
    assert parse_recipe(str(recipe)) == recipe


@given(first=recipes, second=recipes)
def test_recipes_join_as_their_texts_do(first, second):
    joined = first.then(second)
    assert parse_recipe(" ; ".join(text for text in (str(first), str(second)) if text)) == joined
