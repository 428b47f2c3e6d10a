"""A lowered module computes what the module computes; with the empty rewrite it is what torch.compile makes."""

import re

import pytest
import torch
from torch import nn
from torch._inductor.utils import run_and_get_code

from strop.capture import capture
from strop.errors import BadCandidate, NotSupported, UnknownName
from strop.lowering import MODES, LoweringOptions, compile_mode, lasting_mode, lower, modes_differ, torch_shims
from strop.lowering.torch_shims import mode_options
from tests.unit.capture.nets import Broken, ConvNet, Decoder, Mlp, Odd
from tests.unit.lowering.rewrites import swap

aten = torch.ops.aten


@pytest.fixture(autouse=True)
def inference():
    with torch.no_grad():
        yield


def kernels(wrapper):
    """What a wrapper defines and calls, without comments and without what only serves benchmarking.

    Kernels are numbered: their names list operators, of which the road drops those that do nothing.
    """
    text = (
        wrapper[wrapper.index("async_compile = ") :].split("def get_args")[0].split("def benchmark_compiled_module")[0]
    )
    numbers = {name: f"kernel_{i}" for i, name in enumerate(dict.fromkeys(re.findall(r"cpp_fused_\w+", text)))}
    numbered = re.sub(r"cpp_fused_\w+", lambda found: numbers[found.group()], text)
    return re.sub(r"\s+", " ", re.sub(r"#.*", "", numbered))


@pytest.mark.parametrize(
    ("net", "shape"),
    [(ConvNet(), (2, 3, 8, 8)), (ConvNet().eval(), (2, 3, 8, 8)), (Mlp(), (4, 8)), (Mlp().eval(), (4, 8))],
    ids=["conv-train", "conv-eval", "mlp-train", "mlp-eval"],
)
def test_empty_rewrite_gives_the_kernels_of_torch_compile(net, shape):
    x = torch.randn(shape)
    _, (wrapper,) = run_and_get_code(compile_mode(net, "default"), x)
    lowered = lower(net)
    lowered(x)
    (graph,) = lowered.graphs
    assert kernels(graph.wrapper) == kernels(wrapper)
    assert graph.captured_id == graph.rewritten_id


def test_empty_rewrite_of_a_transformer():
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, vocab_size=20
    )
    net = transformers.BertModel(config).eval()
    ids = torch.randint(0, 20, (1, 6))
    _, (wrapper,) = run_and_get_code(compile_mode(net, "default"), ids)
    lowered = lower(net)
    got = lowered(input_ids=ids)
    assert kernels(lowered.graphs[0].wrapper) == kernels(wrapper)
    assert type(got) is type(net(ids))
    torch.testing.assert_close(got.last_hidden_state, net(ids).last_hidden_state)


def test_rewrite_is_compiled_and_changes_the_id():
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    x = torch.randn(3, 4)
    lowered = lower(net, swap(aten.relu.default, aten.abs.default))
    torch.testing.assert_close(lowered(x), net[0](x).abs())
    assert lowered.graphs[0].captured_id != lowered.graphs[0].rewritten_id


def test_running_statistics_and_repeated_calls():
    net, twin = ConvNet(), ConvNet()
    twin.load_state_dict(net.state_dict())
    lowered = lower(net)
    for _ in range(3):
        x = torch.randn(2, 3, 8, 8)
        torch.testing.assert_close(lowered(x), twin(x))
    torch.testing.assert_close(net.norm.running_mean, twin.norm.running_mean)
    assert net.norm.num_batches_tracked == 3


def test_dropout_draws_anew_on_every_call():
    lowered = lower(nn.Sequential(nn.Dropout(0.5)))
    x = torch.ones(1000)
    first, second = lowered(x), lowered(x)
    assert not torch.equal(first, second)
    assert 0.3 < (first == 0).float().mean() < 0.7


def test_key_value_cache_and_numbers():
    net, twin = Decoder(), Decoder()
    twin.load_state_dict(net.state_dict())
    lowered = lower(net)
    for step in range(3):
        x = torch.randn(1, 1, 8)
        torch.testing.assert_close(lowered(x, at=step, scale=0.5), twin(x, at=step, scale=0.5))
    torch.testing.assert_close(net.values, twin.values)


def test_graph_breaks_give_several_lowered_graphs():
    net = Broken()
    x = torch.randn(2, 4)
    lowered = lower(net)
    torch.testing.assert_close(lowered(x), net(x))
    assert len(lowered.graphs) >= 3


def test_constants_ties_and_aliases():
    net = Odd()
    ids, x = torch.tensor([1, 2]), torch.randn(2, 3)
    got = lower(net)(ids, x)
    torch.testing.assert_close(got, net(ids, x))
    assert got[1].data_ptr() == x.data_ptr()


def test_other_shapes_recompile():
    net = Mlp().eval()
    lowered = lower(net, swap(aten.gelu.default, aten.gelu.default))
    for batch in (2, 3, 5):
        x = torch.randn(batch, 8)
        torch.testing.assert_close(lowered(x), net(x))
    assert len(lowered.graphs) == 2  # the second compilation is symbolic and serves the third call


def test_a_changed_layout_is_put_right():
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU())

    def channels_last(graph):
        (relu,) = [node for node in graph.graph.nodes if node.target is aten.relu.default]
        with graph.graph.inserting_after(relu):
            copy = graph.graph.call_function(aten.clone.default, (relu,), {"memory_format": torch.channels_last})
        relu.replace_all_uses_with(copy, delete_user_cb=lambda user: user is not copy)
        return graph

    x = torch.randn(2, 3, 6, 6)
    got = lower(net, channels_last)(x)
    assert got.stride() == net(x).stride()
    torch.testing.assert_close(got, net(x))


def test_a_rewrite_that_changes_an_output_is_refused():
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    with pytest.raises(BadCandidate, match="leave outputs as they were"):
        lower(net, swap(aten.relu.default, aten.sum.dim_IntList, [0]))(torch.randn(3, 4))


def test_options_reach_inductor():
    net = nn.Sequential(nn.Linear(64, 64), nn.GELU())
    x = torch.randn(8, 64)
    scalar = lower(net, options=LoweringOptions(inductor={"cpp.simdlen": 1}))
    plain = lower(net)
    torch.testing.assert_close(scalar(x), plain(x))
    assert "Vectorized" in plain.graphs[0].wrapper
    assert "Vectorized" not in scalar.graphs[0].wrapper


def test_unknown_names_are_refused_at_once():
    net = Mlp()
    with pytest.raises(UnknownName, match=r"cpp\.simdlen"):
        lower(net, options=LoweringOptions(inductor={"cpp.simd_len": 1}))
    with pytest.raises(UnknownName, match="reduce-overhead"):
        lower(net, options=LoweringOptions(mode="reduce_overhead"))
    with pytest.raises(UnknownName, match="eager"):
        compile_mode(net, "eagre")
    with pytest.raises(NotSupported, match="parameters_frozen"):
        lower(net, options=LoweringOptions(inductor={"freezing": True}))


def test_modes():
    net = Mlp().eval()
    x = torch.randn(2, 8)
    assert compile_mode(net, "eager") is net
    torch.testing.assert_close(compile_mode(net, "reduce-overhead")(x), net(x))
    assert not modes_differ("default", "reduce-overhead", "cpu")
    assert modes_differ("default", "reduce-overhead", "cuda")
    assert modes_differ("default", "max-autotune", "cpu")
    lent = {mode for mode in MODES if mode_options(mode).get("triton.cudagraphs")}
    assert {mode for mode in MODES if lasting_mode(mode) != mode} == lent
    assert not lent & {lasting_mode(mode) for mode in MODES}


def test_observed_lowering_names_the_nodes_of_each_kernel():
    net = ConvNet()
    lowered = lower(net, options=LoweringOptions(observe=True))
    lowered(torch.randn(2, 3, 8, 8))
    (graph,) = lowered.graphs
    found = {kernel.name: kernel for kernel in graph.output.kernels}
    assert found["extern_kernels.convolution"].nodes == ("convolution",)
    fused = next(kernel for name, kernel in found.items() if "batch_norm" in name)
    assert {"native_batch_norm_legit_functional", "relu", "max_pool2d_with_indices"} <= set(fused.nodes)
    assert fused.language == "cpp"
    assert "for x0 <" in fused.launch
    assert all(kernel.graph_id == graph.captured_id for kernel in found.values())


def test_past_the_tested_versions_the_private_doors_close(monkeypatch, caplog):
    monkeypatch.setattr(torch_shims, "torch_version", lambda: (9, 0))
    monkeypatch.setattr(torch_shims, "_closed", set())
    net = ConvNet()
    twin = ConvNet()
    twin.load_state_dict(net.state_dict())
    lowered = lower(net, options=LoweringOptions(observe=True))
    x = torch.randn(2, 3, 8, 8)
    torch.testing.assert_close(lowered(x), twin(x))
    torch.testing.assert_close(net.norm.running_mean, twin.norm.running_mean)
    assert len(torch_shims.closed_doors()) == 2
    assert "outside 2.11 to 2.14" in caplog.text


def test_a_module_that_runs_eagerly_is_an_error():
    class Hidden(nn.Module):
        def forward(self, x):
            return torch._dynamo.disable(torch.sin)(x)

    with pytest.raises(NotSupported, match="ran eagerly"):
        lower(Hidden())(torch.randn(2))


STRAYING = {
    "autocast": lambda net, x, y: (x, y),
    "a part in another mode": lambda net, x, y: net[1].train() and (x, y),
    "one tensor twice": lambda net, x, y: (x, x),
}


@pytest.mark.parametrize("change", STRAYING)
def test_a_graph_that_is_not_known_is_never_rewritten(change):
    class Both(nn.Sequential):
        def forward(self, x, y):
            return super().forward(x) + self[0](y).relu()

    net = Both(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU()).eval()
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    known = {each.record.id for each in capture(net, (x, y)).modules}
    rewritten = []

    def rewrite(graph):
        rewritten.append(graph)
        return graph

    lowered = lower(net, rewrite, LoweringOptions(known=known))
    torch.testing.assert_close(lowered(x, y), net(x, y))
    assert (len(rewritten), lowered.strayed) == (1, "")
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=change == "autocast"):
        given = STRAYING[change](net, x, y)
        torch.testing.assert_close(lowered(*given), net(*given))
    assert len(rewritten) == len(lowered.graphs) == 1
    assert "than those that were judged" in lowered.strayed
    torch.testing.assert_close(lowered(x, y), net(x, y))


def test_errors_of_a_later_compilation_come_out_as_themselves():
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    seen = []

    def rewrite(graph):
        seen.append(graph)
        if len(seen) > 1:
            raise BadCandidate("not twice")
        return graph

    lowered = lower(net, rewrite)
    lowered(torch.randn(3, 4))
    with pytest.raises(BadCandidate, match="not twice"):
        lowered(torch.randn(2, 4))
