"""What a database or a disk complains about, turned into a sentence that says who must do what."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from strop.errors import StoreError

_SAFE = "Everything that was written before is safe; --resume goes on from there."
_DATABASE = (
    ("disk is full", f"The disk that holds {{place}} is full. Free some space there and run again. {_SAFE}"),
    ("no space left", f"The disk that holds {{place}} is full. Have its administrator free some space. {_SAFE}"),
    (
        "disk i/o error",
        f"The disk that holds {{place}} is full or failing. Free some space there, or have it checked. {_SAFE}",
    ),
    (
        "file is not a database",
        "{place} is not a ledger: it is a file of another kind and was left as it is. Name another place with --store.",
    ),
    (
        "malformed",
        "The ledger {place} is damaged. Restore it from a copy, or move it away and run again to begin a new one.",
    ),
    (
        "readonly database",
        "You may not write to {place}. Give yourself write permission on the file and its folder, or name another "
        "place with --store.",
    ),
    (
        "unable to open database file",
        "The ledger {place} cannot be opened. Make its folder and give yourself write permission there, or name "
        "another place with --store.",
    ),
    (
        "database is locked",
        "Another program has kept the ledger {place} locked for half a minute. End it, or name another place with "
        "--store.",
    ),
)
_FORBIDDEN = "You may not write to {place}. Give yourself write permission there, or name another place with --store."
_OS = {
    errno.ENOSPC: f"The disk that holds {{place}} is full. Free some space there and run again. {_SAFE}",
    errno.EDQUOT: f"Your disk quota at {{place}} is used up. Free some space there and run again. {_SAFE}",
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EROFS: "{place} is on a read-only file system. Name another place with --store.",
    errno.ENOTDIR: "A part of the path {place} is a file, not a folder. Name another place with --store.",
    errno.EEXIST: "{place} is there already and is not a folder. Name another place with --store.",
}


@contextmanager
def explained(place: str) -> Iterator[None]:
    """Raise StoreError for whatever the database or the disk at ``place`` refuses."""
    try:
        yield
    except DBAPIError as error:
        raise _about_database(error, place) from error
    except SQLAlchemyError as error:
        raise StoreError(f"{place} cannot be used as a ledger: {error}. Name another place with --store.") from error
    except OSError as error:
        form = _OS.get(error.errno or 0)
        if form is None:
            raise StoreError(
                f"{place} cannot be used: {error.strerror or error}. Name another with --store."
            ) from error
        raise StoreError(form.format(place=place)) from error


def _about_database(error: DBAPIError, place: str) -> StoreError:
    said = str(error.orig)
    for mark, form in _DATABASE:
        if mark in said.lower():
            return StoreError(form.format(place=place))
    first = said.strip().splitlines()[0].rstrip(".")
    return StoreError(f"The ledger {place} refused: {first}. Mend that, or name another place with --store.")
