"""The laws on habits: broad excepts, printing, units in names, the list of words. Each answers with its violations."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.tree import Module, modules

BROAD = {"Exception", "BaseException"}
# The one place that must survive whatever a candidate raises, and that turns it into Evidence.
MAY_CATCH_ALL = {"worker/guard.py"}

MAY_PRINT = ("cli/", "report/")
PRINTERS = {"print", "pprint"}

TIME_WORDS = {"time", "duration", "latency", "elapsed", "wall", "timeout", "deadline", "headroom", "period", "delay"}
SIZE_WORDS = {"memory", "bandwidth", "traffic"}
OTHER_WORDS = {"clock", "frequency", "temperature", "wattage"}
BARE_UNITS = {"ms", "us", "sec", "secs", "msec", "usec", "kb", "mb", "gb", "kib", "mib", "gib"}
UNITS = (
    "ns",
    "s",
    "seconds",
    "bytes",
    "bytes_per_s",
    "flop_per_s",
    "flops",
    "hz",
    "mhz",
    "celsius",
    "watts",
    "ratio",
    "share",
    "fraction",
    "count",
)


def broad_excepts(package: Path) -> list[str]:
    """Handlers that swallow everything, outside the one file that has to."""
    return [
        f"{module.where}:{node.lineno}: catches everything; name the errors that can be handled here"
        for module in modules(package)
        if module.inside not in MAY_CATCH_ALL
        for node in ast.walk(module.tree)
        if _catches_all(node)
    ]


def _catches_all(node: ast.AST) -> bool:
    match node:
        case ast.ExceptHandler(type=None):
            return True
        case ast.ExceptHandler(type=ast.Tuple(elts=caught)):
            return any(_is_broad(each) for each in caught)
        case ast.ExceptHandler(type=ast.expr() as caught):
            return _is_broad(caught)
        case ast.Call(func=ast.Name(id="suppress") | ast.Attribute(attr="suppress"), args=caught):
            return any(_is_broad(each) for each in caught)
    return False


def _is_broad(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in BROAD


def prints(package: Path) -> list[str]:
    """Printing outside the rooms that talk to people."""
    return [
        f"{module.where}:{node.lineno}: prints; log it, or return it to cli/ or report/"
        for module in modules(package)
        if not module.inside.startswith(MAY_PRINT)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in PRINTERS
    ]


def fields_without_unit(package: Path) -> list[str]:
    """Number fields of records that speak of time, memory or rates without saying the unit in their name."""
    return [
        f"{module.where}:{line}: {field} is a quantity without a unit; end its name in one of _{', _'.join(UNITS)}"
        for module in modules(package)
        if module.room == "records"
        for line, field in _number_fields(module)
        if _lacks_unit(field)
    ]


def _number_fields(module: Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef):
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and _holds_number(field):
                    yield field.lineno, field.target.id


def _holds_number(field: ast.AnnAssign) -> bool:
    return any(isinstance(each, ast.Name) and each.id in {"float", "int"} for each in ast.walk(field.annotation))


def _lacks_unit(field: str) -> bool:
    words = field.lower().split("_")
    if set(words) & BARE_UNITS:
        return True
    speaks = set(words) & (TIME_WORDS | SIZE_WORDS | OTHER_WORDS)
    return bool(speaks) and not any(field == unit or field.endswith(f"_{unit}") for unit in UNITS)


def unlisted_words(package: Path, words: str) -> list[str]:
    """Public record classes that the list of words does not name; `words` is the text of docs/words.md."""
    return [
        f"{module.where}:{node.lineno}: {node.name} is not in docs/words.md; run `make pages`"
        for module in modules(package)
        if module.room == "records"
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and f"`{node.name}`" not in words
    ]
