"""A live module that travelled by cloudpickle."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import cloudpickle

from strop.errors import BadCandidate
from strop.records.candidate import ModuleForm
from strop.records.target import Target
from strop.worker.forms._base import Builder, runner_of_instance
from strop.worker.guard import foreign
from strop.worker.opened import Opened
from strop.worker.runner import Runner


class Pickled(Builder):
    """Somebody's module, as they handed it over."""

    name = "module"
    summary = "a live module that travelled by cloudpickle"

    def build(self, opened: Opened, form: ModuleForm, target: Target) -> Runner:
        """Open the artefact, whose bytes must be those that were handed over."""
        path = Path(form.where)
        if not path.is_file():
            raise BadCandidate(f"There is no file {path}: hand the module over again.")
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != form.digest:
            raise BadCandidate(f"{path.name} is not the module that was handed over: its bytes have changed.")

        def build() -> Any:
            with foreign("candidate", "Unpickling the module"):
                # Unpickling runs code; that is why it happens behind the wall and nowhere else.
                return cloudpickle.loads(data)

        return runner_of_instance(opened, build, live=True)


ITEM = Pickled()
