"""The drop-in serves the verified version where the verdict holds, and the fallback everywhere else."""

import copy
import logging

import pytest
import torch
from torch import nn
from torch._dynamo.exc import BackendCompilerFailed

from strop.api.drop_in import DropIn, Fast, Guard, rewritten
from strop.capture import capture
from strop.errors import NotSupported
from strop.lowering import compile_mode
from strop.records.contract import CONTRACTS
from strop.records.recipe import Recipe, parse_recipe
from strop.targets._arithmetic import autocasting
from tests.unit.supervisor.makers import TARGET


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.note = "mine"

    def forward(self, x, scale=1.0):
        return self.layer(x) * scale


class Calls:
    """Counts how often it is called, and repacked."""

    def __init__(self, module, fault=None):
        self.module, self.fault, self.count, self.repacked = module, fault, 0, 0

    def __call__(self, *args, **kwargs):
        self.count += 1
        if self.fault is not None:
            raise self.fault
        return self.module(*args, **kwargs)

    def repack(self):
        self.repacked += 1


def dropped(module, fast, fallback, args, kwargs=None, *, contract="fp32", whole=True):
    guard = Guard.around(args, kwargs or {})
    return DropIn(module, fast and Fast(fast, whole), fallback, guard, CONTRACTS[contract], "cpu")


def judged(module, args, contract="fp32"):
    """The ids of the graphs that a worker would have seen."""
    with torch.no_grad(), autocasting(CONTRACTS[contract], "cpu"):
        return {each.record.id for each in capture(module, args).modules}


def built(module, args, recipe="", contract="fp32"):
    """A drop-in whose verdict holds for these arguments, around a fallback that counts its calls."""
    steps = parse_recipe(recipe) if recipe else Recipe()
    fast = rewritten(module, (args, {}), steps, TARGET, judged(module, args, contract), CONTRACTS[contract])
    fallback = Calls(module)
    return DropIn(module, fast, fallback, Guard.around(args, {}), CONTRACTS[contract], "cpu"), fallback


@pytest.fixture
def parts():
    module = Net().eval()
    fast, fallback = Calls(module), Calls(module)
    x = torch.ones(2, 4)
    return module, fast, fallback, x, dropped(module, fast, fallback, (x,), {"scale": 2.0})


def served(parts, change):
    module, fast, fallback, x, drop_in = parts
    args, kwargs = change(module, x) or ((x,), {"scale": 2.0})
    drop_in(*args, **kwargs)
    return {(1, 0): "fast", (0, 1): "fallback"}[(fast.count, fallback.count)]


@pytest.mark.parametrize(
    ("change", "by"),
    [
        (lambda m, x: None, "fast"),
        (lambda m, x: ((torch.zeros(2, 4),), {"scale": 2.0}), "fast"),
        (lambda m, x: ((torch.ones(3, 4),), {"scale": 2.0}), "fallback"),
        (lambda m, x: ((torch.ones(4, 2).t(),), {"scale": 2.0}), "fallback"),
        (lambda m, x: ((x,), {"scale": 3.0}), "fallback"),
        (lambda m, x: ((x,), {"scale": 2}), "fallback"),
        (lambda m, x: ((x,), {}), "fallback"),
        (lambda m, x: ((x, 2.0), {}), "fallback"),
        (lambda m, x: m.train() and None, "fallback"),
        (lambda m, x: m.layer.train() and None, "fallback"),
        (lambda m, x: (m.double(), ((x.double(),), {"scale": 2.0}))[1], "fallback"),
    ],
)
def test_only_calls_like_the_judged_one_are_served(parts, change, by):
    with torch.no_grad():
        assert served(parts, change) == by


def test_gradients_go_to_the_fallback(parts):
    assert served(parts, lambda m, x: None) == "fallback"


def test_a_module_without_wishes_for_gradients_is_served_with_grad_mode_on(parts):
    parts[0].requires_grad_(False)
    assert served(parts, lambda m, x: None) == "fast"


def test_an_input_that_wants_gradients_goes_to_the_fallback(parts):
    parts[0].requires_grad_(False)
    assert served(parts, lambda m, x: ((x.clone().requires_grad_(),), {"scale": 2.0})) == "fallback"


COMPILING = [NotSupported("no graph"), BackendCompilerFailed(compile_mode, RuntimeError("no compiler"), None)]


@pytest.mark.parametrize("fault", COMPILING, ids=["ours", "torch's"])
def test_a_version_that_cannot_be_compiled_here_is_given_up_with_a_warning(fault, caplog):
    module = Net().eval()
    x = torch.ones(2, 4)
    fast, fallback = Calls(module, fault), Calls(module)
    drop_in = dropped(module, fast, fallback, (x,))
    with torch.no_grad(), caplog.at_level(logging.WARNING, "strop.api"):
        torch.testing.assert_close(drop_in(x), module(x))
        drop_in(x)
    assert (fast.count, fallback.count, drop_in.misses) == (1, 2, 2)
    assert len(said(caplog)) == 1
    assert str(fault) in caplog.text


@pytest.mark.parametrize("fault", COMPILING, ids=["ours", "torch's"])
def test_where_parts_of_a_call_may_have_run_it_is_not_run_again(fault):
    module = Net().eval()
    x = torch.ones(2, 4)
    fast, fallback = Calls(module, fault), Calls(module)
    drop_in = dropped(module, fast, fallback, (x,), whole=False)
    with torch.no_grad():
        with pytest.raises(type(fault)):
            drop_in(x)
        assert fallback.count == 0
        drop_in(x)
    assert (fast.count, fallback.count) == (1, 1)


def test_what_execution_raises_is_raised_and_the_call_is_not_repeated():
    class Cache(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(()))

        def forward(self, x):
            self.seen += 1
            if x.sum() < 0:
                raise RuntimeError("out of space")
            return x + self.seen

    module = Cache()
    fast, fallback = Calls(module), Calls(module)
    drop_in = dropped(module, fast, fallback, (torch.ones(2),))
    with torch.no_grad():
        with pytest.raises(RuntimeError, match="out of space"):
            drop_in(-torch.ones(2))
        assert module.seen == 1
        drop_in(torch.ones(2))
    assert (fast.count, fallback.count, drop_in.misses) == (2, 0, 0)


def test_parameters_names_and_attributes_are_the_modules(parts):
    module, fast, _, _, drop_in = parts
    assert drop_in.state_dict().keys() == module.state_dict().keys()
    assert drop_in.note == "mine"
    assert list(drop_in.parameters()) == list(module.parameters())
    with pytest.raises(AttributeError, match="nonsense"):
        _ = drop_in.nonsense
    drop_in.load_state_dict({name: torch.zeros_like(value) for name, value in module.state_dict().items()})
    assert module.layer.weight.abs().sum() == 0
    assert fast.repacked == 1
    drop_in.train()
    assert module.training


def test_a_recipe_is_built_from_the_users_own_module():
    module = Net().eval()
    x = torch.ones(2, 4)
    known = {each.record.id for each in capture(module, (x,), {}).modules}
    fast = rewritten(module, ((x,), {}), Recipe(), TARGET, known, CONTRACTS["fp32"])
    with torch.no_grad():
        torch.testing.assert_close(fast.call(x), module(x))
    assert fast.whole


def test_other_graphs_than_the_judged_ones_are_not_served(caplog):
    x = torch.ones(2, 4)
    with caplog.at_level(logging.WARNING, "strop.api"):
        assert rewritten(Net().eval(), ((x,), {}), Recipe(), TARGET, {"another"}, CONTRACTS["fp32"]) is None
    assert "other graphs" in caplog.text


def test_a_recipe_that_does_not_apply_is_not_served(caplog):
    module = Net().eval()
    x = torch.ones(2, 4)
    known = {each.record.id for each in capture(module, (x,), {}).modules}
    with caplog.at_level(logging.WARNING, "strop.api"):
        assert rewritten(module, ((x,), {}), parse_recipe("avg_pool_as_conv"), TARGET, known, CONTRACTS["fp32"]) is None
    assert "does not apply" in caplog.text


class Pair(nn.Module):
    """Two inputs and two batch norms, of which either may be frozen."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)
        self.other = nn.ReLU()

    def forward(self, x, y):
        return self.other(self.norm(self.first(x))) + self.first(y)


def said(caplog):
    return [record.getMessage() for record in caplog.records if record.name == "strop.api"]


def called(drop_in, *args):
    with torch.no_grad():
        return drop_in(*args)


def test_under_autocast_nothing_that_was_judged_without_it_is_served(caplog):
    args = torch.randn(3, 4), torch.randn(3, 4)
    module = Pair().eval()
    drop_in, fallback = built(module, args)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert called(drop_in, *args).dtype is torch.bfloat16
    assert fallback.count == 1
    torch.testing.assert_close(called(drop_in, *args), called(module, *args))
    assert (fallback.count, drop_in.misses) == (1, 1)
    assert not said(caplog)


def test_a_submodule_in_another_mode_is_not_served():
    args = torch.randn(3, 4), torch.randn(3, 4)
    module = Pair().train()
    drop_in, fallback = built(module, args)
    called(drop_in, *args)
    assert fallback.count == 0
    module.norm.eval()
    torch.testing.assert_close(called(drop_in, *args), called(module, *args))
    assert fallback.count == 1
    module.norm.train()
    called(drop_in, *args)
    assert fallback.count == 1


def test_one_tensor_twice_is_another_call():
    args = torch.randn(3, 4), torch.randn(3, 4)
    module = Pair().eval()
    drop_in, fallback = built(module, args)
    torch.testing.assert_close(called(drop_in, args[0], args[0]), called(module, args[0], args[0]))
    assert fallback.count == 1
    twice, fallback = built(module, (args[0], args[0]))
    called(twice, args[1], args[1])
    assert fallback.count == 0
    called(twice, *args)
    assert fallback.count == 1


@pytest.mark.parametrize("place", ["matmul", "conv", "rnn"])
def test_other_math_modes_than_the_contracts_are_said_once(place, caplog):
    setting = getattr(torch.backends.mkldnn, place)
    before = setting.fp32_precision
    module, x = Net().eval(), torch.ones(2, 4)
    fast, fallback = Calls(module), Calls(module)
    drop_in = dropped(module, fast, fallback, (x,))
    try:
        setting.fp32_precision = "tf32"
        called(drop_in, x)
        called(drop_in, x)
        assert (fast.count, fallback.count) == (0, 2)
        assert len(said(caplog)) == 1
        assert f"torch.backends.mkldnn.{place}.fp32_precision is 'tf32', not 'ieee'" in caplog.text
    finally:
        setting.fp32_precision = before
    called(drop_in, x)
    assert (fast.count, fallback.count) == (1, 2)


def test_a_graph_that_nobody_judged_is_not_rewritten_whenever_it_turns_up(caplog):
    """What no guard of the drop-in sees, Dynamo's own guards do: here a number that the module keeps."""

    class Kept(nn.Module):
        def __init__(self):
            super().__init__()
            self.pool, self.scale = nn.AvgPool2d(2), 1.0

        def forward(self, x):
            return self.pool(x) * self.scale

    module, x = Kept().eval(), torch.randn(2, 3, 8, 8)
    drop_in, fallback = built(module, (x,), "avg_pool_as_conv")
    torch.testing.assert_close(called(drop_in, x), called(module, x))
    lowered = drop_in.__dict__["_fast"].call
    (graph,) = lowered.graphs
    assert graph.captured_id != graph.rewritten_id
    module.scale = 3.0
    for _ in range(2):
        torch.testing.assert_close(called(drop_in, x), called(module, x))
    assert lowered.graphs == [graph]
    assert fallback.count == 1
    (message,) = said(caplog)
    assert "another graph" in message


def test_a_graph_that_nobody_judged_does_not_make_its_call_run_twice():
    class Broken(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.after = nn.Linear(4, 4), nn.ReLU()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            x = self.layer(x)
            torch._dynamo.graph_break()
            return self.after(x)

    module, x = Broken().eval(), torch.randn(2, 4)
    drop_in, fallback = built(module, (x,))
    assert not drop_in.__dict__["_fast"].whole
    called(drop_in, x)
    module.after = nn.Tanh()
    torch.testing.assert_close(called(drop_in, x), module.layer(x).tanh().detach())
    assert module.calls == 2
    assert fallback.count == 0
    called(drop_in, x)
    assert (module.calls, fallback.count) == (3, 1)


@pytest.mark.parametrize("name", ["bf16", "fp16"])
def test_under_an_autocast_contract_the_drop_in_computes_as_was_judged(name, caplog):
    """The kept recipe is served without the user's own autocast, and the fallback computes in the same precision."""
    module, x = nn.Sequential(nn.Conv2d(3, 4, 1), nn.AvgPool2d(2)).eval(), torch.randn(2, 3, 8, 8)
    drop_in, fallback = built(module, (x,), "avg_pool_as_conv", name)
    assert drop_in.__dict__["_fast"] is not None, caplog.text
    with torch.no_grad(), autocasting(CONTRACTS[name], "cpu"):
        expected, smaller = module(x), module(x[:1])
    assert expected.dtype in (torch.bfloat16, torch.float16)
    torch.testing.assert_close(called(drop_in, x), expected)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(called(drop_in, x), expected)
    assert fallback.count == 0
    (graph,) = drop_in.__dict__["_fast"].call.graphs
    assert graph.captured_id != graph.rewritten_id
    torch.testing.assert_close(called(drop_in, x[:1]), smaller)
    assert fallback.count == 1
    assert not torch.is_autocast_enabled("cpu")


def test_a_deep_copy_computes_with_its_own_parameters():
    args = torch.randn(3, 4), torch.randn(3, 4)
    drop_in, _ = built(Pair().eval(), args, contract="bf16")
    expected = called(drop_in, *args)
    twin = copy.deepcopy(drop_in)
    torch.testing.assert_close(called(twin, *args), expected, rtol=0.02, atol=0.02)
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.zero_()
    assert called(twin, *args).abs().sum() == 0
    torch.testing.assert_close(called(drop_in, *args), expected)


def test_inference_mode_is_served():
    args = torch.randn(3, 4), torch.randn(3, 4)
    module = Pair().eval()
    drop_in, fallback = built(module, args)
    with torch.inference_mode():
        torch.testing.assert_close(drop_in(*args), module(*args))
    called(drop_in, *args)
    assert (fallback.count, drop_in.__dict__["_fast"] is not None) == (0, True)
