"""Edited kernels run on the CPU by Triton's interpreter, in a process of its own, where a wrong store does no harm."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

ROOT = Path(__file__).parents[3]

SCRIPT = """
import math
import torch
from tests.unit.lowering.generated import Pointwise, RowSums, generated, replace_source, retune
from tests.unit.lowering.without_gpu import loaded, lowered
from strop.lowering import LoweringOptions

def run(kernel, grid, *arguments):
    made = loaded(kernel.source, kernel.name)
    (config,) = made.configs
    blocks = config.kwargs
    made.fn[grid(blocks)](*arguments, **blocks)

def edited(make, shape, change):
    (kernel,) = generated(lowered(make, [shape]))
    (result,) = generated(lowered(make, [shape], options=LoweringOptions(edits=(change(kernel),))))
    return result

# Sizes that no block divides: what the masks leave out must stay as it was.
x = torch.randn(37, 27)
for size in (64, 1024):
    kernel = edited(Pointwise, x.shape, lambda each: retune(each, xblock=size, num_warps=1, num_stages=1))
    out = torch.full((x.numel() + 8,), -7.0)
    run(kernel, lambda blocks: (math.ceil(x.numel() / blocks["XBLOCK"]),), x, out, x.numel())
    torch.testing.assert_close(out[:-8].view_as(x), (x * 3 + 1).relu())
    assert (out[-8:] == -7).all()

kernel = edited(Pointwise, x.shape, lambda each: replace_source(each, each.source.replace("3.0", "5.0")))
made = loaded(kernel.source, kernel.name)
out = torch.empty_like(x)
made.fn[(4,)](x, out, x.numel(), XBLOCK=256)
torch.testing.assert_close(out, (x * 5 + 1).relu())

rows = torch.randn(5, 2050)
for values in ({"xblock": 2, "rblock": 512, "num_stages": 3}, {"form": "persistent", "xblock": 4}):
    kernel = edited(RowSums, rows.shape, lambda each: retune(each, **values))
    out = torch.full((5 + 3,), -7.0)
    run(kernel, lambda blocks: (math.ceil(5 / blocks["XBLOCK"]),), rows, out, 5, 2050)
    torch.testing.assert_close(out[:-3], (rows * 2).sum(-1), rtol=1e-5, atol=1e-4)
    assert (out[-3:] == -7).all()
print("all right")
"""


def test_edited_kernels_compute_what_they_should():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "HOME": str(Path.home()), "TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.stdout.endswith("all right\n"), done.stderr[-3000:]
