"""Random programs of the fused kernel family against torch in float64: any steps, broadcasting, layouts and types."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from strop.kernels.program import Instruction, Operand, Program, parse
from strop.kernels.rows import ROWS
from tests.property.drawing import cases, layouts

F = torch.nn.functional
MEANS = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "neg": torch.neg,
    "abs": torch.abs,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "mish": F.mish,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "log_sigmoid": F.logsigmoid,
    "gt": lambda a, b: (a > b).double(),
    "where": lambda c, a, b: torch.where(c != 0, a, b),
}
ARITIES = {name: 2 for name in ("add", "sub", "mul", "maximum", "minimum", "gt")} | {"where": 3}
REDUCTIONS = {
    "sum": lambda x, dims: x.sum(dims, keepdim=True),
    "mean": lambda x, dims: x.mean(dims, keepdim=True),
    "amax": lambda x, dims: x.amax(dims, keepdim=True),
    "amin": lambda x, dims: x.amin(dims, keepdim=True),
}
TYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}


@st.composite
def programs(draw):
    """A program with its operands, and what it yields in float64."""
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=4)))
    rows = draw(st.integers(0, min(2, len(shape))))
    elements = draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=3))
    operands, tensors = [], []
    for place, element in enumerate(elements):
        sizes = shape if place == 0 else tuple(draw(st.sampled_from([size, size, 1])) for size in shape)
        of_row = rows > 0 and all(size == 1 for size in sizes[-rows:])
        operands.append(Operand(element, of_row))
        tensors.append(draw(layouts(sizes, dtype=TYPES[element], scale=2.0)))
    steps, full, values = [], [not each.row for each in operands], [each.double() for each in tensors]
    dims = list(range(len(shape) - rows, len(shape)))
    for _ in range(draw(st.integers(1, 7))):
        reducible = [place for place, whole in enumerate(full) if whole] if rows else []
        name = draw(st.sampled_from(sorted(MEANS) + (sorted(REDUCTIONS) * 3 if reducible else [])))
        if name in REDUCTIONS:
            source = draw(st.sampled_from(reducible))
            steps.append(Instruction(name, (source,)))
            values.append(REDUCTIONS[name](values[source].expand(shape), dims))
            full.append(False)
        else:
            sources = [draw(st.integers(0, len(values) - 1)) for _ in range(ARITIES.get(name, 1))]
            steps.append(Instruction(name, tuple(sources)))
            values.append(MEANS[name](*(values[source] for source in sources)))
            full.append(any(full[source] for source in sources))
    wide = "float64" if "float64" in elements else "float32"
    results = sorted({len(values) - 1, draw(st.integers(len(operands), len(values) - 1))})
    program = Program(rows, tuple(operands), tuple(steps), tuple((value, wide) for value in results))
    expected = [values[value].expand(shape) if full[value] else values[value] for value in results]
    return program, tensors, expected


def _decided(program, values):
    """Comparisons and maxima of nearly equal numbers may go either way; such cases say nothing about rounding."""
    return not any(step.operation in ("gt", "where") for step in program.steps)


@given(programs())
@cases(40)
def test_a_program_means_what_torch_means(drawn):
    program, tensors, expected = drawn
    assert parse(str(program)) == program
    results = ROWS(tensors, str(program))
    eps = torch.finfo(results[0].dtype).eps
    for result, reference in zip(results, expected, strict=True):
        shape = torch.broadcast_shapes(*(each.shape for each in tensors))
        if list(result.shape) != list(reference.shape):
            assert result.shape[len(shape) - program.rows :].numel() == 1
            reference = reference.expand(result.shape)
        if _decided(program, expected):
            size = max(reference.abs().max().item(), 1.0)
            assert (result.double() - reference).abs().max().item() <= 4096 * eps * size
