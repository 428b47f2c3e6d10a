"""What the user's model becomes: the verified version where the verdict holds, the compiler's everywhere else."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from strop.capture import capture
from strop.errors import NotSupported, StropError
from strop.lowering import LoweringOptions, lower
from strop.lowering.recipes import RecipeRewrite, rehearse
from strop.records.recipe import Recipe
from strop.records.target import Target

LOG = logging.getLogger("strop.api")


@dataclass(frozen=True, slots=True)
class Guard:
    """The calls that the verdict covers: structure, shapes, layouts, types and plain values of one set of arguments."""

    structure: Any
    leaves: tuple[Any, ...]

    @staticmethod
    def around(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Guard:
        """The guard that admits exactly calls like this one."""
        leaves, structure = pytree.tree_flatten((args, dict(kwargs)))
        return Guard(structure, tuple(_seen(leaf) for leaf in leaves))

    def admits(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """True when the call is like the one that was judged."""
        leaves, structure = pytree.tree_flatten((args, dict(kwargs)))
        return structure == self.structure and tuple(_seen(leaf) for leaf in leaves) == self.leaves


def _seen(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        return (tuple(leaf.shape), leaf.stride(), leaf.dtype, leaf.device.type)
    return (type(leaf).__name__, repr(leaf)) if isinstance(leaf, bool | int | float | str | None) else type(leaf)


class DropIn(torch.nn.Module):
    """Called like the module that it wraps, whose parameters it shares.

    The verified version runs only where the verdict holds: calls like the judged one, the judged mode, no gradients.
    Everything else, and everything after the verified version could not be built here, goes to ``fallback``.
    ``misses`` counts the calls that did.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        fast: Callable[..., Any] | None,
        fallback: Callable[..., Any],
        guard: Guard,
    ) -> None:
        super().__init__()
        self.module = module
        self.misses = 0
        # Kept out of the module's own registry, or their parameters would be listed again.
        self.__dict__.update(_fast=fast, _fallback=fallback, _guard=guard, _kinds=_kinds_of(module))
        self.training = module.training

    def __getattr__(self, name: str) -> Any:
        """What the drop-in does not have itself is the module's: a configuration, a tokenizer, a method."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "module":
                raise
            return getattr(self.module, name)

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The module's own, under its own names, so that checkpoints stay what they are."""
        return self.module.state_dict(*args, **kwargs)

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Load into the module. What was computed from parameters is computed again."""
        loaded = self.module.load_state_dict(*args, **kwargs)
        repack = getattr(self.__dict__["_fast"], "repack", None)
        if repack is not None:
            repack()
        return loaded

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        fast = self.__dict__["_fast"]
        if fast is not None and self._holds(args, kwargs):
            try:
                return fast(*args, **kwargs)
            except (StropError, RuntimeError) as fault:
                LOG.warning("the verified version cannot be used in this process, the compiler's serves: %s", fault)
                self.__dict__["_fast"] = None
        self.misses += 1
        return self.__dict__["_fallback"](*args, **kwargs)

    def _holds(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        if torch.is_grad_enabled() and _wants_gradients(self.module, args, kwargs):
            return False
        return _kinds_of(self.module) == self.__dict__["_kinds"] and self.__dict__["_guard"].admits(args, kwargs)


def _kinds_of(module: torch.nn.Module) -> tuple[Any, ...]:
    """The mode of the module, and type and device of its first parameter: ``half()`` and ``to()`` move all of them."""
    first = next(module.parameters(), None)
    return (module.training, None if first is None else (first.dtype, first.device.type))


def _wants_gradients(module: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    if any(parameter.requires_grad for parameter in module.parameters()):
        return True
    leaves = pytree.tree_leaves((args, dict(kwargs)))
    return any(isinstance(leaf, torch.Tensor) and leaf.requires_grad for leaf in leaves)


def rewritten(
    module: torch.nn.Module,
    call: tuple[tuple[Any, ...], dict[str, Any]],
    recipe: Recipe,
    target: Target,
    known: Set[str],
) -> Callable[..., Any] | None:
    """The module compiled after the recipe, in this process; None, with a warning, where that cannot be done here.

    ``known`` holds the ids of the graphs that were judged: a module that is captured as other graphs was not judged.
    """
    args, kwargs = call
    try:
        captured = capture(module, args, kwargs)
        if not {each.record.id for each in captured.modules} <= known:
            raise NotSupported("the module is captured as other graphs here than those that were judged")
        options = rehearse(recipe, (each.module for each in captured.modules), target)
    except StropError as fault:
        LOG.warning("the verified version cannot be built in this process, the compiler's serves: %s", fault)
        return None
    mode = str(options.pop("mode", "default"))
    return lower(module, RecipeRewrite(recipe, target), LoweringOptions(mode=mode, inductor=options))
