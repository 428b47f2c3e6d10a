"""Files by content: what is too large or too binary for the ledger, found by the SHA-256 of its bytes."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path

from strop.errors import StoreError
from strop.storage.troubles import explained

_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


class Artefacts:
    """A folder of files named by their digest. The same bytes twice are one file; a half-written one never shows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, data: bytes) -> str:
        """Keep ``data`` durably and return its digest.

        Raises:
            StoreError: no permission or no space.
        """
        digest = hashlib.sha256(data).hexdigest()
        path = self.path(digest)
        with explained(str(self.folder)):
            if not path.is_file():
                path.parent.mkdir(parents=True, exist_ok=True)
                _write_whole(path, data)
        return digest

    def get(self, digest: str) -> bytes:
        """The bytes with this digest.

        Raises:
            StoreError: not there, or no longer what was written.
        """
        path = self.path(digest)
        try:
            with explained(str(path)):
                data = path.read_bytes()
        except StoreError:
            if path.exists():
                raise
            raise StoreError(
                f"The artefact {digest[:16]} is not in {self.folder}. Copy that folder along with the ledger."
            ) from None
        if hashlib.sha256(data).hexdigest() != digest:
            raise StoreError(f"{path} is damaged: its bytes do not match its name. Restore it or delete it.")
        return data

    def path(self, digest: str) -> Path:
        """Where the file with this digest is, or would be."""
        if not _DIGEST.match(digest):
            raise ValueError(f"{digest!r} is not the SHA-256 of anything: 64 hex digits are expected")
        return self.folder / digest[:2] / digest

    def __contains__(self, digest: str) -> bool:
        return self.path(digest).is_file()


def _write_whole(path: Path, data: bytes) -> None:
    """Write beside the place and rename: others see all of it or nothing."""
    descriptor, name = tempfile.mkstemp(prefix=".part-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
        # The rename itself must reach the disk, or a power cut brings the old folder back.
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        Path(name).unlink(missing_ok=True)
