"""Seeded faults: honest kernels of the gallery with one small change each, of the kinds that people and models make.

A mutant is the text of a kernel in which one place of its syntax tree is other. Where a mutant computes the same for
all that, `EQUIVALENT` says so and why: it is no fault, and not counted.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.gallery.cards import DRAWN, cards

PRECISION = "lower precision"
_SHORT = """
def _ten_bits(x):
    return ((x.contiguous().view(torch.int32) + 4096) & -8192).view(torch.float32) if x.dtype is torch.float32 else x
"""
_DIMENSIONS = ("dim", "axis")
_SWAPPED_CALLS = {"amax": "amin", "amin": "amax", "maximum": "minimum", "minimum": "maximum", "exp": "exp2"}
_SWAPPED_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}
_LESS_EXACT = ("{0}.bfloat16().float()", "{0}.half().float()", "_ten_bits({0})")

EQUIVALENT: dict[str, str] = {
    "attention_in_blocks:off-by-one:09aa2646": "the last block begins at the same place",
    "different_every_time:other-operator:9854244d": "the counter only says which of two orders is taken",
    "different_every_time:update-forgotten:cc0b352c": "the counter only says which of two orders is taken",
    "double_inside:lower-precision:b78fdb61": "bits are taken off single precision alone",
    "exact_sums:lower-precision:6867c2a7": "bits are taken off single precision alone",
    "keeps_its_work_space:lower-precision:58d51845": "what is rounded is not what is returned",
    "keeps_its_work_space:lower-precision:9abefea3": "what is rounded is not what is returned",
    "keeps_its_work_space:lower-precision:b5fc239a": "what is rounded is not what is returned",
    "loss_by_rows:wrong-axis:49ab2aa2": "the mean of means over equal parts is the same along either axis",
    "negative_zero:other-comparison:08c04a03": "zero is zero by either branch",
    "negative_zero:other-comparison:a1ab0048": "zero is zero by either branch",
    "numpy_inside:lower-precision:27951773": "an array of numpy is not of torch.float32, so its bits are left alone",
    "one_long_chain:stale-parameter:9261efa2": "only the shape of the stale parameter is used",
    "one_long_chain:off-by-one:bbb66386": "the last block begins at the same place",
    "prepares_on_first_call:constant-off:a1e5d876": "it sleeps half a millisecond longer",
    "prepares_on_first_call:lower-precision:c7217651": "what is rounded is not what is returned",
    "prepares_on_first_call:lower-precision:86cfca74": "what is rounded is not what is returned",
    "prepares_on_first_call:lower-precision:6767fb5a": "what is rounded is not what is returned",
    "splits_the_sum:other-flag:c8b80ee6": "both lists are equally long",
    "widened_inside:lower-precision:969d7432": "the workload itself rounds there to bfloat16",
    "widened_inside:lower-precision:76999dc4": "the workload itself rounds there to bfloat16",
    "widened_inside:lower-precision:6fa86580": "the workload itself rounds there to bfloat16",
    "work_space_from_a_pool:lower-precision:521c9741": "what is rounded is not what is returned",
    "work_space_from_a_pool:lower-precision:689aea21": "what is rounded is not what is returned",
    "work_space_from_a_pool:lower-precision:b60f44a9": "what is rounded is not what is returned",
    "swallows_nan:other-comparison:4666f895": "zero is zero by either branch",
}
"""Mutants by name that compute the same as their kernel, within honest rounding, and why."""

Change = Callable[[ast.AST], ast.AST | None]
"""What stands in a node's place instead; None where the change does not apply."""


@dataclass(frozen=True)
class Mutant:
    """One fault: of which kernel, what kind, and the whole text."""

    kernel: Path
    workload: Path
    kind: str
    text: str

    @property
    def name(self) -> str:
        """The same for the same code, whatever its docstring says."""
        code = ast.parse(self.text)
        del code.body[0]
        digest = hashlib.sha256(ast.unparse(code).encode()).hexdigest()[:8]
        return f"{self.kernel.stem}:{self.kind.replace(' ', '-')}:{digest}"


def _off_by_one(node: ast.AST) -> ast.AST | None:
    """The end of a range or a slice one earlier."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        at = min(1, len(node.args) - 1)
        node.args[at] = _less_one(node.args[at])
        return node
    if isinstance(node, ast.Slice) and node.upper is not None:
        node.upper = _less_one(node.upper)
        return node
    return None


def _first_skipped(node: ast.AST) -> ast.AST | None:
    """A range that begins with its second number, a slice with its second element."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        first = node.args[0] if len(node.args) > 1 else ast.Constant(0)
        step = node.args[2] if len(node.args) > 2 else ast.Constant(1)
        rest = node.args[1:] if len(node.args) > 1 else node.args
        node.args = [ast.BinOp(first, ast.Add(), step), *rest]
        return node
    if isinstance(node, ast.Slice) and node.lower is not None:
        node.lower = ast.BinOp(node.lower, ast.Add(), ast.Constant(1))
        return node
    return None


def _wrong_axis(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.keyword) and node.arg in _DIMENSIONS and isinstance(_number(node.value), int):
        node.value = ast.Constant(0 if _number(node.value) else -1)
        return node
    return None


def _no_epsilon(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, float) and 0 < node.value < 1e-2:
        return ast.Constant(0.0)
    return None


def _one_term(node: ast.AST) -> ast.AST | None:
    """The second term of a sum, or the second factor, is forgotten."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
        return node.left
    return None


def _other_operator(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _SWAPPED_OPERATORS:
        node.op = _SWAPPED_OPERATORS[type(node.op)]()
        return node
    return None


def _other_function(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Attribute) and node.attr in _SWAPPED_CALLS:
        node.attr = _SWAPPED_CALLS[node.attr]
        return node
    return None


def _other_comparison(node: ast.AST) -> ast.AST | None:
    swapped = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq}
    if isinstance(node, ast.Compare) and type(node.ops[0]) in swapped:
        node.ops[0] = swapped[type(node.ops[0])]()
        return node
    return None


def _other_flag(node: ast.AST) -> ast.AST | None:
    """Biased for unbiased, kept dimensions for dropped ones."""
    if isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, bool):
        node.value = ast.Constant(not node.value.value)
        return node
    return None


def _constant_off(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, float) and abs(node.value) >= 1e-2:
        return ast.Constant(node.value * 1.001)
    return None


def _forgotten(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.AugAssign):
        return ast.Pass()
    return None


def _stale(node: ast.AST) -> ast.AST | None:
    """A parameter as it was at the first call."""
    if isinstance(node, ast.Attribute) and node.attr in ("weight", "bias") and isinstance(node.ctx, ast.Load):
        kept = f"self.__dict__.setdefault('_kept_{node.attr}', ({ast.unparse(node)}).detach().clone())"
        return ast.parse(kept, mode="eval").body
    return None


def _less_exact(template: str) -> Change:
    def change(node: ast.AST) -> ast.AST | None:
        is_product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _COMPUTING
        if not (is_product or is_call):
            return None
        return ast.parse(template.format(f"({ast.unparse(node)})"), mode="eval").body

    return change


_COMPUTING = (
    "linear",
    "matmul",
    "mm",
    "bmm",
    "addmm",
    "sum",
    "mean",
    "exp",
    "var",
    "square",
    "rsqrt",
    "softmax",
    "conv2d",
)
_CHANGES: tuple[tuple[str, Change], ...] = (
    ("off by one", _off_by_one),
    ("first one skipped", _first_skipped),
    ("wrong axis", _wrong_axis),
    ("no epsilon", _no_epsilon),
    ("one term forgotten", _one_term),
    ("other operator", _other_operator),
    ("other function", _other_function),
    ("other comparison", _other_comparison),
    ("other flag", _other_flag),
    ("constant off", _constant_off),
    ("update forgotten", _forgotten),
    ("stale parameter", _stale),
    *((PRECISION, _less_exact(template)) for template in _LESS_EXACT),
)


def _number(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _less_one(node: ast.expr) -> ast.expr:
    return ast.BinOp(node, ast.Sub(), ast.Constant(1))


def mutants_of(path: Path, workload: Path) -> Iterator[Mutant]:
    """Every mutant of one kernel, each different from the kernel and from the others."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    seen = {ast.unparse(tree)}
    inside = _computing(tree)
    places = [(index, node) for index, node in enumerate(ast.walk(tree)) if id(node) in inside]
    for kind, change in _CHANGES:
        for index, node in places:
            found = change(copy.deepcopy(node))
            if found is None:
                continue
            changed = copy.deepcopy(tree)
            at = next(itertools.islice(ast.walk(changed), index, None))
            text = ast.unparse(ast.fix_missing_locations(_Put(at, found).visit(changed)))
            if text not in seen:
                seen.add(text)
                helper = _SHORT if "_ten_bits(" in text else ""
                yield Mutant(path, workload, kind, _with_helper(text, helper))


def _computing(tree: ast.Module) -> set[int]:
    """Which nodes are inside a function other than a constructor, by identity."""
    functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and each.name != "__init__"]
    return {id(each) for function in functions for statement in function.body for each in ast.walk(statement)}


def _with_helper(text: str, helper: str) -> str:
    if not helper:
        return text
    head, found, rest = text.partition("\nclass ModelNew")
    return f"{head}\nimport torch\n{helper}{found}{rest}"


class _Put(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else self.generic_visit(node)


def all_mutants() -> list[Mutant]:
    """Of all honest kernels whose answers are no random numbers, in an order that never changes."""
    kernels = [card for card in cards("honest") if card["workload"] not in DRAWN]
    return [mutant for card in kernels for mutant in mutants_of(card.path, card.workload)]
