"""What a child is told about the world: next to nothing, and the same for baseline and candidate."""

from __future__ import annotations

import importlib.util
import os
import site
import sys
from collections.abc import Mapping
from pathlib import Path

from strop.sandbox.processes import MARK

# Eager operators are bimodal while the allocator returns pages between calls; both sides run with these settings.
ALLOCATOR = {
    "MALLOC_MMAP_THRESHOLD_": "1073741824",
    "MALLOC_TRIM_THRESHOLD_": "4294967296",
    "MALLOC_TOP_PAD_": "268435456",
}
# Compilers name their temporary folders after the user; one name for all machines keeps them findable.
USER = "strop"
MAX_COMPILE_THREADS = 8
PACKAGE_FOLDER = Path(__file__).resolve().parents[2]


def search_path() -> str:
    """Where compilers are looked for: beside the interpreter, then where this process looks."""
    folders = [str(Path(sys.executable).parent), *os.get_exec_path()]
    return os.pathsep.join(dict.fromkeys(folders))


def import_folders() -> tuple[str, ...]:
    """Where a child finds Strop and what Strop needs; folders that its interpreter searches anyway are left out."""
    found = [PACKAGE_FOLDER]
    for package in ("torch", "numpy", "pydantic"):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            found.append(Path(spec.origin).parents[1])
    known = {Path(folder).resolve() for folder in (*site.getsitepackages(), site.getusersitepackages())}
    return tuple(dict.fromkeys(str(folder) for folder in found if folder.resolve() not in known))


def child_environment(
    *, scratch: Path, token: str, threads: int, cache: Path | None, extra: Mapping[str, str]
) -> dict[str, str]:
    """The whole environment of a child.

    Everything that it writes goes below ``scratch``; ``cache`` is where compile caches lie instead, for trusted
    roles. ``extra`` is what wiring adds (such as CC and CXX), and it cannot override the rest.
    """
    caches = cache or scratch / "cache"
    return {
        **extra,
        **ALLOCATOR,
        "PATH": search_path(),
        "HOME": str(scratch),
        "TMPDIR": str(scratch / "tmp"),
        "LANG": "C.UTF-8",
        "USER": USER,
        "LOGNAME": USER,
        "PYTHONPATH": os.pathsep.join(import_folders()),
        "PYTHONSAFEPATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "PYTHONFAULTHANDLER": "1",
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "TORCHINDUCTOR_CACHE_DIR": str(caches / "inductor"),
        "TRITON_CACHE_DIR": str(caches / "triton"),
        "TORCH_EXTENSIONS_DIR": str(caches / "extensions"),
        # Threads compile side by side and then rest; a pool of subprocesses would take part in the timing.
        "TORCHINDUCTOR_COMPILE_THREADS": str(min(MAX_COMPILE_THREADS, len(os.sched_getaffinity(0)))),
        "TORCH_WARM_POOL": "0",
        MARK: token,
    }
