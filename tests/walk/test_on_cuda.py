"""The road on an accelerator, as a user meets it: what is right passes, what is wrong or breaks the device is named,
and the next candidate is judged as if nothing had happened.
"""

import pytest

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

WORK = """
import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        return torch.softmax(x * self.scale, -1)


def get_init_inputs():
    return [1000]


def get_inputs():
    return [torch.randn(512, 1000)]
"""
KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, scale, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < width
    value = tl.load(x + row * width + column, mask=inside, other=-float("inf"))
    value = value * tl.load(scale + column, mask=inside, other=1.0)
    value = tl.exp(value - tl.max(value, 0)) {wrong}
    value = value / tl.sum(value, 0)
    tl.store(out + row * width + column {beyond}, value, mask=inside)


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        out = torch.empty_like(x)
        softmax[(x.shape[0],)](x, self.scale, out, x.shape[1], BLOCK=1024)
        return out
"""


def kernel(wrong="", beyond=""):
    return KERNEL.replace("{wrong}", wrong).replace("{beyond}", beyond)


def test_kernels_are_judged_one_after_another(place):
    place.write("work.py", WORK)
    for name, text, code, check in (
        ("right.py", kernel(), 0, None),
        ("wrong.py", kernel(wrong="* tl.where(column == 7, 1.01, 1.0)"), 1, "matches_reference"),
        ("illegal.py", kernel(beyond="+ (1 << 40)"), 1, "builds"),
        ("right_again.py", kernel(), 0, None),
    ):
        place.write(name, text)
        done = place.strop("verify", "work.py", name, "--json")
        assert (done.code, done.json["failed_check"]) == (code, check), done.out + done.err
        assert done.json["target"].startswith("nvidia_")


def test_a_workload_is_optimised(place):
    place.write("work.py", WORK)
    done = place.strop("optimize", "work.py", "--budget", "20s", "--baseline", "eager,default", "--json")
    assert done.code == 0, done.err
    assert done.json["baselines_failed"] == {} and done.json["proposed"] >= 1
    assert done.json["kept"] is None or done.json["kept"]["low"] > 1


def test_a_captured_graph_is_judged_like_anything_else(place):
    place.write("work.py", WORK)
    done = place.strop("compare", "work.py", "cuda_graph", "--json")
    assert done.code == 0, done.out + done.err
    assert done.json["verdict"] == "passed" and done.json["comparison"]["speedup"] > 0


def test_reduce_overhead_is_a_baseline(place):
    place.write("work.py", WORK)
    done = place.strop("compare", "work.py", "cuda_graph", "--baseline", "reduce-overhead", "--json")
    assert done.code == 0, done.out + done.err
    assert done.json["comparison"]["baseline"] == "reduce-overhead"
