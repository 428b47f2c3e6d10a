"""From raw results to error figures: every output and every touched state tensor, against fp64."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import torch

from strop.pipeline.court import Court
from strop.pipeline.gold import Gold
from strop.pipeline.layouts import made_leaves
from strop.records.evidence import LeafErrors
from strop.records.workload import Description, Leaf
from strop.stats.errors import covered
from strop.stats.figures import HonestErrors, beside, honest_errors, leaf_errors
from strop.wire.tensors import Tensors, real


def case_errors(
    description: Description, gold: Gold, got: Tensors, honest: Iterable[Tensors] | None = None
) -> tuple[LeafErrors, ...]:
    """Errors of one run, leaf by leaf, beside the baseline's and those of honest rounding on the same inputs.

    ``honest`` may yield each sample in the same memory: one is done with before the next is asked for.
    """
    leaves = made_leaves(description)
    errors = [
        replace(
            leaf_errors(
                leaf.path,
                leaf.tensor.dtype,
                candidate=real(got[leaf.path]),
                baseline=real(gold.baseline[leaf.path]),
                expected=real(gold.expected[leaf.path]),
            ),
            chosen=description.chooses,
            strays=_strays(description, real(got[leaf.path]), real(gold.expected[leaf.path])),
        )
        for leaf in leaves
    ]
    if honest is None:
        return tuple(errors)
    rows = [[_honest(leaf, sample, gold, got) for leaf in leaves] for sample in honest]
    return tuple(beside(one, [row[index] for row in rows]) for index, one in enumerate(errors))


def _strays(description: Description, got: torch.Tensor, expected: torch.Tensor) -> int:
    """Of integers that choose among elements, how many name none that there could be: below zero, or beyond the number
    of elements of everything that the workload has. None where the reference itself goes as far.
    """
    if not description.chooses or got.dtype.is_floating_point or got.dtype is torch.bool or not got.numel():
        return 0
    known = (*description.inputs, *description.parameters, *description.buffers)
    highs = (int(leaf.domain.high) + 1 for leaf in description.inputs if leaf.domain and leaf.domain.high is not None)
    beyond = max((*(leaf.tensor.elements for leaf in known), *highs), default=0)
    low, high = (int(end) for end in expected.aminmax())
    return int((got < 0).sum() if low >= 0 else 0) + int((got >= beyond).sum() if high < beyond else 0)


def _honest(leaf: Leaf, sample: Tensors, gold: Gold, got: Tensors) -> HonestErrors:
    return honest_errors(
        leaf.tensor.dtype,
        sample=real(sample[leaf.path]),
        candidate=real(got[leaf.path]),
        baseline=real(gold.baseline[leaf.path]),
        expected=real(gold.expected[leaf.path]),
    )


def errors_as_needed(court: Court, gold: Gold, got: Tensors, factor: float | None) -> tuple[LeafErrors, ...]:
    """The same, asking the model of honest rounding only where the baseline's error times ``factor`` does not cover
    the candidate's; with None it is always asked.
    """
    if factor is not None:
        leaves = case_errors(court.description, gold, got)
        if all(covered(leaf, factor) for leaf in leaves):
            return leaves
    return case_errors(court.description, gold, got, court.honest(gold))
