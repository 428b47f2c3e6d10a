"""Workload files after the KernelBench convention: a class, ``get_init_inputs`` and ``get_inputs``.

Further names that a file may define: ``get_samples() -> list of argument sets``, ``MODE = "eval"``,
``domains = {"args[0]": "token_ids"}``, ``SHAPES = {"args[0]": {0: (1, 64)}}``, ``LAYOUTS = "any"``,
``accept(outputs, expected) -> bool``.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from strop.errors import BadWorkload
from strop.records.workload import WorkloadSource
from strop.worker.brought import Brought, Inputs, as_module, construct, nearest, of_samples, read_mode
from strop.worker.calls import read_call
from strop.worker.guard import foreign
from strop.worker.leaves import Call
from strop.worker.varying import read_layouts

_FIXES = {
    "get_inputs": "add `def get_inputs(): return [torch.randn(8, 16)]`, with what forward() takes",
    "get_init_inputs": "add `def get_init_inputs(): return []`, with what __init__() takes",
}


def load_file(source: WorkloadSource) -> Brought:
    """Run the file and find what the convention asks for.

    Raises:
        BadWorkload: a name is missing; the message says which, and the shortest fix.
        Blamed: the file raises.
    """
    path = Path(source.where)
    module = import_path(path, f"strop_workload_{source.digest[:12] or 'file'}")
    entry = _entry(module, source.entry, path)
    init = _init(module, entry, path)
    takes = getattr(entry, "forward", None)
    bound = _without_self(takes) if takes is not None else None

    def build() -> Any:
        return as_module(construct(entry, init, source.entry), f"{path.name}:{source.entry}")

    inputs = _generator(module, path, bound)
    return Brought(
        build=build,
        draw=inputs.draw,
        takes=bound,
        init=init,
        varies=inputs.varies,
        samples=inputs.samples,
        others=inputs.others,
        shapes=getattr(module, "SHAPES", {}),
        any_layout=read_layouts(getattr(module, "LAYOUTS", None), f"LAYOUTS in {path.name}"),
        domains=_domains(module, path),
        accept=getattr(module, "accept", None),
        mode=read_mode(getattr(module, "MODE", None), f"MODE in {path.name}"),
        notes=inputs.notes,
    )


def import_path(path: Path, name: str) -> ModuleType:
    """Run a Python file as a module of its own; it stays known by ``name``, so that its source can be read later."""
    if not path.is_file():
        raise BadWorkload(f"There is no file {path}: check the path.")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadWorkload(f"{path} is not a Python file: give a file that ends in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with foreign("workload", f"Importing {path.name}", "Run it with Python alone and mend it there."):
        spec.loader.exec_module(module)
    return module


def _entry(module: ModuleType, name: str, path: Path) -> Callable[..., Any]:
    found = getattr(module, name, None)
    if isinstance(found, type) or (found is not None and callable(found)):
        return found
    classes = [
        key for key, value in vars(module).items() if inspect.isclass(value) and value.__module__ == module.__name__
    ]
    hint = nearest(name, classes)
    if not hint and classes:
        hint = f" Rename your class to {name}, or name it: {path.name}:{classes[0]}."
    if not hint:
        hint = f" Add `class {name}(torch.nn.Module)` with __init__() and forward()."
    raise BadWorkload(f"{path.name} defines no class {name}.{hint}")


def _function(module: ModuleType, name: str, path: Path, *, needed: bool) -> Callable[[], Any] | None:
    found = getattr(module, name, None)
    if callable(found):
        return found
    similar = [key for key, value in vars(module).items() if inspect.isfunction(value) and key not in _FIXES]
    hint = nearest(name, similar)
    if not needed and not hint:
        return None
    fix = f"{hint} Rename it to {name}." if hint else f" To mend it, {_FIXES[name]}."
    raise BadWorkload(f"{path.name} defines no {name}().{fix}")


def _init(module: ModuleType, entry: Callable[..., Any], path: Path) -> Call:
    function = _function(module, "get_init_inputs", path, needed=_needs_arguments(entry))
    if function is None:
        return Call()
    with foreign("workload", f"get_init_inputs() of {path.name}"):
        value = function()
    return read_call(value, "get_init_inputs()", entry)


def _needs_arguments(entry: Callable[..., Any]) -> bool:
    try:
        inspect.signature(entry).bind()
    except TypeError:
        return True
    except ValueError:
        return False
    return False


def _generator(module: ModuleType, path: Path, takes: Callable[..., Any] | None) -> Inputs:
    if callable(getattr(module, "get_samples", None)):
        return of_samples(_samples(module, path, takes))
    function = _function(module, "get_inputs", path, needed=True)

    def draw() -> Call:
        with foreign("workload", f"get_inputs() of {path.name}"):
            value = function() if function is not None else ()
        return read_call(value, "get_inputs()", takes)

    return Inputs(draw=draw)


def _samples(module: ModuleType, path: Path, takes: Callable[..., Any] | None) -> list[Call]:
    with foreign("workload", f"get_samples() of {path.name}"):
        values = list(module.get_samples())
    if not values:
        raise BadWorkload(f"get_samples() of {path.name} returned nothing: return a list of argument sets.")
    return [read_call(value, "an element of get_samples()", takes) for value in values]


def _domains(module: ModuleType, path: Path) -> dict[str, Any]:
    declared = getattr(module, "domains", None) or {}
    if not isinstance(declared, dict):
        raise BadWorkload(f"domains in {path.name} is a {type(declared).__name__}: write {{'args[0]': 'token_ids'}}.")
    return {str(key): value for key, value in declared.items()}


def _without_self(function: Callable[..., Any]) -> Callable[..., Any]:
    """A stand-in that has the signature of the bound method."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return function

    def stands_in(*args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("only its signature is used")

    parameters = list(signature.parameters.values())[1:]
    stands_in.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return stands_in
