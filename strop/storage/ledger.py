"""The ledger: every event of every run, written once, in order, never changed."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from strop.errors import StoreError
from strop.records.event import Event, Happening
from strop.storage.engine import peeking_engine, reading_engine, server_engine, sqlite_engine, writing
from strop.storage.migrate import bring_up_to_date, no_ledger, refuse_newer, revision_of
from strop.storage.places import is_url, ledger_file, new_run_id
from strop.storage.schema import EVENTS, VIEWS, headline
from strop.storage.troubles import explained
from strop.wire.codec import CodecError, decode, encode

ATTEMPTS = 20
"""How often an append is tried when another process takes the number first; on SQLite the lock rules that out."""


T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """An event and its very text, which every ledger that holds the event keeps as it is."""

    event: Event
    body: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What became of one run of another ledger: events that were appended, events that were there; or ``because``,
    which says why nothing of it was taken.
    """

    run: str
    taken: int = 0
    held: int = 0
    because: str = ""


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

        def write(connection: sa.Connection) -> Event:
            at = datetime.now(UTC).isoformat(timespec="milliseconds")
            event = Event(run=run, sequence=self._last(connection, run) + 1, at=at, what=what)
            connection.execute(EVENTS.insert(), _row(Written(event=event, body=body)))
            return event

        return self._written(run, write)

    def take(self, run: str, written: Sequence[Written]) -> Taken:
        """Append what this ledger lacks of a run as another one holds it, all of that or nothing, durably. Where the
        two hold different events, nothing is appended.
        """
        return self._desk.submit(self._take, run, written).result()

    def _take(self, run: str, written: Sequence[Written]) -> Taken:
        def write(connection: sa.Connection) -> Taken:
            held = connection.execute(_events_of(run)).all()
            for here, there in zip(held, written, strict=False):
                if (here.sequence, here.at, here.body) != (there.event.sequence, there.event.at, there.body):
                    because = f"event {here.sequence} of {run} is another one in {self.place}: two runs have this id."
                    return Taken(run=run, because=because)
            lacking = [_row(each) for each in written[len(held) :]]
            if lacking:
                connection.execute(EVENTS.insert(), lacking)
            return Taken(run=run, taken=len(lacking), held=len(written) - len(lacking))

        return self._written(run, write)

    def _written(self, run: str, write: Callable[[sa.Connection], T]) -> T:
        """What ``write`` gives, once its transaction is on the disk."""
        with explained(self.place):
            for attempt in range(ATTEMPTS):
                try:
                    with writing(self.engine).begin() as connection:
                        done = write(connection)
                except IntegrityError:
                    time.sleep(0.002 * 2 ** min(attempt, 6))
                    continue
                return done
        raise StoreError(f"Another process keeps writing to run {run} in {self.place}. End it, or start a new run.")

    def events(self, run: str) -> Iterator[Event]:
        """All events of a run in order; none for a run that is not there."""
        return (each.event for each in self.written(run))

    def written(self, run: str) -> Iterator[Written]:
        """The same with their texts, for a ledger that takes them over."""
        for row in self._rows(_events_of(run)):
            what = self._read(row.body, run, row.sequence)
            yield Written(event=Event(run=run, sequence=row.sequence, at=row.at, what=what), body=row.body)

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


def _events_of(run: str) -> sa.Executable:
    wanted = sa.select(EVENTS.c.sequence, EVENTS.c.at, EVENTS.c.body).where(EVENTS.c.run == run)
    return wanted.order_by(EVENTS.c.sequence)


def _row(written: Written) -> dict[str, object]:
    """An event as the table holds it."""
    event = written.event
    named = {"run": event.run, "sequence": event.sequence, "at": event.at, "kind": event.what.event}
    return {**named, "body": written.body, **dataclasses.asdict(headline(event.what))}


def open_ledger(store: str | Path, *, create: bool = True) -> SqlLedger:
    """Open the ledger at a folder, a file or a database URL; make it where there is none, upgrade it where it is older.

    Raises:
        StoreError: a newer schema, no permission or space, something else than a ledger, or nothing and not ``create``.
    """
    path = _file_of(store)
    if path is not None:
        with explained(str(path)):
            _prepare_file(path, create)
    ledger = _ledger(store, path, sqlite_engine)
    try:
        with explained(ledger.place):
            bring_up_to_date(ledger.engine, ledger.place, create=create)
    except StoreError:
        ledger.close()
        raise
    return ledger


def read_ledger(store: str | Path) -> SqlLedger:
    """Open the ledger at a folder, a file or a database URL for reading alone: it is neither made nor upgraded.

    Raises:
        StoreError: a newer schema, no permission, something else than a ledger, or nothing.
    """
    path = _file_of(store)
    if path is not None:
        with explained(str(path)):
            if not path.is_file():
                raise no_ledger(str(path))
    ledger = _ledger(store, path, reading_engine)
    try:
        with explained(ledger.place), ledger.engine.connect() as connection:
            found = revision_of(connection, ledger.place)
        if found is None:
            raise no_ledger(ledger.place)
        refuse_newer(found, ledger.place)
    except StoreError:
        ledger.close()
        raise
    return ledger


def _ledger(store: str | Path, path: Path | None, engine_of: Callable[[Path], sa.Engine]) -> SqlLedger:
    if path is not None:
        return SqlLedger(engine_of(path), str(path))
    engine = server_engine(str(store))
    return SqlLedger(engine, engine.url.render_as_string(hide_password=True))


def _file_of(store: str | Path) -> Path | None:
    """The ledger's file; None for a database on a server."""
    text = str(store)
    if is_url(text) and not text.startswith("sqlite"):
        return None
    wanted = _path_of(text) if is_url(text) else store
    with explained(str(wanted)):
        return ledger_file(wanted)


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
