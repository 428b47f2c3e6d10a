"""The admission report: may problems of KernelBench be judged on at all, and what would no verdict on them cover?

    python tools/admission.py [--suite PATH] [--only 1/19,2/14] [--time-limit 9m] [--per-problem 60s] [--out FILE.json]

For each problem: whether it is admitted and why not, which operators and parameters nobody would miss, and whether its
call is long enough to measure its kernels and not their launch. The JSON is written whole after every problem, with a
page of Markdown beside it. Said again, it goes on where it was; what took too long is tried again with more time.
"""

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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

OUT = ROOT / "docs" / "results" / "kernelbench-admission.json"
REQUEST = Request(contract=CONTRACTS["fp32"], baselines=("eager",))
COPIES = 5
"""So often inputs and answers are held at once, some of them in double precision."""
SHARE_OF_TIME = 0.8
"""Of what a problem has left, for leaving its parts out; a single one may take a while."""
DONE, TOO_LARGE, TOO_LONG, FAILED = "done", "too large", "too long", "failed"
Row = dict[str, Any]


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


def looked_at(home: Home, wall: WallPort, target: Target, item: Item, limit_s: float) -> Row:
    """One row of the result, as far as it went."""
    began_s = time.monotonic()
    row: Row = {"problem": item.key, "name": "", "outcome": FAILED, "trouble": "", "limit_s": limit_s}
    row |= {"admissible": None, "because": "", "notes": [], "random_ops": [], "liveness": None, "size": None}
    try:
        with within(limit_s):
            fill(row, home, wall, target, item, began_s + limit_s)
    except TooLong:
        if row["outcome"] != DONE:
            row |= {"outcome": TOO_LONG, "trouble": f"it took longer than {limit_s:.0f} s"}
    except StropError as error:
        row |= {"outcome": outcome_of(error), "trouble": str(error)}
    return row | {"seconds_s": round(time.monotonic() - began_s, 1)}


def fill(row: Row, home: Home, wall: WallPort, target: Target, item: Item, until_s: float) -> None:
    """Everything that can be said of one problem, the cheapest first."""
    workload = workload_named(item.name, home, target.device, None, item.where)
    row["name"] = Path(workload.source.where).stem.rpartition("-")[0]
    conditions = conditions_of(target, REQUEST.contract.name)
    with LocalStations(wall=wall, workload=workload, target=target, request=REQUEST, conditions=conditions) as stations:
        description = stations.describe().description
        row["random_ops"] = list(description.random_ops)
        trouble = too_large(description, target)
        if trouble:
            row |= {"outcome": TOO_LARGE, "trouble": trouble}
            return
        admitted = stations.admit()
        row |= {"admissible": admitted.admissible, "because": admitted.because, "notes": list(admitted.notes)}
        call = stations.call()
        row["size"] = {
            "call_ns": round(call.call_ns),
            "launches": call.launches,
            "launch_ns": round(target.ceilings.call_overhead_ns),
            "launch_bound": call.is_launch_bound,
        }
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


def page(value: Row) -> str:
    """The result as Markdown."""
    rows, counts = value["rows"], value["summary"]
    lively = [row for row in rows if row["liveness"]]
    bound = [row for row in rows if row["size"] and row["size"]["launch_bound"]]
    parts = [
        "# Which problems of KernelBench can be judged on",
        "Written by `python tools/admission.py` from [the same as JSON](kernelbench-admission.json); what the words "
        "mean is said under [the referee](../referee.md#is-the-workload-fit-to-judge-on). "
        f"Machine: {value['machine']}. Contract: {value['contract']}, baseline: eager.",
        table(("what", "problems"), [(key.replace("_", " "), number) for key, number in counts.items()]),
        "## Inadmissible",
        table(("problem", "because"), [(title(row), row["because"]) for row in rows if row["admissible"] is False]),
        "## What a candidate may leave out and pass",
        "Each part alone. Under *own inputs only* stands what matters under other inputs or parameters of a judgement.",
        table(
            ("problem", "dead", "own inputs only"),
            [
                (title(row), listed(row["liveness"]["dead"]), listed(row["liveness"]["own_only"]))
                for row in lively
                if row["liveness"]["dead"] or row["liveness"]["own_only"]
            ],
        ),
        "## Launch-bound",
        "Most of an eager call passes between kernels, or in kernels that take no longer than starting them.",
        table(
            ("problem", "one call in us", "launches", "one launch in us"),
            [
                (title(row), us(row["size"]["call_ns"]), row["size"]["launches"], us(row["size"]["launch_ns"]))
                for row in bound
            ],
        ),
        "## Not looked at, or not wholly",
        table(("problem", "because"), [(title(row), why) for row in rows for why in lacking(row)]),
    ]
    left = counts["problems"] - counts["looked_at"]
    return "\n\n".join([*parts, *([f"{left} further problems were not begun."] if left else [])]) + "\n"


def lacking(row: Row) -> Iterator[str]:
    """What is missing in a row, as sentences."""
    if row["outcome"] != DONE:
        yield f"{row['outcome']}: {row['trouble']}"
    found = row["liveness"]
    if found and found["looked_at"] < found["parts"]:
        yield f"{found['parts'] - found['looked_at']} of {found['parts']} parts were not left out: {found['because']}"
    if found and found["unsettled"]:
        yield f"dead as far as it was tried, {found['because']}: {', '.join(found['unsettled'])}"


def table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    """A table of Markdown, or a word that there is nothing in it."""
    if not rows:
        return "None."
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(each).replace('|', chr(92) + '|') for each in line)} |" for line in lines)


def title(row: Row) -> str:
    """Number and name."""
    return f"{row['problem']} {row['name']}".strip()


def listed(parts: list[str]) -> str:
    """One after the other."""
    return ", ".join(f"`{each}`" for each in parts)


def us(time_ns: float) -> str:
    """Microseconds."""
    return f"{time_ns / 1e3:.1f}"


def known_rows(out: Path, machine: str, suite: str, limit_s: float) -> dict[str, Row]:
    """What was found before on this machine; what took too long counts only where it had as much time. Problems of
    another suite may have the same numbers.
    """
    if not out.exists():
        return {}
    before = json.loads(out.read_text(encoding="utf-8"))
    if before["machine"] != machine:
        raise SystemExit(f"{out} was measured on {before['machine']}, this is {machine}: name another file with --out.")
    if before.get("suite", suite) != suite:
        raise SystemExit(f"{out} is about the suite {before['suite']}, not {suite}: name another file with --out.")
    return {row["problem"]: row for row in before["rows"] if row["outcome"] != TOO_LONG or row["limit_s"] >= limit_s}


def main() -> None:
    """Look at what was not looked at yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--suite", default=KERNELBENCH, help="a KernelBench; STROP_KERNELBENCH where none is named")
    parser.add_argument("--only", help="these problems alone, with commas: 1/19,2/14")
    parser.add_argument("--time-limit", help="begin no problem that might not end in time: 9m")
    parser.add_argument("--per-problem", default="60s", help="what one problem may take: 60s")
    asked = parser.parse_args()
    items = items_of(asked.suite, REQUEST.contract.name, read_settings().kernelbench)
    wanted = chosen(items, asked.only.split(",") if asked.only else None, None)
    limit_s = budget_s(asked.per_problem)
    total_s = budget_s(asked.time_limit) if asked.time_limit else None
    home = home_of()
    kind = find_kind(None)
    target = calibrated(kind, home.settings, lambda text: print(text, file=sys.stderr))
    conditions = conditions_of(target, REQUEST.contract.name)
    versions = ", ".join(f"{name} {version}" for name, version in conditions.versions if name in ("torch", "triton"))
    machine = f"{target.summary}, {conditions.machine}, {versions}"
    rows = known_rows(asked.out, machine, items[0].suite, limit_s)
    order = [item.key for item in items]
    began_s = time.monotonic()

    def save() -> None:
        found = [rows[key] for key in order if key in rows]
        value = {"schema": 1, "machine": machine, "suite": items[0].suite, "contract": REQUEST.contract.name}
        value |= {"summary": summary(found, len(order)), "rows": found}
        write_whole(asked.out, (json.dumps(value, indent=1) + "\n").encode())
        write_whole(asked.out.with_suffix(".md"), page(value).encode())

    left = [item for item in wanted if item.key not in rows]
    try:
        with open_wall(home.settings, target, ahead={ChildRole.REFERENCE: 1, ChildRole.BASELINE: 1}) as wall:
            for number, item in enumerate(left, 1):
                if total_s is not None and number > 1 and time.monotonic() - began_s + limit_s > total_s:
                    break
                row = rows[item.key] = looked_at(home, wall, target, item, limit_s)
                save()
                print(f"[{number}/{len(left)}] {told(row)}", flush=True)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    finally:
        print(f"{len(rows)} of {len(order)} problems are in {asked.out}", flush=True)


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
