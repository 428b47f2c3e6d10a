"""Numbers as a person reads them: times, ratios, sizes, shares. Every surface uses these and no other."""

from __future__ import annotations

import math
from collections.abc import Sequence

from strop.records.decision import Keep
from strop.records.measurement import OPEN_SPEEDUP, Comparison

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_SIZES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def time_text(time_ns: float) -> str:
    """A duration in the largest unit that leaves a digit before the point: ``1.25 ms``."""
    for scale, unit in _TIMES:
        if abs(time_ns) >= scale:
            return f"{time_ns / scale:.3g} {unit}" if time_ns / scale < 1000 else f"{time_ns / scale:.0f} {unit}"
    return f"{time_ns:.2g} ns"


def amount_text(amount: float, unit: str) -> str:
    """A quantity with a decimal prefix: ``12.6 MB``, ``3.1 Gflop``."""
    for scale, prefix in _SIZES:
        if abs(amount) >= scale:
            return f"{amount / scale:.3g} {prefix}{unit}"
    return f"{amount:.2g} {unit}"


def ratio_text(ratio: float | None) -> str:
    """A ratio such as a speedup: ``1.23×``; what was not measured says so."""
    if ratio is None:
        return "not measured"
    return f"{ratio:.3g}×" if math.isfinite(ratio) and ratio >= 10 else f"{ratio:.3f}×"


def interval_text(comparison: Comparison) -> str:
    """A speedup with its interval: ``1.230× (95 % interval 1.201 to 1.260)``."""
    return f"{ratio_text(comparison.speedup)} (95 % interval {comparison.low:.3f} to {comparison.high:.3f})"


def chained_text(comparison: Comparison) -> str:
    """The speedup where each call's inputs followed from the results of the call before it, with its interval."""
    chained = comparison.chained
    if chained is None:
        return "not measured"
    low, high = (f"{bound:.3f}" if bound < OPEN_SPEEDUP else "open" for bound in (chained.low, chained.high))
    speedup = ratio_text(chained.speedup) if chained.speedup < OPEN_SPEEDUP else "not known"
    return f"{speedup} (95 % interval {low} to {high})"


def share_text(share: float) -> str:
    """A share of the whole in per cent."""
    return f"{100 * share:.1f} %"


def seconds_text(seconds_s: float) -> str:
    """A duration for clocks on the wall: ``42 s``, ``5 min 03 s``, ``1 h 02 min``."""
    whole = max(0, round(seconds_s))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def legality_text(keep: Keep) -> str:
    """The legality classes of a kept candidate, or that there are none."""
    return ", ".join(keep.candidate.legality) or "none declared"


def short(text: str, length: int = 160) -> str:
    """The first line of ``text``, cut with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def plural(count: int, one: str, many: str | None = None) -> str:
    """``1 kernel``, ``2 kernels``."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
