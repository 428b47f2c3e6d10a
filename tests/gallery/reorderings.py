"""Honest reorderings without end: a workload's own code, in which operators take another order of rounding by a seed.

A reordering's text is that of its workload, then that of `other_order/`, then a class that joins the two, so it stands
for itself and any `strop verify` can judge it.
"""

import ast
import itertools
from dataclasses import dataclass
from pathlib import Path

from tests.gallery.cards import DRAWN

HERE = Path(__file__).parent
ORDERS = tuple(HERE / "other_order" / name for name in ("sums.py", "layers.py"))
TURN = 3
"""Trials of one workload that follow one another: to open its court costs as much as two of them."""

UNTOUCHED = {
    "average_pool": "its sums are inside of one operator that no other way is written for",
    "any_batch": "its own inputs come as samples",
    "best_five": "it selects",
    "choleskies": "its sums are inside of one operator that no other way is written for",
    "complex_overlap": "the ways are written for real numbers",
    "max_pool": "it selects",
    "relu": "it computes nothing inexact",
    "small_steps": "functions of single numbers, which have one honest way",
    "to_bytes": "it rounds on purpose",
    "token_embedding": "one product for each number",
    **dict.fromkeys(DRAWN, "it draws random numbers"),
}
"""Workloads of the gallery that have no reorderings, and why."""

_JOINED = """

class ModelNew(Model):
    def forward(self, *args, **kwargs):
        with OtherOrder({seed}):
            return super().forward(*args, **kwargs)
"""


@dataclass(frozen=True)
class Reordering:
    """One honest trial."""

    workload: Path
    seed: int

    @property
    def name(self) -> str:
        return f"{self.workload.stem}:{self.seed}"

    @property
    def text(self) -> str:
        parts = [self.workload.read_text(encoding="utf-8"), *(_standing_alone(path) for path in ORDERS)]
        return "\n\n".join(parts) + _JOINED.format(seed=self.seed)


def _standing_alone(path: Path) -> str:
    """The text without what it imports from the other files, which stand in front of it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [each for each in tree.body if not (isinstance(each, ast.ImportFrom) and "tests" in str(each.module))]
    return ast.unparse(tree)


def reordered() -> list[Path]:
    """The workloads that have reorderings: the gallery's, then typical pieces of models."""
    gallery = sorted((HERE / "workloads").glob("*.py"))
    return [path for path in gallery if path.stem not in UNTOUCHED] + sorted((HERE / "pieces").glob("*.py"))


def reorderings(count: int) -> list[Reordering]:
    """The first so many of an endless row of trials, in turns over all workloads."""
    turns = (range(first, first + TURN) for first in itertools.count(0, TURN))
    endless = (Reordering(path, seed) for seeds in turns for path in reordered() for seed in seeds)
    return list(itertools.islice(endless, count))
