"""The only place that constructs: from settings and names to ledger, target, wall and stations."""

from __future__ import annotations

import logging
import os
import pkgutil
import platform
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from strop import __version__
from strop.errors import NotSupported, StoreError, UnknownName, UsageError
from strop.pipeline.stations import LocalStations
from strop.ports import WallPort
from strop.records.event import Request
from strop.records.ids import content_id
from strop.records.measurement import Conditions
from strop.records.target import Target
from strop.records.tensor import HOST
from strop.records.workload import Workload
from strop.sandbox.isolation import Grade, best_grade, why_not
from strop.sandbox.limits import Limits
from strop.sandbox.wall import ONE_CANDIDATE, LocalWall
from strop.settings import Settings, read_settings
from strop.storage.artefacts import Artefacts
from strop.storage.ledger import SqlLedger, open_ledger, read_ledger
from strop.storage.places import WORKLOADS_FOLDER, artefacts_folder
from strop.targets import SHELF as TARGETS
from strop.targets._base import TargetKind
from strop.targets._calibration import calibrate, measure_apart
from strop.wire.messages import ChildRole

LOG = logging.getLogger("strop.wiring")
Say = Callable[[str], None]
MANY_PROCESSORS = 8
_VERSIONED = ("torch", "triton", "numpy")


def silent(_: str) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """What a command works with that remembers nothing: ``verify``, ``compare`` and ``profile`` need no ledger."""

    settings: Settings
    artefacts: Artefacts


@dataclass(frozen=True, slots=True, kw_only=True)
class House(Home):
    """What a command works with that reads or writes the ledger; ``place`` is where it lives."""

    ledger: SqlLedger
    place: str


def home_of(store: str | None = None) -> Home:
    """Settings and artefacts. No ledger is opened or made, so none can stand in the way.

    Raises:
        StoreError: ``store`` is no place.
    """
    settings = read_settings()
    folder = artefacts_folder(store or str(settings.home), settings.home)
    return Home(settings=settings, artefacts=Artefacts(folder))


@contextmanager
def open_house(store: str | None = None, *, create: bool = True) -> Iterator[House]:
    """Settings, ledger and artefacts; the ledger is closed on leaving.

    Raises:
        StoreError: the ledger cannot be opened, or there is none and not ``create``; the message says what to do.
    """
    settings = read_settings()
    place = store or str(settings.home)
    with open_ledger(place, create=create) as ledger:
        artefacts = Artefacts(artefacts_folder(place, settings.home))
        yield House(settings=settings, ledger=ledger, artefacts=artefacts, place=ledger.place)


@contextmanager
def visit_house(store: str) -> Iterator[House]:
    """Somebody else's ledger and artefacts, to be read and never written to.

    Raises:
        StoreError: there is no ledger, or it cannot be read; the message says what to do.
    """
    settings = read_settings()
    with read_ledger(store) as ledger:
        artefacts = Artefacts(artefacts_folder(store, settings.home))
        yield House(settings=settings, ledger=ledger, artefacts=artefacts, place=ledger.place)


def find_kind(name: str | None, device: str | None = None) -> TargetKind:
    """The kind of hardware that was named, else the one in front of us: an accelerator before the CPU. ``device`` says
    where a live module already lies.

    Raises:
        UnknownName: no such target.
        NotSupported: this machine has no such device.
    """
    here = [kind for kind in TARGETS if kind.present()]
    known = ", ".join(kind.name for kind in here) or "no known target"
    if name is not None:
        kind = TARGETS.get(name)
        if not kind.present():
            raise NotSupported(f"This machine has no {kind.name} ({kind.summary}). It has: {known}.")
        if device not in (None, kind.device):
            raise UsageError(f"The model lies on {device}, and the target {kind.name} is a {kind.device} device.")
        return kind
    fitting = [kind for kind in here if device in (None, kind.device)]
    if not fitting:
        where = f" for a model on {device}" if device else ""
        raise NotSupported(f"There is no target{where}. This machine has: {known}.")
    return min(fitting, key=lambda kind: (kind.device == "cpu", kind.generic, kind.name))


def calibrated(kind: TargetKind, settings: Settings, say: Say = silent, *, again: bool = False) -> Target:
    """The target as the other rooms see it, with ceilings that are measured once per machine and then remembered."""
    return calibrate(kind, settings.home, settings.threads, measure=measure_apart, say=say, again=again)


def machine_facts(target: Target) -> dict[str, str]:
    """What two machines of one kind share: everything that identifies this one, but for the very card."""
    identity = TARGETS.get(target.name).identity()
    return {key: value for key, value in identity.items() if value != target.identity}


def conditions_of(target: Target, contract: str) -> Conditions:
    """What must be equal for runs to be set side by side; ``target.identity`` tells cards of one kind apart."""
    return Conditions(
        machine=", ".join(f"{key} {value}" for key, value in sorted(machine_facts(target).items())),
        device=target.device,
        threads=target.threads,
        contract=contract,
        versions=versions(),
    )


def versions() -> tuple[tuple[str, str], ...]:
    """Versions of everything whose change makes timings incomparable."""
    found = {name: _version_of(name) for name in _VERSIONED}
    found |= {"python": platform.python_version(), "strop": __version__}
    compiler = compiler_version()
    if compiler:
        found["c++"] = compiler
    return tuple(sorted((name, value) for name, value in found.items() if value))


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def compiler_version() -> str:
    """First line of what the C++ compiler that torch.compile would use says about itself; empty when there is none."""
    compiler = next((path for name in ("c++", "g++", "clang++") if (path := shutil.which(name))), None)
    if compiler is None:
        return ""
    done = subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=30, check=False)
    return done.stdout.splitlines()[0] if done.returncode == 0 and done.stdout else ""


@contextmanager
def open_stations(
    house: Home, workload: Workload, target: Target, request: Request, *, timed: bool = True
) -> Iterator[tuple[LocalStations, WallPort]]:
    """The line on this machine, and the wall behind which it works; both are closed on leaving. Where nothing will be
    ``timed`` there is one baseline, and none follows it.
    """
    conditions = conditions_of(target, request.contract.name)
    wall = open_wall(house.settings, target, ahead=_children_ahead(timed=timed))
    spare = len(os.sched_getaffinity(0)) >= MANY_PROCESSORS
    if spare:
        wall.prepare()
    with (
        wall,
        LocalStations(
            wall=wall, workload=workload, target=target, request=request, conditions=conditions, spare=spare
        ) as stations,
    ):
        yield stations, wall


def _children_ahead(*, timed: bool) -> dict[ChildRole, int]:
    """How many children are started before they are needed: on small machines that work would only get in the way."""
    if len(os.sched_getaffinity(0)) < MANY_PROCESSORS:
        return {ChildRole.RECIPE: 1, ChildRole.BASELINE: 1} if timed else {}
    return {ChildRole.RECIPE: 2, ChildRole.BASELINE: 3, ChildRole.REFERENCE: 1}


def open_wall(
    settings: Settings,
    target: Target,
    ahead: Mapping[ChildRole, int] = ONE_CANDIDATE,
    limits: Limits | None = None,
) -> LocalWall:
    """Children of this machine; reference and baseline keep their compile caches from run to run.

    Raises:
        UsageError: this machine does not give the grade of isolation that was asked for.
    """
    return LocalWall(
        settings,
        limits,
        isolation=_isolation(settings, target),
        threads=target.threads,
        trusted_cache=settings.home / "cache",
        ahead=ahead,
        # Whether a driver lives well in what was forked was not tried yet.
        forks=target.device == HOST,
        extra={**dict(settings.compilers), **TARGETS.get(target.name).environment()},
    )


def _isolation(settings: Settings, target: Target) -> Grade:
    """What was asked for, or else the strongest. On a GPU nothing was judged behind the strong ones yet."""
    if not settings.isolation:
        return best_grade() if target.device == HOST else Grade.C
    asked = Grade(settings.isolation)
    because = why_not(asked)
    if because:
        raise UsageError(
            f"STROP_ISOLATION asks for grade {asked}, which this machine does not give: {because}. Allow it (`strop "
            "doctor` says more), or ask for less."
        )
    return asked


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that others see all of it or nothing.

    Raises:
        StoreError: no permission or no space.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            part.write_bytes(data)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as fault:
        raise StoreError(
            f"'{path}' cannot be written ({fault.strerror}). Free the disk or change the folder's permissions, "
            "or set STROP_HOME to a folder that you may write to."
        ) from None


def keep_text(house: Home, name: str, text: str) -> Path:
    """A workload's text as a file of its own below the home; the same text is the same file."""
    digest = content_id("p", text).removeprefix("p-")
    path = house.settings.home / WORKLOADS_FOLDER / f"{name}-{digest}.py"
    if not path.is_file():
        write_whole(path, text.encode())
    return path


def set_up_logging(settings: Settings) -> None:
    """Apply STROP_LOGS: a comma-separated list of ``room`` or ``room:LEVEL``; a room alone means INFO.

    Raises:
        UsageError: a level that logging does not know.
    """
    levels = dict(_log_level(part) for part in settings.logs.split(",") if part.strip())
    if not levels:
        return
    root = logging.getLogger("strop")
    if not root.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(relativeCreated)8.0f ms %(name)s %(levelname)s %(message)s"))
        root.addHandler(handler)
        root.propagate = False
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def _log_level(part: str) -> tuple[str, int]:
    room, _, level_name = part.strip().partition(":")
    level = logging.getLevelNamesMapping().get((level_name or "INFO").upper())
    if level is None:
        names = "DEBUG, INFO, WARNING, ERROR"
        raise UsageError(f"STROP_LOGS names the level '{level_name}' for '{room}': use one of {names}.")
    return _logger_name(room), level


def _logger_name(room: str) -> str:
    rooms = {module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])}
    if room in ("all", "strop"):
        return "strop"
    if room.removeprefix("strop.").split(".")[0] not in rooms:
        raise UnknownName("room in STROP_LOGS", room, rooms)
    return f"strop.{room.removeprefix('strop.')}"
