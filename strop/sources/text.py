"""Reading what a user named: the bytes of a file, the names that a Python text defines, the nearest file."""

from __future__ import annotations

import ast
import difflib
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from strop.errors import StropError, UsageError
from strop.records.workload import Mode


@dataclass(frozen=True, slots=True)
class Names:
    """What a file defines at its top. A ``star`` import may define anything; ``mode`` is its constant MODE; ``needing``
    holds the classes whose constructor cannot be called without arguments.
    """

    defined: frozenset[str]
    star: bool
    mode: Mode | None
    needing: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Scan:
    defined: set[str] = field(default_factory=set)
    star: bool = False
    mode: ast.expr | None = None
    needing: set[str] = field(default_factory=set)


def digest_of(data: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


def names_in(data: bytes, where: str, error: type[StropError]) -> Names:
    """Names that a Python text defines at its top, found without running it.

    Raises:
        error: the text is not Python, or its MODE is neither "train" nor "eval".
    """
    try:
        tree = ast.parse(data, filename=where)
    except SyntaxError as fault:
        raise error(f"{where}, line {fault.lineno or 1}: {fault.msg}. Its author must mend the syntax.") from None
    except (ValueError, RecursionError, MemoryError) as fault:
        raise error(f"{where} cannot be parsed as Python: {fault or type(fault).__name__}.") from None
    scan = _Scan()
    for statement in _top_statements(tree.body):
        _note_names(statement, scan)
    mode = _mode_of(scan.mode, where, error)
    return Names(frozenset(scan.defined), scan.star, mode, frozenset(scan.needing))


def _top_statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if not isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for part in ("body", "orelse", "finalbody"):
                yield from _top_statements(getattr(statement, part, []))
            for handler in getattr(statement, "handlers", []):
                yield from _top_statements(handler.body)


def _note_names(statement: ast.stmt, scan: _Scan) -> None:
    match statement:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            scan.defined.add(name)
            if _needs_arguments(statement):
                scan.needing.add(name)
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            scan.star = scan.star or any(alias.name == "*" for alias in aliases)
            scan.defined |= {alias.asname or alias.name.split(".")[0] for alias in aliases}
        case ast.Assign(targets=targets, value=value):
            _note_targets(targets, value, scan)
        case ast.AnnAssign(target=target, value=value) if value is not None:
            _note_targets([target], value, scan)


def _needs_arguments(statement: ast.stmt) -> bool:
    """True for a class whose own ``__init__`` has parameters without a default."""
    if not isinstance(statement, ast.ClassDef):
        return False
    for each in statement.body:
        if isinstance(each, ast.FunctionDef) and each.name == "__init__":
            positional = [*each.args.posonlyargs, *each.args.args][1:]
            required = len(positional) > len(each.args.defaults)
            return required or any(default is None for default in each.args.kw_defaults)
    return False


def _note_targets(targets: Sequence[ast.expr], value: ast.expr, scan: _Scan) -> None:
    for target in targets:
        scan.defined |= {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
        if isinstance(target, ast.Name) and target.id == "MODE":
            scan.mode = value


def _mode_of(value: ast.expr | None, where: str, error: type[StropError]) -> Mode | None:
    if value is None:
        return None
    said = value.value if isinstance(value, ast.Constant) else None
    if said in [each.value for each in Mode]:
        return Mode(str(said))
    raise error(f'{where} sets MODE to {ast.unparse(value)}: write MODE = "train" or MODE = "eval".')


def read_bytes(path: Path, error: type[UsageError]) -> bytes:
    """The bytes of a file that a user named.

    Raises:
        error: there is no such file, or it cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise error(f"There is no file '{path}'.{near_file(path)}") from None
    except IsADirectoryError:
        raise error(f"'{path}' is a folder: name a file in it.") from None
    except NotADirectoryError:
        raise error(f"There is no file '{path}': part of the path is a file.") from None
    except PermissionError:
        raise error(f"You may not read '{path}': change its permissions or run as its owner.") from None
    except OSError as fault:
        raise error(f"'{path}' cannot be read: {fault.strerror}.") from None
    except ValueError as fault:
        raise error(f"{str(path)!r} is no path: {fault}.") from None


def is_there(typed: str | Path) -> bool:
    """True for a file or folder that exists. What no path can be, such as a long recipe, is none."""
    try:
        return Path(typed).exists()
    except (OSError, ValueError):
        return False


def is_file(typed: str | Path) -> bool:
    """True for a file that exists. What no path can be, such as a long recipe, is none."""
    try:
        return Path(typed).is_file()
    except (OSError, ValueError):
        return False


def near_file(path: Path) -> str:
    """A hint at the file beside ``path`` whose name is nearest; empty when there is none."""
    try:
        beside = [each.name for each in path.parent.iterdir() if each.suffix in (".py", ".pt2")]
    except (OSError, ValueError):
        return ""
    near = difflib.get_close_matches(path.name, beside, n=1, cutoff=0.6)
    return f" Did you mean '{path.parent / near[0]}'?" if near else ""
