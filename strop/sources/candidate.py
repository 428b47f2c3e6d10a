"""CANDIDATE in each of its forms: a file that defines ModelNew, or a recipe."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from strop.errors import BadCandidate, NotSupported, UnknownName
from strop.records.candidate import Candidate, CandidateForm, ModuleForm, Origin, RecipeForm, SourceForm
from strop.records.opportunity import Legality
from strop.records.recipe import RecipeSyntaxError, parse_recipe
from strop.records.workload import Workload
from strop.sources.text import is_file, names_in, near_file, read_bytes


def read_candidate(typed: str, transforms: Collection[str]) -> CandidateForm:
    """Read CANDIDATE: a file with ModelNew or Model, or a recipe all of whose transforms are on the catalogue.

    Raises:
        BadCandidate: the file is missing or names nothing to judge, or the recipe cannot be parsed.
        UnknownName: a transform that the catalogue does not hold.
    """
    if typed.endswith((".pt2", ".so", ".cu", ".cubin")):
        raise NotSupported(f"'{typed}' cannot be judged yet: wrap it in a Python file that defines ModelNew.")
    looks_like_file = re.search(r"\.py(:\w+)?\Z", typed) or ("/" in typed and "{" not in typed) or is_file(typed)
    if looks_like_file:
        return _candidate_file(typed)
    return recipe_form(typed, transforms)


def _candidate_file(typed: str) -> SourceForm:
    path_text, _, entry = typed.rpartition(":") if re.search(r"\.py:\w+\Z", typed) else (typed, "", "")
    path = Path(path_text)
    data = read_bytes(path, BadCandidate)
    names = names_in(data, path_text, BadCandidate)
    entries = [entry] if entry else ["ModelNew", "Model"]
    found = next((each for each in entries if each in names.defined), entries[0] if names.star else "")
    if not found:
        classes = ", ".join(sorted(name for name in names.defined if name[:1].isupper()))
        hint = f" It defines {classes}: name one as {path_text}:CLASS." if classes else ""
        wanted = " or ".join(entries)
        raise BadCandidate(f"{path} does not define {wanted}. Its author must define class {entries[0]}.{hint}")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise BadCandidate(f"{path} is not UTF-8 text: save it as UTF-8.") from None
    return SourceForm(text=text, entry=found)


def recipe_form(typed: str, transforms: Collection[str]) -> RecipeForm:
    """A recipe, with every name looked up."""
    try:
        recipe = parse_recipe(typed)
    except RecipeSyntaxError as fault:
        raise BadCandidate(f"'{typed}' is neither a file nor a recipe: {fault}{near_file(Path(typed))}") from None
    for step in recipe.steps:
        if step.name not in transforms:
            raise UnknownName("transform", step.name, transforms)
    return RecipeForm(recipe=recipe)


def human_candidate(form: SourceForm | ModuleForm, workload: Workload, idea: str) -> Candidate:
    """What a person brought: nothing is promised about it but what the referee will find."""
    return Candidate(workload_id=workload.id, form=form, origin=Origin.HUMAN, idea=idea)


def recipe_candidate(
    form: RecipeForm, workload: Workload, origins: Sequence[Origin], legality: Sequence[Legality]
) -> Candidate:
    """A recipe whose steps have these origins and classes; it counts as the compiler's only when every step does, and
    as a person's where one of them is.
    """
    compiler = bool(origins) and all(origin is Origin.COMPILER for origin in origins)
    origin = Origin.COMPILER if compiler else Origin.HUMAN if Origin.HUMAN in origins else Origin.CATALOGUE
    return Candidate(
        workload_id=workload.id,
        form=form,
        origin=origin,
        legality=tuple(sorted(set(legality))),
    )
