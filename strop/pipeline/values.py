"""From raw results to error figures: every output and every touched state tensor, against fp64."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from strop.pipeline.court import Arrays, Court, Gold
from strop.pipeline.layouts import made_leaves, widened
from strop.records.evidence import LeafErrors
from strop.records.tensor import DType
from strop.records.workload import Description
from strop.stats.errors import covered, leaf_errors
from strop.wire.arrays import as_float64


def case_errors(description: Description, gold: Gold, got: Arrays) -> tuple[LeafErrors, ...]:
    """Errors of one run, leaf by leaf, beside the baseline's and the honest model's on the same inputs."""
    return tuple(
        leaf_errors(
            leaf.path,
            leaf.tensor.dtype,
            candidate=comparable(got[leaf.path], leaf.tensor.dtype),
            baseline=comparable(gold.baseline[leaf.path], leaf.tensor.dtype),
            honest=None
            if gold.honest is None
            else [comparable(sample[leaf.path], widened(leaf.tensor.dtype)) for sample in gold.honest],
            expected=comparable(gold.expected[leaf.path], widened(leaf.tensor.dtype)),
        )
        for leaf in made_leaves(description)
    )


def errors_as_needed(court: Court, gold: Gold, got: Arrays, factor: float) -> tuple[LeafErrors, ...]:
    """The same, asking the model of honest rounding only where the baseline's error times ``factor`` does not cover
    the candidate's.
    """
    leaves = case_errors(court.description, gold, got)
    if all(covered(leaf, factor) for leaf in leaves):
        return leaves
    return case_errors(court.description, court.beside_honest(gold), got)


def comparable(array: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """Double precision for floating types; integers and booleans as they are."""
    return as_float64(array, dtype) if dtype.is_floating else array
