"""From ATen nodes to the steps of a fused kernel: what each operator means, element by element or row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import Node

from strop.kernels.program import ELEMENTS, Instruction, Operand, Program
from strop.transforms._graph import argument, aten, only_item, shape_of, tensor

Value = int | float
"""A value of the program, or a constant."""


@dataclass(slots=True)
class Writer:
    """Collects a program; ``values`` says which value stands for which node."""

    rows: int
    operands: list[Operand] = field(default_factory=list)
    steps: list[Instruction] = field(default_factory=list)
    values: dict[Node, int] = field(default_factory=dict)
    offset: int = 0

    def operand(self, node: Node, element: str, row: bool) -> None:
        """A tensor from outside; all operands come before the first step."""
        self.values[node] = len(self.operands)
        self.operands.append(Operand(element, row))
        self.offset = len(self.operands)

    def __call__(self, operation: str, *arguments: Value) -> int:
        """Add one step."""
        self.steps.append(Instruction(operation, tuple(arguments)))
        return self.offset + len(self.steps) - 1

    def of(self, argument: Any) -> Value:
        """The value of a node, or a number as a constant."""
        return self.values[argument] if isinstance(argument, Node) else float(argument)

    def program(self, results: Sequence[tuple[int, str]]) -> Program:
        """What was collected."""
        return Program(self.rows, tuple(self.operands), tuple(self.steps), tuple(results))


Translation = Callable[[Writer, Node], int]


def _plain(operation: str) -> Translation:
    """An operator whose tensor and number arguments are the step's arguments."""
    return lambda write, node: write(operation, *(write.of(each) for each in node.args))


def _scaled(operation: str) -> Translation:
    """Addition and subtraction, with their ``alpha``."""

    def translate(write: Writer, node: Node) -> int:
        left, right, alpha = write.of(node.args[0]), write.of(node.args[1]), float(node.kwargs.get("alpha", 1))  # type: ignore[arg-type]
        if alpha != 1:
            right = right * alpha if isinstance(right, float) else write("mul", right, alpha)
        return write(operation, left, right)

    return translate


def _gelu(write: Writer, node: Node) -> int:
    return write("gelu_tanh" if argument(node, 1, "approximate", "none") == "tanh" else "gelu", write.of(node.args[0]))


def _softplus(write: Writer, node: Node) -> int:
    beta, threshold = float(argument(node, 1, "beta", 1)), float(argument(node, 2, "threshold", 20))
    return write("softplus", write.of(node.args[0]), beta, threshold)


def _elu(write: Writer, node: Node) -> int:
    alpha, scale, inner = (
        float(argument(node, i, name, 1)) for i, name in enumerate(("alpha", "scale", "input_scale"), 1)
    )
    return write("elu", write.of(node.args[0]), alpha * scale, scale, inner)


def _leaky_relu(write: Writer, node: Node) -> int:
    return write("leaky_relu", write.of(node.args[0]), float(argument(node, 1, "negative_slope", 0.01)))


def _clamp(names: tuple[str, str], low: float | None = None, high: float | None = None) -> Translation:
    def translate(write: Writer, node: Node) -> int:
        value = write.of(node.args[0])
        least, most = argument(node, 1, names[0], low), argument(node, 2, names[1], high)
        if least is not None:
            value = write("clamp_min", value, float(least))
        if most is not None:
            value = write("clamp_max", value, float(most))
        return int(value)

    return translate


def _power(write: Writer, node: Node) -> int:
    value, exponent = write.of(node.args[0]), float(node.args[1])  # type: ignore[arg-type]
    return write(POWERS[exponent], value)


POWERS = {2.0: "square", 3.0: "cube", 0.5: "sqrt", -0.5: "rsqrt", -1.0: "reciprocal"}


def _copied(write: Writer, node: Node) -> int:
    """A change of type is a step only for what is stored; in between, values keep all their bits."""
    return int(write.of(node.args[0]))


def _softmax(write: Writer, node: Node) -> int:
    _, exponentials = _exponentials(write, write.of(node.args[0]))
    return write("div", exponentials, write("sum", exponentials))


def _log_softmax(write: Writer, node: Node) -> int:
    shifted, exponentials = _exponentials(write, write.of(node.args[0]))
    return write("sub", shifted, write("log", write("sum", exponentials)))


def _exponentials(write: Writer, value: Value) -> tuple[int, int]:
    shifted = write("sub", value, write("amax", value))
    return shifted, write("exp", shifted)


def _layer_norm(write: Writer, node: Node) -> int:
    value = write.of(node.args[0])
    centred = write("sub", value, write("mean", value))
    variance = write("mean", write("mul", centred, centred))
    result = write("mul", centred, write("rsqrt", write("add", variance, float(argument(node, 4, "eps", 1e-5)))))
    weight, bias = node.args[2], node.args[3]
    if weight is not None:
        result = write("mul", result, write.of(weight))
    return result if bias is None else write("add", result, write.of(bias))


def _reduced(operation: str) -> Translation:
    return lambda write, node: write(operation, write.of(node.args[0]))


def _variance(write: Writer, node: Node) -> int:
    value, count = write.of(node.args[0]), _row_length(node)
    centred = write("sub", value, write("mean", value))
    correction = node.kwargs.get("correction")
    divisor = max(count - float(1 if correction is None else correction), 0.0)  # type: ignore[arg-type]
    return write("div", write("sum", write("mul", centred, centred)), divisor)


def _row_length(node: Node) -> float:
    shape = shape_of(node.args[0]) or ()
    length = 1
    for size in shape[len(shape) - (reduced_dims(node) or 0) :]:
        length *= size
    return float(length)


_UNARY = (
    "neg abs exp expm1 log log1p sqrt rsqrt reciprocal sigmoid tanh erf relu silu mish hardswish hardsigmoid square"
)
_COMPARE = "gt ge lt le eq ne"

ELEMENTWISE: dict[Any, Translation] = {
    **{getattr(aten, name).default: _plain(name) for name in _UNARY.split()},
    **{getattr(aten, name).Scalar: _plain(name) for name in _COMPARE.split()},
    **{getattr(aten, name).Tensor: _plain(name) for name in _COMPARE.split()},
    aten.add.Tensor: _scaled("add"),
    aten.add.Scalar: _scaled("add"),
    aten.sub.Tensor: _scaled("sub"),
    aten.sub.Scalar: _scaled("sub"),
    aten.mul.Tensor: _plain("mul"),
    aten.mul.Scalar: _plain("mul"),
    aten.div.Tensor: _plain("div"),
    aten.div.Scalar: _plain("div"),
    aten.maximum.default: _plain("maximum"),
    aten.minimum.default: _plain("minimum"),
    aten.clamp_min.default: _plain("clamp_min"),
    aten.clamp_max.default: _plain("clamp_max"),
    aten.clamp.default: _clamp(("min", "max")),
    aten.hardtanh.default: _clamp(("min_val", "max_val"), -1.0, 1.0),
    aten.gelu.default: _gelu,
    aten.softplus.default: _softplus,
    aten.elu.default: _elu,
    aten.leaky_relu.default: _leaky_relu,
    aten.pow.Tensor_Scalar: _power,
    aten.where.self: _plain("where"),
    aten._to_copy.default: _copied,
    aten.log_sigmoid_forward.default: _plain("log_sigmoid"),
}

ALONG_ROWS: dict[Any, Translation] = {
    aten._softmax.default: _softmax,
    aten._log_softmax.default: _log_softmax,
    aten.native_layer_norm.default: _layer_norm,
}
"""Operators that reduce a row and give it back whole."""

REDUCTIONS: dict[Any, Translation] = {
    aten.sum.dim_IntList: _reduced("sum"),
    aten.mean.dim: _reduced("mean"),
    aten.amax.default: _reduced("amax"),
    aten.amin.default: _reduced("amin"),
    aten.var.correction: _variance,
}
"""Operators that leave one value per row."""

TUPLES = (aten.native_layer_norm.default, aten.log_sigmoid_forward.default)
"""Operators of which only the first of several results is made."""


def reduced_dims(node: Node) -> int | None:
    """How many trailing dimensions an operator reduces, 0 for none, None when it reduces others than the last ones."""
    source = shape_of(node.args[0]) if node.args else None
    if node.target in ELEMENTWISE:
        return 0
    if source is None or not source:
        return None
    if node.target is aten.native_layer_norm.default:
        return len(node.args[1])  # type: ignore[arg-type]
    dims: Any = node.args[1] if node.target in ALONG_ROWS else argument(node, 1, "dim")
    listed = [dims] if isinstance(dims, int) else list(dims or range(len(source)))
    places = sorted(dim % len(source) for dim in listed)
    return len(places) if places == list(range(len(source) - len(places), len(source))) else None


def translation_of(node: Node) -> Translation | None:
    """How to translate a node, or None when it, its types or its arguments cannot be."""
    if node.op != "call_function":
        return None
    found = ELEMENTWISE.get(node.target) or ALONG_ROWS.get(node.target) or REDUCTIONS.get(node.target)
    if found is None or (node.target in TUPLES and only_item(node, 0) is None) or not _simple(node):
        return None
    values = [tensor(each) for each in (node, *node.all_input_nodes)]
    if node.target in TUPLES:
        values[0] = tensor(only_item(node, 0))
    if any(value is None or element_of(value) is None or value.device.type != "cpu" for value in values):
        return None
    return found


def _simple(node: Node) -> bool:
    """Whether every argument is one that the translation reads."""
    if node.target is aten.pow.Tensor_Scalar:
        return isinstance(node.args[1], int | float) and float(node.args[1]) in POWERS
    if node.target is aten._to_copy.default:
        return set(node.kwargs) <= {"dtype"}
    if node.target in (aten._softmax.default, aten._log_softmax.default):
        return not node.args[2]
    if node.target in (aten.sum.dim_IntList, aten.mean.dim):
        return node.kwargs.get("dtype") is None
    if node.target is aten.div.Tensor:
        return not node.kwargs
    numbers = [each for each in node.args if not isinstance(each, Node | list | tuple | str) and each is not None]
    return all(isinstance(each, int | float) for each in numbers)


def element_of(value: torch.Tensor | None) -> str | None:
    """The element type's name when kernels know it."""
    name = "" if value is None else str(value.dtype).removeprefix("torch.")
    return name if name in ELEMENTS else None
