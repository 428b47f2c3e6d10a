"""The compile cache that trusted children keep from run to run, and that forgets what a killed child left half
written.

The compiler writes shared libraries and precompiled headers in place. A child that is killed while it compiles leaves
a torso that every later run would load and fail on. So each child that uses the cache leaves a marker, locked for as
long as this process lives; where a child did not end in peace, what was written since its marker was set is deleted.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from strop.errors import StoreError
from strop.sandbox.environment import USER

WRITTEN_IN_PLACE = ("*.so", "*.gch", "*.pch", "*.o")
# Clocks of file systems tick more coarsely than ours.
MARGIN_S = 2.0


def temporary_of_inductor(scratch: Path) -> Path:
    """Where Inductor keeps precompiled headers, below a child's temporary folder."""
    return scratch / "tmp" / f"torchinductor_{USER}"


class TrustedCache:
    """A folder with ``inductor`` (TORCHINDUCTOR_CACHE_DIR), ``headers`` (precompiled headers) and markers of its
    users.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def inductor(self) -> Path:
        """What Inductor compiled."""
        return self.folder / "inductor"

    @property
    def headers(self) -> Path:
        """Inductor's temporary folder, which holds its precompiled headers."""
        return self.folder / "headers"

    def heal(self) -> None:
        """Forget what users of the cache left behind whose process is gone without having given it back."""
        for marker in sorted((self.folder / "users").glob("*")):
            with contextlib.suppress(OSError):
                descriptor = os.open(marker, os.O_RDWR | os.O_CLOEXEC)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    self._forget_since(os.fstat(descriptor).st_mtime)
                    marker.unlink()
                finally:
                    os.close(descriptor)

    def lend(self, scratch: Path, name: str) -> Loan:
        """Let the child of ``scratch`` use the cache until the loan ends.

        Raises:
            StoreError: the cache cannot be written.
        """
        marker = self.folder / "users" / name
        try:
            for folder in (marker.parent, self.headers, self.inductor):
                folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(marker, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            temporary_of_inductor(scratch).symlink_to(self.headers, target_is_directory=True)
        except OSError as error:
            raise StoreError(
                f"The compile cache {self.folder} cannot be used ({error.strerror}). "
                "Free the disk or the folder's permissions, or set STROP_HOME to a folder that you may write to."
            ) from error
        return Loan(self, marker, descriptor)

    def _forget_since(self, since_s: float) -> None:
        for pattern in WRITTEN_IN_PLACE:
            for file in self.folder.rglob(pattern):
                with contextlib.suppress(OSError):
                    if file.stat().st_mtime >= since_s - MARGIN_S:
                        file.unlink()

    def end_loan(self, marker: Path, descriptor: int, *, in_peace: bool) -> None:
        """Remove a user's marker; where it did not end in peace, forget what was written meanwhile."""
        if not in_peace:
            self._forget_since(os.fstat(descriptor).st_mtime)
        marker.unlink(missing_ok=True)
        os.close(descriptor)


class Loan:
    """One child's use of the cache."""

    def __init__(self, cache: TrustedCache, marker: Path, descriptor: int) -> None:
        self._cache, self._marker, self._descriptor = cache, marker, descriptor

    def end(self, *, in_peace: bool) -> None:
        """The child is gone; ``in_peace`` says that it was not killed while it worked."""
        self._cache.end_loan(self._marker, self._descriptor, in_peace=in_peace)
