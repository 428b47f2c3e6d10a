"""From what was typed to records: the workload with its device, the candidate with what its transforms promise."""

from __future__ import annotations

from pathlib import Path

from strop.errors import NotSupported
from strop.records.candidate import Candidate, RecipeForm
from strop.records.target import Target
from strop.records.workload import Mode, Workload
from strop.sources.candidate import human_candidate, read_candidate, recipe_candidate
from strop.sources.suite import find_problem, names_problem
from strop.sources.workload import file_workload, read_workload
from strop.transforms import SHELF as TRANSFORMS
from strop.wiring import House, keep_text


def workload_named(typed: str, house: House, target: Target, mode: Mode | None, suite: str | None) -> Workload:
    """WORKLOAD in any of its forms; a problem of a suite becomes a file of its own below the home.

    Raises:
        BadWorkload: it does not exist or lacks what a workload needs; the message holds the shortest fix.
        UsageError: no suite is configured.
    """
    if not names_problem(typed):
        return read_workload(typed, mode=mode, device=target.device)
    problem = find_problem(typed, suite or house.settings.kernelbench)
    path = keep_text(house, f"level{problem.level}_{problem.name}", problem.text)
    return file_workload(typed, Path(path), "Model", mode=mode, device=target.device)


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
