"""A way into a module that Dynamo has never seen, so that nothing compiled before can change what is captured now.

Dynamo remembers per code object, over all instances of a class and all backends: it counts compilations and past
eight runs eagerly without a word, for good; and a size that differed between two calls becomes symbolic in the next
compilation. Capture, candidates and baselines therefore each enter through a copy of ``forward`` with a code object
and a name of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

import torch
from torch.nn.modules import module as torch_module

SUFFIX = "__strop"

_numbers = itertools.count()
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_GLOBAL_HOOKS = tuple(f"_global{name}" for name in _HOOKS)


def fresh_entry(module: torch.nn.Module) -> Callable[..., Any]:
    """A function that does what calling ``module`` does and is new to Dynamo; give it to ``torch.compile``."""
    forward = module.forward
    if _is_plain(module) and isinstance(forward, MethodType) and isinstance(forward.__func__, FunctionType):
        return MethodType(_renewed(forward.__func__), module)

    def call(*args: Any, **kwargs: Any) -> Any:
        return module(*args, **kwargs)

    return _renewed(call)


def _is_plain(module: torch.nn.Module) -> bool:
    """Whether calling it is calling ``forward``: no hooks, no ``__call__`` of its own, no code that Dynamo skips."""
    hooked = any(getattr(module, name, None) for name in _HOOKS) or any(
        getattr(torch_module, name, None) for name in _GLOBAL_HOOKS
    )
    of_torch = (getattr(module.forward, "__module__", "") or "").partition(".")[0] == "torch"
    own_call = type(module).__call__ is not torch.nn.Module.__call__
    return not (hooked or own_call or of_torch) and getattr(module.forward, "__self__", None) is module


def _renewed(function: FunctionType) -> FunctionType:
    code = function.__code__.replace(co_name=f"{function.__code__.co_name}{SUFFIX}{next(_numbers)}")
    copy = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__dict__.update(function.__dict__)
    copy.__qualname__ = function.__qualname__
    copy.__module__ = function.__module__
    return copy
