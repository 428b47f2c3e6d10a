"""The same walls on a GPU: kernels, CUDA graphs with packs, running statistics, what the compiler wrote."""

import re
import threading

import pytest
import torch
from torch import nn
from torch._inductor.utils import run_and_get_code

from strop.capture import capture
from strop.errors import BadCandidate
from strop.lowering import LoweringOptions, compile_mode, lower
from strop.transforms._graph import CUDA_GRAPH
from tests.unit.capture.nets import ConvNet, Decoder, Mlp
from tests.unit.lowering.rewrites import fold_batch_norm

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def on_cuda():
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    with torch.no_grad(), torch.device("cuda"):
        yield


def kernels(wrapper):
    """The wrapper without comments, names numbered; metadata that names nodes is left out too."""
    text = (
        wrapper[wrapper.index("async_compile = ") :].split("def get_args")[0].split("def benchmark_compiled_module")[0]
    )
    text = re.sub(r"inductor_meta=\{[^\n]*\},?", "", text)
    names = dict.fromkeys(re.findall(r"triton_[a-z]+_fused_\w+", text))
    numbers = {name: f"kernel_{number}" for number, name in enumerate(names)}
    text = re.sub(r"triton_[a-z]+_fused_\w+", lambda found: numbers[found.group()], text)
    return re.sub(r"\s+", " ", re.sub(r"#.*", "", text))


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
@pytest.mark.parametrize(
    ("make", "shape"), [(ConvNet, (2, 3, 8, 8)), (lambda: ConvNet().eval(), (2, 3, 8, 8)), (Mlp, (4, 8))]
)
def test_empty_rewrite_gives_the_kernels_of_torch_compile(make, shape, mode):
    net, x = make(), torch.randn(shape)
    _, (wrapper,) = run_and_get_code(compile_mode(net, mode), x)
    lowered = lower(net, options=LoweringOptions(mode=mode))
    lowered(x)
    assert kernels(lowered.graphs[0].wrapper) == kernels(wrapper)


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_running_statistics(mode):
    net, twin = ConvNet(), ConvNet()
    twin.load_state_dict(net.state_dict())
    lowered = lower(net, options=LoweringOptions(mode=mode))
    for _ in range(4):
        x = torch.randn(2, 3, 8, 8)
        torch.testing.assert_close(lowered(x), twin(x), rtol=1e-2, atol=1e-2)
    torch.testing.assert_close(net.norm.running_mean, twin.norm.running_mean, rtol=1e-2, atol=1e-3)
    assert net.norm.num_batches_tracked == 4


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_packs_follow_parameters_through_cuda_graphs(mode):
    net = ConvNet().eval()
    net.norm.running_var.uniform_(0.5, 2)
    lowered = lower(net, fold_batch_norm, LoweringOptions(mode=mode))
    x = torch.randn(2, 3, 8, 8)
    for _ in range(4):
        torch.testing.assert_close(lowered(x), net(x), rtol=1e-2, atol=1e-2)
    net.conv.weight.mul_(2)
    torch.testing.assert_close(lowered(x), net(x), rtol=1e-2, atol=1e-2)
    net.conv.weight.data.mul_(2)
    lowered.repack()
    torch.testing.assert_close(lowered(x), net(x), rtol=1e-2, atol=1e-2)
    net.norm.weight = nn.Parameter(torch.rand(8))
    torch.testing.assert_close(lowered(x), net(x), rtol=1e-2, atol=1e-2)


def test_batch_norm_is_one_operator_on_every_device():
    found = [node.target for node in capture(ConvNet(), (torch.randn(2, 3, 8, 8),)).record.graphs[0].nodes]
    assert "aten._native_batch_norm_legit_functional.default" in found


def test_key_value_cache():
    net, twin = Decoder(), Decoder()
    twin.load_state_dict(net.state_dict())
    lowered = lower(net)
    for step in range(3):
        x = torch.randn(1, 1, 8)
        torch.testing.assert_close(lowered(x, at=step), twin(x, at=step), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(net.values, twin.values)


def test_observed_kernels_have_launches_and_origins():
    lowered = lower(ConvNet(), options=LoweringOptions(observe=True))
    lowered(torch.randn(2, 3, 8, 8))
    generated = [kernel for kernel in lowered.graphs[0].output.kernels if kernel.source]
    assert generated
    assert all(kernel.language == "triton" and kernel.nodes and "size_hints" in kernel.launch for kernel in generated)


def captured(graph):
    """The rewrite of cuda_graph: nothing changes but how it is launched."""
    graph.meta[CUDA_GRAPH] = True
    return graph


@pytest.mark.parametrize("options", [{}, {"cpp_wrapper": True}], ids=["python", "cpp"])
def test_a_captured_graph_gives_the_same_bits_and_results_of_its_own(options):
    net = Mlp().eval()
    plain = lower(net, options=LoweringOptions(inductor=options))
    graphed = lower(net, captured, LoweringOptions(inductor=options))
    inputs = [torch.randn(4, 8) for _ in range(6)]
    results = [graphed(x) for x in inputs]
    for x, result in zip(inputs, results, strict=True):
        assert torch.equal(result, plain(x))
    assert len({result.data_ptr() for result in results}) == len(results)


def test_a_captured_graph_launches_once():
    net = Mlp().eval()
    graphed = lower(net, captured)
    x = torch.randn(4, 8)
    for _ in range(3):
        graphed(x)
    with torch.profiler.profile(activities=list(torch.profiler.supported_activities())) as profile:
        graphed(x)
        torch.cuda.synchronize()
    names = [event.key for event in profile.key_averages() for _ in range(event.count)]
    assert names.count("cudaGraphLaunch") == 1
    assert sum("LaunchKernel" in name for name in names) <= 2  # the copies in and out


def test_a_captured_graph_updates_running_statistics_once_per_call():
    net, twin = ConvNet(), ConvNet()
    twin.load_state_dict(net.state_dict())
    graphed = lower(net, captured)
    for _ in range(5):
        x = torch.randn(2, 3, 8, 8)
        torch.testing.assert_close(graphed(x), twin(x), rtol=1e-2, atol=1e-2)
    torch.testing.assert_close(net.norm.running_mean, twin.norm.running_mean, rtol=1e-2, atol=1e-3)
    assert net.norm.num_batches_tracked == 5


def test_a_captured_graph_with_packs_follows_parameters():
    net = ConvNet().eval()
    net.norm.running_var.uniform_(0.5, 2)
    lowered = lower(net, lambda graph: captured(fold_batch_norm(graph)))
    x = torch.randn(2, 3, 8, 8)
    for _ in range(4):
        torch.testing.assert_close(lowered(x), net(x), rtol=1e-2, atol=1e-2)
    net.conv.weight.mul_(2)
    torch.testing.assert_close(lowered(x), net(x), rtol=1e-2, atol=1e-2)
    net.head.weight = nn.Parameter(torch.randn_like(net.head.weight))
    torch.testing.assert_close(lowered(x), net(x), rtol=1e-2, atol=1e-2)


def test_a_captured_graph_serves_threads_and_streams():
    net = Mlp().eval()
    graphed = lower(net, captured)
    inputs = [torch.randn(4, 8) for _ in range(8)]
    expected = [net(x) for x in inputs]
    for _ in range(3):
        graphed(inputs[0])
    torch.cuda.synchronize()
    results = [None] * len(inputs)

    def work(number):
        with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream()):
            results[number] = graphed(inputs[number])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    for one, other in zip(results, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_a_captured_graph_can_become_part_of_the_callers_own_graph():
    net = Mlp().eval()
    graphed = lower(net, captured)
    x = torch.randn(4, 8)
    for _ in range(3):
        graphed(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = graphed(x)
    x.copy_(torch.randn(4, 8))
    graph.replay()
    torch.testing.assert_close(result, net(x), rtol=1e-4, atol=1e-5)


def test_what_waits_for_the_device_cannot_be_captured():
    @torch.library.custom_op("strop_tests::waits", mutates_args=())
    def waits(x: torch.Tensor) -> torch.Tensor:
        torch.cuda.synchronize()
        return x + 1

    waits.register_fake(torch.empty_like)

    class Waits(nn.Module):
        def forward(self, x):
            return waits(x * 2) * 3

    graphed = lower(Waits(), captured)
    x = torch.randn(4, 8)
    graphed(x)
    stream = torch.cuda.current_stream()
    with pytest.raises(BadCandidate, match="cannot be captured as a CUDA graph: CUDA error"):
        graphed(x)
    assert torch.cuda.current_stream() == stream
    torch.testing.assert_close(torch.ones(3) + 1, torch.full((3,), 2.0))


def test_reduce_overhead_is_called_like_any_baseline():
    net = Mlp().eval()
    compiled = compile_mode(net, "reduce-overhead")
    for _ in range(5):
        x = torch.randn(4, 8)
        held = compiled(x).clone()
        torch.testing.assert_close(held, net(x), rtol=1e-4, atol=1e-5)
