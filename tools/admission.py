"""The admission report: may problems of KernelBench be judged on at all, and what would no verdict on them cover?

    python tools/admission.py [--suite PATH] [--only 1/19,2/14] [--time-limit 9m] [--per-problem 60s] [--jobs 4]
        [--out FILE.json]

For each problem: whether it is admitted and why not, which operators and parameters nobody would miss, and whether its
call is long enough to measure its kernels and not their launch. The JSON is written whole after every problem, with a
page of Markdown beside it. Said again, it goes on where it was; what took too long is tried again with more time.

With --jobs several problems are looked at side by side. Calls are timed afterwards, one problem after the other, since
nobody else may be at work then; and what the memory did not hold beside others is tried again by itself.
"""

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import psutil  # noqa: E402

from strop.api.asking import budget_s  # noqa: E402
from strop.api.workloads import workload_named  # noqa: E402
from strop.errors import ChildFault, StropError  # noqa: E402
from strop.pipeline.layouts import given_layout, made_layout  # noqa: E402
from strop.pipeline.liveness import with_notes  # noqa: E402
from strop.pipeline.stations import LocalStations  # noqa: E402
from strop.ports import WallPort  # noqa: E402
from strop.records.contract import CONTRACTS  # noqa: E402
from strop.records.event import Request  # noqa: E402
from strop.records.evidence import CrashKind  # noqa: E402
from strop.records.liveness import Part  # noqa: E402
from strop.records.target import Target  # noqa: E402
from strop.records.tensor import HOST  # noqa: E402
from strop.records.workload import Description  # noqa: E402
from strop.settings import read_settings  # noqa: E402
from strop.sources.items import KERNELBENCH, Item, chosen, items_of  # noqa: E402
from strop.wire.messages import ChildRole  # noqa: E402
from strop.wiring import Home, calibrated, conditions_of, find_kind, home_of, open_wall, write_whole  # noqa: E402
from tools.admission_page import Row, page, title  # noqa: E402

OUT = ROOT / "docs" / "results" / "kernelbench-admission.json"
REQUEST = Request(contract=CONTRACTS["fp32"], baselines=("eager",))
COPIES = 5
"""So often inputs and answers are held at once, some of them in double precision."""
AHEAD = {ChildRole.REFERENCE: 1, ChildRole.BASELINE: 1}
SHARE_OF_TIME = 0.8
"""Of what a problem has left, for leaving its parts out; a single one may take a while."""
DONE, TOO_LARGE, TOO_LONG, FAILED = "done", "too large", "too long", "failed"


class TooLong(Exception):
    """The time of one problem is over."""


@contextmanager
def within(limit_s: float) -> Iterator[None]:
    """Raise TooLong in here when the time is over."""

    def ring(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass(frozen=True)
class Desk:
    """Where problems are looked at; ``alone`` says that no other one is in work beside it."""

    home: Home
    wall: WallPort
    target: Target
    alone: bool

    @contextmanager
    def stations(self, item: Item) -> Iterator[LocalStations]:
        """The line for one problem."""
        workload = workload_named(item.name, self.home, self.target.device, None, item.where)
        conditions = conditions_of(self.target, REQUEST.contract.name)
        with LocalStations(
            wall=self.wall, workload=workload, target=self.target, request=REQUEST, conditions=conditions
        ) as stations:
            yield stations


def looked_at(desk: Desk, item: Item, limit_s: float, known: Row | None = None) -> Row:
    """One row of the result, as far as it went; ``known`` is one that lacks only how long a call takes."""
    began_s = time.monotonic()
    row: Row = {"problem": item.key, "name": "", "outcome": FAILED, "trouble": "", "limit_s": limit_s}
    row |= {"admissible": None, "because": "", "notes": [], "random_ops": [], "liveness": None, "size": None}
    row = row | (known or {}) | {"alone": desk.alone}
    try:
        with within(limit_s), desk.stations(item) as stations:
            if known is None:
                fill(row, stations, desk, began_s + limit_s)
            else:
                row["size"] = size_of(stations, desk.target)
    except TooLong:
        if row["outcome"] != DONE:
            row |= {"outcome": TOO_LONG, "trouble": f"it took longer than {limit_s:.0f} s"}
    except StropError as error:
        row |= {"outcome": outcome_of(error), "trouble": str(error)}
    return row | {"seconds_s": round(row.get("seconds_s", 0.0) + time.monotonic() - began_s, 1)}


def fill(row: Row, stations: LocalStations, desk: Desk, until_s: float) -> None:
    """Everything that can be said of one problem, the cheapest first."""
    row["name"] = Path(stations.workload.source.where).stem.rpartition("-")[0]
    description = stations.describe().description
    row["random_ops"] = list(description.random_ops)
    trouble = too_large(description, desk.target)
    if trouble:
        row |= {"outcome": TOO_LARGE, "trouble": trouble}
        return
    admitted = stations.admit()
    row |= {"admissible": admitted.admissible, "because": admitted.because, "notes": list(admitted.notes)}
    if desk.alone:
        row["size"] = size_of(stations, desk.target)
    if admitted.admissible and not description.random_ops:
        found = stations.liveness(SHARE_OF_TIME * max(0.0, until_s - time.monotonic()), lambda _: None)
        row["notes"] = list(with_notes(admitted, found).notes)
        row["liveness"] = {
            "dead": named(found.dead),
            "own_only": named(found.own_only),
            "unsettled": named(found.unsettled),
            "parts": found.parts,
            "looked_at": found.looked_at,
            "because": found.because,
        }
    row["outcome"] = DONE


def size_of(stations: LocalStations, target: Target) -> Row:
    """How long a call takes, and how much of it passes between kernels."""
    call = stations.call()
    return {
        "call_ns": round(call.call_ns),
        "launches": call.launches,
        "launch_ns": round(target.ceilings.call_overhead_ns),
        "launch_bound": call.is_launch_bound,
    }


_DESKS: list[Desk] = []
"""Of a process that looks at problems beside others: its own, for as long as it lives."""


def sit_down() -> None:
    """Open the desk of such a process. Its children end with it."""
    home = home_of()
    target = calibrated(find_kind(None), home.settings, lambda text: None)
    wall = open_wall(home.settings, target, ahead=AHEAD)
    _DESKS.append(Desk(home, wall, target, alone=False))


def looked_at_there(item: Item, limit_s: float) -> Row:
    """The row of a problem, in such a process."""
    return looked_at(_DESKS[0], item, limit_s)


def side_by_side(items: Iterable[Item], jobs: int, limit_s: float, may_begin: Callable[[], bool]) -> Iterator[Row]:
    """Rows as they come, so many at once."""
    waiting, at_work = iter(items), set[Future[Row]]()
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=sit_down) as pool:
        while True:
            while len(at_work) < jobs and may_begin() and (item := next(waiting, None)) is not None:
                at_work.add(pool.submit(looked_at_there, item, limit_s))
            if not at_work:
                return
            done, at_work = wait(at_work, return_when=FIRST_COMPLETED)
            for each in done:
                yield each.result()


def named(parts: tuple[Part, ...]) -> list[str]:
    """Parts as a person reads them."""
    return [f"{part.name} ({part.place or part.kind})" for part in parts]


def too_large(description: Description, target: Target) -> str:
    """Why this machine's memory cannot hold what admission needs; a device says so itself."""
    lent_bytes = given_layout(description, 1).total_bytes + made_layout(description, 1, wide=True).total_bytes
    free_bytes = psutil.virtual_memory().available
    if target.device != HOST or COPIES * lent_bytes <= free_bytes:
        return ""
    return (
        f"its inputs and exact answers take {lent_bytes / 2**30:.1f} GiB, about {COPIES} times that is needed, and "
        f"{free_bytes / 2**30:.1f} GiB are free"
    )


def outcome_of(error: StropError) -> str:
    """A word for why a problem could not be looked at."""
    cause = error if isinstance(error, ChildFault) else error.__cause__
    if isinstance(cause, ChildFault):
        return {CrashKind.MEMORY: TOO_LARGE, CrashKind.TIMEOUT: TOO_LONG}.get(cause.evidence.kind, FAILED)
    return TOO_LARGE if "OutOfMemory" in type(cause).__name__ else FAILED


def summary(rows: list[Row], problems: int) -> Row:
    """How many of what."""
    judged = [row for row in rows if row["admissible"] is not None]
    lively = [row["liveness"] for row in rows if row["liveness"]]
    sized = [row["size"] for row in rows if row["size"]]
    return {
        "problems": problems,
        "looked_at": len(rows),
        "admissible": sum(row["admissible"] for row in judged),
        "inadmissible": sum(not row["admissible"] for row in judged),
        "random": sum(bool(row["random_ops"]) for row in rows),
        "power_by_other_parameters": sum(any("re-drawn" in note for note in row["notes"]) for row in judged),
        "liveness_asked": len(lively),
        "with_dead_parts": sum(bool(each["dead"]) for each in lively),
        "dead_under_own_inputs_only": sum(bool(each["own_only"]) for each in lively),
        "parts_left_over": sum(bool(each["because"]) for each in lively),
        "size_asked": len(sized),
        "launch_bound": sum(each["launch_bound"] for each in sized),
        **{
            word.replace(" ", "_"): sum(row["outcome"] == word for row in rows)
            for word in (TOO_LARGE, TOO_LONG, FAILED)
        },
    }


def rows_before(out: Path, machine: str, suite: str) -> dict[str, Row]:
    """What was found before on this machine. Problems of another suite may have the same numbers."""
    if not out.exists():
        return {}
    before = json.loads(out.read_text(encoding="utf-8"))
    if before["machine"] != machine:
        raise SystemExit(f"{out} was measured on {before['machine']}, this is {machine}: name another file with --out.")
    if before.get("suite", suite) != suite:
        raise SystemExit(f"{out} is about the suite {before['suite']}, not {suite}: name another file with --out.")
    return {row["problem"]: row for row in before["rows"]}


def is_left(row: Row | None, limit_s: float, *, alone: bool) -> bool:
    """Whether a problem is to be looked at: for the first time, with more time, or with all the memory."""
    if row is None or (row["outcome"] == TOO_LONG and row["limit_s"] < limit_s):
        return True
    return alone and row["outcome"] == TOO_LARGE and not row["alone"]


class Report:
    """The rows so far; written whole whenever one is added."""

    def __init__(self, out: Path, machine: str, suite: str, order: list[str]) -> None:
        self._out, self._order = out, order
        self._head = {"schema": 1, "machine": machine, "suite": suite, "contract": REQUEST.contract.name}
        self.rows = rows_before(out, machine, suite)

    def add(self, row: Row) -> None:
        """Keep it and say it."""
        self.rows[row["problem"]] = row
        found = [self.rows[key] for key in self._order if key in self.rows]
        value = self._head | {"summary": summary(found, len(self._order)), "rows": found}
        write_whole(self._out, (json.dumps(value, indent=1) + "\n").encode())
        write_whole(self._out.with_suffix(".md"), page(value).encode())
        print(f"[{len(found)}/{len(self._order)}] {told(row)}", flush=True)


def arguments() -> argparse.Namespace:
    """What was asked on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--suite", default=KERNELBENCH, help="a KernelBench; STROP_KERNELBENCH where none is named")
    parser.add_argument("--only", help="these problems alone, with commas: 1/19,2/14")
    parser.add_argument("--time-limit", help="begin no problem that might not end in time: 9m")
    parser.add_argument("--per-problem", default="60s", help="what one problem may take: 60s")
    parser.add_argument("--jobs", type=int, default=1, help="so many problems side by side")
    return parser.parse_args()


def main() -> None:
    """Look at what was not looked at yet."""
    asked = arguments()
    items = items_of(asked.suite, REQUEST.contract.name, read_settings().kernelbench)
    wanted = chosen(items, asked.only.split(",") if asked.only else None, None)
    limit_s = budget_s(asked.per_problem)
    until_s = time.monotonic() + (budget_s(asked.time_limit) if asked.time_limit else float("inf"))
    home = home_of()
    target = calibrated(find_kind(None), home.settings, lambda text: print(text, file=sys.stderr))
    conditions = conditions_of(target, REQUEST.contract.name)
    versions = ", ".join(f"{name} {version}" for name, version in conditions.versions if name in ("torch", "triton"))
    machine = f"{target.summary}, {conditions.machine}, {versions}"
    report = Report(asked.out, machine, items[0].suite, [item.key for item in items])
    begun = 0

    def may_begin() -> bool:
        # The first is always begun: a limit that is too short would be reached again and again.
        nonlocal begun
        if begun and time.monotonic() + limit_s > until_s:
            return False
        begun += 1
        return True

    try:
        if asked.jobs > 1:
            left = [item for item in wanted if is_left(report.rows.get(item.key), limit_s, alone=False)]
            for row in side_by_side(left, asked.jobs, limit_s, may_begin):
                report.add(row)
        with open_wall(home.settings, target, ahead=AHEAD) as wall:
            desk = Desk(home, wall, target, alone=True)
            for item in wanted:
                known = report.rows.get(item.key)
                whole = is_left(known, limit_s, alone=True)
                lacks_size = known is not None and known["admissible"] is not None and known["size"] is None
                if (whole or lacks_size) and may_begin():
                    report.add(looked_at(desk, item, limit_s, None if whole else known))
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    finally:
        print(f"{len(report.rows)} of {len(items)} problems are in {asked.out}", flush=True)


def told(row: Row) -> str:
    """A row as one line of progress."""
    said = [row["outcome"]] if row["outcome"] != DONE else []
    if row["admissible"] is not None:
        said.append("admissible" if row["admissible"] else "inadmissible")
    if row["liveness"]:
        said.append(f"{len(row['liveness']['dead'])} dead of {row['liveness']['looked_at']} parts")
    if row["size"] and row["size"]["launch_bound"]:
        said.append("launch-bound")
    return f"{title(row)}: {', '.join(said)} ({row['seconds_s']:.0f} s)"


if __name__ == "__main__":
    try:
        main()
    except StropError as error:
        raise SystemExit(str(error)) from None
