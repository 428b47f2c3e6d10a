"""``strop profile`` on an accelerator, as a user meets it. With the variable OUT set, its answers are left there."""

import os
from pathlib import Path

import pytest

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(900)]

WORK = """
import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = torch.nn.Linear(width, 4 * width)
        self.second = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return F.softmax(self.second(F.gelu(self.first(x))) + x, -1)


def get_init_inputs():
    return [2048]


def get_inputs():
    return [torch.randn(8192, 2048)]
"""


def keep(name, done):
    folder = os.environ.get("OUT")
    if folder:
        Path(folder, f"{name}.json").write_text(done.out)
        Path(folder, f"{name}.err").write_text(done.err)


@pytest.mark.parametrize("baseline", ["default", "eager,default,reduce-overhead"])
def test_a_profile_adds_up_and_says_why(place, baseline):
    place.write("work.py", WORK)
    done = place.strop("profile", "work.py", "--baseline", baseline, "--json")
    keep(f"strop-profile-{baseline}", done)
    assert done.code == 0, done.err
    told = done.json
    spent = sum(kernel["time_ns"] or 0.0 for kernel in told["kernels"])
    assert spent == pytest.approx(told["call_ns"], rel=0.05)
    assert told["overhead_ns"] <= 0.05 * told["call_ns"]
    heavy = [kernel for kernel in told["kernels"] if kernel["share"] > 0.02]
    assert all(kernel["diagnosis"] and kernel["launched"] for kernel in heavy)
    assert {"cuBLAS"} <= {kernel["library"] for kernel in heavy}
    counted = [each["counters"] for kernel in heavy for each in kernel["launched"] if each["counters"]]
    assert counted or any("There are no counters" in note for note in told["notes"])


def test_without_counters_nobody_asks_for_them(place):
    place.write("work.py", WORK)
    done = place.strop("profile", "work.py", "--baseline", "default", "--no-counters", "--json")
    assert done.code == 0, done.err
    assert not any("counters" in note for note in done.json["notes"])
    assert not any(each["counters"] for kernel in done.json["kernels"] for each in kernel["launched"])
