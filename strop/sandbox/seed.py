"""What a candidate's empty compile cache is given at its start: what the compiler made of this machine, and of no workload.

Before its first kernel Inductor compiles half a dozen tiny programs to learn which vector instructions compiler and machine
support, and it precompiles its own header. Together that takes about half a minute of processor time and depends on no
workload, so the trusted children keep the results and candidates get copies: what a candidate does to them stays in its folder.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from strop.sandbox.environment import USER

# The checks are a few lines long; a kernel's boilerplate alone is longer.
MAX_CHECK_BYTES = 1024
# Precompiled headers are large; there is one for each set of compiler options, and the newest are those in use.
MAX_HEADERS = 3
HEADERS = "precompiled_headers"


def keep_headers(scratch: Path, trusted_cache: Path) -> None:
    """Let a trusted child's precompiled headers outlive it: Inductor puts them below the temporary folder."""
    kept = trusted_cache / "headers"
    kept.mkdir(parents=True, exist_ok=True)
    _inductors_temporary(scratch).symlink_to(kept, target_is_directory=True)


def plant(scratch: Path, trusted_cache: Path) -> int:
    """Copy checks and headers below a candidate's ``scratch``, where they are not yet; returns how many were copied."""
    pairs = [(file, scratch / "cache" / file.relative_to(trusted_cache)) for file in _checks(trusted_cache / "inductor")]
    folder = _inductors_temporary(scratch) / HEADERS
    pairs += [(file, folder / file.name) for file in _headers(trusted_cache / "headers" / HEADERS)]
    copied = 0
    for source, target in pairs:
        # The cache may be cleaned while this runs; the candidate then makes the file itself.
        with contextlib.suppress(OSError):
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                part = target.with_name(f"{target.name}.part")
                shutil.copy2(source, part)
                part.replace(target)
                copied += 1
    return copied


def _inductors_temporary(scratch: Path) -> Path:
    return scratch / "tmp" / f"torchinductor_{USER}"


def _checks(cache: Path) -> Iterator[Path]:
    for source in sorted(cache.glob("??/*.cpp")):
        library = source.with_suffix(".so")
        with contextlib.suppress(OSError):
            if source.stat().st_size <= MAX_CHECK_BYTES and library.is_file():
                yield source
                yield library


def _headers(folder: Path) -> Iterator[Path]:
    """The newest precompiled headers that are complete: the text is written first, the compiler's file renamed into place."""
    found: list[tuple[float, Path]] = []
    for compiled in folder.glob("*.h.gch"):
        with contextlib.suppress(OSError):
            found.append((compiled.stat().st_mtime, compiled))
    for _, compiled in sorted(found, reverse=True)[:MAX_HEADERS]:
        yield compiled.with_suffix("")
        yield compiled
