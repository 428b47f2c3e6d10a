"""Workloads from ``package.module:factory``: a function without arguments that gives a module and its inputs.

It returns ``(module, inputs)``, ``(module, args, kwargs)``, or a dictionary or object with ``module`` and ``inputs``
(or ``args`` and ``kwargs``), and if it likes ``samples``, ``domains``, ``shapes``, ``layouts``, ``accept``, ``mode``
and ``init``. ``inputs`` may be a function that draws them anew, and a list of tuples is a list of samples.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from strop.errors import BadWorkload
from strop.records.workload import WorkloadSource
from strop.worker.brought import Brought, Inputs, as_module, nearest, of_samples, read_mode
from strop.worker.calls import read_call
from strop.worker.guard import foreign
from strop.worker.leaves import Call
from strop.worker.varying import read_layouts

_KEYS = ("module", "inputs", "args", "kwargs", "samples", "domains", "shapes", "layouts", "accept", "mode", "init")
_FORMS = "return (module, inputs), (module, args, kwargs) or a dictionary with 'module' and 'inputs'"


def load_factory(source: WorkloadSource) -> Brought:
    """Import the factory and call it once for the inputs; each build calls it again for a module.

    Raises:
        BadWorkload: no such module or function, or it returns something else.
        Blamed: it raises.
    """
    where = source.where
    factory = _import(where)
    first = _call(factory, where)
    takes = getattr(as_module(first["module"], where), "forward", None)
    inputs = _generator(first, where, takes)
    return Brought(
        build=lambda: as_module(_call(factory, where)["module"], where),
        draw=inputs.draw,
        takes=takes,
        init=read_call(first.get("init", ()), f"'init' of {where}"),
        varies=inputs.varies,
        samples=inputs.samples,
        others=inputs.others,
        shapes=first.get("shapes") or {},
        any_layout=read_layouts(first.get("layouts"), f"'layouts' of {where}"),
        domains=first.get("domains") or {},
        accept=first.get("accept"),
        mode=read_mode(first.get("mode"), f"'mode' of {where}"),
        notes=inputs.notes,
    )


def _import(where: str) -> Callable[[], Any]:
    package, colon, name = where.partition(":")
    if not colon or not package or not name:
        raise BadWorkload(f"'{where}' names no factory: write package.module:function.")
    with foreign("workload", f"Importing {package}", "Check its name, and that it is on the import path."):
        module = importlib.import_module(package)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise BadWorkload(f"{package} has no '{part}'.{nearest(part, dir(found))}")
        found = getattr(found, part)
    if not callable(found):
        raise BadWorkload(f"{where} is a {type(found).__name__}: name a function that takes no arguments.")
    return found


def _call(factory: Callable[[], Any], where: str) -> Mapping[str, Any]:
    with foreign("workload", f"The factory {where}", "It is called without arguments."):
        value = factory()
    return _read(value, where)


def _read(value: Any, where: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        found: Mapping[str, Any] = value
    elif isinstance(value, list | tuple):
        if len(value) not in (2, 3):
            raise BadWorkload(f"{where} returned {len(value)} values: {_FORMS}.")
        names = ("module", "inputs") if len(value) == 2 else ("module", "args", "kwargs")
        found = dict(zip(names, value, strict=True))
    else:
        found = {key: getattr(value, key) for key in _KEYS if hasattr(value, key)}
    if "module" not in found or not {"inputs", "args", "kwargs", "samples"} & set(found):
        raise BadWorkload(f"{where} returned a {type(value).__name__} without module or inputs: {_FORMS}.")
    return found


def _generator(found: Mapping[str, Any], where: str, takes: Callable[..., Any] | None) -> Inputs:
    inputs = found.get("inputs")
    if callable(inputs):

        def draw() -> Call:
            with foreign("workload", f"The inputs of {where}"):
                value = inputs()
            return read_call(value, f"the inputs of {where}", takes)

        return Inputs(draw=draw)
    samples = found.get("samples")
    if samples is None and isinstance(inputs, list) and inputs and all(isinstance(each, tuple) for each in inputs):
        samples = inputs
    if samples is not None:
        calls = [read_call(each, f"a sample of {where}", takes) for each in samples]
        if not calls:
            raise BadWorkload(f"{where} returned no samples: give at least one set of arguments.")
        return of_samples(calls)
    only = _only(found, where, takes)
    return Inputs(draw=lambda: only, varies=False)


def _only(found: Mapping[str, Any], where: str, takes: Callable[..., Any] | None) -> Call:
    if found.get("inputs") is not None:
        return read_call(found["inputs"], f"the inputs of {where}", takes)
    args = read_call(found.get("args") or (), f"'args' of {where}")
    return Call(args.args, {**args.kwargs, **(found.get("kwargs") or {})})
