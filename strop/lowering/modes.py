"""The modes of ``torch.compile`` as baselines, and Inductor options by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch._dynamo import config as dynamo_config

from strop.capture.entry import fresh_entry
from strop.errors import NotSupported, UnknownName
from strop.lowering.torch_shims import mode_options, option_names

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
EAGER = "eager"

_REFUSED = {
    "freezing": "it bakes parameters into the code without a guard; use a transform of the class parameters_frozen",
}


def compile_mode(module: torch.nn.Module, mode: str, *, dynamic: bool | None = None) -> Callable[..., Any]:
    """The module as a user would run it: ``eager`` as it is, otherwise through ``torch.compile`` in that mode.

    It enters as candidates do (see :mod:`strop.capture.entry`), so that neither gains a microsecond by the way of
    calling it. On a CPU ``reduce-overhead`` compiles exactly as ``default`` does: it only switches CUDA graphs on.
    """
    if mode == EAGER:
        return module
    if mode not in MODES:
        raise UnknownName("mode", mode, (EAGER, *MODES))
    return torch.compile(fresh_entry(module), mode=mode, dynamic=dynamic)


def lasting_mode(mode: str) -> str:
    """The mode without CUDA graphs of the compiler, whose results the next call overwrites."""
    return {"reduce-overhead": "default", "max-autotune": "max-autotune-no-cudagraphs"}.get(mode, mode)


def modes_differ(first: str, second: str, device: str) -> bool:
    """Whether two modes can give different code on this kind of device; measuring both is a waste when they cannot."""
    return _effect(first, device) != _effect(second, device)


def _effect(mode: str, device: str) -> Mapping[str, Any]:
    if mode == EAGER:
        return {EAGER: True}
    options = inductor_options(mode, {})
    return {name: value for name, value in options.items() if device != "cpu" or not name.startswith("triton.")}


def inductor_options(mode: str, extra: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a mode with ``extra`` on top.

    Raises:
        UnknownName: for a mode or an option that this torch does not have.
        NotSupported: for an option whose result would be wrong after the parameters change.
    """
    if mode not in MODES:
        raise UnknownName("mode", mode, MODES)
    known = option_names()
    for name, value in extra.items():
        if name not in known:
            raise UnknownName("Inductor option", name, known)
        if value and name in _REFUSED:
            raise NotSupported(f"The Inductor option '{name}' cannot be used: {_REFUSED[name]}.")
    return mode_options(mode) | dict(extra)


def prepare_process(recompile_limit: int = 256) -> None:
    """For a process that compiles for a living: never let Dynamo fall back to eager silently.

    Dynamo counts compilations per code object, over every backend and instance of a class; past eight it runs
    eagerly. A measurement process that compiles several modes and candidates gets there, so the limit is raised and
    hitting it is an error.
    """
    dynamo_config.recompile_limit = recompile_limit
    dynamo_config.accumulated_recompile_limit = 4 * recompile_limit
    dynamo_config.fail_on_recompile_limit_hit = True
