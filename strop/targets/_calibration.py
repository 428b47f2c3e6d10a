"""Ceilings are measured once per machine and kept; the measuring runs in a process of its own.

``python -m strop.targets._calibration NAME THREADS`` measures and writes the ceilings as JSON to its standard output.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from strop.errors import InternalFault, StoreError
from strop.records.ids import content_id
from strop.records.target import Ceilings, Target
from strop.targets import SHELF
from strop.targets._base import TargetKind
from strop.wire.codec import CodecError, decode, encode

FORMAT = 1
TIMEOUT_S = 600.0

Measure = Callable[[str, int], Ceilings]


def measure_apart(name: str, threads: int) -> Ceilings:
    """Measure in a fresh process: the caller's needs no torch, and its threads and caches stay out of it.

    Raises:
        InternalFault: the measuring process failed; the message holds its last words.
    """
    command = [sys.executable, "-m", "strop.targets._calibration", name, str(threads)]
    package = str(Path(__file__).resolve().parents[2])
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((package, *filter(None, [os.environ.get("PYTHONPATH")]))),
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
    }
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise InternalFault(
            f"Measuring the ceilings of target '{name}' did not end within {TIMEOUT_S:g} s: "
            "run it again when the machine is idle, else please report this."
        ) from error
    try:
        return decode(Ceilings, done.stdout)
    except CodecError as error:
        words = done.stderr.strip().splitlines()[-1:] or [str(error)]
        raise InternalFault(
            f"Measuring the ceilings of target '{name}' failed ({words[0]}); please report this."
        ) from error


def calibrate(
    kind: TargetKind, home: Path, threads: int, *, measure: Measure, say: Callable[[str], object], again: bool = False
) -> Target:
    """The target as this machine has it; its ceilings come from ``home/calibration``, or are measured and kept there.

    A file that cannot be read is measured again, and so is any when ``again`` is asked for. What is kept holds for one
    machine, torch version and thread count. ``say`` hears of a measurement, which takes seconds.

    Raises:
        StoreError: the ceilings cannot be kept.
        InternalFault: they cannot be measured.
    """
    path = calibration_path(kind, home, threads)
    ceilings = None if again else _remembered(path)
    if ceilings is None:
        say(f"measuring the ceilings of {kind.name}, which happens once per machine")
        ceilings = measure(kind.name, threads)
        _keep(path, ceilings)
    return kind.describe(ceilings, threads)


def _remembered(path: Path) -> Ceilings | None:
    try:
        return decode(Ceilings, path.read_bytes())
    except (FileNotFoundError, CodecError):
        return None
    except OSError as error:
        raise _unusable(path, error) from error


def calibration_path(kind: TargetKind, home: Path, threads: int) -> Path:
    """Where the ceilings of this machine are kept; the name holds everything that they depend on."""
    key = content_id("k", FORMAT, kind.name, dict(kind.identity()), _torch_version(), threads)
    return home / "calibration" / f"{kind.name}-{key}.json"


def _keep(path: Path, ceilings: Ceilings) -> None:
    fresh = path.with_suffix(f".{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_bytes(encode(ceilings))
        fresh.replace(path)
    except OSError as error:
        raise _unusable(path, error) from error


def _unusable(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"The calibration file {path} cannot be used ({error.strerror}). "
        "Free the disk or the folder's permissions, or set STROP_HOME to a folder that you may write to."
    )


def _torch_version() -> str:
    try:
        return version("torch")
    except PackageNotFoundError:
        return "none"


def main(arguments: list[str]) -> None:
    """Measure one target and write its ceilings to standard output."""
    name, threads = arguments
    sys.stdout.write(encode(SHELF.get(name).measure_ceilings(int(threads))).decode())


if __name__ == "__main__":
    main(sys.argv[1:])
