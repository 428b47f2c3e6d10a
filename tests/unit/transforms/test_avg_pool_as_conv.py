"""Average pooling: which forms are offered where, what their estimates say, and what is left alone."""

import pytest
import torch
from torch.nn import functional as F

from tests.unit.transforms.rewriting import TARGET, WITHOUT_CPP, Calls, applications, apply, captured, operators

OVERLAPPING = (Calls(lambda x: F.avg_pool2d(x, 7, 1, 3)), (torch.randn(2, 4, 64, 64),))
DISJOINT = (Calls(lambda x: F.avg_pool2d(x, 2)), (torch.randn(2, 4, 64, 64),))


@pytest.mark.parametrize(
    ("form", "operator"),
    [("native", "strop.window.default"), ("conv", "aten.convolution.default"), ("shifted", "aten.slice.Tensor")],
)
def test_a_form_is_what_it_says(form, operator):
    graph = captured(*OVERLAPPING).module
    assert apply(f"avg_pool_as_conv{{form={form}}}", graph) == [f"avg_pool_as_conv{{at=avg_pool2d form={form}}}"]
    assert operator in operators(graph)
    assert "aten.avg_pool2d.default" not in operators(graph)


def test_without_a_form_the_best_estimate_is_taken():
    graph = captured(*OVERLAPPING).module
    gains = {
        form: applications("avg_pool_as_conv", graph, form=form)[0].gain_ns for form in ("native", "shifted", "conv")
    }
    (chosen,) = applications("avg_pool_as_conv", graph)
    assert chosen.gain_ns == max(gains.values()) > 0
    assert chosen.step.argument("form", "") == max(gains, key=gains.__getitem__)


def test_overlapping_windows_promise_more_than_disjoint_ones():
    (overlapping,) = applications("avg_pool_as_conv", captured(*OVERLAPPING).module)
    (disjoint,) = applications("avg_pool_as_conv", captured(*DISJOINT).module)
    assert overlapping.gain_ns > 20 * max(disjoint.gain_ns, 1.0)


def test_a_target_without_cpp_gets_no_native_form():
    graph = captured(*OVERLAPPING).module
    assert applications("avg_pool_as_conv", graph, WITHOUT_CPP, form="native") == []
    assert applications("avg_pool_as_conv", graph, WITHOUT_CPP)[0].step.argument("form", "") != "native"


def test_places_are_told_apart():
    module = Calls(lambda x: F.avg_pool2d(F.avg_pool2d(x, 3, 1), 3, 1))
    graph = captured(module, (torch.randn(1, 2, 20, 20),)).module
    everywhere, *places = applications("avg_pool_as_conv", graph)
    assert [rewrite.nodes for rewrite in places] == [("avg_pool2d",), ("avg_pool2d_1",)]
    assert (str(everywhere.step), everywhere.nodes) == ("avg_pool_as_conv", ("avg_pool2d", "avg_pool2d_1"))
    (second,) = applications("avg_pool_as_conv", graph, at="avg_pool2d_1", form="shifted")
    second.apply()
    assert operators(graph).count("aten.avg_pool2d.default") == 1
    assert applications("avg_pool_as_conv", graph, TARGET, at="avg_pool2d_1") == []
