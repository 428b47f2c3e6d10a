"""The workload's own module, run as it is."""

from __future__ import annotations

from strop.records.candidate import CompiledForm
from strop.records.target import Target
from strop.worker.forms._base import Builder
from strop.worker.opened import Opened
from strop.worker.runner import Runner


class Eager(Builder):
    """Baseline without a compiler."""

    name = "eager"
    summary = "the workload's own module, as it is"

    def build(self, opened: Opened, form: CompiledForm, target: Target) -> Runner:
        """A second copy of the workload's module."""
        module = opened.build()
        return Runner(call=module, module=module, who="workload", doing="The model's forward()", is_workload=True)


ITEM = Eager()
