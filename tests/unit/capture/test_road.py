"""The road leaves arguments, results, mutation and guards to Dynamo, and refuses clearly what it cannot do."""

import gc
import weakref

import pytest
import torch
from torch import nn

from strop.capture import capture, captured_modules, compile_through, run_graph
from strop.errors import NotSupported
from tests.unit.capture.nets import Broken, ConvNet, Decoder, Inner, Mlp, Odd


def keep(graph, inputs):
    return graph


def names(captured, index=0):
    return {slot.path: slot.role.value for slot in captured.modules[index].placeholders}


def targets(captured, index=0):
    return [node.target for node in captured.record.graphs[index].nodes if node.op == "call_function"]


def test_high_level_operators_stay_whole():
    found = targets(capture(ConvNet(), (torch.randn(2, 3, 8, 8),)))
    assert "aten.convolution.default" in found
    assert "aten._native_batch_norm_legit_functional.default" in found
    assert "aten.max_pool2d_with_indices.default" in found
    assert "aten.addmm.default" in found
    assert "aten.t.default" not in found


def test_capture_leaves_the_module_and_the_generator_as_they_were():
    net = ConvNet()
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    captured = capture(nn.Sequential(net, nn.Dropout(0.5)), (torch.ones(2, 3, 8, 8),))
    assert captured.modules
    assert torch.equal(torch.rand(1), expected)
    for name, value in net.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_train_mode_writes_running_statistics_through_the_graph():
    net, twin = ConvNet(), ConvNet()
    twin.load_state_dict(net.state_dict())
    x = torch.randn(4, 3, 8, 8)
    compiled = compile_through(net, keep)
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(compiled(x), twin(x))
    torch.testing.assert_close(net.norm.running_var, twin.norm.running_var)
    assert net.norm.num_batches_tracked == 2


def test_dropout_is_alive_in_train_mode_and_gone_in_eval_mode():
    net = Mlp()
    x = torch.randn(2, 8)
    assert "aten.native_dropout.default" in targets(capture(net, (x,)))
    assert "aten.native_dropout.default" not in targets(capture(net.eval(), (x,)))


def test_cache_writes_keyword_and_non_tensor_arguments():
    net, twin = Decoder(), Decoder()
    twin.load_state_dict(net.state_dict())
    compiled = compile_through(net, keep)
    with torch.no_grad():
        for step in range(3):
            x, extra = torch.randn(1, 1, 8), {"bias": [torch.randn(8)]}
            got, want = (m(x, at=step, scale=0.5, extra=extra) for m in (compiled, twin))
            torch.testing.assert_close(got, want)
    torch.testing.assert_close(net.keys, twin.keys)
    captured = capture(net, (x,), {"at": 1, "extra": extra})
    assert {slot.path for slot in captured.modules[0].placeholders if slot.mutated} == {"keys", "values"}
    assert names(captured)["extra['bias'][0]"] == "input"


def test_model_output_of_transformers():
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, vocab_size=20
    )
    net = transformers.BertModel(config).eval()
    ids = torch.randint(0, 20, (1, 6))
    compiled = compile_through(net, keep)
    with torch.no_grad():
        got, want = compiled(ids), net(ids)
    assert type(got) is type(want)
    torch.testing.assert_close(got.last_hidden_state, want.last_hidden_state)


def test_breaks_are_listed_and_parameters_keep_their_full_names():
    captured = capture(Broken(), (torch.randn(2, 4),))
    assert len(captured.modules) == len(captured.record.graphs) >= 3
    assert any("depends on the value" in each.reason for each in captured.breaks)
    assert any("graph_break" in each.reason for each in captured.breaks)
    assert all("nets.py:" in each.where for each in captured.breaks)
    paths = {path for index in range(len(captured.modules)) for path in names(captured, index)}
    assert {"first.weight", "inner.second.weight", "inner.third.bias"} <= paths


def test_constants_ties_attributes_and_aliases():
    net = Odd()
    ids, x = torch.tensor([1, 2]), torch.randn(2, 3)
    compiled = compile_through(net, keep)
    with torch.no_grad():
        got, want = compiled(ids, x), net(ids, x)
    torch.testing.assert_close(got, want)
    assert got[1].data_ptr() == x.data_ptr()
    roles = names(capture(net, (ids, x)))
    assert roles["table.weight"] == "parameter"
    assert roles["self.mask"] == "input"


def test_bound_tensors_are_the_callers_own_and_run_again_in_double_precision():
    net = ConvNet().eval()
    x = torch.randn(2, 3, 8, 8)
    (found,) = captured_modules(net, (x,))
    at = {slot.path: value for slot, value in zip(found.placeholders, found.inputs, strict=True)}
    assert at["x"] is x
    assert at["conv.weight"] is net.conv.weight
    doubled = [value.double() if value.is_floating_point() else value for value in found.inputs]
    (exact,) = run_graph(found.module, doubled)
    with torch.no_grad():
        want = net.double()(x.double())
    assert exact.dtype == torch.float64
    torch.testing.assert_close(exact, want)


def test_mutated_inputs_are_bound_as_they_were_before_the_call():
    net = ConvNet()
    (found,) = captured_modules(net, (torch.randn(2, 3, 8, 8),))
    at = {slot.path: value for slot, value in zip(found.placeholders, found.inputs, strict=True)}
    assert torch.equal(at["norm.running_mean"], torch.zeros(8))
    assert at["norm.running_mean"] is not net.norm.running_mean


def test_more_instances_than_dynamo_recompiles_for():
    for _ in range(10):
        assert len(capture(Inner(), (torch.randn(1, 4),)).modules) == 2


def test_training_is_refused_with_the_way_out():
    net = Mlp()
    compiled = compile_through(net, keep)
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match=r"torch\.no_grad"):
        compiled(torch.randn(2, 8))


def test_several_devices_are_refused():
    class Two(nn.Module):
        def forward(self, x):
            return x.to("meta") + 1

    with pytest.raises(NotSupported, match="several devices"):
        capture(Two(), (torch.randn(3),))


def test_recurrent_modules_run_eagerly_and_the_reason_is_said():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.GRU(4, 4)

        def forward(self, x):
            return torch.relu(self.cell(x + 1)[0])

    with pytest.raises(NotSupported, match=r"whole function runs eagerly.*does not support RNN"):
        capture(Recurrent(), (torch.randn(2, 1, 4),))


def test_overlapping_inputs_are_told_by_their_base():
    class Overlap(nn.Module):
        def forward(self, x, y):
            x.add_(1)
            y.mul_(2)
            return x + y

    memory = torch.randn(8)
    kept = memory.clone()
    captured = capture(Overlap(), (memory[:4], memory[2:6]))
    assert names(captured) == {"x.base": "input"}
    assert torch.equal(memory, kept)


def test_an_exported_program_gives_the_same_graph():
    x = torch.randn(2, 3, 8, 8)
    for net in (ConvNet().eval(), ConvNet()):
        program = torch.export.export(net, (x,)).module()
        live, exported = capture(net, (x,)), capture(program, (x,))
        assert live.record.graphs[0].id == exported.record.graphs[0].id
        assert names(exported)["norm.running_mean"] == "buffer"


def test_nothing_captured_is_an_error_with_the_reason():
    class Hidden(nn.Module):
        def forward(self, x):
            return torch._dynamo.disable(torch.sin)(x)

    with pytest.raises(NotSupported, match="could not capture"):
        capture(Hidden(), (torch.randn(3),))


def test_communication_is_refused():
    class Reduced(nn.Module):
        def forward(self, x):
            return torch.ops._c10d_functional.all_reduce(x, "sum", "0")

    with pytest.raises(NotSupported, match="between processes"):
        capture(Reduced(), (torch.randn(3),))


def test_what_was_captured_goes_with_whoever_asked():
    """Dynamo's cache keeps the recorder, and large inputs must not stay with it."""

    class Writing(nn.Module):
        def forward(self, x):
            return x.add_(1.0)

    for net in (Mlp(), Writing()):
        x = torch.randn(2, 8)
        held = weakref.ref(x)
        found = capture(net, (x,))
        kept = [weakref.ref(value) for value in found.modules[0].inputs if isinstance(value, torch.Tensor)]
        del x, found
        gc.collect()
        assert held() is None
        assert not any(value() is not None and not isinstance(value(), nn.Parameter) for value in kept)
