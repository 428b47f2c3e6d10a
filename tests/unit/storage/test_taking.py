"""What another ledger holds can be taken over: once is as good as twice, and what is half there becomes whole."""

import os
import shutil
from dataclasses import replace

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event as sqlalchemy_event

from strop.errors import NoLedger, StoreError
from strop.records.event import Decided, Noted, Proposed
from strop.storage.ledger import Taken, open_ledger, read_ledger
from tests.unit.supervisor.makers import WORKLOAD, candidate, keep, started

RUNS = {
    "r-1": [started(), Proposed(candidate=candidate()), Decided(decision=keep("fold", 1.5), final=True)],
    "r-2": [Noted(text="one"), Noted(text="two")],
}


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    store = tmp_path_factory.mktemp("there")
    with open_ledger(store) as ledger:
        for run, happened in RUNS.items():
            for what in happened:
                ledger.append(run, what)
    return store


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    store = tmp_path_factory.mktemp("empty")
    open_ledger(store).close()
    return store / "ledger.sqlite"


def table(ledger):
    with ledger.engine.connect() as connection:
        return connection.execute(sa.text("SELECT * FROM events ORDER BY run, sequence")).all()


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.sampled_from(sorted(RUNS)), st.integers(0, 3)), max_size=5))
def test_however_it_was_interrupted_the_whole_is_the_same_in_the_end(there, empty, tmp_path, steps):
    shutil.copy(empty, tmp_path / "ledger.sqlite")
    with read_ledger(there) as other, open_ledger(tmp_path) as ledger:
        for run, count in [*steps, *((run, 99) for run in RUNS), *((run, 99) for run in RUNS)]:
            part = list(other.written(run))[:count]
            held = min(len(part), len(list(ledger.events(run))))
            assert ledger.take(run, part) == Taken(run=run, taken=len(part) - held, held=held)
        assert table(ledger) == table(other)
        assert ledger.runs_about(WORKLOAD.id) == ("r-1",)
        assert ledger.append("r-2", Noted(text="goes on")).sequence == 3


def test_a_run_that_differs_is_left_alone(there, tmp_path):
    with read_ledger(there) as other, open_ledger(tmp_path) as ledger:
        ledger.append("r-2", Noted(text="one"))
        before = table(ledger)
        taken = ledger.take("r-2", list(other.written("r-2")))
        assert (taken.taken, taken.held) == (0, 0)
        assert taken.because.startswith("event 1 of r-2 is another one in")
        assert table(ledger) == before


def test_a_run_is_taken_whole_or_not_at_all(there, tmp_path):
    with read_ledger(there) as other, open_ledger(tmp_path) as ledger:
        [first, *_] = other.written("r-2")
        large = [
            replace(first, event=replace(first.event, sequence=number), body="x" * 4000) for number in (1, 2, 3, 4)
        ]

        @sqlalchemy_event.listens_for(ledger.engine, "connect")
        def shrink(connection, _):
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages + 2}")

        ledger.engine.dispose()
        with pytest.raises(StoreError, match="is full"):
            ledger.take("r-2", large)
        assert table(ledger) == []
        assert ledger.take("r-2", large[:1]).taken == 1


def test_a_ledger_that_is_read_stays_as_it_is(there, tmp_path):
    def folder():
        return {name: (there / name).read_bytes() for name in os.listdir(there)}

    before = folder()
    with read_ledger(there) as other:
        assert other.runs() in (("r-1", "r-2"), ("r-2", "r-1"))
        with pytest.raises(StoreError, match="may not write"):
            other.append("r-1", Noted(text="x"))
    assert folder() == before
    with open_ledger(there) as busy, read_ledger(there) as other:
        assert table(busy) == table(other)
    for missing in (tmp_path / "typo", tmp_path / "typo.sqlite"):
        with pytest.raises(NoLedger, match="There is no ledger at"):
            read_ledger(missing)
    (tmp_path / "a.db").touch()
    with pytest.raises(NoLedger, match="There is no ledger at"):
        read_ledger(tmp_path / "a.db")
    assert os.listdir(tmp_path) == ["a.db"]
