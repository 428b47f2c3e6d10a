"""Where ledger and artefacts lie: a folder, a file or the URL of a database."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from pathlib import Path

from strop.errors import StoreError
from strop.settings import at_home

LEDGER_FILE = "ledger.sqlite"
ARTEFACTS_FOLDER = "artefacts"
WORKLOADS_FOLDER = "workloads"
_FILE_ENDINGS = (".sqlite", ".sqlite3", ".db")


def is_url(store: str) -> bool:
    """True for ``postgresql://...`` and other database URLs."""
    return "://" in store


def ledger_file(store: str | Path) -> Path:
    """The ledger's file for ``--store``: the file that is named like a database, else one inside the folder."""
    path = at_home(str(store), "--store", StoreError)
    if path.is_file() or (path.suffix in _FILE_ENDINGS and not path.is_dir()):
        return path.absolute()
    return (path / LEDGER_FILE).absolute()


def artefacts_folder(store: str | Path, home: Path) -> Path:
    """Where artefacts lie beside a ledger; those of a database on a server lie in this machine's ``home``."""
    if is_url(str(store)):
        return home / ARTEFACTS_FOLDER
    return ledger_file(store).parent / ARTEFACTS_FOLDER


def workloads_folder(store: str | Path, home: Path) -> Path:
    """Where the texts of a suite's workloads lie when ``store`` is somebody's home; a server has none of its own."""
    if is_url(str(store)):
        return home / WORKLOADS_FOLDER
    return ledger_file(store).parent / WORKLOADS_FOLDER


def new_run_id(now: datetime | None = None, mark: str | None = None) -> str:
    """A run id that sorts by time and can be typed: ``r-20261130-075900-ab12`` (UTC, then four random hex digits)."""
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    return f"r-{moment:%Y%m%d-%H%M%S}-{mark or secrets.token_hex(2)}"
