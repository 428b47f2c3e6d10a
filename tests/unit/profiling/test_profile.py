"""Profiles of real calls: kernels found, their origins and costs, and times that add up."""

import pytest
import torch

from strop.capture import capture
from strop.lowering import LoweringOptions, lower, unchanged
from strop.profiling import KERNEL_RANGES, minimal_cost, profile_calls
from strop.records.graph import CompiledKernel, CompilerOutput, KernelKind


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(256, 256)
        self.second = torch.nn.Linear(256, 64)

    def forward(self, x):
        return self.second(torch.nn.functional.gelu(self.first(x)))


@pytest.fixture(name="small", scope="module")
def _small():
    torch.manual_seed(0)
    module = Small().eval()
    x = torch.randn(128, 256)
    with torch.no_grad():
        yield module, x, capture(module, (x,))


def graphs_of(captured):
    return {each.record.id: each.module for each in captured.modules}


def adds_up(reply):
    assert reply.call_ns > 0
    assert 0 < sum(kernel.time_ns for kernel in reply.kernels) <= reply.call_ns * (1 + 1e-9)
    times = [kernel.time_ns for kernel in reply.kernels]
    assert times == sorted(times, reverse=True)


def test_a_compiled_call(small):
    module, x, captured = small
    lowered = lower(module, unchanged, LoweringOptions(observe=True, inductor=KERNEL_RANGES))
    with torch.no_grad():
        lowered(x)
        outputs = [graph.output for graph in lowered.graphs]
        reply = profile_calls(lambda: lowered(x), 3, outputs, graphs_of(captured))
    adds_up(reply)
    assert not [note for note in reply.notes if "left no range" in note or "does not show" in note]
    compiled = outputs[0].kernels
    assert {kernel.name for kernel in compiled} <= {sample.name for sample in reply.kernels}
    assert all(sample.calls == 1 for sample in reply.kernels if sample.nodes)
    by_nodes = {sample.nodes: sample for sample in reply.kernels}
    first, second = by_nodes[("addmm",)], by_nodes[("addmm_1",)]
    assert first.work_flop == 2 * 128 * 256 * 256
    assert second.work_flop == 2 * 128 * 256 * 64
    assert first.graph_id == captured.modules[0].record.id
    assert first.moved_bytes == 4 * (128 * 256 + 256 * 256 + 256 + 128 * 256)
    fused = next(sample for sample in reply.kernels if "gelu" in sample.nodes)
    assert (fused.language, fused.kind) == ("cpp", KernelKind.GENERATED)
    by_name = {kernel.name: kernel for kernel in compiled}
    assert fused.launch == by_name[fused.name].launch
    unwatched = lower(module, unchanged, LoweringOptions())
    with torch.no_grad():
        unwatched(x)
    plain = {kernel.name: kernel.source for kernel in unwatched.graphs[0].output.kernels}
    assert {sample.name: sample.source for sample in reply.kernels if sample.name in plain} == plain
    assert first.kind is KernelKind.EXTERN
    assert "buf" in first.launch
    assert fused.moved_bytes == 4 * 2 * 128 * 256


def test_an_eager_call(small):
    module, x, captured = small
    with torch.no_grad():
        reply = profile_calls(lambda: module(x), 3, (), graphs_of(captured))
    adds_up(reply)
    by_nodes = {sample.nodes: sample for sample in reply.kernels}
    assert by_nodes[("addmm",)].work_flop == 2 * 128 * 256 * 256
    assert by_nodes[("addmm",)].name == "aten::linear"
    assert by_nodes[("addmm",)].graph_id == captured.modules[0].record.id
    for node in ("gelu", "addmm_1"):
        assert by_nodes[(node,)].moved_bytes > 0
        assert by_nodes[(node,)].calls == 1


def test_an_eager_call_without_graphs_still_has_costs(small):
    module, x, _ = small
    with torch.no_grad():
        reply = profile_calls(lambda: module(x), 2)
    linear = next(sample for sample in reply.kernels if sample.name == "aten::linear")
    assert (linear.calls, linear.nodes) == (2, ())
    assert linear.work_flop == 2 * 128 * 256 * (256 + 64)


def test_the_least_cost_of_a_captured_workload(small):
    _, _, captured = small
    bytes_, flop = minimal_cost(captured.modules)
    assert flop == 2 * 128 * 256 * (256 + 64)
    assert bytes_ == 4 * (256 * 256 + 256 + 64 * 256 + 64 + 128 * 256 + 128 * 64)


def test_a_kernel_that_was_never_seen_is_told_without_a_time(small):
    module, x, captured = small
    unseen = CompiledKernel(
        name="triton_poi_fused_gelu_0",
        kind=KernelKind.GENERATED,
        language="triton",
        nodes=("gelu",),
        source="def triton_poi_fused_gelu_0(): ...",
        launch="launch: xnumel=4",
        graph_id=captured.modules[0].record.id,
    )
    output = CompilerOutput(kernels=(unseen,), notes=("a note of the compiler's",))
    with torch.no_grad():
        reply = profile_calls(lambda: module(x), 2, (output,), graphs_of(captured))
    (sample,) = (each for each in reply.kernels if each.name == unseen.name)
    assert (sample.calls, sample.time_ns) == (0, 0.0)
    assert (sample.source, sample.launch, sample.kind) == (unseen.source, unseen.launch, unseen.kind)
    assert sample.moved_bytes == 4 * 2 * 128 * 256
    assert "a note of the compiler's" in reply.notes


def test_a_call_that_computes_nothing_has_no_kernels():
    reply = profile_calls(lambda: None, 2)
    assert reply.kernels == ()
