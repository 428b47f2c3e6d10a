"""What an eager call is made of: the operators in order, with their cost, seen by a dispatch mode in a call of its
own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from strop.profiling.align import span_key
from strop.profiling.cost import Cost, is_product, node_cost, tensors
from strop.profiling.operators import is_view, packet
from strop.profiling.trace import Span

# How many operators that left no range may lie between two that did.
LOOK_AHEAD = 8
_ALLOCATIONS = ("empty", "new_empty", "detach")


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of a call: its name without overload, what it costs, and the element type of what it makes."""

    name: str
    cost: Cost
    dtype: str


class Meter(TorchDispatchMode):
    """Notes every operator that computes something. Costs are computed as for a captured graph, on a node made for the
    purpose.
    """

    def __init__(self) -> None:
        super().__init__()
        self.operators: list[Operator] = []

    def __torch_dispatch__(
        self, func: Any, types: Iterable[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        node = _node(func, args, kwargs or {}, result)
        if not is_view(node) and not func.overloadpacket.__name__.startswith(_ALLOCATIONS):
            self.operators.append(Operator(func.overloadpacket.__name__, node_cost(node), dtype_of([node])))
        return result


def metered(call: Callable[[], object]) -> list[Operator]:
    """The operators of one call, in order."""
    with Meter() as meter:
        call()
    return meter.operators


def _node(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Node:
    graph = Graph()
    seen: dict[int, Node] = {}

    def stand_in(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) not in seen:
            seen[id(value)] = graph.placeholder(f"x{len(seen)}")
            seen[id(value)].meta["val"] = value
        return seen[id(value)]

    node = graph.create_node("call_function", func, tree_map(stand_in, args), tree_map(stand_in, kwargs))
    node.meta["val"] = result
    return node


def dtype_of(nodes: Sequence[Node]) -> str:
    """The element type whose ceiling counts: that of a product's operands, else of the largest result."""
    for node in sorted(nodes, key=lambda each: not is_product(each)):
        sources = [value for source in node.all_input_nodes for value in tensors(source)] if is_product(node) else []
        floating = [value for value in [*sources, *tensors(node)] if value.is_floating_point() or value.is_complex()]
        if floating:
            return str(floating[0].dtype).removeprefix("torch.")
    return "float32"


def pair_operators(spans: Sequence[Span], operators: Sequence[Operator]) -> list[tuple[Span, tuple[Operator, ...]]]:
    """For every outermost range the metered operators that it ran; none where the two calls differ.

    Both are walked once. A range may wrap several operators (``linear`` wraps ``addmm``), so it takes those that
    follow one another in the meter's list and stand somewhere within it.
    """
    at = 0
    paired: list[tuple[Span, tuple[Operator, ...]]] = []
    for span in spans:
        within = Counter(span_key(inner) for inner in span.walk())
        ahead = (i for i in range(at, min(at + LOOK_AHEAD, len(operators))) if within[operators[i].name])
        first = next(ahead, None)
        if first is None:
            paired.append((span, ()))
            continue
        last = first
        while last < len(operators) and within[operators[last].name] > 0:
            within[operators[last].name] -= 1
            last += 1
        paired.append((span, tuple(operators[first:last])))
        at = last
    return paired


def nodes_in_order(module: GraphModule) -> dict[str, list[str]]:
    """Names of a captured graph's nodes by kind of operator, in order."""
    found: dict[str, list[str]] = defaultdict(list)
    for node in module.graph.nodes:
        if node.op == "call_function":
            found[kind_of(getattr(packet(node), "__name__", ""))].append(node.name)
    return found


def kind_of(operator: str) -> str:
    """One name for the writings of one operator, of which eager code and captured graphs prefer different ones."""
    return "batch_norm" if "batch_norm" in operator else operator.lstrip("_")
