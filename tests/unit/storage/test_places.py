"""Where things lie, and the names of runs."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest

from strop.errors import StoreError
from strop.storage.places import artefacts_folder, ledger_file, new_run_id, workloads_folder


def test_a_store_is_a_folder_or_a_file(tmp_path):
    assert ledger_file(tmp_path) == tmp_path / "ledger.sqlite"
    assert ledger_file(tmp_path / "new") == tmp_path / "new" / "ledger.sqlite"
    assert ledger_file(tmp_path / "mine.db") == tmp_path / "mine.db"
    (tmp_path / "odd.db").mkdir()
    assert ledger_file(tmp_path / "odd.db") == tmp_path / "odd.db" / "ledger.sqlite"
    (tmp_path / "plain").write_bytes(b"")
    assert ledger_file(tmp_path / "plain") == tmp_path / "plain"


def test_artefacts_lie_beside_the_ledger_or_at_home(tmp_path):
    assert artefacts_folder(tmp_path / "x.db", tmp_path / "home") == tmp_path / "artefacts"
    assert artefacts_folder("postgresql://h/d", tmp_path / "home") == tmp_path / "home" / "artefacts"
    assert workloads_folder(tmp_path / "x.db", tmp_path / "home") == tmp_path / "workloads"
    assert workloads_folder("postgresql://h/d", tmp_path / "home") == tmp_path / "home" / "workloads"


def test_run_ids_say_when_in_utc_and_sort():
    moment = datetime(2026, 11, 30, 8, 59, 0, tzinfo=timezone(timedelta(hours=1)))
    assert new_run_id(moment, "ab12") == "r-20261130-075900-ab12"
    assert new_run_id(moment) < new_run_id(moment + timedelta(seconds=1))
    assert re.fullmatch(r"r-\d{8}-\d{6}-[0-9a-f]{4}", new_run_id())
    now = datetime.now(UTC)
    assert len({new_run_id(now) for _ in range(20)}) > 15


@pytest.mark.parametrize("store", ["~nobody-here/x", "a\0b"])
def test_what_is_no_place_says_so(store):
    with pytest.raises(StoreError, match="--store is"):
        ledger_file(store)
