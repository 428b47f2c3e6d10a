"""Inputs and parameters under a seed: inside their domain, repeatable, and as the mixture says."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strop.errors import BadWorkload
from strop.records.evidence import FEW_CHANGED, Distribution
from strop.records.workload import DomainKind
from strop.worker.describe import describe
from strop.worker.draws import draw_inputs
from strop.worker.parameters import draw_parameters
from tests.unit.worker.opening import model, opened, opened_text


@pytest.fixture(scope="module")
def described():
    found = {name: opened(name) for name in ("mlp", "forms", "cache", "chance")}
    return {name: (each, describe(each).description) for name, each in found.items()}


def draw(described, name, distribution, seed=3):
    workload, description = described[name]
    return draw_inputs(workload, description.inputs, description.constants, seed, distribution)


def fits(values, domain):
    match domain.kind:
        case DomainKind.INTEGER:
            return bool((values >= domain.low).all() and (values <= domain.high).all())
        case DomainKind.POSITIVE:
            return bool((values > 0).all() and torch.isfinite(values).all())
        case DomainKind.PROBABILITY:
            return bool((values > 0).all() and (values < 1).all())
        case DomainKind.DISTRIBUTION:
            return bool((values >= 0).all() and ((values.sum(-1) - 1).abs() < 1e-5).all())
        case DomainKind.FINITE:
            return bool(torch.isfinite(values).all())
    return True


@given(
    st.sampled_from(["mlp", "forms", "cache", "chance"]), st.sampled_from(list(Distribution)), st.integers(0, 2**31 - 1)
)
def test_no_draw_leaves_a_domain(described, name, distribution, seed):
    _, description = described[name]
    drawn = draw(described, name, distribution, seed)
    for leaf in description.inputs:
        values = drawn[leaf.path]
        assert values.shape == tuple(leaf.tensor.shape)
        assert str(values.dtype) == f"torch.{leaf.tensor.dtype.value}"
        assert fits(values, leaf.domain), (leaf, distribution)


@pytest.mark.parametrize("distribution", list(Distribution))
def test_the_seed_decides(described, distribution):
    one, two, other = (draw(described, "mlp", distribution, seed)["args[0]"] for seed in (3, 3, 4))
    assert torch.equal(one.nan_to_num(), two.nan_to_num())
    assert not torch.equal(one.nan_to_num(), other.nan_to_num())


def test_global_generators_are_left_alone(described):
    torch.manual_seed(1)
    before = torch.get_rng_state()
    draw(described, "mlp", Distribution.OWN)
    assert torch.equal(torch.get_rng_state(), before)


def test_distributions_are_what_they_are_called(described):
    drawn = {each: draw(described, "mlp", each)["args[0]"] for each in Distribution}
    own = drawn[Distribution.OWN]
    assert torch.equal(drawn[Distribution.NEGATED], -own)
    ratio = drawn[Distribution.SCALED] / own
    assert torch.allclose(ratio, ratio.reshape(-1)[0].expand_as(ratio))
    assert drawn[Distribution.OUTLIER_CHANNELS].abs().max() > 30
    assert 0.3 < (drawn[Distribution.HALF_ZEROS] == 0).float().mean() < 0.7
    assert drawn[Distribution.LOG_NORMAL].min() > 0
    rows = drawn[Distribution.CONSTANT_ROWS]
    assert torch.equal(rows, rows[:, :1].expand_as(rows))
    assert drawn[Distribution.ROW_OFFSETS].mean(1).abs().max() > 3
    assert drawn[Distribution.TIES].unique().numel() < own.numel() / 2
    assert torch.equal(drawn[Distribution.SMALL_INTEGERS], drawn[Distribution.SMALL_INTEGERS].round())
    beyond = drawn[Distribution.BEYOND_CONSTANTS]
    assert beyond.max() > 2.5
    assert beyond.min() < -2.5
    special = drawn[Distribution.SPECIAL]
    assert torch.isnan(special).any()
    assert torch.isinf(special).any()


def test_one_set_of_inputs_is_permuted(tmp_path):
    text = model("return x + y", "[X, Y]", arguments="self, x, y", head="X = torch.randn(50)\nY = torch.arange(50)")
    workload = opened_text(tmp_path, text)
    object.__setattr__(workload.brought, "varies", False)
    description = describe(workload).description
    drawn = draw_inputs(workload, description.inputs, (), 9, Distribution.OWN)
    own = workload.sample
    assert not torch.equal(drawn["args[0]"], own["args[0]"])
    assert torch.equal(drawn["args[0]"].sort().values, own["args[0]"].sort().values)
    assert torch.equal(drawn["args[1]"], own["args[1]"])


def test_shapes_that_vary_are_refused(tmp_path):
    text = model("return x", "[torch.ones(next(SIZES))]", head="import itertools\nSIZES = itertools.count(2)")
    with pytest.raises(BadWorkload, match="other shapes from draw to draw"):
        describe(opened_text(tmp_path, text))


def test_draw_zero_is_the_initialisation():
    workload = opened("mlp")
    drawn = draw_parameters(workload, 99, 0)
    fresh = workload.build()
    for name, parameter in fresh.named_parameters():
        assert torch.equal(drawn[name], parameter)


def test_later_draws_move_everything_and_counters_forward(tmp_path):
    workload = opened("mlp")
    first, moved = draw_parameters(workload, 1, 0), draw_parameters(workload, 1, 1)
    again, other = draw_parameters(workload, 1, 1), draw_parameters(workload, 2, 1)
    for name, value in moved.items():
        if name.endswith("num_batches_tracked"):
            assert torch.equal(value, again[name]) and value > first[name]
            continue
        assert torch.equal(value, again[name])
        assert not torch.equal(value, other[name])
        assert (value != first[name]).float().mean() > 0.9
    assert moved["norm.running_var"].min() > 0
    assert moved["norm.weight"].std() > 0.05
    assert moved["norm.bias"].abs().max() > 0.05
    ratio = moved["first.weight"].norm() / first["first.weight"].norm()
    assert 0.8 < ratio < 1.4


def test_few_elements_change_between_one_draw_and_the_next():
    workload = opened("mlp")
    before, after = (draw_parameters(workload, 5, draw) for draw in (FEW_CHANGED - 1, FEW_CHANGED))
    again = draw_parameters(workload, 5, FEW_CHANGED)
    for name, value in after.items():
        assert torch.equal(value, again[name]) and value.shape == before[name].shape
        if not name.endswith("num_batches_tracked"):
            assert 1 <= int((value != before[name]).sum()) <= max(1, value.numel() // 64)


def test_positive_parameters_stay_positive_and_tables_stay(tmp_path):
    init = "self.temperature = nn.Parameter(torch.rand(9) + 0.1); self.register_buffer('table', torch.randn(4))"
    workload = opened_text(tmp_path, model("return x", "[torch.ones(3)]", init=init))
    moved = draw_parameters(workload, 4, 1)
    assert moved["temperature"].min() > 0
    assert not torch.equal(moved["temperature"], workload.module.temperature)
    assert torch.equal(moved["table"], workload.module.table)


def test_dead_weights_come_alive(tmp_path):
    init = "self.w = nn.Parameter(torch.randn(64, 64) * 1e-6)"
    workload = opened_text(tmp_path, model("return x", "[torch.ones(3)]", init=init))
    assert 0.1 < draw_parameters(workload, 4, 1)["w"].std() < 0.3


def test_some_rows_of_a_mask_hide_everything_and_some_nothing(tmp_path):
    inputs = "torch.randn(64, 32), torch.rand(64, 32) < 0.5"
    workload = opened_text(tmp_path, model("return x * mask", f"[{inputs}]", arguments="self, x, mask"))
    told = describe(workload).description

    def rows(distribution):
        mask = draw_inputs(workload, told.inputs, told.constants, 5, distribution)["args[1]"]
        return int(mask.all(-1).sum()), int((~mask).all(-1).sum())

    assert min(rows(Distribution.HALF_ZEROS)) > 0
    assert rows(Distribution.NORMAL) == (0, 0)
