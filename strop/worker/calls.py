"""The forms in which people write down arguments, read as a call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from strop.errors import BadWorkload
from strop.worker.brought import nearest
from strop.worker.leaves import Call


def read_call(value: Any, where: str, takes: Callable[..., Any] | None = None) -> Call:
    """Read ``[a, b]``, ``(a, b)``, one tensor, ``{name: value}`` or ``[[args...], {kwargs...}]``.

    Args:
        value: what the user's function returned.
        where: its name in messages.
        takes: what will be called; where both readings of the last form are possible, its signature decides.

    Raises:
        BadWorkload: the value has none of these forms.
    """
    if isinstance(value, Call):
        return value
    if isinstance(value, torch.Tensor):
        return Call((value,))
    if isinstance(value, Mapping):
        return Call((), _named(value, where))
    if not isinstance(value, list | tuple):
        raise BadWorkload(f"{where} returned a {type(value).__name__}: return a list of arguments, such as [x].")
    if len(value) == 2 and isinstance(value[0], list | tuple) and isinstance(value[1], Mapping):
        parted = Call(tuple(value[0]), dict(value[1]))
        if all(isinstance(name, str) for name in parted.kwargs) and _fits(parted, takes, default=True):
            return parted
        if not _fits(Call(tuple(value)), takes, default=False):
            return parted
    return Call(tuple(value))


def _named(value: Mapping[Any, Any], where: str) -> dict[str, Any]:
    wrong = [name for name in value if not isinstance(name, str)]
    if wrong:
        raise BadWorkload(f"{where} returned a dictionary with the key {wrong[0]!r}: use the names of the arguments.")
    return dict(value)


def _fits(call: Call, takes: Callable[..., Any] | None, *, default: bool) -> bool:
    if takes is None:
        return default
    try:
        inspect.signature(takes).bind(*call.args, **call.kwargs)
    except ValueError:
        return default
    except TypeError:
        return False
    return True


def argument_names(takes: Callable[..., Any] | None, count: int) -> tuple[str, ...]:
    """Names of the first ``count`` positional parameters, as far as they can be known."""
    if takes is None:
        return ()
    try:
        parameters = list(inspect.signature(takes).parameters.values())
    except (TypeError, ValueError):
        return ()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(each.name for each in parameters if each.kind in kinds)[:count]


def paths_named(key: str, paths: Sequence[str], names: Sequence[str], what: str) -> list[str]:
    """The inputs that a declaration means by a key: a path, the beginning of one, or an argument's name.

    Raises:
        BadWorkload: none; ``what`` names the declaration.
    """
    by_name = {name: f"args[{position}]" for position, name in enumerate(names)}
    roots = (key, by_name.get(key, key), f"kwargs[{key!r}]")
    hits = [path for path in paths if any(path == root or path.startswith((f"{root}[", f"{root}.")) for root in roots)]
    if not hits:
        known = [*paths, *names]
        raise BadWorkload(
            f"{what} speaks of {key!r}, which is no input.{nearest(key, known)} Inputs are {', '.join(known)}."
        )
    return hits
