"""What is judged: a form that a worker can load, who proposed it, and where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from strop.records._base import Record
from strop.records.ids import content_id
from strop.records.opportunity import Legality, Origin
from strop.records.recipe import Recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeForm(Record):
    """The captured graph, rewritten by a recipe, the rest compiled by Inductor."""

    recipe: Recipe
    form: Literal["recipe"] = "recipe"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceForm(Record):
    """Source text that defines a replacement for the whole module; ``entry`` is the class, built like the workload's
    own.
    """

    text: str
    language: str = "python"
    entry: str = "ModelNew"
    form: Literal["source"] = "source"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleForm(Record):
    """A live module that travelled by cloudpickle: the path of the artefact and the SHA-256 of its bytes."""

    where: str
    digest: str
    form: Literal["module"] = "module"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledForm(Record):
    """A baseline: ``eager`` or a mode of ``torch.compile``."""

    mode: str
    form: Literal["compiled"] = "compiled"


@dataclass(frozen=True, slots=True, kw_only=True)
class NullForm(Record):
    """The trusted null worker: it hands back outputs it made once; what it costs is the cost of the harness."""

    form: Literal["null"] = "null"


CandidateForm = RecipeForm | SourceForm | ModuleForm
Form = RecipeForm | SourceForm | ModuleForm | CompiledForm | NullForm


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(Record):
    """A proposal for one workload. ``lineage`` holds the ids of the candidates it was made from."""

    workload_id: str
    form: CandidateForm
    origin: Origin
    legality: tuple[Legality, ...] = ()
    lineage: tuple[str, ...] = ()
    idea: str = ""

    @property
    def id(self) -> str:
        """Same form for the same workload: same id, whoever proposed it and however often."""
        place = {"where": ""} if isinstance(self.form, ModuleForm) else {}
        form = {slot: getattr(self.form, slot) for slot in self.form.__slots__} | place
        return content_id("c", self.workload_id, form)

    @property
    def recipe(self) -> str | None:
        """The recipe as one line, or None for source text."""
        return str(self.form.recipe) if isinstance(self.form, RecipeForm) else None
