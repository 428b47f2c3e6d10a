"""The shelves as data: every entry says what its own file says."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import TypeVar

from strop.checks import SHELF as CHECKS
from strop.checks._base import Check
from strop.registry import Shelf, Shelved
from strop.report.jsons import Json
from strop.targets import SHELF as TARGETS
from strop.targets._base import TargetKind
from strop.transforms import SHELF as TRANSFORMS
from strop.transforms._base import Transform

T = TypeVar("T", bound=Shelved)


def transform_entries(name: str | None = None) -> list[Json]:
    """All transforms, or one.

    Raises:
        UnknownName: no such transform.
    """
    return [_transform(each) for each in _chosen(TRANSFORMS, name)]


def target_entries(name: str | None = None) -> list[Json]:
    """All targets, or one; ``present`` says whether this machine is one."""
    return [_target(each) for each in _chosen(TARGETS, name)]


def check_entries(name: str | None = None) -> list[Json]:
    """All checks, or one."""
    return [_check(each) for each in _chosen(CHECKS, name)]


def _chosen(shelf: Shelf[T], name: str | None) -> Iterable[T]:
    return [shelf.get(name)] if name is not None else list(shelf)


def _transform(item: Transform) -> Json:
    return {
        "name": item.name,
        "summary": item.summary,
        "legality": [str(each) for each in item.legality],
        "origin": str(item.origin),
        "devices": list(item.devices),
        "applies_when": item.applies_when,
        "valid_because": item.valid_because,
        "pays_when": item.pays_when,
        "parameters": [{"name": each.name, "choices": list(each.choices)} for each in item.parameters],
        "example": item.example.says,
        "file": _file_of(item),
    }


def _target(item: TargetKind) -> Json:
    present = item.present()
    return {
        "name": item.name,
        "summary": item.summary,
        "present": present,
        "device": item.device,
        "languages": list(item.languages),
        "source": item.source,
        "identity": dict(item.identity()) if present else {},
        "file": _file_of(item),
    }


def _check(item: Check) -> Json:
    return {
        "name": item.name,
        "summary": item.summary,
        "stages": [str(each) for each in item.stages],
        "judges": [each.__name__ for each in (item.judges if isinstance(item.judges, tuple) else (item.judges,))],
        "only_notes": item.only_notes,
        "examples": [{"says": each.says, "outcome": each.outcome} for each in item.examples],
        "file": _file_of(item),
    }


def _file_of(item: object) -> str:
    return type(item).__module__.replace(".", "/") + ".py" if inspect.getmodule(type(item)) else ""
