"""From C++ text to a function: one compiler call, a shared library cached by its content, plain C entry points.

There is no Python header, no pybind and no ninja in between, so a kernel builds in about half a second. Libraries are
built in a private name and renamed, so processes that build the same kernel at once cannot see half a file.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import torch

HEADERS = Path(__file__).parent / "cpp"

_COMPILERS = ("g++", "clang++", "c++")
_FLAGS = (
    "-std=c++17",
    "-O3",
    "-march=native",
    "-fPIC",
    "-shared",
    # Comparisons with NaN and the sign of zero keep their meaning; only traps, errno and contraction are given up.
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
    "-fopenmp",
)
_WIDE = "-mprefer-vector-width=512"
_BUILD_LIMIT_S = 120


class KernelBuildError(RuntimeError):
    """A kernel could not be built here; the message holds the compiler's own words."""


def compiler() -> str | None:
    """The C++ compiler to use: ``CXX`` when set, else the first one on the path, else None."""
    wanted = os.environ.get("CXX")
    return shutil.which(wanted) if wanted else next(filter(None, map(shutil.which, _COMPILERS)), None)


def cache_folder() -> Path:
    """Where libraries are kept: under TORCH_EXTENSIONS_DIR when set, else in the user's own temporary folder."""
    given = os.environ.get("TORCH_EXTENSIONS_DIR")
    folder = Path(given) if given else Path(tempfile.gettempdir()) / f"strop_kernels_{os.getuid()}"
    folder = folder / "strop"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if folder.stat().st_uid != os.getuid():
        raise KernelBuildError(
            f"{folder} belongs to another user, who could put other code there; "
            "set TORCH_EXTENSIONS_DIR to a folder of yours."
        )
    return folder


@functools.cache
def load(source: str) -> ctypes.CDLL:
    """Build ``source`` unless its library is cached, and load it.

    Args:
        source: C++ text; it may include the headers of ``strop/kernels/cpp`` by name.

    Raises:
        KernelBuildError: there is no compiler, or it refused.
    """
    chosen = compiler()
    if chosen is None:
        raise KernelBuildError("There is no C++ compiler on the path; install g++ or clang++, or set CXX.")
    command = [chosen, *_FLAGS, *_wide_vectors(chosen), f"-I{HEADERS}"]
    library = cache_folder() / f"k{_digest(source, command)}.so"
    if not library.exists():
        _build(source, command, library)
    return ctypes.CDLL(str(library))


def _wide_vectors(chosen: str) -> tuple[str, ...]:
    """Whole registers where there is AVX-512; compilers use half of them on their own."""
    wide = torch.backends.cpu.get_cpu_capability() == "AVX512"
    return (_WIDE,) if wide and "clang" not in Path(chosen).name else ()


def _digest(source: str, command: list[str]) -> str:
    headers = [header.read_text() for header in sorted(HEADERS.glob("*.hpp"))]
    machine = _machine()
    return hashlib.sha256("\0".join([source, machine, *command, *headers]).encode()).hexdigest()[:24]


@functools.cache
def _machine() -> str:
    """What ``-march=native`` depends on, so that a cache folder may be shared between machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return torch.backends.cpu.get_cpu_capability()
    return "\n".join(sorted({line for line in lines if line.startswith(("flags", "Features", "model name"))}))


def _build(source: str, command: list[str], library: Path) -> None:
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        text, made = Path(folder) / "kernel.cpp", Path(folder) / "kernel.so"
        text.write_text(source)
        try:
            subprocess.run(
                [*command, str(text), "-o", str(made)],
                check=True,
                capture_output=True,
                text=True,
                timeout=_BUILD_LIMIT_S,
            )
        except subprocess.CalledProcessError as failure:
            raise KernelBuildError(f"The C++ compiler refused a kernel:\n{failure.stderr[-4000:]}") from failure
        except subprocess.TimeoutExpired as failure:
            raise KernelBuildError(f"The C++ compiler did not finish a kernel in {_BUILD_LIMIT_S} s.") from failure
        made.replace(library)
