"""What the user's model becomes: the verified version where the verdict holds, the compiler's everywhere else."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import torch
from torch._dynamo.exc import TorchDynamoException
from torch.utils import _pytree as pytree

from strop.capture import capture
from strop.errors import NotSupported, StropError
from strop.lowering import LoweringOptions, lower
from strop.lowering.kernel_edits import kernel_part
from strop.lowering.recipes import RecipeRewrite, rehearse
from strop.records.contract import Contract
from strop.records.recipe import Recipe
from strop.records.target import Target
from strop.targets._arithmetic import MathModes, autocasting, autocasts

LOG = logging.getLogger("strop.api")


@dataclass(frozen=True, slots=True)
class Guard:
    """The calls that the verdict covers: structure, shapes, layouts, types and plain values of one set of arguments;
    ``twins`` says which of them are one tensor.
    """

    structure: Any
    leaves: tuple[Any, ...]
    twins: tuple[int, ...]

    @staticmethod
    def around(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Guard:
        """The guard that admits exactly calls like this one."""
        leaves, structure = pytree.tree_flatten((args, dict(kwargs)))
        return Guard(structure, tuple(_seen(leaf) for leaf in leaves), _twins(leaves))

    def admits(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """True when the call is like the one that was judged."""
        leaves, structure = pytree.tree_flatten((args, dict(kwargs)))
        if structure != self.structure or _twins(leaves) != self.twins:
            return False
        return tuple(_seen(leaf) for leaf in leaves) == self.leaves


def _twins(leaves: Sequence[Any]) -> tuple[int, ...]:
    """For every tensor that was given before the position where it came first."""
    first: dict[int, int] = {}
    for position, leaf in enumerate(leaves):
        if isinstance(leaf, torch.Tensor):
            first.setdefault(id(leaf), position)
    return tuple(first.get(id(leaf), -1) for leaf in leaves) if len(first) < len(leaves) else ()


def _seen(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        return (tuple(leaf.shape), leaf.stride(), leaf.dtype, leaf.device.type)
    return (type(leaf).__name__, repr(leaf)) if isinstance(leaf, bool | int | float | str | None) else type(leaf)


@dataclass(frozen=True, slots=True)
class Fast:
    """The verified version. ``whole`` when a call is one graph without a break: nothing has run then when compiling it
    fails.
    """

    call: Callable[..., Any]
    whole: bool


class DropIn(torch.nn.Module):
    """Called like the module that it wraps, whose parameters it shares; computes under the contract's autocast.

    The verified version runs only where the verdict holds: calls like the judged one, the judged modes and arithmetic,
    no gradients. Everything else goes to ``fallback``, and so does everything after the verified version could not be
    built here or the module was captured as a graph that was not judged. ``misses`` counts the calls that did.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        fast: Fast | None,
        fallback: Callable[..., Any],
        guard: Guard,
        contract: Contract,
        device: str,
    ) -> None:
        super().__init__()
        self.module = module
        self.misses = 0
        parts = tuple(module.modules())
        # Kept out of the module's own registry, or their parameters would be listed again.
        self.__dict__.update(_fast=fast, _fallback=fallback, _guard=guard, _said=set[str]())
        self.__dict__.update(_parts=parts, _modes=_modes_of(parts), _kind=_kind_of(module))
        self.__dict__.update(_contract=contract, _device=device, _math=MathModes(contract, device))
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
        fast = self.__dict__["_fast"]
        repack = getattr(fast.call, "repack", None) if fast is not None else None
        if repack is not None:
            repack()
        return loaded

    def __deepcopy__(self, memo: dict[int, Any]) -> DropIn:
        """A drop-in around a deep copy of the module, which nothing is compiled for: compiled code stays bound to the
        parameters of the original. ``strop.load`` gives the copy its verified version.
        """
        module, mine = copy.deepcopy(self.module, memo), self.__dict__
        return DropIn(module, None, module, mine["_guard"], mine["_contract"], mine["_device"])

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        if not autocasts(self.__dict__["_contract"]):
            return self._serve(args, kwargs)
        with autocasting(self.__dict__["_contract"], self.__dict__["_device"]):
            return self._serve(args, kwargs)

    def _serve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        fast: Fast | None = self.__dict__["_fast"]
        if fast is not None and self._holds(args, kwargs):
            try:
                result = fast.call(*args, **kwargs)
            except (StropError, TorchDynamoException) as fault:
                self._give_up(fault)
                if not fast.whole:
                    # Parts of the call may have run and written to buffers or arguments: they must not run again.
                    raise
            else:
                strayed = getattr(fast.call, "strayed", "")
                if strayed:
                    self._give_up(strayed)
                return result
        self.misses += 1
        return self.__dict__["_fallback"](*args, **kwargs)

    def _give_up(self, because: object) -> None:
        self._say(f"the verified version cannot be used in this process any more, the compiler's serves: {because}")
        self.__dict__["_fast"] = None

    def _say(self, text: str) -> None:
        """Say it once."""
        if text not in self.__dict__["_said"]:
            self.__dict__["_said"].add(text)
            LOG.warning("%s", text)

    def _holds(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        if torch.is_grad_enabled() and _wants_gradients(self.module, args, kwargs):
            return False
        mine = self.__dict__
        if _modes_of(mine["_parts"]) != mine["_modes"] or _kind_of(self.module) != mine["_kind"]:
            return False
        return self._computes_as_judged() and mine["_guard"].admits(args, kwargs)

    def _computes_as_judged(self) -> bool:
        """Modes that no graph shows, or that would change every graph."""
        mine = self.__dict__
        if torch.is_autocast_enabled(mine["_device"]) and not autocasts(mine["_contract"]):
            return False
        other = mine["_math"].difference()
        if other:
            name = mine["_contract"].name
            self._say(f"the contract {name} does not hold in this process, the compiler's serves: {other}")
        return not other


def _modes_of(parts: Sequence[torch.nn.Module]) -> list[bool]:
    return [part.training for part in parts]


def _kind_of(module: torch.nn.Module) -> tuple[Any, ...] | None:
    """Type and device of the first parameter: ``half()`` and ``to()`` move all of them."""
    first = next(module.parameters(), None)
    return None if first is None else (first.dtype, first.device.type)


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
    contract: Contract,
) -> Fast | None:
    """The module compiled after the recipe, in this process; None, with a warning, where that cannot be done here.

    ``known`` holds the ids of the graphs that were judged: a module that is captured as other graphs was not judged,
    neither now nor at any later recompilation.
    """
    args, kwargs = call
    try:
        with autocasting(contract, target.device):
            captured = capture(module, args, kwargs)
        if not {each.record.id for each in captured.modules} <= known:
            raise NotSupported("the module is captured as other graphs here than those that were judged")
        options = rehearse(recipe, (each.module for each in captured.modules), target)
    except StropError as fault:
        LOG.warning("the verified version cannot be built in this process, the compiler's serves: %s", fault)
        return None
    mode = str(options.pop("mode", "default"))
    wanted = LoweringOptions(mode=mode, inductor=options, known=known, edits=kernel_part(recipe))
    lowered = lower(module, RecipeRewrite(recipe, target), wanted)
    return Fast(lowered, whole=len(captured.modules) == 1 and not captured.breaks)
