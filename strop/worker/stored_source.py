"""Workloads that travelled as a file of bytes: exported programs (``.pt2``) and live modules (cloudpickle)."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cloudpickle
import torch

from strop.errors import BadWorkload
from strop.records.workload import WorkloadSource
from strop.worker.brought import Brought, as_module
from strop.worker.guard import foreign
from strop.worker.leaves import Call


def load_program(source: WorkloadSource) -> Brought:
    """Open an exported program and its example inputs.

    Raises:
        BadWorkload: no such file, or it holds no example inputs.
        Blamed: torch cannot read it.
    """
    path = existing(source.where)
    with foreign("workload", f"Loading {path.name}", "Export it again with this version of torch."):
        program = torch.export.load(path)
    if program.example_inputs is None:
        raise BadWorkload(
            f"{path.name} holds no example inputs: export it again with torch.export.export(module, args)."
        )
    args, kwargs = program.example_inputs
    call = Call(tuple(args), dict(kwargs))
    # An exported graph has its mode built in: it can be switched neither to train nor to eval.
    return Brought(
        build=lambda: _program_module(path),
        draw=lambda: call,
        varies=False,
        moves=False,
        notes=(f"{path.name} runs in the mode in which it was exported.",),
    )


def _program_module(path: Path) -> torch.nn.Module:
    with foreign("workload", f"Loading {path.name}"):
        program = torch.export.load(path)
        # Its guards compare element types, and the reference runs in double precision.
        options = {"check_guards": False} if "check_guards" in inspect.signature(program.module).parameters else {}
        return program.module(**options)


def load_live(source: WorkloadSource) -> Brought:
    """Open a pickled ``(module, args, kwargs)``.

    Raises:
        BadWorkload: no such file, or something else is in it.
        Blamed: it cannot be unpickled here.
    """
    path = existing(source.where)
    module, args, kwargs = _unpickle(path)
    call = Call(args, kwargs)
    return Brought(
        build=lambda: as_module(_unpickle(path)[0], "the live workload"),
        draw=lambda: call,
        takes=getattr(module, "forward", module),
        varies=False,
        live=True,
        moves=False,
    )


def _unpickle(path: Path) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    with foreign("workload", "Unpickling the live module", "Its classes must be importable or defined beside it."):
        # Unpickling runs code; that is why it happens behind the wall and nowhere else.
        value = cloudpickle.loads(path.read_bytes())
    if not isinstance(value, tuple) or len(value) != 3 or not isinstance(value[2], Mapping):
        raise BadWorkload("The live workload is not (module, args, kwargs): hand over a module and its example inputs.")
    module, args, kwargs = value
    return module, tuple(args), dict(kwargs)


def existing(where: str) -> Path:
    """The path, if a file is there.

    Raises:
        BadWorkload: it is not.
    """
    path = Path(where)
    if not path.is_file():
        raise BadWorkload(f"There is no file {path}: check the path.")
    return path
