"""Connections to the ledger's database, with SQLite set up so that a killed process loses nothing that was written."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import NullPool

from strop.errors import StoreError

BUSY_TIMEOUT_S = 30.0
"""How long a writer waits for others; an append takes milliseconds, so only a stuck program makes it run out."""

WRITE = "strop_write"
"""Execution option of a connection whose transaction will write."""


def sqlite_engine(path: Path) -> sa.Engine:
    """Read and write ``path``.

    Write-ahead logging lets people read while a run writes. ``synchronous=FULL`` makes every commit wait for the disk:
    an event stands for seconds to minutes of measuring, a commit costs milliseconds, and NORMAL would lose the last
    events when the machine itself goes down.
    """
    engine = sa.create_engine(sa.URL.create("sqlite", database=str(path)), connect_args={"timeout": BUSY_TIMEOUT_S})

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        # Python's driver would begin transactions by itself, and too late; "begin" below does it.
        connection.isolation_level = None
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "recursive_triggers = ON"):
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        # A writer takes its lock at once: turning a reader into a writer half-way fails without waiting.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get(WRITE) else "BEGIN")

    return engine


def peeking_engine(path: Path) -> sa.Engine:
    """Read ``path`` without changing a byte of it, whatever it is."""
    return _file_engine(path)


def reading_engine(path: Path) -> sa.Engine:
    """Read ``path`` and leave nothing beside it either, also where one may not write.

    Reading along with a writer takes files beside the database, which a reader that may not write leaves there. Where
    none are, nobody is writing and all is in the database itself.
    """
    if path.with_name(f"{path.name}-wal").exists():
        return peeking_engine(path)
    return _file_engine(path, immutable="1")


def _file_engine(path: Path, **more: str) -> sa.Engine:
    url = sa.URL.create("sqlite", database=f"file:{quote(str(path))}", query={"mode": "ro", "uri": "true", **more})
    return sa.create_engine(url, poolclass=NullPool, connect_args={"timeout": BUSY_TIMEOUT_S})


def server_engine(url: str) -> sa.Engine:
    """A database on a server, by its URL.

    Raises:
        StoreError: the URL cannot be read, or the package that speaks to this kind of database is missing.
    """
    try:
        return sa.create_engine(_with_driver(url), pool_pre_ping=True)
    except NoSuchModuleError:
        kind = url.partition("://")[0]
        raise StoreError(
            f"'{kind}' is no kind of database that is known here. Write postgresql://..., or a path."
        ) from None
    except ArgumentError:
        raise StoreError("The store's URL cannot be read. Write it like postgresql://user@host/database.") from None
    except ModuleNotFoundError as error:
        extra = " (pip install 'strop[postgresql]')" if error.name == "psycopg" else ""
        raise StoreError(
            f"This store needs the Python package '{error.name}'. Install it{extra} and run again."
        ) from None


def _with_driver(url: str) -> str:
    """SQLAlchemy's own choice of a driver for PostgreSQL depends on its version; the one of our extra is asked for."""
    kind, mark, rest = url.partition("://")
    return f"postgresql+psycopg{mark}{rest}" if kind in ("postgresql", "postgres") else url


def writing(engine: sa.Engine) -> sa.Engine:
    """The same connections, each transaction begun as a writer's."""
    return engine.execution_options(**{WRITE: True})
