"""Tools of the catalogue for reading and changing a captured ATen graph; nothing here knows any one transform."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx import Graph, GraphModule, Node
from torch.utils._pytree import tree_leaves, tree_map

from strop.records.graph import Role
from strop.records.recipe import Scalar, Step

FROZEN = "strop_frozen"
CUDA_GRAPH = "strop_cuda_graph"
"""Set on a graph that is to be captured as one CUDA graph once it is compiled."""
ROLE = "strop_role"
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
aten = torch.ops.aten


def calls(graph: GraphModule, *targets: Any) -> Iterator[Node]:
    """The nodes that call one of ``targets``, in order; a list, so that the graph may change meanwhile."""
    return iter([node for node in graph.graph.nodes if node.op == "call_function" and node.target in targets])


def tensor(node: Any) -> torch.Tensor | None:
    """The fake tensor that ``node`` yields, or None when it is no node or yields something else."""
    value = node.meta.get("val") if isinstance(node, Node) else None
    return value if isinstance(value, torch.Tensor) else None


def static(sizes: Iterable[Any]) -> tuple[int, ...] | None:
    """Sizes as integers, or None when one is symbolic."""
    listed = tuple(sizes)
    return tuple(int(size) for size in listed) if all(type(size) is int for size in listed) else None


def shape_of(node: Any) -> tuple[int, ...] | None:
    """The shape of a node's tensor, or None when there is none or a size is symbolic."""
    value = tensor(node)
    return None if value is None else static(value.shape)


def float_of(node: Any) -> torch.dtype | None:
    """The element type when ``node`` yields a floating-point tensor."""
    value = tensor(node)
    return value.dtype if value is not None and value.dtype in FLOATS else None


def on_device(graph: GraphModule, device: str) -> bool:
    """Whether the graph computes on ``device`` (a type such as ``cpu``)."""
    found = {value.device.type for node in graph.graph.nodes if (value := tensor(node)) is not None and value.dim() > 0}
    return found <= {device}


def argument(node: Node, position: int, name: str, default: Any = None) -> Any:
    """An argument of a call, given by position or by name, or the operator's own default."""
    if position < len(node.args):
        return node.args[position]
    return node.kwargs.get(name, default)


def only_item(node: Node, index: int) -> Node | None:
    """The one ``getitem`` that uses a call's tuple of results, when nothing uses any other result; else None."""
    items = [user for user in node.users if user.target is operator.getitem and user.users]
    others = [user for user in node.users if user.target is not operator.getitem]
    if others or len(items) != 1 or items[0].args[1] != index:
        return None
    return items[0]


def is_mutated(node: Node) -> bool:
    """Whether the graph writes to this placeholder."""
    return any(user.target is aten.copy_.default and user.args[0] is node for user in node.users)


def of_parameters(node: Any, seen: dict[Node, bool] | None = None) -> bool:
    """Whether ``node`` is computed from parameters and unchanging buffers alone, so that it may be frozen. None
    counts as such.
    """
    if not isinstance(node, Node):
        return node is None or isinstance(node, int | float)
    known: dict[Node, bool] = {} if seen is None else seen
    if node not in known:
        known[node] = _of_parameters(node, known)
    return known[node]


def _of_parameters(node: Node, known: dict[Node, bool]) -> bool:
    if node.op == "placeholder":
        role, _ = node.meta.get(ROLE, (Role.INPUT, ""))
        return role in (Role.PARAMETER, Role.BUFFER) and not is_mutated(node)
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return node.target is operator.getitem and of_parameters(node.args[0], known)
    random = torch.Tag.nondeterministic_seeded in node.target.tags
    mutable = node.target._schema.is_mutable
    return not random and not mutable and all(of_parameters(source, known) for source in node.all_input_nodes)


class Builder:
    """Writes nodes before ``place``, each with the fake tensor that it yields; ``frozen`` ones are computed once per
    parameters.
    """

    def __init__(self, graph: Graph, place: Node) -> None:
        self._graph = graph
        self._place = place
        self._mode = fake_mode(graph)

    def __call__(self, target: Any, *args: Any, **kwargs: Any) -> Node:
        """Add one call that is part of the computation."""
        return self._add(target, args, kwargs, frozen=False)

    def frozen(self, target: Any, *args: Any, **kwargs: Any) -> Node:
        """Add one call that depends on parameters alone."""
        return self._add(target, args, kwargs, frozen=True)

    def item(self, call: Node, index: int) -> Node:
        """Pick one of a call's results."""
        return self._add(operator.getitem, (call, index), {}, frozen=False)

    def weight(self, freeze: bool) -> Callable[..., Node]:
        """Either of the two."""
        return self.frozen if freeze else self.__call__

    def _add(self, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any], *, frozen: bool) -> Node:
        with self._graph.inserting_before(self._place):
            node = self._graph.call_function(target, tuple(args), dict(kwargs))
        node.meta["val"] = yields(target, args, kwargs, self._mode)
        if frozen:
            freeze(node)
        return node


def freeze(node: Node) -> None:
    """Mark a node, and all that it is computed from, as computed once per delivery of parameters."""
    if node.op == "call_function" and not node.meta.get(FROZEN):
        node.meta[FROZEN] = True
        for source in node.all_input_nodes:
            freeze(source)


def yields(target: Any, args: Sequence[Any], kwargs: Mapping[str, Any], mode: FakeTensorMode | None) -> Any:
    """What a call yields on the fake tensors of its arguments; ``mode`` is the one that made them."""
    values: Any = tree_map(
        lambda item: item.meta["val"] if isinstance(item, Node) else item, (tuple(args), dict(kwargs))
    )
    with mode or nullcontext(), torch.no_grad():
        return target(*values[0], **values[1])


def fake_mode(graph: Graph) -> FakeTensorMode | None:
    """The mode that made the graph's fake tensors; calls that make tensors from nothing need it too."""
    values = (node.meta.get("val") for node in graph.nodes)
    return next((value.fake_mode for value in values if isinstance(value, FakeTensor)), None)


def replace(old: Node, new: Node) -> None:
    """Let everything that used ``old`` use ``new``, and drop what nobody uses any more.

    When the new value lies elsewhere in memory, what is computed from it is brought up to date; see :func:`spread`.
    """
    for key in ("stack_trace", "nn_module_stack", "source_fn_stack"):
        if key in old.meta:
            new.meta.setdefault(key, old.meta[key])
    moved = geometry(old) != geometry(new)
    old.replace_all_uses_with(new)
    if moved:
        spread(new.graph, {new})
    _drop(old)


def geometry(node: Node) -> Any:
    """Sizes and strides of everything that a node yields, as text: comparing symbolic sizes would add guards."""
    values = [each for each in tree_leaves(node.meta.get("val")) if isinstance(each, torch.Tensor)]
    return [[str(each.dtype), *map(str, each.shape), *map(str, each.stride())] for each in values]


def spread(graph: Graph, moved: set[Node]) -> None:
    """Recompute the fake tensors of all that depends on ``moved`` nodes, whose strides changed.

    A view that the new strides do not allow gets a contiguous copy of its input.
    """
    mode, moved = fake_mode(graph), set(moved)
    for node in list(graph.nodes):
        if node.op != "call_function" or not any(source in moved for source in node.all_input_nodes):
            continue
        before = geometry(node)
        if node.target is aten.view.default and not _views(node, mode):
            copy = Builder(graph, node)(aten.clone.default, node.args[0], memory_format=torch.contiguous_format)
            node.args = (copy, *node.args[1:])
        node.meta["val"] = yields(node.target, node.args, node.kwargs, mode)
        if geometry(node) != before:
            moved.add(node)


def _views(node: Node, mode: FakeTensorMode | None) -> bool:
    """Whether a view of the strides that its input has now is possible."""
    try:
        yields(node.target, node.args, node.kwargs, mode)
    except (RuntimeError, ValueError):
        return False
    return True


def _drop(node: Node) -> None:
    """Erase a call that nobody uses, and then what only it used; sources are walked last to first, users before their
    inputs.
    """
    doomed = {node}
    for each in reversed(list(node.graph.nodes)):
        if each in doomed and not each.users and each.op == "call_function" and not each.is_impure():
            doomed.update(each.all_input_nodes)
            node.graph.erase_node(each)


def at(node: Node, arguments: Mapping[str, Scalar]) -> bool:
    """Whether a step's arguments name this place, or no place at all."""
    return arguments.get("at", node.name) == node.name


def step(name: str, node: Node, **arguments: Scalar) -> Step:
    """The step that repeats a rewrite at ``node``."""
    return Step(name, (("at", node.name), *arguments.items()))
