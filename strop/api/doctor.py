"""What this machine can do, and for each thing that it cannot do, the fix."""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path

import torch

from strop.errors import NoLedger, StoreError, StropError
from strop.lowering.torch_shims import DOORS
from strop.records.target import Target
from strop.report.phrases import amount_text, plural, share_text, time_text
from strop.report.sentences import ceilings_text
from strop.sandbox import nsight
from strop.sandbox.isolation import Grade, why_not
from strop.settings import Settings, read_settings
from strop.targets import SHELF as TARGETS
from strop.targets._base import TargetKind
from strop.wiring import Say, calibrated, compiler_version, open_house, open_wall, silent, write_whole

OLDEST_TORCH = (2, 11)
NEWEST_TRIED_TORCH = min(door.newest for door in DOORS.values())
"""Beyond this every private door into torch closes itself."""
PYTHONS = ((3, 11), (3, 13))
LEAST_DISK_BYTES = 2 * 10**9
LEAST_MEMORY_BYTES = 2 * 10**9
NOISY_SHARE = 0.10
NOISE_ROUNDS = 60
COARSEST_STEP_NS = 1000.0
SYSTEM = Path("/sys/devices/system")
RAISE_ISOLATION = {
    Grade.A: "let this user create namespaces (user.max_user_namespaces above 0)",
    Grade.B: "use a kernel from 5.13 on that has Landlock and seccomp switched on",
}
"""What a machine needs for a grade."""


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
    findings = [
        _python(),
        _torch(),
        _compiler(),
        _profiler(),
        *_room(settings),
        _ledger(store, settings),
        clocks_finding(),
    ]
    targets: list[Target] = []
    for kind in TARGETS:
        if kind.present():
            findings += _target(kind, settings, recalibrate, say, targets)
    if not targets:
        fix = f"Strop knows {', '.join(TARGETS.names())}; add a file to strop/targets for other hardware."
        findings.append(Finding(name="targets", state=State.PROBLEM, found="no known target is present", fix=fix))
    findings += [*counters_finding(targets), _isolation(settings, targets), _noise(say)]
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
    newest = ".".join(map(str, NEWEST_TRIED_TORCH))
    if numbers < OLDEST_TORCH:
        fix = f"Install torch {'.'.join(map(str, OLDEST_TORCH))} or newer."
        return Finding(name="torch", state=State.PROBLEM, found=installed, fix=fix)
    if numbers > NEWEST_TRIED_TORCH:
        without = "; ".join(door.without for door in DOORS.values() if numbers > door.newest)
        fix = (
            f"The newest torch that Strop was tried with is {newest}. Beyond it these private doors into torch close "
            f"themselves: {without}. Upgrade strop, or install that version."
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


def counters_finding(targets: Sequence[Target]) -> Iterator[Finding]:
    """Whether the counters of an accelerator can be read; nothing where there is none."""
    if not any(target.multiprocessor for target in targets):
        return
    program = nsight.find_program()
    without = "Without it strop profile goes on with the roofline and what each launch takes."
    if not program:
        fix = f"Install Nsight Compute, which comes with the CUDA toolkit, and put ncu on PATH. {without}"
        yield Finding(name="counters", state=State.WARNING, found="Nsight Compute is not installed", fix=fix)
        return
    because = nsight.forbidden()
    fix = f"{because[:1].upper()}{because[1:]} {without}" if because else ""
    yield Finding(name="counters", state=State.WARNING if because else State.OK, found=program, fix=fix)


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


def _ledger(store: str | None, settings: Settings) -> Finding:
    try:
        with open_house(store, create=False) as house:
            runs = house.ledger.runs()
            return Finding(name="ledger", state=State.OK, found=f"{plural(len(runs), 'run')} in {house.place}")
    except NoLedger as fault:
        return _no_ledger(store, settings, str(fault))
    except StoreError as fault:
        return Finding(name="ledger", state=State.PROBLEM, found="cannot be used", fix=str(fault))


def _no_ledger(store: str | None, settings: Settings, said: str) -> Finding:
    """Looking makes none: a place that was named is perhaps misspelt, the home's own is made by the first run."""
    if store is not None:
        fix = f"{said} The first run makes one there."
        return Finding(name="ledger", state=State.WARNING, found=f"none at {store}", fix=fix)
    if not os.access(settings.home, os.W_OK | os.X_OK):
        fix = f"Let this user write to {settings.home}, or set STROP_HOME to a folder that is yours."
        return Finding(name="ledger", state=State.PROBLEM, found="none, and none can be made", fix=fix)
    return Finding(name="ledger", state=State.OK, found=f"none yet in {settings.home}; the first run makes it")


def clocks_finding(system: Path = SYSTEM) -> Finding:
    """The clock that timing reads, and what the kernel says about the processor's own clock.

    Args:
        system: where Linux tells about devices; a test has its own.
    """
    step_ns = time.get_clock_info("perf_counter").resolution * 1e9
    processors = sorted(os.sched_getaffinity(0))
    folders = [system / "cpu" / f"cpu{number}" / "cpufreq" for number in processors]
    governors = sorted({word for folder in folders if (word := _read(folder / "scaling_governor"))})
    kilohertz = [int(word) for folder in folders if (word := _read(folder / "scaling_cur_freq")).isdecimal()]
    source = _read(system / "clocksource" / "clocksource0" / "current_clocksource")
    found = f"monotonic clock in steps of {time_text(step_ns)}{f' from {source}' if source else ''}; "
    found += f"governor {' and '.join(governors)}" if governors else "the governor cannot be read here"
    found += f", {_gigahertz(kilohertz)}" if kilohertz else "; the processor's frequency cannot be read here"
    fixes: list[str] = []
    if step_ns > COARSEST_STEP_NS:
        fixes.append("Use a kernel with high-resolution timers: blocks of calls cannot be timed by so coarse a clock.")
    if set(governors) - {"performance"}:
        fixes.append("For steady times let an administrator set the governor: cpupower frequency-set -g performance.")
    state = State.WARNING if fixes else State.OK
    return Finding(name="clocks", state=state, found=found, fix=" ".join(fixes))


def _gigahertz(kilohertz: list[int]) -> str:
    low, high = min(kilohertz) / 1e6, max(kilohertz) / 1e6
    return f"{low:.2f} GHz now" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f} GHz now"


def _read(path: Path) -> str:
    """A word that the kernel tells; empty where it does not (a virtual machine, a container)."""
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _target(kind: TargetKind, settings: Settings, again: bool, say: Say, targets: list[Target]) -> Iterator[Finding]:
    try:
        target = calibrated(kind, settings, say, again=again)
    except StropError as fault:
        yield Finding(name=kind.name, state=State.PROBLEM, found="its ceilings could not be measured", fix=str(fault))
        return
    targets.append(target)
    yield Finding(name=kind.name, state=State.OK, found=ceilings_text(target))


def _isolation(settings: Settings, targets: list[Target]) -> Finding:
    if not targets:
        return Finding(name="isolation", state=State.WARNING, found="not looked at without a target")
    with open_wall(settings, targets[0]) as wall:
        grade = Grade(wall.isolation)
    if grade is Grade.A:
        return Finding(name="isolation", state=State.OK, found=f"grade {grade}")
    lacking = [(better, because) for better in RAISE_ISOLATION if better < grade and (because := why_not(better))]
    fixes = [f"For grade {better}, {RAISE_ISOLATION[better]}: {because}." for better, because in lacking]
    # What nothing stands against was not asked for.
    fix = " ".join(fixes) or "Set STROP_ISOLATION=A for grade A."
    return Finding(name="isolation", state=State.WARNING, found=f"grade {grade}", fix=fix)


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
