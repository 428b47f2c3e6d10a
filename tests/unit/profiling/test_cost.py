"""Bytes and operations of graph nodes, alone, fused, and as the least that a whole graph needs."""

from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from strop.profiling import Cost, minimal_cost, node_cost, region_cost
from strop.profiling.cost import node_flop
from strop.records.graph import Role

F4 = 4


def traced(function, *inputs):
    return make_fx(function)(*inputs)


def nodes_of(module, name):
    return [n for n in module.graph.nodes if n.op == "call_function" and name in str(n.target)]


def only(module, name):
    (node,) = nodes_of(module, name)
    return node


@dataclass
class Slot:
    role: Role
    path: str


@dataclass
class Captured:
    module: GraphModule
    placeholders: list


def captured(function, *inputs, parameters=0):
    """A captured graph whose first `parameters` inputs are parameters."""
    module = traced(function, *inputs)
    roles = [Role.PARAMETER] * parameters + [Role.INPUT] * (len(inputs) - parameters)
    return Captured(module, [Slot(role, f"p{i}") for i, role in enumerate(roles)])


@settings(max_examples=25)
@given(m=st.integers(1, 40), k=st.integers(1, 40), n=st.integers(1, 40))
def test_a_product_costs_its_operands_and_two_operations_per_multiply_add(m, k, n):
    node = only(traced(torch.mm, torch.randn(m, k), torch.randn(k, n)), "mm")
    assert node_cost(node) == Cost(F4 * (m * k + k * n + m * n), 2 * m * k * n)


def test_products_of_all_kinds_are_counted():
    x = torch.randn(2, 6, 10, 10)
    conv = only(traced(lambda a, w: torch.conv2d(a, w, groups=3), x, torch.randn(9, 2, 3, 3)), "convolution")
    assert node_cost(conv).work_flop == 2 * 2 * 9 * 8 * 8 * 2 * 9
    q, k = torch.randn(2, 4, 5, 8), torch.randn(2, 4, 7, 8)
    attention = only(traced(torch.nn.functional.scaled_dot_product_attention, q, k, k), "attention")
    assert node_cost(attention).work_flop == 2 * 2 * 4 * 5 * 7 * (8 + 8)
    rnn = torch.nn.LSTM(3, 5)
    with torch.no_grad():
        lstm = nodes_of(traced(rnn, torch.randn(6, 2, 3)), "mkldnn_rnn_layer")
    assert [node_cost(node).work_flop for node in lstm] in ([], [2 * 6 * 2 * 20 * (3 + 5)])


def test_elementwise_costs_what_passes_through_it():
    x = torch.randn(8, 5)
    assert node_cost(only(traced(torch.relu, x), "relu")) == Cost(2 * F4 * 40, 40)
    assert node_cost(only(traced(lambda a: a + a, x), "add")) == Cost(2 * F4 * 40, 40)
    half = traced(lambda a, b: a + b, x.bfloat16(), x.bfloat16())
    assert node_cost(only(half, "add")) == Cost(3 * 2 * 40, 40)


def test_views_and_shapes_cost_nothing():
    module = traced(
        lambda a: torch.zeros_like(a.reshape(4, 10)[1:, None].expand(3, 2, 10).permute(2, 0, 1)), torch.randn(8, 5)
    )
    costs = [node_cost(node) for node in module.graph.nodes if "zeros" not in str(node.target)]
    assert set(costs) == {Cost(0, 0)}
    assert node_cost(only(module, "zeros_like")).moved_bytes == F4 * 60


def test_what_is_expanded_is_read_once():
    module = traced(lambda a, b: a * b, torch.randn(8, 100), torch.randn(1, 100).expand(8, 100))
    assert node_cost(only(module, "mul")).moved_bytes == F4 * (800 + 100 + 800)


def test_a_gather_reads_what_it_returns():
    table, rows = torch.randn(1000, 16), torch.arange(5)
    module = traced(lambda t, i: torch.nn.functional.embedding(i, t), table, rows)
    assert node_cost(only(module, "embedding")) == Cost(2 * F4 * 80 + 5 * 8, 80)


def test_a_fused_kernel_pays_for_its_rim_only():
    def chain(a, b):
        c = torch.relu(a + b)
        return c * a, c.sum(0)

    module = traced(chain, torch.randn(8, 5), torch.randn(8, 5))
    add, relu, mul, total = (only(module, name) for name in ("add", "relu", "mul", "sum"))
    assert region_cost([add, relu, mul]) == Cost(F4 * (40 + 40 + 40 + 40), 120)
    assert region_cost([add, relu, mul, total]) == Cost(F4 * (40 + 40 + 40 + 5), 160)
    assert region_cost([add]) == node_cost(add)


def test_views_between_fused_nodes_do_not_leave_the_kernel():
    module = traced(lambda a: torch.relu(torch.exp(a).t().reshape(20, 2)), torch.randn(8, 5))
    inside = nodes_of(module, "exp") + nodes_of(module, "relu")
    clone = nodes_of(module, "clone")
    assert region_cost(inside + clone).moved_bytes == 2 * F4 * 40


def test_batch_norm_results_unpack_without_cost():
    norm = torch.nn.BatchNorm2d(3).eval()
    with torch.no_grad():
        module = traced(norm, torch.randn(2, 3, 4, 4))
    nodes = [n for n in module.graph.nodes if n.op == "call_function"]
    assert region_cost(nodes).moved_bytes == F4 * (96 + 96 + 4 * 3)


def test_the_least_is_inputs_once_and_outputs_once():
    def linear(w, b, x):
        return torch.relu(torch.addmm(b, x, w.t()) + x.sum()) * b

    graph = captured(linear, torch.randn(6, 4), torch.randn(6), torch.randn(3, 4), parameters=2)
    assert minimal_cost([graph]) == (F4 * (24 + 6 + 12 + 18), 2 * 3 * 4 * 6)


def test_the_least_never_counts_what_can_be_left_out():
    table = torch.randn(1000, 16)
    looked_up = captured(lambda t, i: torch.nn.functional.embedding(i, t), table, torch.arange(5), parameters=1)
    assert minimal_cost([looked_up]) == (F4 * 80 + 5 * 8 + F4 * 80, 0)
    sliced = captured(lambda x: x[:1] + 1, torch.randn(100, 10))
    assert minimal_cost([sliced])[0] == 2 * F4 * 10
    unused = captured(lambda x, y: torch.zeros_like(y) + x, torch.randn(10), torch.randn(10))
    assert minimal_cost([unused])[0] == 2 * F4 * 10
    handed_back = captured(lambda x: (x, x.t(), x + 1), torch.randn(4, 4))
    assert minimal_cost([handed_back])[0] == 2 * F4 * 16


def test_products_of_parameters_can_be_made_ahead():
    def two(a, b, x):
        return x @ torch.relu(a @ b)

    graph = captured(two, torch.randn(4, 4), torch.randn(4, 4), torch.randn(2, 4), parameters=2)
    assert minimal_cost([graph])[1] == 2 * 2 * 4 * 4


def test_a_cache_is_written_where_it_changes():
    def step(cache, index, values):
        fresh = torch.index_copy(cache, 0, index, values)
        cache.copy_(fresh)
        return values * 2

    graph = captured(step, torch.zeros(1000, 8), torch.tensor([3, 4]), torch.randn(2, 8))
    assert minimal_cost([graph])[0] < F4 * 16 * 4 + 2 * 8 + 2 * 8
    whole = captured(lambda cache: cache.copy_(cache * 2), torch.zeros(1000, 8))
    assert minimal_cost([whole])[0] == 2 * F4 * 8000


def test_between_graphs_nothing_need_pass_through_memory():
    first = captured(lambda w, x: x @ w, torch.randn(4, 4), torch.randn(2, 4), parameters=1)
    second = captured(lambda w, y: y @ w, torch.randn(4, 4), torch.randn(2, 4), parameters=1)
    # Of two products in a row, one might be made ahead, and a graph break between them changes nothing in that.
    assert minimal_cost([first, second]) == (F4 * (16 + 8 + 8), 2 * 2 * 4 * 4)
    curved = captured(lambda w, x: torch.relu(x @ w), torch.randn(4, 4), torch.randn(2, 4), parameters=1)
    assert minimal_cost([curved, second])[1] == 2 * 2 * 2 * 4 * 4
    assert minimal_cost([]) == (0, 0)


@pytest.mark.parametrize("dynamic", [False, True])
def test_symbolic_sizes_count_as_they_were_captured(dynamic):
    mode = "symbolic" if dynamic else "fake"
    module = make_fx(lambda a, b: torch.relu(a @ b), tracing_mode=mode)(torch.randn(6, 4), torch.randn(4, 3))
    assert node_cost(only(module, "mm")) == Cost(F4 * (24 + 12 + 18), 2 * 6 * 4 * 3)
    assert node_cost(only(module, "relu")).moved_bytes == 2 * F4 * 18


@pytest.mark.parametrize("kind", ["flash", "efficient", "cudnn"])
def test_attention_in_which_several_queries_share_a_key_is_counted(kind):
    graph = torch.fx.Graph()
    shapes = {"q": (2, 8, 16, 4), "k": (2, 2, 32, 4), "v": (2, 2, 32, 6)}
    given = [graph.placeholder(name) for name in shapes]
    for node, shape in zip(given, shapes.values(), strict=True):
        node.meta["val"] = torch.empty(shape, device="meta")
    called = graph.call_function(getattr(torch.ops.aten, f"_scaled_dot_product_{kind}_attention").default, tuple(given))
    called.meta["val"] = (torch.empty((2, 8, 16, 6), device="meta"),)
    assert node_flop(called) == 2 * (2 * 8 * 16 * 32) * (4 + 6)
