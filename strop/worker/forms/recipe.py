"""The captured graph, rewritten by a recipe, the rest compiled by Inductor."""

from __future__ import annotations

from dataclasses import replace

from strop.capture import capture
from strop.lowering import LoweringOptions, lower, prepare_process
from strop.lowering.kernel_edits import kernel_part
from strop.lowering.recipes import RecipeRewrite, rehearse
from strop.records.candidate import RecipeForm
from strop.records.target import Target
from strop.worker.forms._base import Builder
from strop.worker.guard import foreign
from strop.worker.observing import observe
from strop.worker.opened import Opened
from strop.worker.runner import Runner


class FromRecipe(Builder):
    """The recipe is first tried on captured graphs, which tells what it needs and whether it applies at all."""

    name = "recipe"
    summary = "the captured graph, rewritten by a recipe"

    def build(self, opened: Opened, form: RecipeForm, target: Target) -> Runner:
        """Capture, rehearse, lower; the compiler's work is done by the first call."""
        prepare_process()
        module = opened.build()
        call = opened.shape.build(opened.fresh_sample())
        # Not the arguments: a source text would leave no room for what is said about it.
        names = " ; ".join(step.name for step in form.recipe.steps)
        with opened.calling(), foreign("workload", "Capturing the workload"):
            captured = capture(module, call.args, call.kwargs)
        with opened.calling(), foreign("candidate", f"Applying {names}"):
            options = rehearse(form.recipe, (each.module for each in captured.modules), target)
            mode = str(options.pop("mode", "default"))
            rewrite = RecipeRewrite(form.recipe, target)
            wanted = LoweringOptions(mode=mode, inductor=options, edits=kernel_part(form.recipe))
            lowered = lower(module, rewrite, wanted)
        return Runner(
            call=lowered,
            module=module,
            who="candidate",
            doing="The rewritten workload",
            repack=lowered.repack,
            recompile=lambda more: observe(opened.build(), rewrite, replace(wanted, inductor=options | dict(more))),
            edits=lambda: lowered.edits,
            notes=tuple(f"graph break: {each.reason} ({each.where})" for each in captured.breaks),
        )


ITEM = FromRecipe()
