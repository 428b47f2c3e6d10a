"""Nsight Compute, where it is installed and permitted: what the device's own counters say about a few launches.

Source: Nsight Compute Documentation, Command Line Interface (options, CSV output) and Kernel Profiling Guide (metrics,
sections, rules). Clocks are left as they are: a kernel is looked at under the conditions in which it is timed.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strop.records.profile import Counted, CountedLaunch, KernelCounters
from strop.sandbox.environment import search_path

PROGRAM = "ncu"
USUAL_PLACES = ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/ncu")
PARAMETERS = Path("/proc/driver/nvidia/params")
STATUS = Path("/proc/self/status")
ADMIN_CAPABILITY = 1 << 21
"""CAP_SYS_ADMIN, capabilities(7)."""

SECTIONS = (
    "SpeedOfLight",
    "LaunchStats",
    "Occupancy",
    "MemoryWorkloadAnalysis",
    "MemoryWorkloadAnalysis_Tables",
    "WarpStateStats",
)
"""They bring the rules; the figures come from the metrics."""
FIELDS: Mapping[str, str] = {
    "gpu__time_duration.sum": "time_ns",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": "memory_ratio",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "compute_ratio",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": "dram_ratio",
    "dram__bytes.sum": "dram_bytes",
    "lts__t_sector_hit_rate.pct": "l2_hit_ratio",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "achieved_occupancy_ratio",
    "sm__maximum_warps_per_active_cycle_pct": "occupancy_ratio",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum": "local_bytes",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum": "local_bytes",
}
"""Metrics, and the field of ``KernelCounters`` that each fills; two of one field are added."""

_SECTOR_BYTES = 32
_NANOSECONDS = {"n": 1.0, "u": 1e3, "m": 1e6, "s": 1e9}
_BYTES = {"b": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_ADVICE = ("OPT", "WRN")
MAX_RULES = 3
_LINK = re.compile(r"@(\w+):([^:@]*):([^@]*)@")
_FORBIDDEN = "ERR_NVGPUCTRPERM"
_PERMIT = "An administrator can permit it: run as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0."


def find_program() -> str:
    """Where Nsight Compute is; empty when it is not installed."""
    found = shutil.which(PROGRAM, path=search_path())
    usual = next((place for place in USUAL_PLACES if os.access(place, os.X_OK)), "")
    return str(Path(found).resolve()) if found else usual


def forbidden(parameters: Path = PARAMETERS, status: Path = STATUS) -> str:
    """Why this process may not read counters, as far as the driver tells beforehand; empty when it may or is silent."""
    try:
        is_restricted = re.search(r"^RmProfilingAdminOnly:\s*1$", parameters.read_text(encoding="ascii"), re.MULTILINE)
        capabilities = re.search(r"^CapEff:\s*([0-9a-f]+)$", status.read_text(encoding="ascii"), re.MULTILINE)
    except (OSError, UnicodeDecodeError):
        return ""
    if not is_restricted or capabilities is None or int(capabilities.group(1), 16) & ADMIN_CAPABILITY:
        return ""
    return f"this user may not read the GPU's counters. {_PERMIT}"


def command(program: str, report: Path, kernels: Sequence[str], launches: int) -> list[str]:
    """The command before the worker's own: the first ``launches`` launches of these kernels in the part of the program
    that asks for it.
    """
    chosen = "|".join(re.escape(kernel) for kernel in kernels)
    return [
        program,
        *("--clock-control", "none"),
        *("--profile-from-start", "off"),
        *("--target-processes", "application-only"),
        *("--kernel-name-base", "function", "--kernel-name", f"regex:^({chosen})$"),
        *("--launch-count", str(launches)),
        *(word for section in SECTIONS for word in ("--section", section)),
        *("--metrics", ",".join(FIELDS)),
        *("--csv", "--page", "details", "--print-units", "base"),
        *("--log-file", str(report)),
    ]


def read_report(report: str) -> Counted:
    """The launches of a report, in order; none, with the reason, where nothing was counted."""
    launches: dict[str, _Launch] = {}
    for row in _rows(report):
        launches.setdefault(row["ID"], _Launch(row)).take(row)
    counted = tuple(launch.counted() for launch in launches.values())
    return Counted(launches=counted) if counted else Counted(because=_complaint(report))


def _rows(report: str) -> Iterator[Mapping[str, str]]:
    """The table's rows; before and between them the tool talks about its work."""
    start = next((found.start() for found in re.finditer(r'^"ID",', report, re.MULTILINE)), None)
    if start is None:
        return
    table = csv.reader(io.StringIO(report[start:], newline=""))
    try:
        names = next(table)
        for cells in table:
            if len(cells) <= len(names) and cells and cells[0].isdigit():
                yield dict.fromkeys(names, "") | dict(zip(names, cells, strict=False))
    except csv.Error:
        return


def is_refusal(report: str) -> bool:
    """True when the driver did not let the tool read counters."""
    return _FORBIDDEN in report


def _complaint(report: str) -> str:
    if is_refusal(report):
        return f"this user may not read the GPU's counters ({_FORBIDDEN}). {_PERMIT}"
    said = re.findall(r"^==(?:ERROR|WARNING)== (.+)$", report, re.MULTILINE)
    return f"Nsight Compute said: {said[0].strip()[:300]}" if said else "Nsight Compute counted nothing"


@dataclass(slots=True)
class _Launch:
    """One launch while its rows are read."""

    first: Mapping[str, str]
    amounts: dict[str, float] = field(default_factory=dict[str, float])
    seen: set[str] = field(default_factory=set[str])
    advice: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])

    def take(self, row: Mapping[str, str]) -> None:
        """Read a figure, or a rule's advice."""
        metric = row.get("Metric Name", "")
        name = FIELDS.get(metric)
        if name is not None and metric not in self.seen:
            amount = _amount(row.get("Metric Value", ""), row.get("Metric Unit", ""))
            if amount is not None:
                self.seen.add(metric)
                self.amounts[name] = self.amounts.get(name, 0.0) + amount
        if row.get("Rule Type") in _ADVICE and row.get("Rule Description"):
            text = " ".join(_LINK.sub(_link_text, row["Rule Description"]).split())
            gain = _number(row.get("Estimated Speedup", "")) or 0.0
            if text not in (said for _, said in self.advice):
                self.advice.append((gain, text))

    def counted(self) -> CountedLaunch:
        """The finished record."""
        figures: dict[str, Any] = dict(self.amounts)
        rules = [text for _, text in sorted(self.advice, key=lambda each: -each[0])]
        return CountedLaunch(
            name=self.first.get("Kernel Name", ""),
            grid=_sizes(self.first.get("Grid Size", "")),
            block=_sizes(self.first.get("Block Size", "")),
            counters=KernelCounters(**figures, rules=tuple(rules[:MAX_RULES])),
        )


def _link_text(link: re.Match[str]) -> str:
    """Links are written ``@section:NAME:text@`` and ``@url:text:address@``."""
    return link.group(2) if link.group(1) == "url" else link.group(3)


def _number(text: str) -> float | None:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _amount(text: str, unit: str) -> float | None:
    """A figure in the unit of its field: a ratio for per cent, bytes, nanoseconds."""
    value = _number(text)
    if value is None:
        return None
    word = unit.strip().lower()
    if word == "%":
        return value / 100
    if word == "sector":
        return value * _SECTOR_BYTES
    if word.endswith("byte"):
        return value * _BYTES.get(word[:1], 1.0)
    if word in ("s", "second"):
        return value * 1e9
    return value * _NANOSECONDS.get(word[:1], 1.0) if word.endswith(("s", "second")) else value


def _sizes(text: str) -> tuple[int, int, int]:
    """``(40, 2, 1)`` as it is printed."""
    found = [int(size) for size in re.findall(r"\d+", text)][:3]
    padded = [*found, *[1] * (3 - len(found))]
    return padded[0], padded[1], padded[2]
