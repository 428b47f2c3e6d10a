"""The ledger remembers in order, forgets nothing, and says who must do what when it cannot."""

import os
import shutil
import sqlite3
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import event as sqlalchemy_event
from sqlalchemy.exc import DBAPIError

from strop.errors import NoLedger, StoreError
from strop.records.decision import Drop, Repair
from strop.records.event import (
    Admitted,
    Best,
    Decided,
    Judged,
    Noted,
    Proposed,
    RunEnded,
    StopReason,
)
from strop.storage import engine, migrate
from strop.storage.ledger import open_ledger
from strop.storage.migrate import known_revisions
from strop.storage.schema import HEAD
from tests.unit.supervisor.makers import candidate, comparison, keep, started, verdict


def texts(ledger, run):
    return [event.what.text for event in ledger.events(run)]


def test_events_come_back_as_they_went_in(tmp_path):
    good, bad = keep(), candidate("slow{at=mm_1}")
    happened = [
        started(),
        Admitted(admissible=True, notes=("re-drawn",)),
        Proposed(candidate=bad),
        Judged(verdict=verdict(bad, failed="matches_reference")),
        Decided(decision=Drop(candidate=bad, reason="matches_reference", because="it differs")),
        Decided(decision=good, final=True),
        Best(kept=good, without_work_removed=None, without_compiler=good),
        RunEnded(because="done", device_seconds_s=1.5, wall_seconds_s=2.5, reason=StopReason.BUDGET),
    ]
    with open_ledger(tmp_path) as ledger:
        written = [ledger.append("r-1", what) for what in happened]
    with open_ledger(tmp_path) as ledger:
        read = list(ledger.events("r-1"))
    assert read == written
    assert [event.what for event in read] == happened
    assert [event.sequence for event in read] == list(range(1, 9))


def test_runs_are_apart_and_newest_first(tmp_path):
    with open_ledger(tmp_path) as ledger:
        ledger.append("r-2", Noted(text="older"))
        ledger.append("r-1", Noted(text="newer"))
        ledger.append("r-2", Noted(text="late"))
        assert tuple(ledger.runs()) in {("r-1", "r-2"), ("r-2", "r-1")}
        assert texts(ledger, "r-2") == ["older", "late"]
        assert texts(ledger, "r-1") == ["newer"]
        assert list(ledger.events("r-3")) == []


def test_runs_about_a_candidate_are_found(tmp_path):
    with open_ledger(tmp_path) as ledger:
        ledger.append("r-1", Proposed(candidate=candidate()))
        ledger.append("r-2", Noted(text="nothing to do with it"))
        assert ledger.runs_about(candidate().id) == ("r-1",)


def test_new_run_ids_are_free(tmp_path):
    with open_ledger(tmp_path) as ledger:
        run = ledger.new_run()
        ledger.append(run, Noted(text="x"))
        assert ledger.new_run() != run


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET body = '{}'",
        "DELETE FROM events",
        "INSERT OR REPLACE INTO events (run, sequence, at, kind, final, body) VALUES ('r-1', 1, '', 'noted', 0, '{}')",
        "INSERT INTO events (run, sequence, at, kind, final, body) VALUES ('r-1', 7, '', 'noted', 0, '{}')",
    ],
)
def test_what_happened_cannot_be_changed(tmp_path, statement):
    with open_ledger(tmp_path) as ledger:
        ledger.append("r-1", Noted(text="one"))
        ledger.append("r-1", Noted(text="two"))
        with pytest.raises(DBAPIError, match="append-only"), ledger.engine.begin() as connection:
            connection.execute(sa.text(statement))
        assert texts(ledger, "r-1") == ["one", "two"]


def test_views_tell_a_person_the_story(tmp_path):
    wrong, slow, odd = candidate("wrong"), candidate("slow"), candidate("odd")
    good = keep("fold{at=bn_1}", 1.25)
    with open_ledger(tmp_path) as ledger:
        for what in (
            started(),
            Proposed(candidate=wrong),
            Judged(verdict=verdict(wrong, failed="matches_reference")),
            Decided(decision=Drop(candidate=wrong, reason="matches_reference", because="it differs")),
            Proposed(candidate=slow),
            Decided(decision=Drop(candidate=slow, reason="not_faster", because="", comparison=comparison(0.9))),
            Proposed(candidate=odd),
            Judged(verdict=verdict(odd, failed="builds")),
            Decided(decision=Repair(candidate=odd, because="it does not build")),
            Proposed(candidate=good.candidate),
            Decided(decision=keep("fold{at=bn_1}", 1.5)),
            Decided(decision=good, final=True),
            Best(kept=good, without_work_removed=good, without_compiler=good),
            Proposed(candidate=candidate("waiting")),
        ):
            ledger.append("r-1", what)
        rows = {row["recipe"]: row for row in ledger.view("candidates")}
        assert rows["wrong"]["stopped_by"] == "matches_reference"
        assert rows["wrong"]["verdict"] == "failed"
        assert (rows["slow"]["stopped_by"], rows["slow"]["speedup"]) == ("not_faster", 0.9)
        assert rows["odd"]["stopped_by"] == "builds"
        assert (rows["waiting"]["decision"], rows["waiting"]["stopped_by"]) == ("in work", None)
        [kept] = ledger.view("kept")
        assert (kept["recipe"], kept["speedup"], kept["confirmed"]) == ("fold{at=bn_1}", 1.25, 1)
        failures = {row["stopped_by"]: row["candidates"] for row in ledger.view("failures")}
        assert failures == {"matches_reference": 1, "not_faster": 1, "builds": 1}
        [run] = ledger.view("runs")
        assert (run["workload"], run["candidates"], run["stopped"]) == ("examples/mlp.py", 5, "not ended")
        assert (run["kept_recipe"], run["kept_speedup"]) == ("fold{at=bn_1}", 1.25)
        with pytest.raises(ValueError, match="views are"):
            ledger.view("events; DROP TABLE events")


def test_newest_script_is_the_schema_the_code_writes():
    assert known_revisions()[0] == HEAD


def test_events_are_durable_not_only_logged(tmp_path):
    with open_ledger(tmp_path) as ledger, ledger.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


def test_newer_ledger_is_left_alone(tmp_path):
    path = tmp_path / "ledger.sqlite"
    with open_ledger(path) as ledger:
        ledger.append("r-1", Noted(text="kept"))
    raw = sqlite3.connect(path)
    raw.execute("PRAGMA journal_mode = DELETE")
    raw.execute("UPDATE alembic_version SET version_num = '9999'")
    raw.commit()
    raw.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"newer Strop .*Upgrade strop.*name another ledger"):
        open_ledger(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["ledger.sqlite"]


NEXT_SCRIPT = """
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade():
    op.execute("CREATE VIEW notes AS SELECT run, sequence FROM events WHERE kind = 'noted'")
"""


def test_older_ledger_is_brought_up_to_date(tmp_path, monkeypatch):
    with open_ledger(tmp_path) as ledger:
        ledger.append("r-1", Noted(text="old"))
    scripts = tmp_path / "100% new scripts"
    shutil.copytree(migrate.SCRIPTS, scripts)
    (scripts / "versions" / "v0002_notes.py").write_text(NEXT_SCRIPT)
    monkeypatch.setattr(migrate, "SCRIPTS", scripts)
    monkeypatch.setattr(migrate, "HEAD", "0002")
    for _ in range(2):
        with open_ledger(tmp_path) as ledger, ledger.engine.connect() as connection:
            assert texts(ledger, "r-1") == ["old"]
            assert connection.exec_driver_sql("SELECT run, sequence FROM notes").all() == [("r-1", 1)]
    monkeypatch.undo()
    with pytest.raises(StoreError, match="newer Strop"):
        open_ledger(tmp_path)


def test_failed_upgrade_leaves_the_old_schema(tmp_path, monkeypatch):
    with open_ledger(tmp_path) as ledger:
        ledger.append("r-1", Noted(text="old"))
    scripts = tmp_path / "scripts"
    shutil.copytree(migrate.SCRIPTS, scripts)
    broken = NEXT_SCRIPT + "    op.execute('CREATE VIEW notes AS SELECT 1')\n"
    (scripts / "versions" / "v0002_notes.py").write_text(broken)
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "SCRIPTS", scripts)
        patch.setattr(migrate, "HEAD", "0002")
        with pytest.raises(StoreError, match="already exists"):
            open_ledger(tmp_path)
    with open_ledger(tmp_path) as ledger:
        assert texts(ledger, "r-1") == ["old"]


def test_database_in_which_nothing_is_yet_becomes_a_ledger(tmp_path):
    path = tmp_path / "empty.db"
    raw = sqlite3.connect(path)
    raw.execute("PRAGMA user_version = 1")
    raw.commit()
    raw.close()
    assert path.stat().st_size > 0
    with open_ledger(path) as ledger:
        ledger.append("r-1", Noted(text="new"))
        assert texts(ledger, "r-1") == ["new"]


def test_other_databases_and_files_are_refused_untouched(tmp_path):
    other = tmp_path / "other.db"
    raw = sqlite3.connect(other)
    raw.execute("CREATE TABLE songs (name TEXT)")
    raw.commit()
    raw.close()
    text = tmp_path / "notes.sqlite"
    text.write_text("this is no database, only a text that is long enough to be taken for one by its size" * 3)
    for path, word in ((other, "not a ledger of Strop"), (text, "file of another kind")):
        before = path.read_bytes()
        with pytest.raises(StoreError, match=word):
            open_ledger(path)
        assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["notes.sqlite", "other.db"]


def test_missing_ledger_is_not_made_for_readers(tmp_path):
    with pytest.raises(StoreError, match="There is no ledger"):
        open_ledger(tmp_path / "none", create=False)
    assert not (tmp_path / "none").exists()


def test_event_of_another_version_names_the_fix(tmp_path):
    with open_ledger(tmp_path) as ledger:
        ledger.append("r-1", Noted(text="fine"))
        with ledger.engine.begin() as connection:
            connection.exec_driver_sql(
                "INSERT INTO events (run, sequence, at, kind, final, body) "
                'VALUES (\'r-1\', 2, \'\', \'noted\', 0, \'{"event":"noted","text":"x","mood":1}\')'
            )
        with pytest.raises(StoreError, match=r"Event 2 of run r-1 .*Upgrade strop"):
            list(ledger.events("r-1"))


def test_full_disk_loses_nothing(tmp_path):
    with open_ledger(tmp_path) as ledger:
        ledger.append("r-1", Noted(text="before"))
    ledger = open_ledger(tmp_path)

    @sqlalchemy_event.listens_for(ledger.engine, "connect")
    def shrink(connection, _):
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 8}")

    ledger.engine.dispose()
    acknowledged = []

    def fill():
        for _ in range(100):
            acknowledged.append(ledger.append("r-1", Noted(text="x" * 4000)))

    with pytest.raises(StoreError, match=r"disk .* is full\. Free some space"):
        fill()
    assert acknowledged
    ledger.close()
    with open_ledger(tmp_path) as ledger:
        assert list(ledger.events("r-1"))[1:] == acknowledged
        ledger.append("r-1", Noted(text="after"))
        assert texts(ledger, "r-1")[-1] == "after"


@pytest.fixture
def public():
    """A folder that everybody may enter, which the folders of pytest are not."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@contextmanager
def unprivileged():
    """Root may write anywhere; these tests need somebody who may not."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_folder_without_permission(public):
    open_ledger(public / "warm").close()
    for mode, inside in ((0o555, ""), (0o555, "deeper"), (0o000, "deeper/still")):
        folder = public / f"locked-{mode:o}-{len(inside)}"
        folder.mkdir()
        os.chmod(folder, mode)
        with unprivileged(), pytest.raises(StoreError, match=r"(may not write|cannot be opened).*write permission"):
            open_ledger(folder / inside)


def test_file_without_permission(public):
    path = public / "shared" / "ledger.sqlite"
    with open_ledger(path) as ledger:
        ledger.append("r-1", Noted(text="kept"))
    os.chmod(path, 0o444)
    os.chmod(path.parent, 0o755)
    before = path.read_bytes()
    with unprivileged(), pytest.raises(StoreError, match="write permission"), open_ledger(path) as ledger:
        ledger.append("r-1", Noted(text="more"))
    assert path.read_bytes() == before
    with open_ledger(path) as ledger:
        assert texts(ledger, "r-1") == ["kept"]


def test_unknown_kinds_of_database():
    with pytest.raises(StoreError, match="no kind of database"):
        open_ledger("oracle9000://host/db")
    with pytest.raises(StoreError, match="would forget"):
        open_ledger("sqlite://")


def test_sqlite_url_is_a_file(tmp_path):
    with open_ledger(f"sqlite:///{tmp_path}/mine.db") as ledger:
        ledger.append("r-1", Noted(text="x"))
    assert (tmp_path / "mine.db").is_file()


def test_reading_where_there_is_no_ledger_makes_none(tmp_path):
    (tmp_path / "empty.sqlite").touch()
    sqlite3.connect(tmp_path / "bare.sqlite").executescript("VACUUM").close()
    for store in (tmp_path / "typo", tmp_path / "typo.sqlite", tmp_path / "empty.sqlite", tmp_path / "bare.sqlite"):
        before = sorted(tmp_path.iterdir())
        with pytest.raises(NoLedger, match="There is no ledger at"):
            open_ledger(store, create=False)
        assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("url", ["postgresql://me@host/x", "postgres://me@host/x"])
def test_a_server_is_reached_by_the_driver_of_our_extra(url, monkeypatch):
    asked = []

    def refuse(url, **options):
        asked.append(url)
        raise ModuleNotFoundError("no", name="psycopg")

    monkeypatch.setattr(engine.sa, "create_engine", refuse)
    with pytest.raises(StoreError, match=r"package 'psycopg'. Install it \(pip install 'strop\[postgresql\]'\)"):
        open_ledger(url)
    assert asked == ["postgresql+psycopg://me@host/x"]
