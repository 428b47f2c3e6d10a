"""What this machine can do, and for each thing that it cannot do, the fix."""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path

import torch

from strop.errors import StoreError, StropError
from strop.records.target import Target
from strop.report.phrases import amount_text, plural, share_text, time_text
from strop.settings import Settings, read_settings
from strop.targets import SHELF as TARGETS
from strop.targets._base import TargetKind
from strop.wiring import Say, calibrated, compiler_version, open_house, open_wall, silent, write_whole

OLDEST_TORCH = (2, 11)
NEWEST_TESTED_TORCH = (2, 13)
PYTHONS = ((3, 11), (3, 13))
LEAST_DISK_BYTES = 2 * 10**9
LEAST_MEMORY_BYTES = 2 * 10**9
NOISY_SHARE = 0.10
NOISE_ROUNDS = 60
RAISE_ISOLATION = {
    "A": "",
    "B": "For grade A, let this user create namespaces (user.max_user_namespaces above 0).",
    "C": "A candidate is a process of this user with limits, nothing more. "
    "Judge candidates that you do not trust in a container or as a user of their own.",
}


class State(StrEnum):
    """How one finding is to be taken."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at. ``fix`` is empty where nothing needs to be done."""

    name: str
    state: State
    found: str
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """All findings, and the targets with their measured ceilings."""

    findings: tuple[Finding, ...]
    targets: tuple[Target, ...]

    @property
    def healthy(self) -> bool:
        """True when nothing keeps Strop from working."""
        return all(finding.state is not State.PROBLEM for finding in self.findings)


def examine(store: str | None = None, *, recalibrate: bool = False, say: Say = silent) -> Examination:
    """Look at everything. Nothing that is found wrong here raises: it becomes a finding."""
    settings = read_settings()
    findings = [_python(), _torch(), _compiler(), _profiler(), *_room(settings), _ledger(store)]
    targets: list[Target] = []
    for kind in TARGETS:
        if kind.present():
            findings += _target(kind, settings, recalibrate, say, targets)
    if not targets:
        fix = f"Strop knows {', '.join(TARGETS.names())}; add a file to strop/targets for other hardware."
        findings.append(Finding(name="targets", state=State.PROBLEM, found="no known target is present", fix=fix))
    findings += [_isolation(settings, targets), _noise(say)]
    if settings.disabled:
        off = "STROP_DISABLE is set: strop.optimize in Python hands modules back unchanged"
        findings.append(Finding(name="switch", state=State.WARNING, found=off, fix="Unset STROP_DISABLE."))
    return Examination(findings=tuple(findings), targets=tuple(targets))


def _python() -> Finding:
    here = sys.version_info[:2]
    low, high = PYTHONS
    good = low <= here <= high
    span = f"{low[0]}.{low[1]} to {high[0]}.{high[1]}"
    return Finding(
        name="python",
        state=State.OK if good else State.WARNING,
        found=f"{sys.version.split()[0]} at {sys.executable}",
        fix="" if good else f"Strop is tested with Python {span}: use one of these.",
    )


def torch_finding(installed: str) -> Finding:
    """What to make of this version of torch."""
    numbers = tuple(int(part) for part in installed.split("+")[0].split(".")[:2] if part.isdigit())
    newest = ".".join(map(str, NEWEST_TESTED_TORCH))
    if numbers < OLDEST_TORCH:
        fix = f"Install torch {'.'.join(map(str, OLDEST_TORCH))} or newer."
        return Finding(name="torch", state=State.PROBLEM, found=installed, fix=fix)
    if numbers > NEWEST_TESTED_TORCH:
        fix = (
            f"The newest tested torch is {newest}. Beyond it every hook into private parts of torch switches itself "
            "off, so some transforms may not apply; upgrade strop, or install that version."
        )
        return Finding(name="torch", state=State.WARNING, found=installed, fix=fix)
    return Finding(name="torch", state=State.OK, found=installed)


def _torch() -> Finding:
    return torch_finding(version("torch"))


def _compiler() -> Finding:
    found = compiler_version()
    if found:
        return Finding(name="c++ compiler", state=State.OK, found=found)
    fix = "torch.compile needs one on CPUs: install g++ (Debian: apt-get install g++) or set CXX."
    return Finding(name="c++ compiler", state=State.PROBLEM, found="none on PATH", fix=fix)


def _profiler() -> Finding:
    if torch.profiler.kineto_available():
        return Finding(name="profiler", state=State.OK, found="torch.profiler with Kineto")
    fix = "Install a torch that was built with Kineto; without it kernels have no times."
    return Finding(name="profiler", state=State.WARNING, found="torch.profiler without Kineto", fix=fix)


def _room(settings: Settings) -> Iterator[Finding]:
    try:
        write_whole(settings.home / ".writable", b"")
        (settings.home / ".writable").unlink(missing_ok=True)
    except StoreError as fault:
        yield Finding(name="home", state=State.PROBLEM, found=str(settings.home), fix=str(fault))
        return
    yield Finding(name="home", state=State.OK, found=str(settings.home))
    free_bytes = shutil.disk_usage(settings.home).free
    yield Finding(
        name="disk",
        state=State.OK if free_bytes >= LEAST_DISK_BYTES else State.WARNING,
        found=f"{amount_text(free_bytes, 'B')} free",
        fix="" if free_bytes >= LEAST_DISK_BYTES else "Free some space: compile caches alone take a gigabyte.",
    )
    memory_bytes = _available_bytes()
    yield Finding(
        name="memory",
        state=State.OK if memory_bytes >= LEAST_MEMORY_BYTES else State.WARNING,
        found=f"{amount_text(memory_bytes, 'B')} available",
        fix="" if memory_bytes >= LEAST_MEMORY_BYTES else "Close other programs: up to four children hold it.",
    )


def _available_bytes() -> int:
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _ledger(store: str | None) -> Finding:
    try:
        with open_house(store) as house:
            runs = house.ledger.runs()
            return Finding(name="ledger", state=State.OK, found=f"{plural(len(runs), 'run')} in {house.place}")
    except StoreError as fault:
        return Finding(name="ledger", state=State.PROBLEM, found="cannot be used", fix=str(fault))


def _target(kind: TargetKind, settings: Settings, again: bool, say: Say, targets: list[Target]) -> Iterator[Finding]:
    try:
        target = calibrated(kind, settings, say, again=again)
    except StropError as fault:
        yield Finding(name=kind.name, state=State.PROBLEM, found="its ceilings could not be measured", fix=str(fault))
        return
    targets.append(target)
    yield Finding(name=kind.name, state=State.OK, found=ceilings_text(target))


def ceilings_text(target: Target) -> str:
    """The measured ceilings in one line."""
    ceilings = target.ceilings
    rates = ", ".join(f"{dtype} {amount_text(rate, 'flop/s')}" for dtype, rate in ceilings.product_flop_per_s)
    copy, call = amount_text(ceilings.copy_bytes_per_s, "B/s"), time_text(ceilings.call_overhead_ns)
    return f"copies {copy}; products {rates}; {call} per call; {plural(target.threads, 'thread')}"


def _isolation(settings: Settings, targets: list[Target]) -> Finding:
    if not targets:
        return Finding(name="isolation", state=State.WARNING, found="not looked at without a target")
    with open_wall(settings, targets[0]) as wall:
        grade = wall.isolation
    state = State.OK if grade == "A" else State.WARNING
    return Finding(name="isolation", state=state, found=f"grade {grade}", fix=RAISE_ISOLATION[grade])


def _noise(say: Say) -> Finding:
    say("timing a short loop to see how steady this machine is")
    spread, load = timing_spread(), os.getloadavg()[0]
    found = f"{share_text(spread)} between the 10th and 90th per cent of a short loop, load {load:.1f}"
    if spread <= NOISY_SHARE:
        return Finding(name="noise", state=State.OK, found=found)
    fix = "Close other programs, or give Strop a machine of its own: small gains cannot be told from noise here."
    return Finding(name="noise", state=State.WARNING, found=found, fix=fix)


def timing_spread(rounds: int = NOISE_ROUNDS) -> float:
    """Spread of equal rounds of work on one thread: (90th - 10th percentile) / median."""
    matrix = torch.full((192, 192), 0.5)
    out = torch.empty_like(matrix)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        times_ns: list[int] = []
        for _ in range(rounds + 5):
            start_ns = time.perf_counter_ns()
            for _ in range(20):
                torch.mm(matrix, matrix, out=out)
            times_ns.append(time.perf_counter_ns() - start_ns)
    finally:
        torch.set_num_threads(before)
    tenths = statistics.quantiles(times_ns[5:], n=10)
    return (tenths[-1] - tenths[0]) / statistics.median(times_ns[5:])
