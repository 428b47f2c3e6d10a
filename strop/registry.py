"""Shelves: a folder in which one file is one thing, found by its file name. Nothing else is edited to add one."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC
from collections.abc import Iterator
from typing import ClassVar, Generic, TypeVar

from strop.errors import BrokenShelf, UnknownName


class Shelved(ABC):
    """What every shelf file's ``ITEM`` has: the name of its file and one line for listings."""

    name: ClassVar[str]
    summary: ClassVar[str]


T = TypeVar("T", bound=Shelved)


class Shelf(Generic[T]):
    """The items of one package, read when asked for. ``contract`` is the base class that every ITEM must be an
    instance of.
    """

    def __init__(self, package: str, kind: str, contract: type[T]) -> None:
        self.package = package
        self.kind = kind
        self.contract = contract

    def names(self) -> tuple[str, ...]:
        """File names on the shelf, sorted; files that begin with an underscore hold the shelf's own tools."""
        paths = importlib.import_module(self.package).__path__
        found = [module.name for module in pkgutil.iter_modules(paths)]
        return tuple(sorted(name for name in found if not name.startswith("_")))

    def get(self, name: str) -> T:
        """Load one item.

        Raises:
            UnknownName: no such file; the nearest names are offered.
            BrokenShelf: the file does not define a proper ITEM.
        """
        if name not in self.names():
            raise UnknownName(self.kind, name, self.names())
        module = importlib.import_module(f"{self.package}.{name}")
        item = getattr(module, "ITEM", None)
        where = f"{self.package.replace('.', '/')}/{name}.py"
        if item is None:
            raise BrokenShelf(f"{where} defines no ITEM. Add: ITEM = <an instance of {self.contract.__name__}>.")
        if not isinstance(item, self.contract):
            raise BrokenShelf(f"{where}: ITEM is a {type(item).__name__}; make it a {self.contract.__name__}.")
        if item.name != name:
            raise BrokenShelf(f"{where}: ITEM is named '{item.name}'; name it '{name}' like its file.")
        return item

    def __iter__(self) -> Iterator[T]:
        return (self.get(name) for name in self.names())
