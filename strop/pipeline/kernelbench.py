"""What KernelBench's own rule of correctness says about a candidate. It decides nothing: campaigns show it beside the
referee's verdict, so that results can be held against published ones.

The rule, as its evaluation has it: model and replacement are built under seed 42; for each of five trials the inputs
are drawn under a seed that follows from 42; the replacement's output must be close to the eager model's by
``torch.allclose``, with both tolerances 1e-4 in single and 1e-2 in half precision (1e-2 throughout in its first
versions).

Source: Ouyang et al., KernelBench: can LLMs write efficient GPU kernels?, 2025, and the evaluation in its repository.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from strop.errors import ChildFault, WorkloadInconclusive
from strop.pipeline.blame import trusted
from strop.pipeline.court import Court, run_once
from strop.pipeline.gold import within_memory
from strop.pipeline.judge import role_of
from strop.ports import WallPort
from strop.records.candidate import Candidate
from strop.records.contract import Contract, Precision
from strop.records.event import KERNELBENCH_RULE, RuleAsked
from strop.records.evidence import CrashKind, Distribution
from strop.records.target import Target
from strop.records.tensor import DType
from strop.records.workload import Leaf, Workload
from strop.stats.figures import pieces
from strop.wire.messages import Done, DrawInputs
from strop.wire.tensors import Tensors, copied, real

SEED = 42
TRIAL_SEEDS = (734796314, 576165995, 2197670066, 839703249, 2584932063)
"""The first five numbers below 2^32 - 1 that torch's generator on the host draws after seed 42."""

TOLERANCE = 1e-4
HALF_TOLERANCE = 1e-2
_HALVES = (DType.FLOAT16, DType.BFLOAT16)


@within_memory()
def ask_kernelbench(
    wall: WallPort, workload: Workload, contract: Contract, target: Target, candidate: Candidate
) -> RuleAsked:
    """Ask the rule in fresh processes. Of several outputs all must be close. The time on the device is that of ``wall``
    since before the call, and is the caller's to add.

    Raises:
        BadWorkload, WorkloadInconclusive: the trusted side failed, so that the rule could not be asked.
    """
    court = Court(wall=wall, workload=workload, contract=contract, target=target, construct_seed=SEED)
    with court:
        because = _objection(court, candidate)
    return RuleAsked(candidate_id=candidate.id, rule=KERNELBENCH_RULE, passed=not because, because=because)


def _objection(court: Court, candidate: Candidate) -> str:
    """What the rule objects to, as a sentence; empty when it is satisfied."""
    with court.wall.child(role_of(candidate)) as child:
        try:
            court.open(child)
            court.load(child, candidate.form)
            court.map(child, 1)
            for number, seed in enumerate(TRIAL_SEEDS, start=1):
                inputs = _drawn(court, seed)
                with court.device():
                    with trusted("The eager model could not answer"):
                        expected = run_once(court, court.baseline, inputs, 0)
                    got = run_once(court, child, inputs, 0)
                difference = first_difference(court.description.outputs, expected, got, court.contract)
                if difference:
                    return f"trial {number} of {len(TRIAL_SEEDS)}: {difference}"
        except ChildFault as fault:
            if fault.evidence.kind is CrashKind.INFRASTRUCTURE:
                raise WorkloadInconclusive(fault.evidence.detail) from fault
            return fault.evidence.detail
    return ""


def _drawn(court: Court, seed: int) -> Tensors:
    """The workload's own inputs under a seed that everybody knows."""
    with trusted("The workload's inputs could not be drawn"):
        request = DrawInputs(slot=0, seed=seed, distribution=Distribution.OWN)
        court.reference.ask(request, Done, court.timeouts.gold_s)
    return copied(court.reference.given.views(0))


def first_difference(outputs: Sequence[Leaf], expected: Tensors, got: Tensors, contract: Contract) -> str:
    """The first output that is not close, as a sentence; empty when all are."""
    for leaf in outputs:
        kind = leaf.tensor.dtype
        half = kind in _HALVES or contract.storage in (Precision.FP16, Precision.BF16)
        tolerance = HALF_TOLERANCE if half else TOLERANCE
        far = _far(real(expected[leaf.path]), real(got[leaf.path]), tolerance)
        if far:
            return f"{far} of {leaf.tensor.elements} elements of {leaf.path} are further than {tolerance:g} apart"
    return ""


def _far(expected: torch.Tensor, got: torch.Tensor, tolerance: float) -> int:
    """Elements that are not close: ``|a - b| > tolerance + tolerance |b|``, NaN being close to nothing."""
    far = 0
    for _, (theirs, ours) in pieces(expected, got):
        near = torch.isclose(ours.double(), theirs.double(), rtol=tolerance, atol=tolerance)
        far += int(torch.count_nonzero(~near))
    return far
