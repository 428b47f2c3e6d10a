"""What the tests of transforms share: a target, a recipe applied as the worker applies it, and a judgement against
float64.
"""

import copy

import torch
from torch.utils._pytree import tree_map

from strop.capture import capture, run_graph
from strop.lowering import settle, split_frozen
from strop.records.recipe import parse_recipe
from strop.records.target import Ceilings, MemoryLevel, Target
from strop.transforms import SHELF

TARGET = Target(
    name="cpu",
    device="cpu",
    summary="a processor with round numbers",
    languages=("python", "cpp"),
    memory=(MemoryLevel(name="l3", size_bytes=32 << 20), MemoryLevel(name="memory", size_bytes=8 << 30)),
    ceilings=Ceilings(
        copy_bytes_per_s=20e9,
        product_flop_per_s=(("float32", 100e9), ("float64", 50e9), ("bfloat16", 200e9)),
        call_overhead_ns=2000.0,
    ),
)
WITHOUT_CPP = Target(
    name="gpu",
    device="cuda",
    summary="a device that takes no C++",
    languages=("python",),
    memory=TARGET.memory,
    ceilings=TARGET.ceilings,
)


class Calls(torch.nn.Module):
    """A module made from a function and the modules that it uses."""

    def __init__(self, function, *modules):
        super().__init__()
        self.parts = torch.nn.ModuleList(modules)
        self.function = function

    def forward(self, *inputs):
        return self.function(*self.parts, *inputs)


def captured(module, inputs):
    """The first captured graph of one call, with the tensors that its placeholders had."""
    torch._dynamo.reset()
    return capture(module, inputs, dynamic=False).modules[0]


def applications(name, graph, target=TARGET, **arguments):
    """What one transform offers, as a list."""
    return list(SHELF.get(name).applications(graph, target, arguments))


def apply(recipe, graph, target=TARGET):
    """Apply every step wherever it applies, asking again after each change; returns the steps that were taken."""
    taken = []
    for step in parse_recipe(recipe).steps:
        while True:
            rewrites = applications(step.name, graph, target, **dict(step.arguments))
            if not rewrites:
                break
            rewrites[0].apply()
            taken.append(str(rewrites[0].step))
            assert len(taken) < 100, "a rewrite offers itself again after it was applied"
    return taken


def operators(graph):
    """The names of the operators that a graph calls, in order."""
    return [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]


def eps_of(dtype):
    """The spacing of numbers just above one."""
    return torch.finfo(dtype).eps


def judge(module, inputs, recipe, *, applies=True, floor_eps=4.0):
    """Apply ``recipe`` to a module's graph and hold its results to those of float64 and of the original.

    The error may be twice the original's own, plus a floor of ``floor_eps`` roundings of the largest result.
    """
    one = captured(module, inputs)
    taken = apply(recipe, one.module)
    assert bool(taken) == applies, taken
    graph = settle(one.module)
    split_frozen(graph)
    wide = copy.deepcopy(module).double()
    with torch.no_grad():
        originals = module(*inputs)
        references = wide(
            *tree_map(lambda x: x.double() if torch.is_tensor(x) and x.is_floating_point() else x, inputs)
        )
    results = run_graph(graph, one.inputs)
    for original, reference, result in zip(_listed(originals), _listed(references), results, strict=True):
        assert result.shape == original.shape
        assert result.dtype == original.dtype
        own = (original.double() - reference).abs().max().item()
        # In float64 the original is the reference itself: what it rounds in between cannot be seen, only assumed near
        # one.
        least = 1.0 if result.dtype is torch.float64 else 1e-30
        floor = floor_eps * eps_of(result.dtype) * max(reference.abs().max().item(), least)
        error = (result.double() - reference).abs().max().item()
        assert error <= 2 * own + floor, f"{error} against {own} of the original and a floor of {floor}"
    return graph, taken


def _listed(results):
    return list(results) if isinstance(results, tuple | list) else [results]
