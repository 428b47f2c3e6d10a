"""Whether errors look like those of a lower precision than was promised."""

from __future__ import annotations

import math
from collections.abc import Mapping

BEYOND = 4.0
"""So many times what the promised precision explains is more than luck or another order of adding up."""
NEAR = 3.0
_ALIKE = 1.5
"""Precisions whose errors are no further apart cannot be told from one another by them: TF32 and fp16 have equally many
bits.
"""


def looks_like(
    candidate: float, baseline: float, honest: float, lower: Mapping[str, float], floor: float = 0.0
) -> tuple[str, ...]:
    """The names in ``lower`` whose errors the candidate's resemble; none where the promised precision explains them, or
    no lower one does.

    Honest rounding says how far an implementation may stray, which is further than most do; by how much, the baseline
    shows at the promised precision. A lower one is expected to err by the same share of what is honest there.

    Args:
        candidate, baseline: medians of their errors against fp64. Medians tell how every element was computed; a
            largest error may be that of one wrong one.
        honest: the median of honest rounding at the promised precision.
        lower: medians of honest rounding at lower precisions, on the same inputs.
        floor: the smallest error that counts.
    """
    promised = max(baseline, honest, floor)
    if not candidate > BEYOND * promised:
        return ()
    share = baseline / honest if 0 < baseline < honest else 1.0
    expected = {name: share * error for name, error in lower.items() if BEYOND * promised < error < math.inf}
    apart = {name: abs(math.log(candidate / error)) for name, error in expected.items()}
    nearest = min(apart, key=lambda name: apart[name], default="")
    if not nearest or apart[nearest] > math.log(NEAR):
        return ()
    return tuple(
        name for name, error in expected.items() if abs(math.log(error / expected[nearest])) < math.log(_ALIKE)
    )
