"""Evidence for the examples of the checks: small, made by hand, and shared."""

from __future__ import annotations

from dataclasses import replace

from strop.records.evidence import (
    Case,
    Circumstance,
    CrashEvidence,
    CrashKind,
    Distribution,
    Draws,
    DrawsFigure,
    ErrorQuantiles,
    InterfaceEvidence,
    LeafErrors,
    Stage,
    ValuesEvidence,
)
from strop.records.measurement import Comparison, Conditions, TimeDecision
from strop.records.tensor import DType, TensorSpec
from strop.records.workload import Leaf


def errors(scale: float) -> ErrorQuantiles:
    """Quantiles as normal errors have them."""
    return ErrorQuantiles(p50=0.67 * scale, p99=2.6 * scale, p999=3.3 * scale, max=4.5 * scale)


def leaf(path: str = "output", candidate: float = 1e-7, baseline: float = 1e-7, honest: float = 2e-7) -> LeafErrors:
    """A leaf of 4096 single-precision elements with errors of these sizes."""
    return LeafErrors(
        path=path,
        elements=4096,
        floor=6e-8,
        candidate=errors(candidate),
        baseline=errors(baseline),
        honest=errors(honest),
        worst="[3, 17]: got 0.25, expected 1.5",
    )


WITHIN = leaf()
BEYOND = leaf(candidate=1e-3)
NAN_FIGURES = replace(WITHIN, candidate=ErrorQuantiles(p50=0.0, p99=0.0, p999=0.0, max=float("nan")))
MASKED = replace(WITHIN, mask_mismatches=12)
UNEQUAL = replace(leaf("indices", 0.0, 0.0, 0.0), exact_mismatches=3, worst="[5]: got 7, expected 9")


def drawn(chance: float, baseline_excess: float = 0.0) -> LeafErrors:
    """A leaf that is drawn at random, and how often chance makes elements hang together so."""
    figure = DrawsFigure(about=Draws.TIES, chance=chance, least=7.5e-6, excess=1.0, baseline_excess=baseline_excess)
    return replace(WITHIN, draws=(figure,))


def values(
    stage: Stage,
    *leaves: LeafErrors,
    distribution: Distribution = Distribution.NORMAL,
    circumstance: Circumstance = Circumstance.PLAIN,
    draw: int = 0,
    accepted: bool | None = None,
) -> ValuesEvidence:
    """What one case showed."""
    case = Case(index=1, distribution=distribution, parameters_draw=draw, circumstance=circumstance)
    return ValuesEvidence(stage=stage, case=case, leaves=leaves, accepted=accepted)


def crash(stage: Stage, kind: CrashKind, detail: str) -> CrashEvidence:
    """How a child ended."""
    return CrashEvidence(stage=stage, kind=kind, detail=detail)


def comparison(candidate_ns: float, baseline_ns: float = 400_000.0) -> Comparison:
    """A candidate that was shown to be faster."""
    speedup = baseline_ns / candidate_ns
    return Comparison(
        baseline="default",
        baseline_ns=baseline_ns,
        candidate_ns=candidate_ns,
        speedup=speedup,
        low=0.97 * speedup,
        high=1.03 * speedup,
        raw_speedup=speedup,
        decision=TimeDecision.FASTER,
        pairs=24,
        processes=3,
        kernel_speedup=None,
        peak_memory_ratio=None,
        noise_ratio=0.01,
        conditions=Conditions(machine="example", device="cpu", threads=1, contract="fp32", versions=()),
    )


def output(path: str = "output", shape: tuple[int, ...] = (8, 16), dtype: DType = DType.FLOAT32) -> Leaf:
    """An output's description."""
    return Leaf(path=path, tensor=TensorSpec(shape=shape, dtype=dtype))


GOOD_INTERFACE = InterfaceEvidence(expected=(output(),), got=(output(),))
