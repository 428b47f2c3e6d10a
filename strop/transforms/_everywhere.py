"""A transform at all its places as one rewrite, beside the single places: layers often pay only together."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import partial

from torch.fx import GraphModule

from strop.records.recipe import Scalar, Step
from strop.records.target import Target
from strop.transforms._base import Rewrite, Transform


class PlacedTransform(Transform):
    """A transform with places: subclasses find them, and :meth:`applications` adds the rewrite that takes them all."""

    @abstractmethod
    def places(self, graph: GraphModule, target: Target, arguments: Mapping[str, Scalar]) -> Iterator[Rewrite]:
        """One rewrite per place, each step with ``at=<node name>``."""

    def applications(self, graph: GraphModule, target: Target, arguments: Mapping[str, Scalar]) -> Iterator[Rewrite]:
        """All places at once, when there are several and none is named; then each place by itself."""
        places = list(self.places(graph, target, arguments))
        if len(places) > 1 and "at" not in arguments:
            yield Rewrite(
                step=Step(self.name, tuple(arguments.items())),
                nodes=tuple(dict.fromkeys(node for place in places for node in place.nodes)),
                gain_ns=sum(place.gain_ns for place in places),
                apply=partial(self._apply_everywhere, graph, target, arguments, len(places)),
            )
        yield from places

    def _apply_everywhere(self, graph: GraphModule, target: Target, arguments: Mapping[str, Scalar], most: int) -> None:
        """Asked again after each place, since applying one may move or join others."""
        for _ in range(most):
            place = next(self.places(graph, target, arguments), None)
            if place is None:
                return
            place.apply()
