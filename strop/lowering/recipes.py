"""A recipe applied to the graphs of a workload: each step is looked up on the shelf of transforms and repeated where
it applies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from torch.fx import GraphModule

from strop.errors import BadCandidate
from strop.lowering.kernel_edits import graph_part, kernel_part
from strop.lowering.retrace import settle
from strop.records.recipe import Recipe, Scalar, Step
from strop.records.target import Target
from strop.transforms import SHELF
from strop.transforms._base import Rewrite, Transform

MAX_APPLICATIONS = 1000
Look = Callable[[Rewrite], None]


@dataclass(slots=True)
class Applied:
    """What came of a recipe: Inductor options to compile with, and for every step in how many places it was applied."""

    options: dict[str, Scalar] = field(default_factory=dict)
    places: list[int] = field(default_factory=list)
    why_not: list[str] = field(default_factory=list)


def _nowhere(rewrite: Rewrite) -> None:
    """Nobody looks."""


def apply_recipe(recipe: Recipe, graph: GraphModule, target: Target, before: Look = _nowhere) -> Applied:
    """Rewrite one captured graph, step by step; the graph is settled after each rewrite. ``before`` may look at the
    graph, and at what each rewrite will replace there.

    A step that names a place (``at=...``) is repeated exactly there; one without is applied wherever it can be.

    Raises:
        UnknownName: a step that is on no shelf.
        BadCandidate: a rewrite made a graph that no longer fits its outputs.
    """
    applied = Applied()
    for step in recipe.steps:
        count, reason = _apply_step(step, graph, target, applied.options, before)
        applied.places.append(count)
        applied.why_not.append(reason)
    return applied


def _apply_step(
    step: Step, graph: GraphModule, target: Target, options: dict[str, Scalar], before: Look
) -> tuple[int, str]:
    transform = SHELF.get(step.name)
    done: set[str] = set()
    while len(done) < MAX_APPLICATIONS:
        rewrite = _next(transform, step, graph, target, done)
        if rewrite is None:
            break
        done.add(str(rewrite.step))
        before(rewrite)
        rewrite.apply()
        options.update(rewrite.options)
        settle(graph)
        if "at" in dict(step.arguments):
            break
    return len(done), "" if done else transform.why_not(graph, target)


def _next(transform: Transform, step: Step, graph: GraphModule, target: Target, done: set[str]) -> Rewrite | None:
    wanted = dict(step.arguments)
    for rewrite in transform.applications(graph, target, wanted):
        if str(rewrite.step) not in done and _agrees(wanted, rewrite.step):
            return rewrite
    return None


def _agrees(wanted: Mapping[str, Scalar], found: Step) -> bool:
    """Everything that the recipe says about the step holds for this rewrite."""
    given = dict(found.arguments)
    return all(given.get(name, value) == value for name, value in wanted.items())


class RecipeRewrite:
    """The graph steps of a recipe as a rewrite for :func:`strop.lowering.lower`. What the dry run on captured graphs
    found must be found again.
    """

    def __init__(self, recipe: Recipe, target: Target) -> None:
        self._recipe = graph_part(recipe)
        self._target = target

    def __call__(self, graph: GraphModule) -> GraphModule:
        """Apply the recipe to one graph."""
        apply_recipe(self._recipe, graph, self._target)
        return graph


def rehearse(recipe: Recipe, graphs: Iterable[GraphModule], target: Target) -> dict[str, Scalar]:
    """Apply the recipe to copies of all graphs of a workload and return the Inductor options that it asks for.

    Steps that change generated kernels cannot be tried before there are any; they only have to be for this device.

    Raises:
        BadCandidate: a step applies to none of the graphs; the message says why not.
    """
    for step in kernel_part(recipe):
        devices = SHELF.get(step.name).devices
        if target.device.partition(":")[0] not in devices:
            raise BadCandidate(f"{step.name} does not apply: it is for {' and '.join(devices)}, not {target.device}.")
    recipe = graph_part(recipe)
    options: dict[str, Scalar] = {}
    places = [0] * len(recipe.steps)
    reasons: list[dict[str, None]] = [{} for _ in recipe.steps]
    for graph in graphs:
        applied = apply_recipe(recipe, graph, target)
        options |= applied.options
        for index, count in enumerate(applied.places):
            places[index] += count
            if applied.why_not[index]:
                reasons[index][applied.why_not[index]] = None
    for step, count, reason in zip(recipe.steps, places, reasons, strict=True):
        if not count:
            place = f" at {step.argument('at', '')}" if "at" in dict(step.arguments) else ""
            raise BadCandidate(f"{step.name} does not apply{place}: {' '.join(reason) or 'there is no such place.'}")
    return options
