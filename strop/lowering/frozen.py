"""What depends on parameters alone is computed once: a graph is split into a prologue over parameters and the rest.

A transform marks nodes with ``meta["strop_frozen"] = True`` (folded batch-norm weights, pre-split operands). Their
results, the packs, are kept between calls and computed again when a parameter is another tensor or was written to in
place. Writes through ``.data`` or a numpy view move no version counter and cannot be seen; whoever does that calls
``repack()``.
"""

from __future__ import annotations

import logging
import operator
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from strop.capture.placeholders import ROLE, STATIC, is_mutated
from strop.errors import BadCandidate
from strop.records.graph import Role

log = logging.getLogger("strop.lowering")

FROZEN = "strop_frozen"

_version_of = operator.attrgetter("_version")


@dataclass(frozen=True, slots=True)
class Split:
    """``rest`` takes the inputs at ``kept``, then the packs that the prologue makes from those at ``sources``."""

    rest: GraphModule
    kept: tuple[int, ...]
    prologue: GraphModule | None = None
    sources: tuple[int, ...] = ()


def split_frozen(module: GraphModule) -> Split:
    """Separate what a transform marked as frozen from the rest of a settled graph.

    Raises:
        BadCandidate: when a marked node depends on an input, or on a parameter or buffer that the graph itself changes.
    """
    frozen = _frozen_nodes(module)
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    if not frozen:
        return Split(module, tuple(range(len(inputs))))
    for node in frozen:
        _refuse_unfrozen(node, frozen)
    packs = [node for node in frozen if any(user not in frozen for user in node.users)]
    sources = [node for node in inputs if any(user in frozen for user in node.users)]
    kept = [node for node in inputs if not node.users or any(user not in frozen for user in node.users)]
    place = {node: position for position, node in enumerate(inputs)}
    return Split(
        rest=_rest(module, kept, packs, frozen),
        kept=tuple(place[node] for node in kept),
        prologue=_prologue(module, sources, packs, frozen),
        sources=tuple(place[node] for node in sources),
    )


def _frozen_nodes(module: GraphModule) -> dict[Node, None]:
    """Marked nodes in order, with the items that are picked out of a marked node's tuple."""
    frozen: dict[Node, None] = {}
    for node in module.graph.nodes:
        picked = node.target is operator.getitem and node.args[0] in frozen
        if node.op == "call_function" and (node.meta.get(FROZEN) or picked):
            frozen[node] = None
    return frozen


def _refuse_unfrozen(node: Node, frozen: dict[Node, None]) -> None:
    for source in node.all_input_nodes:
        if source.op == "placeholder":
            role, path = source.meta.get(ROLE, (Role.INPUT, source.name))
            if role == Role.INPUT or is_mutated(source):
                why = "is an input of the call" if role == Role.INPUT else "is changed by the graph itself"
                raise BadCandidate(f"Node '{node.name}' is marked as frozen but depends on '{path}', which {why}.")
        elif source.op != "get_attr" and source not in frozen:
            raise BadCandidate(f"Node '{node.name}' is marked as frozen but depends on '{source.name}', which is not.")
    tags = getattr(node.target, "tags", ())
    if torch.Tag.nondeterministic_seeded in tags:
        raise BadCandidate(f"Node '{node.name}' draws random numbers and cannot be frozen.")


def _prologue(
    module: GraphModule, sources: Sequence[Node], packs: Sequence[Node], frozen: dict[Node, None]
) -> GraphModule:
    graph, copies = Graph(), dict[Node, Node]()
    for node in module.graph.nodes:
        if node in sources or node in frozen or node.op == "get_attr":
            copies[node] = graph.node_copy(node, lambda old: copies[old])
    graph.output(tuple(copies[pack] for pack in packs))
    graph.eliminate_dead_code()
    return GraphModule(module, graph)


def _rest(module: GraphModule, kept: Sequence[Node], packs: Sequence[Node], frozen: dict[Node, None]) -> GraphModule:
    graph, copies = Graph(), dict[Node, Node]()
    for node in kept:
        copies[node] = graph.node_copy(node)
    for pack in packs:
        copies[pack] = graph.placeholder(pack.name)
        copies[pack].meta = {"val": pack.meta["val"], ROLE: (Role.PARAMETER, pack.name), STATIC: True}
    for node in module.graph.nodes:
        if node.op != "placeholder" and node not in frozen:
            if node.op == "output":
                _copy_returned_packs(graph, node, packs, copies)
            copies[node] = graph.node_copy(node, lambda old: copies[old])
    rest = GraphModule(module, graph)
    rest.graph.eliminate_dead_code()
    rest.recompile()
    return rest


def _copy_returned_packs(graph: Graph, output: Node, packs: Sequence[Node], copies: dict[Node, Node]) -> None:
    """The caller may write to what a call returned, which must never reach a pack, nor what a pack is a view of."""
    storages = {_storage(pack.meta["val"]) for pack in packs}
    for result in output.all_input_nodes:
        value = result.meta.get("val")
        if isinstance(value, torch.Tensor) and _storage(value) in storages:
            copies[result] = graph.call_function(torch.ops.aten.clone.default, (copies[result],))
            copies[result].meta = dict(result.meta)


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


class Packed:
    """Compiled code with its packs; what Dynamo calls with one list of all inputs."""

    _boxed_call = True

    def __init__(self, compiled: Callable[[list[Any]], Any], split: Split) -> None:
        assert split.prologue is not None  # noqa: S101 - the caller builds this only for a split that has one
        self._compiled = compiled
        self._prologue = split.prologue
        self._pick_sources = _picker(split.sources)
        self._pick_kept = _picker(split.kept)
        self._sources: tuple[torch.Tensor, ...] = ()
        self._versions: tuple[int, ...] | None = None
        self._packs: tuple[torch.Tensor, ...] = ()
        self._lock = threading.Lock()

    def __call__(self, args: list[Any]) -> Any:
        sources = self._pick_sources(args)
        # Identity too: a replaced parameter may well have the version number of the one that it replaced.
        if self._versions is None or not _identical(sources, self._sources) or _versions(sources) != self._versions:
            self._pack(sources)
        call = [*self._pick_kept(args), *self._packs]
        args.clear()
        return self._compiled(call)

    def repack(self) -> None:
        """Compute the packs again from the parameters last seen; before the first call there is nothing to do."""
        if self._sources:
            self._pack(self._sources)

    @property
    def pack_bytes(self) -> int:
        """Memory that the packs take beside the parameters."""
        return sum(pack.numel() * pack.element_size() for pack in self._packs)

    def _pack(self, sources: tuple[torch.Tensor, ...]) -> None:
        with self._lock, torch.no_grad(), torch.autocast(sources[0].device.type, enabled=False):
            versions = _versions(sources)
            made = self._prologue(*sources)
            self._packs = tuple(_stored(new, old, sources) for new, old in _aligned(made, self._packs))
            self._sources, self._versions = sources, versions


def _picker(positions: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    if not positions:
        return lambda args: ()
    if len(positions) == 1:
        only = positions[0]
        return lambda args: (args[only],)
    return operator.itemgetter(*positions)


def _identical(some: tuple[torch.Tensor, ...], others: tuple[torch.Tensor, ...]) -> bool:
    """Whether two tuples hold the same tensors, at the price of a pointer comparison each: this runs on every call.

    Comparing tuples asks a pair for equality only when they are not one object, and tensors then answer with a
    tensor. For more than one element that is an error; for a single one with an equal value, whose pack is right, the
    answer may stand.
    """
    try:
        return some == others
    except RuntimeError:
        return False


def _versions(tensors: tuple[torch.Tensor, ...]) -> tuple[int, ...] | None:
    """Version counters; None when one is an inference tensor, which has none: packs are then made on every call."""
    try:
        return tuple(map(_version_of, tensors))
    except RuntimeError:
        return None


def _aligned(
    made: Sequence[torch.Tensor], kept: Sequence[torch.Tensor]
) -> list[tuple[torch.Tensor, torch.Tensor | None]]:
    return list(zip(made, kept or [None] * len(made), strict=True))


def _stored(new: torch.Tensor, old: torch.Tensor | None, sources: Sequence[torch.Tensor]) -> torch.Tensor:
    """Keep a pack at its address when possible: recorded CUDA graphs read from there."""
    if old is None or _storage(new) in {_storage(source) for source in sources}:
        return new
    same = (new.shape, new.stride(), new.dtype, new.device) == (old.shape, old.stride(), old.dtype, old.device)
    return old.copy_(new) if same and _owns_its_memory(old) else new


def _owns_its_memory(pack: torch.Tensor) -> bool:
    """False for a pack that is a view into something larger, such as a parameter that was since replaced."""
    return pack.untyped_storage().nbytes() == pack.numel() * pack.element_size() and pack._base is None
