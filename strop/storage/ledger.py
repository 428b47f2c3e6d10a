"""The ledger: every event of every run, written once, in order, never changed."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from strop.errors import StoreError
from strop.records.event import Event, Happening
from strop.storage.engine import peeking_engine, server_engine, sqlite_engine, writing
from strop.storage.migrate import bring_up_to_date, no_ledger, refuse_newer, revision_of
from strop.storage.places import is_url, ledger_file, new_run_id
from strop.storage.schema import EVENTS, VIEWS, headline
from strop.storage.troubles import explained
from strop.wire.codec import CodecError, decode, encode

ATTEMPTS = 20
"""How often an append is tried when another process takes the number first; on SQLite the lock rules that out."""


class SqlLedger:
    """A LedgerPort over SQL. Close it, or use it as a context manager.

    Every method raises StoreError when the database refuses; the message says who must do what. All work is done by one
    thread of the ledger's own: Ctrl-C reaches the main thread alone, so it can never tear a transaction half-way and
    leave the database locked. What was being written then is written.
    """

    def __init__(self, engine: sa.Engine, place: str) -> None:
        self.engine = engine
        self.place = place
        self._desk = ThreadPoolExecutor(max_workers=1, thread_name_prefix="strop-ledger")

    def append(self, run: str, what: Happening) -> Event:
        """Write one event durably; when this returns, neither a kill nor a power cut takes it away."""
        return self._desk.submit(self._append, run, what).result()

    def _append(self, run: str, what: Happening) -> Event:
        body = encode(what, Happening).decode()
        columns = dataclasses.asdict(headline(what))
        with explained(self.place):
            for attempt in range(ATTEMPTS):
                at = datetime.now(UTC).isoformat(timespec="milliseconds")
                try:
                    with writing(self.engine).begin() as connection:
                        sequence = self._last(connection, run) + 1
                        row = {"run": run, "sequence": sequence, "at": at, "kind": what.event, "body": body, **columns}
                        connection.execute(EVENTS.insert(), row)
                except IntegrityError:
                    time.sleep(0.002 * 2 ** min(attempt, 6))
                    continue
                return Event(run=run, sequence=sequence, at=at, what=what)
        raise StoreError(f"Another process keeps writing to run {run} in {self.place}. End it, or start a new run.")

    def take(self, run: str, other: SqlLedger) -> int:
        """Append what another ledger holds of a run and this one lacks, as it is there: all of it or nothing. The
        number of events is returned.

        Raises:
            StoreError: the two tell different stories of that run.
        """
        theirs = [dict(row._mapping) for row in other._rows(_whole(run))]
        return self._desk.submit(self._take, run, theirs, other.place).result()

    def _take(self, run: str, theirs: list[dict[str, Any]], place: str) -> int:
        with explained(self.place), writing(self.engine).begin() as connection:
            mine = [dict(row._mapping) for row in connection.execute(_whole(run))]
            if any(_told(one) != _told(other) for one, other in zip(mine, theirs, strict=False)):
                raise StoreError(
                    f"Run {run} is another one in {place} than in {self.place}, so it is not taken over: "
                    "keep the two ledgers apart."
                )
            for row in theirs[len(mine) :]:
                connection.execute(EVENTS.insert(), row)
        return max(0, len(theirs) - len(mine))

    def events(self, run: str) -> Iterator[Event]:
        """All events of a run in order; none for a run that is not there."""
        wanted = sa.select(EVENTS.c.sequence, EVENTS.c.at, EVENTS.c.body).where(EVENTS.c.run == run)
        for row in self._rows(wanted.order_by(EVENTS.c.sequence)):
            yield Event(run=run, sequence=row.sequence, at=row.at, what=self._read(row.body, run, row.sequence))

    def runs(self) -> Sequence[str]:
        """Run ids, newest first."""
        begun = sa.func.min(EVENTS.c.at)
        wanted = sa.select(EVENTS.c.run).group_by(EVENTS.c.run).order_by(begun.desc(), EVENTS.c.run.desc())
        return tuple(row[0] for row in self._rows(wanted))

    def runs_about(self, subject: str) -> Sequence[str]:
        """Runs in which a candidate (``c-...``) or workload (``w-...``) occurs, newest first."""
        begun = sa.func.max(EVENTS.c.at)
        wanted = sa.select(EVENTS.c.run).where(EVENTS.c.subject == subject).group_by(EVENTS.c.run)
        return tuple(row[0] for row in self._rows(wanted.order_by(begun.desc(), EVENTS.c.run.desc())))

    def view(self, name: str) -> Sequence[dict[str, object]]:
        """The rows of one of the views that people read: ``runs``, ``candidates``, ``kept`` or ``failures``."""
        if name not in VIEWS:
            raise ValueError(f"the ledger's views are {', '.join(VIEWS)}, not {name}")
        rows = self._rows(sa.text(f"SELECT * FROM {name}"))  # noqa: S608 - one of VIEWS
        return [dict(row._mapping) for row in rows]

    def new_run(self) -> str:
        """A run id that this ledger does not hold yet."""
        taken = set(self.runs())
        while (run := new_run_id()) in taken:
            continue
        return run

    def close(self) -> None:
        """Finish what is being written and let go of the database; idempotent."""
        self._desk.shutdown()
        self.engine.dispose()

    def __enter__(self) -> SqlLedger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _rows(self, wanted: sa.Executable) -> Sequence[sa.Row[Any]]:
        def read() -> Sequence[sa.Row[Any]]:
            with explained(self.place), self.engine.connect() as connection:
                return connection.execute(wanted).all()

        return self._desk.submit(read).result()

    def _last(self, connection: sa.Connection, run: str) -> int:
        wanted = sa.select(sa.func.coalesce(sa.func.max(EVENTS.c.sequence), 0)).where(EVENTS.c.run == run)
        return connection.execute(wanted).scalar_one()

    def _read(self, body: str, run: str, sequence: int) -> Happening:
        try:
            return decode(Happening, body)  # type: ignore[arg-type]  # a union is a type to pydantic
        except CodecError as error:
            raise StoreError(
                f"Event {sequence} of run {run} in {self.place} cannot be read ({error}): it was written by another "
                "version of Strop. Upgrade strop, or start a new run."
            ) from None


def _whole(run: str) -> sa.Select[Any]:
    return sa.select(EVENTS).where(EVENTS.c.run == run).order_by(EVENTS.c.sequence)


def _told(row: dict[str, Any]) -> tuple[str, str]:
    """What an event says and when; the other columns only repeat it for those who ask."""
    return row["at"], row["body"]


def open_ledger(store: str | Path, *, create: bool = True) -> SqlLedger:
    """Open the ledger at a folder, a file or a database URL; make it where there is none, upgrade it where it is older.

    Raises:
        StoreError: a newer schema, no permission or space, something else than a ledger, or nothing and not ``create``.
    """
    text = str(store)
    if is_url(text) and not text.startswith("sqlite"):
        engine = server_engine(text)
        place = engine.url.render_as_string(hide_password=True)
    else:
        wanted = _path_of(text) if is_url(text) else store
        with explained(str(wanted)):
            path = ledger_file(wanted)
        place = str(path)
        with explained(place):
            _prepare_file(path, create)
        engine = sqlite_engine(path)
    ledger = SqlLedger(engine, place)
    try:
        with explained(place):
            bring_up_to_date(engine, place, create=create)
    except StoreError:
        ledger.close()
        raise
    return ledger


def _path_of(url: str) -> str:
    database = sa.make_url(url).database
    if not database or database == ":memory:":
        raise StoreError(
            f"{url} names no file, and a ledger in memory would forget. Write sqlite:///path/to/ledger.sqlite."
        )
    return database


def _prepare_file(path: Path, create: bool) -> None:
    if path.is_file() and path.stat().st_size > 0:
        # A database of another kind or of a newer schema must not even be switched to write-ahead logging.
        peek = peeking_engine(path)
        with peek.connect() as connection:
            refuse_newer(revision_of(connection, str(path)), str(path))
    elif create:
        path.parent.mkdir(parents=True, exist_ok=True)
    else:
        raise no_ledger(str(path))
