"""The trusted null worker: it hands back a result that it made once; what that costs is the cost of the harness."""

from __future__ import annotations

from typing import Any

from strop.records.candidate import NullForm
from strop.records.target import Target
from strop.worker.forms._base import Builder, call_once
from strop.worker.opened import Opened
from strop.worker.runner import Runner


class Null(Builder):
    """No work at all."""

    name = "null"
    summary = "hands back one result for ever"

    def build(self, opened: Opened, form: NullForm, target: Target) -> Runner:
        """Call the workload once and keep the result."""
        module = opened.build()
        result = call_once(opened, Runner(call=module, module=module, who="workload", doing="The model's forward()"))

        def hand_back(*args: Any, **kwargs: Any) -> Any:
            return result

        return Runner(call=hand_back, module=None, who="strop", doing="The null worker")


ITEM = Null()
