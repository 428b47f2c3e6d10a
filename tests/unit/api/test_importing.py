"""Runs of one name that differ are left out, and all others are taken over; what runs refer to comes with them."""

import pytest

from strop.api.importing import import_runs
from strop.errors import StoreError
from strop.records.event import Noted
from strop.storage.artefacts import Artefacts
from strop.storage.ledger import open_ledger
from strop.storage.places import artefacts_folder


def test_one_run_that_differs_keeps_no_other_from_being_taken(tmp_path):
    there, here = str(tmp_path / "there"), str(tmp_path / "here")
    with open_ledger(there) as ledger:
        for run in ("r-1", "r-2", "r-3"):
            ledger.append(run, Noted(text=f"there {run}"))
    with open_ledger(here) as ledger:
        ledger.append("r-2", Noted(text="here"))
    digest = Artefacts(artefacts_folder(there, tmp_path)).put(b"a program")
    with pytest.raises(StoreError, match="Run r-2 is another one"):
        import_runs(there, here)
    with open_ledger(here) as ledger:
        assert set(ledger.runs()) == {"r-1", "r-2", "r-3"}
        assert [event.what.text for event in ledger.events("r-2")] == ["here"]
    assert Artefacts(artefacts_folder(here, tmp_path)).get(digest) == b"a program"
