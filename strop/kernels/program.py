"""What a fused kernel computes: element-wise steps and row reductions over operands, as one line of text that is also
its key.

``rows 1; x0 float32; x1 float32 row; v2 mul x0 x1; v3 sum v2; v4 div v2 v3; out v4 float32`` reads: two operands, of
which the second has one value per row; a row is what the last 1 dimension spans; results are numbered in the order of
the operands and steps. A value that depends on reductions alone belongs to the row, everything else to the element.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

UNARY = {
    *("neg", "abs", "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "reciprocal", "square", "cube"),
    *("sigmoid", "tanh", "erf", "relu", "gelu", "gelu_tanh", "silu", "mish", "hardswish", "hardsigmoid", "log_sigmoid"),
}
"""Steps of one value; each is a function of ``vector_math.hpp`` with an underscore behind its name."""

BINARY = {"maximum", "minimum", "clamp_min", "clamp_max", "leaky_relu"}
TERNARY = {"where", "softplus"}
QUATERNARY = {"elu"}
INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
COMPARE = {"gt": ">", "ge": ">=", "lt": "<", "le": "<=", "eq": "==", "ne": "!="}
REDUCE = {"sum", "mean", "amax", "amin"}

COSTLY = {
    *("exp", "expm1", "log", "log1p", "sigmoid", "tanh", "erf", "gelu", "gelu_tanh", "silu", "mish", "log_sigmoid"),
    *("softplus", "elu"),
}
"""Steps worth keeping in a buffer when a later pass over the row needs their result again."""

ARITY = (
    dict.fromkeys(UNARY | REDUCE, 1)
    | dict.fromkeys(BINARY | INFIX.keys() | COMPARE.keys(), 2)
    | dict.fromkeys(TERNARY, 3)
    | dict.fromkeys(QUATERNARY, 4)
)

ELEMENTS = {"float32": "float", "float64": "double", "bfloat16": "bfloat16", "bool": "bool"}
"""Element types of operands and results, and their names in C++."""


class ProgramError(ValueError):
    """The text is no program; the message says which part and why."""


@dataclass(frozen=True, slots=True)
class Operand:
    """An input: its element type, and whether it has one value per row."""

    element: str
    row: bool = False


@dataclass(frozen=True, slots=True)
class Instruction:
    """One step; arguments are numbers of values (``int``) or constants (``float``)."""

    operation: str
    arguments: tuple[int | float, ...]

    @property
    def values(self) -> tuple[int, ...]:
        """The arguments that are values."""
        return tuple(each for each in self.arguments if isinstance(each, int))


@dataclass(frozen=True, slots=True)
class Program:
    """Operands, steps and results. ``rows`` is how many trailing dimensions a row spans; 0 when nothing is reduced."""

    rows: int
    operands: tuple[Operand, ...]
    steps: tuple[Instruction, ...]
    results: tuple[tuple[int, str], ...]
    depths: tuple[int, ...] = field(init=False)
    row_values: tuple[bool, ...] = field(init=False)

    def __post_init__(self) -> None:
        depths, of_row = [0] * len(self.operands), [each.row for each in self.operands]
        for step in self.steps:
            _check(step, len(depths), self.rows)
            reduces = step.operation in REDUCE
            depths.append(max((depths[value] for value in step.values), default=0) + reduces)
            of_row.append(reduces or all(of_row[value] for value in step.values))
            if reduces and of_row[step.values[0]]:
                raise ProgramError(f"'{step.operation}' reduces a value that is one per row already.")
        object.__setattr__(self, "depths", tuple(depths))
        object.__setattr__(self, "row_values", tuple(of_row))

    def step_of(self, value: int) -> Instruction | None:
        """The step that makes a value, or None for an operand."""
        return None if value < len(self.operands) else self.steps[value - len(self.operands)]

    def __str__(self) -> str:
        parts = [f"rows {self.rows}"]
        parts += [f"x{i} {each.element}{' row' if each.row else ''}" for i, each in enumerate(self.operands)]
        for place, step in enumerate(self.steps, len(self.operands)):
            parts.append(f"v{place} {step.operation} " + " ".join(self._name(each) for each in step.arguments))
        parts += [f"out {self._name(value)} {element}" for value, element in self.results]
        return "; ".join(parts)

    def _name(self, argument: float) -> str:
        if isinstance(argument, float):
            return repr(argument)
        return f"{'x' if argument < len(self.operands) else 'v'}{argument}"


def _check(step: Instruction, known: int, rows: int) -> None:
    if len(step.arguments) != ARITY.get(step.operation, -1):
        raise ProgramError(f"'{step.operation}' with {len(step.arguments)} arguments is not a step.")
    if any(not 0 <= value < known for value in step.values):
        raise ProgramError(f"'{step.operation}' uses a value that does not exist yet.")
    if step.operation in REDUCE and (rows < 1 or not step.values):
        raise ProgramError(f"'{step.operation}' needs rows to reduce and a value to reduce.")


@functools.lru_cache(maxsize=1024)
def parse(text: str) -> Program:
    """Read the text of a program.

    Raises:
        ProgramError: with the part that cannot be read.
    """
    operands, steps, results, rows = list[Operand](), list[Instruction](), list[tuple[int, str]](), 0
    for part in text.split(";"):
        head, *words = part.split()
        try:
            if head == "rows":
                rows = int(words[0])
            elif head == "out":
                results.append((int(words[0][1:]), words[1]))
            elif head.startswith("x"):
                operands.append(Operand(words[0], words[1:] == ["row"]))
            else:
                steps.append(Instruction(words[0], tuple(_argument(word) for word in words[1:])))
        except (IndexError, ValueError) as failure:
            raise ProgramError(f"'{part.strip()}' is not part of a program: {failure}") from failure
    return Program(rows, tuple(operands), tuple(steps), tuple(results))


def _argument(word: str) -> int | float:
    return int(word[1:]) if word[0] in "xv" else float(word)
