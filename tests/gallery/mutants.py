"""Seeded faults: honest kernels of the gallery with one small change each, of the kinds that people and models make.

A mutant is the text of a kernel in which one place of its syntax tree is other. Where a mutant computes the same for
all that, `EQUIVALENT` says so and why: it is no fault, and not counted.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.gallery.cards import cards

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
    "attention_in_blocks:23:off-by-one:b961b843": "the last block begins at the same place",
    "different_every_time:19:other-operator:5bb6edd9": "the counter only says which of two orders is taken",
    "different_every_time:19:update-forgotten:deec5a74": "the counter only says which of two orders is taken",
    "double_inside:19:lower-precision:0818bc76": "bits are taken off single precision alone",
    "exact_sums:13:lower-precision:210665b3": "bits are taken off single precision alone",
    "loss_by_rows:14:wrong-axis:2a5daadd": "the mean of means over equal parts is the same along either axis",
    "negative_zero:14:other-comparison:792c9eff": "zero is zero by either branch",
    "negative_zero:14:other-comparison:7d2c10fd": "zero is zero by either branch",
    "numpy_inside:18:lower-precision:09ae41e7": "an array of numpy is not of torch.float32, so its bits are left alone",
    "one_long_chain:21:stale-parameter:e985d917": "only the shape of the stale parameter is used",
    "one_long_chain:22:off-by-one:ff41c73a": "the last block begins at the same place",
    "prepares_on_first_call:23:constant-off:f98bba5a": "it sleeps half a millisecond longer",
    "prepares_on_first_call:25:lower-precision:927c1503": "what is rounded is not what is returned",
    "prepares_on_first_call:25:lower-precision:cb4a9297": "what is rounded is not what is returned",
    "prepares_on_first_call:25:lower-precision:dee40994": "what is rounded is not what is returned",
    "splits_the_sum:20:other-flag:4aa2b778": "both lists are equally long",
    "widened_inside:19:lower-precision:4c2d6310": "the workload itself rounds there to bfloat16",
    "widened_inside:19:lower-precision:7ad54802": "the workload itself rounds there to bfloat16",
    "widened_inside:19:lower-precision:e28d15d4": "the workload itself rounds there to bfloat16",
    "work_space_from_a_pool:26:lower-precision:13c64114": "what is rounded is not what is returned",
    "work_space_from_a_pool:26:lower-precision:45d843fe": "what is rounded is not what is returned",
    "work_space_from_a_pool:26:lower-precision:82583d1d": "what is rounded is not what is returned",
    "swallows_nan:16:other-comparison:1ee15169": "zero is zero by either branch",
}
"""Mutants by name that compute the same as their kernel, within honest rounding, and why."""

Change = Callable[[ast.AST], ast.AST | None]
"""What stands in a node's place instead; None where the change does not apply."""


@dataclass(frozen=True)
class Mutant:
    """One fault: of which kernel, what kind, in which line, and the whole text."""

    kernel: Path
    workload: Path
    kind: str
    line: int
    text: str

    @property
    def name(self) -> str:
        """The same for the same text."""
        digest = hashlib.sha256(self.text.encode()).hexdigest()[:8]
        return f"{self.kernel.stem}:{self.line}:{self.kind.replace(' ', '-')}:{digest}"


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
    places = [index for index, node in enumerate(ast.walk(tree)) if _is_computing(tree, node)]
    for kind, change in _CHANGES:
        for index in places:
            changed = copy.deepcopy(tree)
            nodes = list(ast.walk(changed))
            node = nodes[index]
            line = _line_of(nodes, node)
            found = change(node)
            if found is None:
                continue
            changed = ast.fix_missing_locations(_Put(node, found).visit(changed))
            text = ast.unparse(changed)
            if text not in seen:
                seen.add(text)
                helper = _SHORT if "_ten_bits(" in text else ""
                yield Mutant(path, workload, kind, line, _with_helper(text, helper))


def _is_computing(tree: ast.Module, node: ast.AST) -> bool:
    """Inside a function other than a constructor."""
    functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and each.name != "__init__"]
    return any(node is each for function in functions for statement in function.body for each in ast.walk(statement))


def _line_of(nodes: list[ast.AST], node: ast.AST) -> int:
    if hasattr(node, "lineno"):
        return int(node.lineno)
    return next((int(each.lineno) for each in ast.walk(node) if hasattr(each, "lineno")), 0)


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
    """Of all honest kernels, in an order that never changes."""
    return [mutant for card in cards("honest") for mutant in mutants_of(card.path, card.workload)]
