"""Which graphs are captured as CUDA graphs, and what is said about the others; fake tensors stand in for the device."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from strop.errors import BadCandidate
from strop.lowering.recipes import apply_recipe, rehearse
from strop.records.candidate import Origin
from strop.records.graph import Role
from strop.records.opportunity import Legality
from strop.records.recipe import Recipe, Step
from strop.transforms import SHELF
from strop.transforms._graph import CUDA_GRAPH, ROLE
from tests.unit.transforms.rewriting import WITHOUT_CPP, applications

ITEM = SHELF.get("cuda_graph")
STEP = Recipe((Step("cuda_graph"),))


def graph_of(function, *shapes, static=(), host=()):
    """A graph as the road captures it: roles on placeholders, fake tensors on the device but for nodes in ``host``."""
    graph = make_fx(function, tracing_mode="fake")(*[torch.empty(shape) for shape in shapes])
    with FakeTensorMode():
        for node in graph.graph.nodes:
            value = node.meta.get("val")
            if isinstance(value, torch.Tensor) and node.name not in host:
                node.meta["val"] = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="cuda")
    for position, node in enumerate(placeholders(graph)):
        role = Role.PARAMETER if position in static else Role.INPUT
        node.meta[ROLE] = (role, f"{role.value}{position}")
        node.meta["strop_static"] = position in static
    return graph


def placeholders(graph):
    return [node for node in graph.graph.nodes if node.op == "placeholder"]


def with_input(value):
    """A graph whose one input is something else than a tensor of known size on the device."""
    graph = graph_of(lambda x: (x + 1,), (8, 16))
    placeholders(graph)[0].meta["val"] = value
    return graph


def varying():
    """A tensor with a size that varies, and the size itself."""
    mode = FakeTensorMode(shape_env=ShapeEnv())
    size = mode.shape_env.create_unbacked_symint()
    with mode:
        return torch.empty(size, 16, device="cuda"), size


def expanded():
    with FakeTensorMode():
        return torch.empty(1, 16, device="cuda").expand(8, 16)


@pytest.fixture(scope="module")
def spoken_for():
    """An operator whose author says that it cannot be captured."""
    with torch.library._scoped_library("strop_tests", "FRAGMENT") as library:
        library.define("spoken_for(Tensor x) -> Tensor", tags=(torch.Tag.cudagraph_unsafe,))
        library.impl("spoken_for", torch.empty_like, "Meta")
        yield


def small_layers(x, weight):
    for _ in range(6):
        x = torch.softmax(x @ weight, -1)
    return (x,)


def test_it_is_what_a_user_could_have_switched_on():
    assert ITEM.origin is Origin.COMPILER
    assert ITEM.legality == (Legality.BIT_EXACT,)
    assert ITEM.devices == ("cuda",)


def test_a_graph_on_the_device_is_captured_whole():
    graph = graph_of(small_layers, (8, 16), (16, 16), static=(1,))
    before = str(graph.graph)
    (rewrite,) = applications("cuda_graph", graph, WITHOUT_CPP)
    assert str(rewrite.step) == "cuda_graph"
    assert rewrite.nodes == () and not rewrite.options and not rewrite.tunable
    assert not graph.meta.get(CUDA_GRAPH)
    rewrite.apply()
    assert graph.meta[CUDA_GRAPH]
    assert str(graph.graph) == before
    assert applications("cuda_graph", graph, WITHOUT_CPP) == []
    assert "already" in ITEM.why_not(graph, WITHOUT_CPP)


def test_the_mark_stays_where_other_steps_follow():
    graph = graph_of(small_layers, (8, 16), (16, 16), static=(1,))
    recipe = Recipe((Step("cuda_graph"), Step("inductor_options", (("set", "coordinate_descent"),))))
    applied = apply_recipe(recipe, graph, WITHOUT_CPP)
    assert applied.places == [1, 1]
    assert graph.meta[CUDA_GRAPH]
    assert applied.options == {"coordinate_descent_tuning": True}


def test_launches_pay_and_large_tensors_do_not():
    (small,) = applications("cuda_graph", graph_of(small_layers, (8, 16), (16, 16), static=(1,)), WITHOUT_CPP)
    (large,) = applications("cuda_graph", graph_of(lambda x: (x + 1,), (4096, 4096)), WITHOUT_CPP)
    assert small.gain_ns > 0 > large.gain_ns


def written(x):
    x.copy_(x + 1)
    return (x * 2,)


@pytest.mark.parametrize(
    ("graph", "says"),
    [
        (lambda: graph_of(lambda x: (x + 1,), (8, 16), host=("x_1",)), "'input0' lies on the host"),
        (lambda: graph_of(lambda x: (x.sum() + x,), (8, 16), host=("sum_1",)), "sum_1 works on the host"),
        (lambda: graph_of(written, (8, 16)), "writes to its argument 'input0'"),
        (lambda: with_input(varying()[0]), "size of 'input0' varies between calls"),
        (lambda: with_input(varying()[1]), "'input0' is a number"),
        (lambda: with_input(expanded()), "share memory"),
        (lambda: graph_of(lambda x: (x,), (8, 16)), "computes nothing"),
        (lambda: graph_of(lambda x: (torch.ops.strop_tests.spoken_for(x),), (8, 16)), "cannot be captured"),
    ],
    ids=["host", "host_in_between", "written", "size", "number", "expanded", "nothing", "unsafe"],
)
def test_what_cannot_be_captured_is_said(graph, says, spoken_for):
    found = graph()
    assert applications("cuda_graph", found, WITHOUT_CPP) == []
    sentence = ITEM.why_not(found, WITHOUT_CPP)
    assert says in sentence and sentence.endswith(".")


def test_parameters_and_buffers_may_be_written_to():
    graph = graph_of(written, (8, 16), static=(0,))
    assert applications("cuda_graph", graph, WITHOUT_CPP)


def test_a_recipe_that_applies_nowhere_is_refused_with_the_reason():
    graph = graph_of(written, (8, 16))
    with pytest.raises(BadCandidate, match="cuda_graph does not apply: The graph writes to its argument"):
        rehearse(STEP, [graph], WITHOUT_CPP)
