"""A baseline: the workload's own module under a mode of ``torch.compile``."""

from __future__ import annotations

from strop.lowering import LoweringOptions, compile_mode, prepare_process, unchanged
from strop.records.candidate import CompiledForm
from strop.records.target import Target
from strop.worker.forms._base import Builder
from strop.worker.observing import observe
from strop.worker.opened import Opened
from strop.worker.runner import Runner


class Compiled(Builder):
    """What a user gets who asks for that mode."""

    name = "compiled"
    summary = "the workload's own module under a mode of torch.compile"

    def build(self, opened: Opened, form: CompiledForm, target: Target) -> Runner:
        """Compile a copy of the module; the work is done by the first call."""
        prepare_process()
        module = opened.build()
        return Runner(
            call=compile_mode(module, form.mode),
            module=module,
            who="workload",
            doing=f"torch.compile in mode {form.mode}",
            recompile=lambda options: observe(
                opened.build(), unchanged, LoweringOptions(mode=form.mode, inductor=options)
            ),
        )


ITEM = Compiled()
