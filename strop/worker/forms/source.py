"""Source text that defines a replacement for the whole module."""

from __future__ import annotations

import copy
import importlib.util
import itertools
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from strop.errors import BadCandidate
from strop.records.candidate import SourceForm
from strop.records.target import Target
from strop.targets._devices import on_host
from strop.worker.brought import nearest
from strop.worker.forms._base import Builder, runner_of_instance
from strop.worker.guard import foreign
from strop.worker.opened import Opened
from strop.worker.runner import Runner
from strop.worker.workloads import made_there

_numbers = itertools.count()


class Source(Builder):
    """A class that is built with the workload's own arguments, under the same seed on the same device: what it draws
    for itself is then what the workload drew.
    """

    name = "source"
    summary = "source text that defines a replacement for the module"

    def build(self, opened: Opened, form: SourceForm, target: Target) -> Runner:
        """Run the text and build its class."""
        kind = _entry(_import_text(form.text), form.entry)
        title = getattr(kind, "__name__", form.entry)

        def make() -> Any:
            init = copy.deepcopy(opened.brought.init)
            fix = "It is constructed like the workload's own class."
            with foreign("candidate", f"Building {title}", fix):
                return placed(kind(*init.args, **init.kwargs), opened.workload.device)

        def build() -> Any:
            return made_there(opened.brought, opened.workload.device, opened.construct_seed, make)

        return runner_of_instance(opened, build)


def placed(built: Any, device: str) -> Any:
    """A module on the workload's device, where the file convention has its caller put it."""
    return built.to(device) if isinstance(built, torch.nn.Module) and not on_host(device) else built


def _import_text(text: str) -> ModuleType:
    """Run the text as a file of its own, because inspect, Triton and torch.compile read source from files."""
    folder = Path(tempfile.mkdtemp(prefix="candidate-"))
    number = next(_numbers)
    path = folder / f"candidate_{number}.py"
    path.write_text(text, encoding="utf-8")
    name = f"strop_candidate_{number}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadCandidate("The candidate's text cannot be run as a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with foreign("candidate", "Importing the candidate"):
        spec.loader.exec_module(module)
    return module


def _entry(module: ModuleType, name: str) -> Any:
    for wanted in (name, "Model"):
        found = vars(module).get(wanted)
        if callable(found):
            return found
    classes = [key for key, value in vars(module).items() if isinstance(value, type)]
    hint = nearest(name, classes) or f" Add `class {name}(torch.nn.Module)`."
    raise BadCandidate(f"The candidate defines no class {name}.{hint}")


ITEM = Source()
