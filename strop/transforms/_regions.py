"""Which nodes of a graph can become one fused kernel: a seed, and what around it walks over the same elements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from torch.fx import GraphModule, Node

from strop.kernels.program import Program
from strop.kernels.rows import ROW, ROWS
from strop.transforms._graph import Builder, aten, only_item, replace, shape_of, tensor
from strop.transforms._programs import REDUCTIONS, TUPLES, Writer, element_of, reduced_dims, translation_of

MOST_NODES = 48
MOST_OPERANDS = 12
MOST_RESULTS = 4


@dataclass(frozen=True, slots=True)
class Space:
    """The elements that a region walks over: a shape, of which the last ``rows`` dimensions are a row."""

    shape: tuple[int, ...]
    rows: int

    def holds(self, shape: tuple[int, ...] | None) -> bool:
        """Whether a result of that shape has one value per element of the space."""
        return shape == self.shape

    def of_row(self, shape: tuple[int, ...] | None) -> bool:
        """Whether it has one value per row, the row's dimensions kept as ones."""
        return shape is not None and self.rows > 0 and shape == (*self.shape[: -self.rows], *[1] * self.rows)

    def reaches(self, shape: tuple[int, ...] | None) -> bool:
        """Whether a tensor of that shape broadcasts into the space."""
        if shape is None or len(shape) > len(self.shape):
            return False
        return all(a in (1, b) for a, b in zip(reversed(shape), reversed(self.shape), strict=False))


def result_of(node: Node) -> Node | None:
    """The node that carries a fusable node's value: itself, or the item that is picked from its tuple."""
    return only_item(node, 0) if node.target in TUPLES else node


def space_of(seed: Node) -> Space | None:
    """The space in which a seed works."""
    rows = reduced_dims(seed)
    source = shape_of(seed.args[0]) if rows else shape_of(result_of(seed))
    if rows is None or source is None or not source or 0 in source:
        return None
    return Space(source, rows)


class Region:
    """A convex set of fusable nodes in one space."""

    def __init__(self, space: Space, order: dict[Node, int]) -> None:
        self.space = space
        self.nodes: set[Node] = set()
        self._order = order

    def admits(self, node: Node) -> bool:
        """Whether a node could belong to the region by itself, its place in the graph left aside."""
        if translation_of(node) is None:
            return False
        rows, carrier = reduced_dims(node), result_of(node)
        if rows is None or carrier is None:
            return False
        if rows and (rows != self.space.rows or not self.space.holds(shape_of(node.args[0]))):
            return False
        shape = shape_of(carrier)
        if node.target in REDUCTIONS:
            return self._ends(node) or self.space.of_row(shape)
        inputs = all(self.space.reaches(shape_of(each)) for each in node.all_input_nodes)
        return inputs and (self.space.holds(shape) or self.space.of_row(shape))

    def _ends(self, node: Node) -> bool:
        """A reduction that drops its dimensions can only be the last thing that the region makes of it."""
        return self.space.rows > 0 and not any(self.admits(user) for user in node.users)

    def rows_beside(self) -> int:
        """How many dimensions an operation that touches the region, and walks over the same elements, reduces; else
        0.
        """
        near = {each for node in self.nodes for each in self._near(node)} - self.nodes
        for node in sorted(near, key=self._order.__getitem__):
            rows = reduced_dims(node) if translation_of(node) else None
            if rows and shape_of(node.args[0]) == self.space.shape:
                return rows
        return 0

    def grow(self, seed: Node, alone: bool) -> None:
        """Take the seed and, unless ``alone``, everything around it that may come along."""
        self.nodes = {seed}
        frontier = [] if alone else [seed]
        while frontier and len(self.nodes) < MOST_NODES:
            node = frontier.pop(0)
            for near in self._near(node):
                if near not in self.nodes and self.admits(near) and self._stays_convex(near) and self._fits(near):
                    self.nodes.add(near)
                    frontier.append(near)

    def _near(self, node: Node) -> list[Node]:
        sources = [_producer(each) for each in node.all_input_nodes]
        return sorted({*sources, *_users(node)}, key=lambda each: self._order[each])

    def _fits(self, near: Node) -> bool:
        trial = self.nodes | {near}
        operands, results = operands_of(trial), results_of(trial)
        if len(operands) > MOST_OPERANDS or not 0 < len(results) <= MOST_RESULTS or not operands:
            return False
        # One call stands behind the last operand and before the first use: there has to be such a place.
        uses = [self._order[user] for each in results for user in each.users if user not in trial]
        return max(self._order[each] for each in operands) < min(uses)

    def _stays_convex(self, near: Node) -> bool:
        """No path may leave the region and come back: then it could not run as one call."""
        trial = self.nodes | {near}
        last = max(self._order[each] for each in trial)
        stack = [user for node in trial for user in _users(node) if user not in trial]
        seen = set(stack)
        while stack:
            for user in stack.pop().users:
                if user in trial:
                    return False
                if user not in seen and self._order[user] <= last:
                    seen.add(user)
                    stack.append(user)
        return True


def _users(node: Node) -> list[Node]:
    """What uses a node's value, the picking of items left out."""
    return list((result_of(node) or node).users)


def _producer(node: Node) -> Node:
    """The call that a picked item comes from, or the node itself."""
    source = node.args[0] if node.args else None
    return source if isinstance(source, Node) and source.target in TUPLES else node


def operands_of(nodes: Iterable[Node]) -> list[Node]:
    """Tensors that come from outside, in the order of their first use."""
    inside = set(nodes)
    found = dict[Node, None]()
    for node in inside:
        for source in node.all_input_nodes:
            if _producer(source) not in inside:
                found[source] = None
    return list(found)


def results_of(nodes: Iterable[Node]) -> list[Node]:
    """Values that something outside uses."""
    inside = set(nodes)
    carriers = [result_of(node) or node for node in inside]
    return [each for each in carriers if any(user not in inside for user in each.users)]


def program_of(region: Region, order: dict[Node, int]) -> tuple[Program, list[Node], list[Node]]:
    """The program of a region, its operands and the nodes that its results stand for."""
    space, nodes = region.space, sorted(region.nodes, key=order.__getitem__)
    operands = sorted(operands_of(nodes), key=order.__getitem__)
    results = sorted(results_of(nodes), key=order.__getitem__)
    write = Writer(space.rows)
    for operand in operands:
        shape = shape_of(operand) or ()
        row = space.rows > 0 and all(size == 1 for size in shape[max(len(shape) - space.rows, 0) :])
        write.operand(operand, element_of(tensor(operand)) or "", row)
    for node in nodes:
        translate = translation_of(node)
        carrier = result_of(node)
        assert translate is not None  # noqa: S101 - the region admitted it
        assert carrier is not None  # noqa: S101
        write.values[carrier] = translate(write, node)
    made = [(write.values[each], element_of(tensor(each)) or "") for each in results]
    return write.program(made), operands, results


def fuse(graph: GraphModule, program: Program, operands: list[Node], results: list[Node]) -> None:
    """Put one call in the place of a region."""
    order = {node: place for place, node in enumerate(graph.graph.nodes)}
    add = Builder(graph.graph, _behind(max(operands, key=order.__getitem__)))
    if len(results) == 1:
        made = [add(ROW, operands, str(program))]
    else:
        together = add(ROWS, operands, str(program))
        made = [add.item(together, place) for place in range(len(results))]
    fresh = [_shaped(new, old, add) for new, old in zip(made, results, strict=True)]
    for old, new in zip(results, fresh, strict=True):
        replace(old, new)


def _shaped(new: Node, old: Node, add: Builder) -> Node:
    """A row's value keeps its dimensions as ones; the original may have dropped them."""
    value, before = tensor(new), shape_of(old)
    if value is None or before is None or value.shape == before:
        return new
    return add(aten.view.default, new, list(before))


def _behind(node: Node) -> Node:
    """The first place behind a node where a call may stand."""
    place = node.next
    while place.op == "placeholder":
        place = place.next
    return place
