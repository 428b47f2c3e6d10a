"""The same walls on a GPU: kernels, CUDA graphs with packs, running statistics, what the compiler wrote."""

import re

import pytest
import torch
from torch import nn
from torch._inductor.utils import run_and_get_code

from strop.capture import capture
from strop.lowering import LoweringOptions, compile_mode, lower
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
