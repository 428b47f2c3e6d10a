"""Faults on an accelerator: each is named, ends with its own process, and the next candidate is judged right."""

import time

import pytest

from strop.records.verdict import Failed
from tests.gallery.bench import HASTY, QUICK, ROOMY, open_bench
from tests.gallery.cards import cards

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

RIGHT = {
    "relu": """
import torch
import triton
import triton.language as tl


@triton.jit
def relu(x, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    value = tl.load(x + at, mask=inside)
    tl.store(out + at, tl.where(value < 0, 0.0, value), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        relu[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
        return out
""",
    "linear_relu": """
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = torch.nn.Linear(inner, outer)

    def forward(self, x):
        return torch.relu(torch.addmm(self.linear.bias, x, self.linear.weight.t()))
""",
}


@pytest.fixture(scope="module")
def bench():
    with open_bench(None, ROOMY, HASTY) as opened:
        yield opened


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    """A right candidate for each workload."""
    folder = tmp_path_factory.mktemp("right")
    paths = {}
    for workload, text in RIGHT.items():
        paths[workload] = folder / f"{workload}.py"
        paths[workload].write_text(text)
    return paths


@pytest.mark.parametrize("card", cards("gpu_faults"), ids=lambda card: card.name)
def test_a_fault_is_named_and_the_next_candidate_is_judged_right(bench, right, card):
    began_s = time.monotonic()
    verdict = bench.judge(card.path, card.workload, untimed=QUICK).verdict
    assert verdict.outcome == "failed", verdict.objection
    failure = next(finding for finding in verdict.findings if isinstance(finding, Failed))
    assert failure.check == card["ends-as"], failure.because
    assert card["says"] in failure.because, failure.because
    assert time.monotonic() - began_s < 120
    after = bench.judge(right[card["workload"]], card.workload, untimed=QUICK).verdict
    assert after.outcome == "passed", after.objection
