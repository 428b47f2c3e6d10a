"""Reading a package as a tree of parsed modules; every law starts from here.

A law takes the package's folder and answers with a list of sentences, one for each violation. That way the same law
runs over Strop itself and over the small planted trees of `test_laws_bite.py`.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "strop"


@dataclass(frozen=True)
class Module:
    """One parsed file of the package."""

    path: Path
    package: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, filename=str(self.path))

    @property
    def where(self) -> str:
        """The path as messages show it: `strop/stats/compare.py`."""
        return self.path.relative_to(self.package.parent).as_posix()

    @property
    def inside(self) -> str:
        """The path below the package: `stats/compare.py`."""
        return self.path.relative_to(self.package).as_posix()

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def name(self) -> str:
        """The dotted name: `strop.stats.compare`, `strop.stats` for the room's `__init__.py`."""
        parts = self.path.relative_to(self.package.parent).with_suffix("").parts
        return ".".join(parts[:-1] if self.is_package else parts)

    @property
    def room(self) -> str:
        """The first name below the package: `stats`; the package's own `__init__.py` is in no room."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 1 else ""


@dataclass(frozen=True)
class Import:
    """One import statement's target, with what is known about where it stands."""

    module: Module
    target: str
    names: tuple[str, ...]
    line: int
    in_function: bool

    @property
    def where(self) -> str:
        return f"{self.module.where}:{self.line}"

    @property
    def top(self) -> str:
        return self.target.split(".", maxsplit=1)[0]


def modules(package: Path) -> list[Module]:
    """Every Python file of the package, in a fixed order."""
    return [Module(path, package) for path in sorted(package.rglob("*.py")) if "__pycache__" not in path.parts]


def imports(module: Module) -> Iterator[Import]:
    """Every import of the file: at its top, in functions, under TYPE_CHECKING, and `import_module` of a fixed name."""
    yield from _imports_below(module, module.tree, in_function=False)


def _imports_below(module: Module, node: ast.AST, *, in_function: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        yield from _imports_of(module, child, in_function)
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _imports_below(module, child, in_function=in_function or is_function)


def _imports_of(module: Module, node: ast.AST, in_function: bool) -> Iterator[Import]:
    match node:
        case ast.Import(names=names):
            for alias in names:
                yield Import(module, alias.name, (), node.lineno, in_function)
        case ast.ImportFrom(module=target, names=names, level=level):
            absolute = _absolute(module, target or "", level)
            yield Import(module, absolute, tuple(alias.name for alias in names), node.lineno, in_function)
        case ast.Call(
            func=ast.Name(id=called) | ast.Attribute(attr=called), args=[ast.Constant(value=str(target)), *_]
        ):
            if called in {"import_module", "__import__"}:
                yield Import(module, target, (), node.lineno, in_function)


def _absolute(module: Module, target: str, level: int) -> str:
    if level == 0:
        return target
    here = module.name.split(".")
    base = here[: len(here) - level + (1 if module.is_package else 0)]
    return ".".join([*base, target] if target else base)


def own_targets(one: Import, known: set[str]) -> Iterator[str]:
    """The modules of the package that this import executes: `from strop.stats import compare` names the file."""
    if one.top != one.module.package.name:
        return
    for name in one.names or ("",):
        deeper = f"{one.target}.{name}"
        yield deeper if deeper in known else one.target
