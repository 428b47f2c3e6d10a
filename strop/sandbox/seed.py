"""What a candidate's empty compile cache is given at its start: what the compiler made for this machine, and for no
workload.

Before its first kernel Inductor compiles half a dozen tiny programs to learn which vector instructions compiler and
machine support, and it precompiles its own header. Together that takes about half a minute of processor time and
depends on no workload, so candidates get copies of the trusted children's results: what a candidate does to them
stays in its folder.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from strop.sandbox.cache import TrustedCache, temporary_of_inductor
from strop.sandbox.processes import BLOCK_BYTES

# The checks are a few lines long; a kernel's boilerplate alone is longer.
MAX_CHECK_BYTES = 1024
# Precompiled headers are large; there is one for each set of compiler options, and the newest are those in use.
MAX_HEADERS = 3
HEADERS = "precompiled_headers"


def plant(scratch: Path, cache: TrustedCache, allow: Callable[[int], None]) -> int:
    """Copy checks and headers below a candidate's ``scratch``, where they are not yet; returns how many were copied.
    Before each, ``allow`` hears how many bytes it takes on disk: they are none of the candidate's.
    """
    pairs = [(file, scratch / "cache" / file.relative_to(cache.folder)) for file in _checks(cache.inductor)]
    folder = temporary_of_inductor(scratch) / HEADERS
    pairs += [(file, folder / file.name) for file in _headers(cache.headers / HEADERS)]
    return sum(_copy(source, target, allow) for source, target in pairs)


def _copy(source: Path, target: Path, allow: Callable[[int], None]) -> bool:
    if target.exists():
        return False
    part = target.with_name(f"{target.name}.part")
    # The cache may be cleaned while this runs; the candidate then makes the file itself.
    with contextlib.suppress(OSError):
        target.parent.mkdir(parents=True, exist_ok=True)
        allow(source.stat().st_blocks * BLOCK_BYTES)
        shutil.copy2(source, part)
        part.replace(target)
        return True
    return False


def _checks(cache: Path) -> Iterator[Path]:
    for source in sorted(cache.glob("??/*.cpp")):
        library = source.with_suffix(".so")
        with contextlib.suppress(OSError):
            if source.stat().st_size <= MAX_CHECK_BYTES and library.is_file():
                yield source
                yield library


def _headers(folder: Path) -> Iterator[Path]:
    found: list[tuple[float, Path]] = []
    for compiled in (*folder.glob("*.h.gch"), *folder.glob("*.h.pch")):
        with contextlib.suppress(OSError):
            found.append((compiled.stat().st_mtime, compiled))
    for _, compiled in sorted(found, reverse=True)[:MAX_HEADERS]:
        yield compiled.with_suffix("")
        yield compiled
