"""Every variant that a proposal's ranges span, one change at a time, is compiled for sm_90. Slow, hence on its own."""

import pytest
import torch
from torch import nn

from strop.lowering import LoweringOptions
from strop.transforms import SHELF
from strop.transforms._base import GeneratedKernel
from strop.transforms._kernel_text import read_kernel
from tests.unit.lowering.generated import Pointwise, RowSums, Softmax, Transposed, generated, retune
from tests.unit.lowering.without_gpu import assembled, lowered
from tests.unit.transforms.kernel_samples import profiled
from tests.unit.transforms.rewriting import WITHOUT_CPP

pytest.importorskip("triton")
pytestmark = pytest.mark.slow

RETUNE = SHELF.get("retune_generated_kernel")
SHARED_BYTES = 227 << 10


class Columns(nn.Module):
    """A reduction over the outer dimension."""

    def forward(self, x):
        return x.relu().sum(0)


class Normalised(nn.Module):
    """A normalisation and what comes before and after it."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(2500)

    def forward(self, x):
        return self.norm(x + 1).sigmoid()


CASES = {
    "pointwise": (Pointwise, [(4096, 512)], torch.float32),
    "half": (Pointwise, [(333, 77)], torch.bfloat16),
    "tiled": (Transposed, [(512, 256), (256, 512)], torch.float32),
    "rows": (RowSums, [(4096, 3000)], torch.float32),
    "columns": (Columns, [(3000, 40_000)], torch.float32),
    "softmax": (Softmax, [(2048, 500)], torch.bfloat16),
    "normalised": (Normalised, [(4096, 2500)], torch.float32),
}


def in_form_of(make, shapes, dtype, kernel):
    """The compiler's own text in another form, taken from a lowering that asked for it."""

    def in_form(form):
        step = retune(kernel, form=form, num_warps=4)
        edited = generated(lowered(make, shapes, options=LoweringOptions(edits=(step,)), dtype=dtype))
        (found,) = [each.source for each in edited if each.name == kernel.name]
        # The text before its launch was fixed: only the decorator differs, which is written anew.
        kind = "persistent_reduction" if form == "persistent" else "reduction"
        return found.replace("triton_heuristics.fixed_config(", f"triton_heuristics.{kind}(size_hints={{'x': 1}},", 1)

    return in_form


@pytest.mark.parametrize("case", CASES)
def test_every_variant_compiles_and_fits(case):
    make, shapes, dtype = CASES[case]
    kernels = generated(lowered(make, shapes, dtype=dtype))
    profiles = [
        profiled(each.source, name=each.name, hash=each.hash, graph_id=each.graph_id, time_ns=90e3) for each in kernels
    ]
    proposals = list(RETUNE.proposals(profiles, WITHOUT_CPP))
    assert proposals
    for proposal in proposals:
        kernel = next(each for each in kernels if each.hash == proposal.step.argument("hash", ""))
        given = GeneratedKernel(
            name=kernel.name,
            language="triton",
            source=kernel.source,
            in_form=in_form_of(make, shapes, dtype, kernel),
        )
        first = dict(proposal.step.arguments)
        variants = [first, *(first | {each.name: value} for each in proposal.parameters for value in each.choices[1:])]
        for arguments in variants:
            source = RETUNE.edited(given, arguments)
            found = assembled(source, read_kernel(source).name)
            assert found.registers <= 255 and found.shared_bytes <= SHARED_BYTES, arguments
            assert found.spilled_bytes <= 512, arguments
