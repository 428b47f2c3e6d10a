"""The family of a workload, from the graphs of small modules and from profiles."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from strop.capture import capture
from strop.records.graph import Capture, CapturedGraph, KernelKind
from strop.records.profile import Bound, KernelProfile, Profile
from strop.report import family
from strop.report.family import family_of


class Calls(nn.Module):
    """A module from a function and the layers that it uses."""

    def __init__(self, function, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.function = function

    def forward(self, *inputs):
        return self.function(*self.layers, *inputs)


def rand(*shape):
    return torch.randn(shape)


def attend(query, key, value):
    return F.softmax(query @ key.transpose(-1, -2) / 4, -1) @ value


def layer_norm(x):
    return F.layer_norm(x, x.shape[1:])


CASES = {
    "product": (Calls(lambda layer, x: F.relu(layer(x)), nn.Linear(64, 64)), [rand(64, 64)], "fp32 matrix products"),
    "half product": (
        Calls(lambda layer, x: layer(x), nn.Linear(64, 64).bfloat16()),
        [rand(64, 64).bfloat16()],
        "bf16 matrix products",
    ),
    "product, then sum": (
        Calls(lambda layer, x: (layer(x) / 2).sum(1, keepdim=True), nn.Linear(64, 64)),
        [rand(64, 64)],
        family.SUMMED_PRODUCTS,
    ),
    "a sum of what is no longer linear": (
        Calls(lambda layer, x: layer(x).relu().sum(1), nn.Linear(64, 64)),
        [rand(64, 64)],
        "fp32 matrix products",
    ),
    "triangle": (Calls(lambda a, b: torch.tril(a @ b)), [rand(64, 64), rand(64, 64)], family.STRUCTURED_PRODUCTS),
    "transposed input": (Calls(lambda a, b: a.T @ b), [rand(64, 64), rand(64, 64)], family.STRUCTURED_PRODUCTS),
    "pooling": (Calls(lambda x: F.max_pool2d(x, 3)), [rand(2, 3, 32, 32)], family.POOLING),
    "norm": (Calls(layer_norm), [rand(8, 256)], family.ROWS),
    "loss": (Calls(lambda x, y: ((x - y) ** 2).mean()), [rand(64, 64), rand(64, 64)], family.ROWS),
    "maximum of two": (Calls(torch.max), [rand(64), rand(64)], family.ELEMENT_WISE),
    "scan": (Calls(lambda x: x.cumsum(1)), [rand(8, 64)], family.SCANS),
    "depthwise": (
        Calls(lambda layer, x: layer(x), nn.Conv2d(8, 8, 3, groups=8)),
        [rand(2, 8, 32, 32)],
        family.GROUPED_CONVOLUTIONS,
    ),
    "convolution": (
        Calls(lambda layer, x: layer(x).relu(), nn.Conv2d(3, 8, 3)),
        [rand(2, 3, 32, 32)],
        family.CONVOLUTIONS,
    ),
    "convolution, then pooling": (
        Calls(lambda layer, x: F.max_pool2d(layer(x).relu(), 2), nn.Conv2d(8, 8, 3)),
        [rand(2, 8, 32, 32)],
        family.REDUCED_CONVOLUTIONS,
    ),
    "transposed convolution": (
        Calls(lambda layer, x: layer(x), nn.ConvTranspose2d(8, 8, 3)),
        [rand(2, 8, 16, 16)],
        family.FAR_CONVOLUTIONS,
    ),
    "3D convolution": (
        Calls(lambda layer, x: layer(x), nn.Conv3d(3, 8, 3)),
        [rand(1, 3, 8, 8, 8)],
        family.FAR_CONVOLUTIONS,
    ),
    "attention": (Calls(attend), [rand(4, 64, 16), rand(4, 64, 16), rand(4, 64, 16)], family.ATTENTION),
    "fused attention": (
        Calls(F.scaled_dot_product_attention),
        [rand(1, 4, 64, 16), rand(1, 4, 64, 16), rand(1, 4, 64, 16)],
        family.ATTENTION,
    ),
    "element-wise": (Calls(lambda x: torch.tanh(x) * 2), [rand(64, 64)], family.ELEMENT_WISE),
}


@pytest.mark.parametrize("name", CASES)
def test_a_graph_alone(name):
    module, inputs, expected = CASES[name]
    with torch.no_grad():
        record = capture(module.eval(), tuple(inputs), {}).record
    assert family_of(record) == expected


def kernel(name, nodes=(), time_ns=1e5, graph_id="", **more):
    return KernelProfile(
        name=name,
        language="cpp",
        nodes=nodes,
        calls=more.pop("calls", 1),
        time_ns=time_ns,
        share=0.0,
        moved_bytes=0,
        work_flop=0,
        bound=more.pop("bound", Bound.MEMORY),
        floor_ns=0.0,
        graph_id=graph_id,
        kind=KernelKind.GENERATED,
    )


def profile(*kernels, overhead_ns=0.0):
    spent_ns = sum(each.time_ns for each in kernels)
    return Profile(
        workload_id="w", target="null", call_ns=spent_ns + overhead_ns, overhead_ns=overhead_ns, kernels=kernels
    )


@pytest.fixture(scope="module")
def pooled_product():
    """A product by whose graph alone it outweighs the pooling that follows."""
    module = Calls(lambda layer, x: F.avg_pool1d(layer(x).relu(), 3), nn.Linear(256, 256))
    with torch.no_grad():
        return capture(module, (rand(256, 256),), {}).record


def named(capture_record, operator):
    graph = capture_record.graphs[0]
    return graph.id, next(node.name for node in graph.nodes if operator in node.target)


def test_measured_time_goes_before_the_estimate(pooled_product):
    assert family_of(pooled_product) == "fp32 matrix products"
    graph, product = named(pooled_product, "addmm")
    pool, relu = named(pooled_product, "avg_pool")[1], named(pooled_product, "relu")[1]
    slow_pool = profile(kernel("a", (product,), 1e5, graph), kernel("b", (relu, pool), 9e5, graph))
    assert family_of(pooled_product, slow_pool) == family.POOLING
    slow_product = profile(kernel("a", (product, relu), 9e5, graph), kernel("b", (pool,), 1e5, graph))
    assert family_of(pooled_product, slow_product) == "fp32 matrix products"


def test_operators_of_eager_code_speak_for_themselves(pooled_product):
    assert family_of(pooled_product, profile(kernel("aten::lstm", time_ns=9e5))) == family.PRODUCTS
    assert family_of(Capture(graphs=()), profile(kernel("aten::cumsum"))) == family.SCANS


def test_what_left_no_range_has_no_say(pooled_product):
    graph, pool = named(pooled_product, "avg_pool")
    unseen = profile(kernel("b", (pool,), 0.0, graph, calls=0))
    assert family_of(pooled_product, unseen) == "fp32 matrix products"


def test_a_model_that_waits_for_its_kernels_to_start(pooled_product):
    graph, pool = named(pooled_product, "avg_pool")
    many = [kernel(f"k{i}", (pool,), 1e3, graph) for i in range(20)]
    assert family_of(pooled_product, profile(*many, overhead_ns=1e6)) == family.LAUNCH_BOUND
    assert family_of(pooled_product, profile(*many[:3], overhead_ns=1e6)) == family.POOLING
    assert family_of(pooled_product, profile(*many, overhead_ns=1e3)) == family.POOLING
    tiny = [kernel(f"k{i}", (pool,), 1e3, graph, bound=Bound.LAUNCH) for i in range(20)]
    assert family_of(pooled_product, profile(*tiny)) == family.LAUNCH_BOUND


def test_nothing_at_all():
    empty = Capture(graphs=(CapturedGraph(id="g", nodes=(), decompositions_version=1),))
    assert family_of(empty) == family.ELEMENT_WISE
