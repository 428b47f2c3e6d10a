"""Runs of another place become runs of this one, with the workloads that are kept as files there."""

from dataclasses import replace

import pytest

from strop.api.importing import import_runs
from strop.errors import NoLedger
from strop.records.event import Noted
from strop.records.workload import SourceKind, Workload, WorkloadSource
from strop.sources.text import digest_of
from strop.storage import ledger as ledgers
from strop.storage.ledger import SqlLedger, open_ledger
from tests.unit.supervisor.makers import started

TEXT, LIVE = b"class Model: ...", b"a pickle"
SUITE = WorkloadSource(kind=SourceKind.FILE, where="/far/away/workloads/level1_x-12.py", digest=digest_of(TEXT))
ARTEFACT = WorkloadSource(kind=SourceKind.LIVE, where="/far/away/artefacts/..", digest=digest_of(LIVE))
CHANGED = replace(SUITE, where="/far/away/workloads/level1_y-34.py")
OWN = replace(SUITE, where="/far/away/level1_x-12.py")


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("STROP_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def there(tmp_path):
    """Another machine's home."""
    place = tmp_path / "there"
    with open_ledger(place) as ledger:
        for number, source in enumerate((SUITE, ARTEFACT, CHANGED, OWN)):
            ledger.append(f"r-{number}", started(workload=Workload(name="w", source=source)))
            ledger.append(f"r-{number}", Noted(text="x"))
    digest = ARTEFACT.digest
    for name, data in (
        ("workloads/level1_x-12.py", TEXT),
        ("workloads/level1_y-34.py", b"another text"),
        ("workloads/unknown.py", TEXT),
        (f"artefacts/{digest[:2]}/{digest}", LIVE),
    ):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)
    return place


def files(place):
    return {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}


def test_runs_and_files_come_along_once(home, there):
    first, again = import_runs(str(there)), import_runs(str(there))
    assert [(each.run, each.taken, each.held) for each in first.runs] == [(f"r-{number}", 2, 0) for number in range(4)]
    assert [(each.taken, each.held) for each in again.runs] == [(0, 2)] * 4
    assert (first.files, again.files, first.exit_code) == (2, 0, 0)
    digest = ARTEFACT.digest
    assert files(home) == {"ledger.sqlite", "workloads/level1_x-12.py", f"artefacts/{digest[:2]}/{digest}"}
    assert (home / "workloads" / "level1_x-12.py").read_bytes() == TEXT


def test_an_interruption_is_made_good_by_saying_it_again(home, there, monkeypatch):
    take = SqlLedger.take

    def interrupted(self, run, written):
        if run == "r-2":
            raise KeyboardInterrupt
        return take(self, run, written)

    with monkeypatch.context() as patch:
        patch.setattr(ledgers.SqlLedger, "take", interrupted)
        with pytest.raises(KeyboardInterrupt):
            import_runs(str(there))
    assert [each.taken for each in import_runs(str(there)).runs] == [0, 0, 2, 2]


def test_what_cannot_be_taken_is_named_and_the_rest_is_taken(home, there):
    with open_ledger(home) as ledger:
        ledger.append("r-0", Noted(text="somebody else's"))
    with open_ledger(there) as ledger, ledger.engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO events (run, sequence, at, kind, final, body) "
            'VALUES (\'r-1\', 3, \'\', \'noted\', 0, \'{"event":"noted","text":"x","mood":1}\')'
        )
    done = import_runs(str(there))
    assert done.exit_code == 2
    assert {each.run for each in done.taken} == {"r-2", "r-3"}
    because = {each.run: each.because for each in done.refused}
    assert "another one" in because["r-0"] and "Upgrade strop" in because["r-1"]


def test_nothing_is_made_where_there_is_nothing_to_take(home, tmp_path):
    with pytest.raises(NoLedger):
        import_runs(str(tmp_path / "typo"))
    assert not home.exists()
