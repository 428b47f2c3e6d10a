"""Programs of the fused kernel family: their text, what they refuse, and what they do to rows, masks, layouts and
threads.
"""

import subprocess
import sys

import pytest
import torch

from strop.kernels.program import Instruction, Operand, Program, ProgramError, parse
from strop.kernels.row_source import Layout, source_of
from strop.kernels.rows import ROWS

SOFTMAX = "rows 1; x0 float32; v1 amax x0; v2 sub x0 v1; v3 exp v2; v4 sum v3; v5 div v3 v4; out v5 float32"
NORM = (
    "rows 1; x0 float32; x1 float32; v2 mean x0; v3 sub x0 v2; v4 mul v3 v3; v5 mean v4; v6 add v5 1e-05; v7 rsqrt v6; "
    "v8 mul v3 v7; v9 mul v8 x1; out v9 float32; out v2 float32"
)


def test_a_program_prints_and_parses_back():
    for text in (SOFTMAX, NORM):
        assert str(parse(text)) == text
    program = Program(0, (Operand("bool"),), (Instruction("where", (0, float("inf"), -1e-7)),), ((1, "float64"),))
    assert parse(str(program)) == program


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rows 0; x0 float32; v1 frobnicate x0; out v1 float32", "is not a step"),
        ("rows 0; x0 float32; v1 add x0; out v1 float32", "is not a step"),
        ("rows 0; x0 float32; v1 exp v3; out v1 float32", "does not exist yet"),
        ("rows 0; x0 float32; v1 sum x0; out v1 float32", "needs rows"),
        ("rows 1; x0 float32; v1 sum x0; v2 sum v1; out v2 float32", "one per row already"),
        ("rows one; x0 float32", "is not part of a program"),
    ],
)
def test_what_is_no_program_is_refused(text, says):
    with pytest.raises(ProgramError, match=says):
        parse(text)


def test_the_wrong_number_of_operands_is_refused():
    with pytest.raises(ProgramError, match="takes 1 operands, but got 2"):
        ROWS([torch.ones(2), torch.ones(2)], "rows 0; x0 float32; v1 exp x0; out v1 float32")


def test_a_costly_step_is_computed_once_and_kept():
    source = source_of(parse(SOFTMAX), Layout(1, (1, 1)))
    assert source.count("exp_(") == 1
    assert source.count("omp simd") == 3


@pytest.mark.parametrize("length", [1, 2, 15, 16, 17, 1023, 1024, 1025, 5000])
def test_rows_of_any_length(length):
    value = torch.randn(7, length) * 3
    torch.testing.assert_close(ROWS([value], SOFTMAX)[0], torch.softmax(value, -1))
    weight = torch.randn(length)
    result, mean = ROWS([value, weight], NORM)
    torch.testing.assert_close(result, torch.nn.functional.layer_norm(value, (length,), weight), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(mean, value.mean(-1, keepdim=True))
    assert mean.shape == (7, 1)


def test_masks_of_minus_infinity_work():
    value = torch.randn(4, 33)
    value[0, 5:] = float("-inf")
    value[1, :] = float("-inf")
    value[2, 3] = float("nan")
    torch.testing.assert_close(ROWS([value], SOFTMAX)[0], torch.softmax(value, -1), equal_nan=True)


def test_a_mask_of_booleans_selects():
    value, mask = torch.randn(3, 40), torch.rand(3, 40) > 0.5
    text = "rows 0; x0 bool; x1 float32; v2 where x0 x1 -inf; v3 gt x1 0.0; out v2 float32; out v3 bool"
    masked, positive = ROWS([mask, value], text)
    assert torch.equal(masked, value.masked_fill(~mask, float("-inf")))
    assert torch.equal(positive, value > 0)


def test_layouts_are_kept_and_broadcasting_works():
    text = "rows 0; x0 float32; x1 float32; v2 mul x0 x1; out v2 float32"
    image = torch.randn(2, 5, 6, 7).contiguous(memory_format=torch.channels_last)
    for shape in ((5, 1, 1), (7,), (2, 1, 6, 1), (), (2, 5, 6, 7)):
        other = torch.randn(shape)
        result = ROWS([image, other], text)[0]
        assert torch.equal(result, image * other)
        assert result.stride() == (image * other).stride()
    strided = torch.randn(9, 20)[::2, 1::3].t()
    assert torch.equal(ROWS([strided, strided], text)[0], strided * strided)


def test_empty_tensors_stay_empty():
    assert ROWS([torch.empty(0, 4)], SOFTMAX)[0].shape == (0, 4)


def test_several_threads_give_the_same_numbers():
    value = torch.randn(64, 3000)
    before, threads = ROWS([value], SOFTMAX)[0], torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert torch.equal(ROWS([value], SOFTMAX)[0], before)
        flat = ROWS([value], "rows 0; x0 float32; v1 tanh x0; out v1 float32")[0]
        torch.testing.assert_close(flat, torch.tanh(value))
    finally:
        torch.set_num_threads(threads)


def test_the_compiler_takes_the_operator_as_it_is():
    def chain(value):
        return ROWS([value * 2], SOFTMAX)[0] + 1

    torch._dynamo.reset()
    value = torch.randn(5, 9)
    torch.testing.assert_close(torch.compile(chain)(value), torch.softmax(value * 2, -1) + 1)


def test_kernels_run_with_nothing_else_of_strop_loaded():
    code = (
        "import sys, torch, strop.kernels.rows, strop.kernels.windows\n"
        f"print(torch.ops.strop.rows([torch.zeros(1, 4)], {SOFTMAX!r})[0].tolist())\n"
        "others = [m for m in sys.modules if m.startswith('strop.') and not m.startswith('strop.kernels')]\n"
        "print(others)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[[0.25, 0.25, 0.25, 0.25]]", "[]"]
