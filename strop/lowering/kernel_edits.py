"""Edits of generated kernels: the text of a wrapper is changed before it becomes a module.

A step names its kernel by a hash of everything that its text depends on. Edits are applied one after the other, each to
what the earlier ones left; what is not named stays the compiler's, byte for byte.
"""

from __future__ import annotations

import ast
import difflib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata

import torch

from strop.capture.compiler_output import Definition, definitions, kernel_calls
from strop.errors import BadCandidate
from strop.records.graph import CompilerOutput, KernelEdit, KernelKind
from strop.records.ids import content_id
from strop.records.recipe import Recipe, Step
from strop.transforms import SHELF
from strop.transforms._base import GeneratedKernel, KernelTransform
from strop.transforms._kernel_text import code_text, spliced

HASH = "hash"
CPP_WRAPPER = "No kernel can be edited where the compiler's wrapper is C++: leave out the option cpp_wrapper."

Forms = Mapping[str, str]
"""The wrapper that the compiler writes for the same graph when all reductions have a form."""


@cache
def _versions() -> tuple[str, str]:
    """Of torch and of Triton, which is called differently in some builds."""
    names = ("triton", "pytorch-triton", "triton-rocm")
    found = [name for name in names if importlib.util.find_spec("triton") and _version_of(name)]
    return torch.__version__, _version_of(found[0]) if found else "none"


def _version_of(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def kernel_hash(graph_id: str, source: str) -> str:
    """How a step names a kernel: torch and Triton version, captured graph and source, together.

    The source counts as code (:func:`strop.transforms._kernel_text.code_text`), so that a kernel has one hash whether
    or not its compilation was observed, and whatever number the compiler put behind its name.
    """
    return content_id("k", *_versions(), graph_id, code_text(source))


def with_hashes(output: CompilerOutput) -> CompilerOutput:
    """The compiler's output with the hash of every generated kernel."""
    kernels = tuple(
        replace(each, hash=kernel_hash(each.graph_id, each.source)) if each.kind is KernelKind.GENERATED else each
        for each in output.kernels
    )
    return replace(output, kernels=kernels)


def graph_part(recipe: Recipe) -> Recipe:
    """The steps that change the captured graph."""
    return Recipe(tuple(step for step in recipe.steps if not is_kernel_step(step)))


def kernel_part(recipe: Recipe) -> tuple[Step, ...]:
    """The steps that change generated kernels."""
    return tuple(step for step in recipe.steps if is_kernel_step(step))


def is_kernel_step(step: Step) -> bool:
    """Whether the step changes a generated kernel.

    Raises:
        UnknownName: a step that is on no shelf.
    """
    return isinstance(SHELF.get(step.name), KernelTransform)


def transform_of(step: Step) -> KernelTransform:
    """What a kernel step does."""
    transform = SHELF.get(step.name)
    assert isinstance(transform, KernelTransform)  # noqa: S101 - the caller asked `is_kernel_step`
    return transform


@dataclass(slots=True)
class KernelEdits:
    """The kernel steps of a recipe on their way into the compiler's text, over all graphs of a module.

    ``done`` collects what the steps that found their kernel made of it, ``seen`` the hashes of the kernels
    that there were, by name.
    """

    steps: tuple[Step, ...]
    done: dict[Step, KernelEdit]
    seen: dict[str, str]

    @classmethod
    def of(cls, steps: Sequence[Step]) -> KernelEdits:
        """Edits before the first graph is compiled."""
        return cls(tuple(steps), {}, {})

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of reductions that steps ask for; each costs another run of the compiler's front end."""
        asked = (transform_of(step).forms(dict(step.arguments)) for step in self.steps)
        return tuple(dict.fromkeys(form for forms in asked for form in forms))

    def apply(self, wrapper: str, graph_id: str, forms: Forms) -> str:
        """One graph's wrapper with every step applied that names one of its kernels.

        Raises:
            BadCandidate: a step does not fit the kernel that it names, or the wrapper is not Python.
        """
        self.seen |= {name: kernel_hash(graph_id, each.source) for name, each in _defined(wrapper)}
        for step in self.steps:
            for name, definition in _defined(wrapper):
                found = kernel_hash(graph_id, definition.source)
                if definition.literal and found == step.argument(HASH, ""):
                    source = edited_source(wrapper, name, step, lambda form: forms.get(form, ""))
                    wrapper = spliced(wrapper, [(definition.literal, _as_literal(f"\n{source.strip()}\n"))])
                    diff = _diff(name, definition.source, source)
                    self.done[step] = KernelEdit(kernel=name, hash=found, diff=diff)
                    break
        return wrapper

    def require_all(self) -> None:
        """Called when every graph is compiled.

        Raises:
            BadCandidate: a step named a kernel that no graph has.
        """
        for step in self.steps:
            if step not in self.done:
                raise BadCandidate(self._not_found(step))

    def _not_found(self, step: Step) -> str:
        torch_version, triton_version = _versions()
        known = ", ".join(f"{name} ({each})" for name, each in self.seen.items()) or "none"
        wanted = step.argument("kernel", "")
        named = f" ({wanted})" if wanted else ""
        return (
            f"{step.name}: no generated kernel has the hash {step.argument(HASH, '(none given)')}{named}. A hash holds "
            f"for one source in one graph, with torch {torch_version} and Triton {triton_version} here; an earlier "
            f"step, another version or other shapes change it. There are: {known}."
        )


def _defined(wrapper: str) -> list[tuple[str, Definition]]:
    return list(definitions(_parsed(wrapper)))


def _parsed(wrapper: str) -> ast.Module:
    try:
        return ast.parse(wrapper)
    except SyntaxError:
        raise BadCandidate(CPP_WRAPPER) from None


def edited_source(wrapper: str, name: str, step: Step, in_form: Callable[[str], str]) -> str:
    """The text of the kernel ``name`` of a wrapper as a step would have it; ``in_form`` gives the whole wrapper in
    another form.

    Raises:
        BadCandidate: the step does not fit the kernel.
    """
    definition = dict(_defined(wrapper))[name]
    kernel = GeneratedKernel(
        name=name,
        language=definition.language,
        source=definition.source,
        in_form=lambda form: _counterpart(wrapper, in_form(form), name, form),
    )
    return transform_of(step).edited(kernel, dict(step.arguments))


def _diff(name: str, before: str, after: str) -> str:
    old, new = before.strip().splitlines(), after.strip().splitlines()
    return "\n".join(difflib.unified_diff(old, new, f"before/{name}", f"after/{name}", lineterm=""))


def _counterpart(wrapper: str, other: str, name: str, form: str) -> str:
    """The source of the kernel that ``other`` calls at the same place with the same arguments.

    Both wrappers were written for the same graph, so the calls stand in the same order unless the compiler fused
    differently; then the arguments differ and there is no counterpart.
    """
    mine, theirs = _kernel_calls(wrapper), _kernel_calls(other)
    sources = {key: each.source for key, each in _defined(other)}
    if len(mine) == len(theirs):
        for (called, given), (other_called, other_given) in zip(mine, theirs, strict=True):
            if called == name and given == other_given:
                return sources[other_called]
    raise BadCandidate(f"The compiler writes no {form} form of {name} that takes the same arguments.")


def _kernel_calls(wrapper: str) -> list[tuple[str, str]]:
    """Name and arguments of each call of a generated kernel, in order."""
    tree = _parsed(wrapper)
    known = {name for name, _ in definitions(tree)}
    found: list[tuple[str, str]] = []
    for call, _ in kernel_calls(tree):
        name = ast.unparse(call.func).removesuffix(".run")
        if name in known:
            found.append((name, ", ".join(ast.unparse(each) for each in call.args)))
    return found


def _as_literal(value: str) -> str:
    """A string as the compiler writes a kernel's source: lines stay lines, so that it can be read."""
    return "'''" + value.replace("\\", "\\\\").replace("'''", "\\'\\'\\'") + "'''"
