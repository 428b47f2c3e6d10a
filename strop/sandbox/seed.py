"""What a candidate's empty compile cache is given at its start: the compiler's own checks of this machine, and
nothing else.

Before its first kernel Inductor compiles and loads half a dozen tiny programs to learn which vector instructions
compiler and machine support. That takes some twelve seconds of processor time and depends on no workload, so the
trusted children's results are copied. They are copies: what a candidate does to them stays in its own folder.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

# The checks are a few lines long; a kernel's boilerplate alone is longer.
MAX_CHECK_BYTES = 1024


class Seed:
    """Finds the checks in the trusted cache once they are there, and plants them into candidates' caches."""

    def __init__(self, trusted_cache: Path | None) -> None:
        self._cache = trusted_cache / "inductor" if trusted_cache else None
        self._files: tuple[Path, ...] = ()

    def plant(self, cache: Path) -> int:
        """Copy the checks into ``cache``, where they are not yet; returns how many files were copied."""
        if self._cache is None:
            return 0
        self._files = self._files or tuple(_checks(self._cache))
        copied = 0
        for file in self._files:
            target = cache / "inductor" / file.relative_to(self._cache)
            # The cache may be cleaned while this runs; the candidate then makes the check itself.
            with contextlib.suppress(OSError):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, target)
                copied += 1
        return copied


def _checks(cache: Path) -> Iterator[Path]:
    for source in sorted(cache.glob("??/*.cpp")):
        library = source.with_suffix(".so")
        with contextlib.suppress(OSError):
            if source.stat().st_size <= MAX_CHECK_BYTES and library.is_file():
                yield source
                yield library
