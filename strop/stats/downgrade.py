"""Whether errors look like those of a lower precision than was promised."""

from __future__ import annotations

import math
from collections.abc import Mapping

from strop.records.evidence import ErrorQuantiles

BEYOND = 4.0
"""So many times what the promised precision explains is more than luck or another order of adding up."""
NEAR = 4.0


def looks_like(candidate: ErrorQuantiles, promised: ErrorQuantiles, lower: Mapping[str, ErrorQuantiles]) -> str:
    """The name in ``lower`` whose errors the candidate's resemble; empty where the promised precision explains them, or
    no lower one does.

    Medians are compared: they tell how every element was computed, while a largest error may be that of one wrong one.

    Args:
        candidate: its errors against fp64.
        promised: the largest that baseline and honest rounding at the promised precision make of the same inputs.
        lower: errors of honest rounding at lower precisions, on the same inputs.
    """
    if not candidate.p50 > BEYOND * promised.p50:
        return ""
    apart = {
        name: abs(math.log(candidate.p50 / errors.p50))
        for name, errors in lower.items()
        if errors.p50 > BEYOND * promised.p50 and math.isfinite(errors.p50)
    }
    nearest = min(apart, key=lambda name: apart[name], default="")
    return nearest if nearest and apart[nearest] <= math.log(NEAR) else ""
