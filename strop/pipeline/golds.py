"""The answers of the trusted side, remembered per secret draw.

Seeds are drawn here, when a case is first asked for, and never leave this process except to the reference child.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace

from strop.errors import BadWorkload
from strop.pipeline.blame import trusted
from strop.pipeline.draws import runs_of
from strop.pipeline.gold import Gold, Remembered, TrustedSide, bytes_of
from strop.records.evidence import Case, Distribution
from strop.records.workload import Variant
from strop.stats.draws import RUNS
from strop.stats.errors import HONEST_SAMPLES
from strop.wire.tensors import Tensors, copied

REDRAWS = 6
_DrawKey = tuple[int, Distribution, int, Variant | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawing:
    """How a case's inputs were drawn, to draw them again."""

    seed: int
    distribution: Distribution
    redrawn: bool


class Golds:
    """Golds by case, and samples of honest rounding on their inputs, each up to ``limit_bytes``."""

    def __init__(self, side: TrustedSide, limit_bytes: int) -> None:
        self._side = side
        self._drawings: dict[_DrawKey, _Drawing] = {}
        self._golds: Remembered[Gold] = Remembered(limit_bytes)
        self._samples: Remembered[list[Tensors]] = Remembered(limit_bytes)

    def clear(self) -> None:
        """Forget all answers, but not what was drawn."""
        self._golds.clear()
        self._samples.clear()

    def of(self, case: Case) -> Gold:
        """The case's inputs and answers; the same secret draw whenever it is asked for."""
        key = _draw_of(case)
        known = self._golds.get(key)
        if known is None:
            with trusted("The reference could not answer"):
                gold = self._draw_gold(case)
            # A generator that no seed governs draws other inputs the second time; samples belong to the first.
            self._samples.forget(key)
            known = self._golds.keep(key, gold, gold.size_bytes)
        return replace(known, case=case)

    def honest(self, gold: Gold) -> Iterator[Tensors]:
        """Samples of honest rounding on a gold's inputs; each may be overwritten by the next.

        They cost most of a case, so those of its own draws are remembered, where there is room for all.
        """
        key = _draw_of(gold.case)
        known = self._golds.get(key)
        is_own = known is not None and known.inputs is gold.inputs
        samples = self._samples.get(key) if is_own else None
        if samples is not None:
            yield from samples
            return
        kept: list[Tensors] = []
        for _ in range(HONEST_SAMPLES):
            with trusted("The reference could not answer"):
                sample = self._side.perturb(gold.inputs, gold.case.parameters_draw)
            if is_own and self._samples.has_room_for(HONEST_SAMPLES * bytes_of(sample)):
                kept.append(copied(sample))
            yield sample
        if kept:
            self._samples.keep(key, kept, HONEST_SAMPLES * bytes_of(kept[0]))

    def _draw_gold(self, case: Case) -> Gold:
        """Draw until the reference is finite and the baseline agrees where it is; special values are taken as they
        come. Cases of one index that differ in their parameters share their inputs.
        """
        draw = case.parameters_draw
        for drawing, inputs in self._drawn_for(case):
            expected = self._side.expect(inputs, draw)
            baseline = self._side.answer_of_baseline(inputs, draw)
            gold = Gold(case=case, inputs=inputs, expected=expected, baseline=baseline, redrawn=drawing.redrawn)
            if self._side.is_random:
                gold = replace(gold, runs=runs_of(self._side, gold, RUNS))
            if case.distribution is Distribution.SPECIAL or gold.is_finite:
                self._drawings[_draw_of(case)] = drawing
                return gold
        raise BadWorkload(
            "The model makes NaN or Inf from its own inputs, even in double precision: there is nothing to judge "
            "against. Its author must mend the model or its get_inputs()."
        )

    def _drawn_for(self, case: Case) -> Iterator[tuple[_Drawing, Tensors]]:
        """The inputs that a case had before; else those of its twin with other parameters; else fresh ones."""
        twin = _draw_of(replace(case, parameters_draw=0))
        theirs = self._drawings.get(twin)
        known = self._drawings.get(_draw_of(case)) or theirs
        if known is not None:
            gold = self._golds.get(twin) if known == theirs else None
            yield known, gold.inputs if gold is not None else self._side.draw_inputs(known.distribution, known.seed)
        for attempt, distribution in enumerate([case.distribution] * REDRAWS + [Distribution.OWN] * REDRAWS):
            drawing = _Drawing(seed=secrets.randbits(31), distribution=distribution, redrawn=attempt >= REDRAWS)
            yield drawing, self._side.draw_inputs(distribution, drawing.seed)


def _draw_of(case: Case) -> _DrawKey:
    """What names a case's secret draw: circumstances share it."""
    return case.index, case.distribution, case.parameters_draw, case.variant
