"""The same ledger on PostgreSQL: only the URL differs. Needs psycopg and a server's programs on this machine."""

import os
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from strop.errors import StoreError
from strop.records.event import Noted
from strop.storage.ledger import open_ledger
from strop.supervisor.loop import optimize
from strop.supervisor.result import summarise
from tests.unit.supervisor.scripted import ScriptedStations
from tests.unit.supervisor.test_loop import job


def programs():
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return places[-1] if places else None


@pytest.fixture(scope="module")
def url():
    pytest.importorskip("psycopg")
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL is not installed")
    # The server refuses to run as root.
    user = {"user": "nobody"} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o777)
        data, quiet = f"{home}/data", {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/"}
        subprocess.run([folder / "initdb", "-D", data, "-A", "trust", "-U", "strop"], check=True, **user, **quiet)
        control = [folder / "pg_ctl", "-D", data, "-w"]
        options = f"-k {home} -c listen_addresses="
        subprocess.run([*control, "-o", options, "-l", f"{home}/log", "start"], check=True, **user, **quiet)
        try:
            yield f"postgresql+psycopg://strop@/postgres?host={home}"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], check=True, **user, **quiet)


def test_a_run_is_the_same_there(url):
    with open_ledger(url) as ledger:
        result = optimize(job(ScriptedStations(), ledger, run="r-whole"))
        assert summarise(ledger.events("r-whole")) == result
        [run] = [row for row in ledger.view("runs") if row["run"] == "r-whole"]
        assert (run["candidates"], run["stopped"], run["kept_recipe"]) == (4, "nothing_left", "fold ; fuse")
        assert {row["stopped_by"] for row in ledger.view("failures")} == {"matches_reference"}
        assert [row["confirmed"] for row in ledger.view("kept")].count(1) == 1


def test_what_happened_cannot_be_changed(url):
    with open_ledger(url) as ledger:
        ledger.append("r-fixed", Noted(text="one"))
        for statement in ("UPDATE events SET body = ''", "DELETE FROM events", "TRUNCATE events"):
            with pytest.raises(DBAPIError, match="append-only"), ledger.engine.begin() as connection:
                connection.execute(sa.text(statement))
        assert [event.what.text for event in ledger.events("r-fixed")] == ["one"]


def test_writers_never_share_a_number(url):
    def write(_):
        with open_ledger(url) as ledger:
            return [ledger.append("r-crowd", Noted(text="x")).sequence for _ in range(20)]

    with ThreadPoolExecutor(3) as crowd:
        numbers = [number for each in crowd.map(write, range(3)) for number in each]
    assert sorted(numbers) == list(range(1, 61))


def test_a_server_that_is_not_there_is_named_without_its_password(url):
    with pytest.raises(StoreError) as caught:
        open_ledger(url.replace("strop@/postgres", "strop:secret@/nowhere"))
    assert "nowhere" in str(caught.value)
    assert "secret" not in str(caught.value)
