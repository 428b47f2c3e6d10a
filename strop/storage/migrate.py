"""Which schema a ledger has, and bringing an older one up to date. A newer one is left alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from strop.errors import NoLedger, StoreError
from strop.storage.engine import writing
from strop.storage.schema import HEAD

if TYPE_CHECKING:
    from alembic.config import Config

SCRIPTS = Path(__file__).parent / "migrations"

_VERSION = sa.table("alembic_version", sa.column("version_num", sa.Text))


def revision_of(connection: sa.Connection, place: str) -> str | None:
    """The revision of the ledger behind ``connection``; None for a database in which nothing is yet.

    Raises:
        StoreError: it is a database of something else.
    """
    tables = set(sa.inspect(connection).get_table_names())
    if "alembic_version" in tables and "events" in tables:
        return connection.execute(sa.select(_VERSION.c.version_num)).scalar_one_or_none()
    if tables and connection.dialect.name == "sqlite":
        names = ", ".join(sorted(tables)[:3])
        raise StoreError(
            f"{place} is a database, but not a ledger of Strop (it holds {names}) and was left as it is. "
            "Name another place with --store."
        )
    if "events" in tables or "alembic_version" in tables:
        raise StoreError(
            f"{place} already holds tables that are not a ledger's and was left as it is. Name another database with "
            "--store, or add ?options=-csearch_path%3Dstrop for a schema of its own."
        )
    return None


def refuse_newer(revision: str | None, place: str) -> None:
    """Say what to do about a ledger that this version of Strop does not know.

    Raises:
        StoreError: the ledger was written by a newer Strop.
    """
    if revision is None or revision == HEAD:
        return
    if revision not in known_revisions():
        raise StoreError(
            f"The ledger {place} was written by a newer Strop (its schema is {revision}, this one knows {HEAD}) "
            "and was left as it is. Upgrade strop (pip install --upgrade strop), or name another ledger with --store."
        )


def no_ledger(place: str) -> NoLedger:
    """The error for a place at which a ledger should have been and is not."""
    return NoLedger(f"There is no ledger at {place}. Run strop optimize first, or name another place with --store.")


def bring_up_to_date(engine: sa.Engine, place: str, *, create: bool = True) -> None:
    """Create or upgrade the schema in one transaction; several processes may do so at once.

    Raises:
        StoreError: a newer ledger, something else than a ledger, or nothing and not ``create``.
    """
    with engine.connect() as connection:
        found = revision_of(connection, place)
    if found is None and not create:
        raise no_ledger(place)
    refuse_newer(found, place)
    if found == HEAD:
        return
    with writing(engine).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(hashtext('strop ledger schema'))"))
        # Somebody else may have been faster; the lock is ours now, so this answer stands.
        found = revision_of(connection, place)
        refuse_newer(found, place)
        if found != HEAD:
            _upgrade(connection)


def known_revisions() -> tuple[str, ...]:
    """The revisions that this version of Strop can read, newest first."""
    from alembic.script import ScriptDirectory

    return tuple(script.revision for script in ScriptDirectory.from_config(_settings()).walk_revisions())


def _upgrade(connection: sa.Connection) -> None:
    from alembic import command

    settings = _settings()
    settings.attributes["connection"] = connection
    command.upgrade(settings, "head")


def _settings() -> Config:
    # Imported only where a ledger is not up to date: Alembic would double the time that `strop show` needs to start.
    from alembic.config import Config

    settings = Config()
    # Alembic reads options through a parser for which a per cent sign is special.
    settings.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    settings.set_main_option("path_separator", "os")
    return settings
