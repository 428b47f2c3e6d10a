"""From what was typed to the record of a candidate, with what its transforms promise."""

from __future__ import annotations

from strop.errors import NotSupported
from strop.records.candidate import Candidate, RecipeForm
from strop.records.workload import Workload
from strop.sources.candidate import human_candidate, read_candidate, recipe_candidate
from strop.transforms import SHELF as TRANSFORMS


def candidate_named(typed: str, workload: Workload) -> Candidate:
    """CANDIDATE as a file or a recipe.

    Raises:
        BadCandidate: no such file, nothing in it to judge, or no recipe.
        UnknownName: a transform that the catalogue does not hold.
        NotSupported: a transform that is not for this device.
    """
    form = read_candidate(typed, TRANSFORMS.names())
    if not isinstance(form, RecipeForm):
        return human_candidate(form, workload, idea=typed)
    transforms = [TRANSFORMS.get(step.name) for step in form.recipe.steps]
    for transform in transforms:
        kinds = [device for device in transform.devices if workload.device.startswith(device)]
        if not kinds:
            fits = " and ".join(transform.devices)
            raise NotSupported(f"{transform.name} is for {fits}, and this workload runs on {workload.device}.")
    legality = [each for transform in transforms for each in transform.legality]
    return recipe_candidate(form, workload, [transform.origin for transform in transforms], legality)
