"""The drop-in serves the verified version where the verdict holds, and the fallback everywhere else."""

import logging

import pytest
import torch

from strop.api.drop_in import DropIn, Guard, rewritten
from strop.capture import capture
from strop.errors import NotSupported
from strop.records.recipe import Recipe, parse_recipe
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


@pytest.fixture
def parts():
    module = Net().eval()
    fast, fallback = Calls(module), Calls(module)
    x = torch.ones(2, 4)
    return module, fast, fallback, x, DropIn(module, fast, fallback, Guard.around((x,), {"scale": 2.0}))


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


@pytest.mark.parametrize("fault", [NotSupported("no graph"), RuntimeError("no compiler")])
def test_a_version_that_cannot_run_here_is_given_up_with_a_warning(fault, caplog):
    module = Net().eval()
    x = torch.ones(2, 4)
    fast, fallback = Calls(module, fault), Calls(module)
    drop_in = DropIn(module, fast, fallback, Guard.around((x,), {}))
    with torch.no_grad(), caplog.at_level(logging.WARNING, "strop.api"):
        torch.testing.assert_close(drop_in(x), module(x))
        drop_in(x)
    assert (fast.count, fallback.count, drop_in.misses) == (1, 2, 2)
    assert str(fault) in caplog.text


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
    fast = rewritten(module, ((x,), {}), Recipe(), TARGET, known)
    with torch.no_grad():
        torch.testing.assert_close(fast(x), module(x))


def test_other_graphs_than_the_judged_ones_are_not_served(caplog):
    x = torch.ones(2, 4)
    with caplog.at_level(logging.WARNING, "strop.api"):
        assert rewritten(Net().eval(), ((x,), {}), Recipe(), TARGET, {"another"}) is None
    assert "other graphs" in caplog.text


def test_a_recipe_that_does_not_apply_is_not_served(caplog):
    module = Net().eval()
    x = torch.ones(2, 4)
    known = {each.record.id for each in capture(module, (x,), {}).modules}
    with caplog.at_level(logging.WARNING, "strop.api"):
        assert rewritten(module, ((x,), {}), parse_recipe("avg_pool_as_conv"), TARGET, known) is None
    assert "does not apply" in caplog.text
