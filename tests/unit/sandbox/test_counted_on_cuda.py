"""Nsight Compute on a GPU, around a real worker: its report is read, or its refusal is told.

With the variable OUT set, the raw report is left in that folder.
"""

import os
from pathlib import Path

import pytest

from strop.records.candidate import CompiledForm
from strop.records.contract import CONTRACTS
from strop.records.workload import SourceKind, Workload, WorkloadSource
from strop.sandbox import nsight
from strop.sandbox.limits import machine_limits
from strop.sandbox.process import Setup
from strop.sandbox.scripted import run_script
from strop.wire.messages import AskCounters, ChildRole, Load, Open
from strop.wiring import find_kind
from tests.unit.profiling.test_profile_on_cuda import CEILINGS

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

WORK = """
import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = torch.nn.Linear(width, width)

    def forward(self, x):
        return F.gelu(self.layer(x)).softmax(-1)


def get_init_inputs():
    return [2048]


def get_inputs():
    return [torch.randn(4096, 2048)]
"""


@pytest.fixture(name="requests_of")
def _requests_of(tmp_path):
    def make(mode):
        file = tmp_path / "work.py"
        file.write_text(WORK)
        source = WorkloadSource(kind=SourceKind.FILE, where=str(file), digest="test")
        return [
            Open(
                workload=Workload(name="test", source=source, device="cuda"),
                contract=CONTRACTS["fp32"].on_device("cuda"),
                threads=1,
                construct_seed=1,
            ),
            Load(form=CompiledForm(mode=mode), target=find_kind(None).describe(CEILINGS, 1)),
            AskCounters(),
        ]

    return make


@pytest.mark.parametrize("mode", ["default", "reduce-overhead", "eager"])
def test_counters_are_read_or_refused_in_words(requests_of, mode):
    program = nsight.find_program()
    if not program:
        pytest.skip("Nsight Compute is not installed")
    kernels = ["triton_.*", "nvjet_.*", ".*gemm.*", "softmax_warp_forward|cunn_SoftMaxForward.*"]
    words = nsight.command(program, Path("REPORT"), ["KERNELS"], 20)

    def tool(report):
        chosen = {"REPORT": str(report), "regex:^(KERNELS)$": f"regex:^({'|'.join(kernels)})$"}
        return [chosen.get(word, word) for word in words]

    ended = run_script(
        Setup(limits=machine_limits(), threads=1), ChildRole.BASELINE, requests_of(mode), tool, timeout_s=240.0
    )
    folder = os.environ.get("OUT")
    if folder:
        Path(folder, f"ncu-{mode}.csv").write_text(ended.report)
        Path(folder, f"ncu-{mode}.txt").write_text(f"{ended.because}\n{ended.printed}\n{' '.join(tool('REPORT'))}\n")
    found = nsight.read_report(ended.report)
    if nsight.forbidden() or nsight.is_refusal(ended.report):
        assert found.because
        pytest.skip(found.because)
    assert found.launches, (ended.because, ended.report[-2000:], ended.printed[-2000:])
    assert ended.because == ""
    for launch in found.launches:
        counters = launch.counters
        assert launch.name and counters.time_ns is not None and 100 < counters.time_ns < 1e9
        ratios = (counters.memory_ratio, counters.compute_ratio, counters.achieved_occupancy_ratio)
        assert all(ratio is not None and 0 < ratio <= 1.05 for ratio in ratios), launch
        assert counters.dram_bytes is not None and counters.local_bytes is not None
        assert counters.l2_hit_ratio is not None and counters.occupancy_ratio is not None
    assert any(launch.counters.rules for launch in found.launches)
    assert any(launch.name.startswith("triton_") for launch in found.launches) or mode == "eager"
