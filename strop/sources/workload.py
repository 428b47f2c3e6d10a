"""WORKLOAD in each of its forms: a file, a factory, an exported program, a live object, a problem of a suite."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from strop.errors import BadWorkload
from strop.records.workload import Mode, SourceKind, Workload, WorkloadSource
from strop.sources.text import Names, digest_of, is_file, is_there, names_in, near_file, read_bytes

FORMS = "path/to/file.py, file.py:Class, package.module:factory, model.pt2, or kernelbench:LEVEL/ID with --suite"
_FACTORY = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)\Z")
_FIXES = {
    "get_inputs": "def get_inputs(): return [torch.randn(...)]",
    "get_init_inputs": "def get_init_inputs(): return []",
}


def read_workload(typed: str, *, mode: Mode | None = None, device: str = "cpu") -> Workload:
    """Read WORKLOAD in any of its forms but the suite's; ``mode`` overrules what the file says.

    Raises:
        BadWorkload: the file does not exist, is not Python, or lacks a name; the message holds the shortest fix.
    """
    path_text, _, entry = typed.rpartition(":") if re.search(r"\.py:[^/\\]*\Z", typed) else (typed, "", "Model")
    if path_text.endswith(".py"):
        return file_workload(typed, Path(path_text), entry, mode=mode, device=device)
    if typed.endswith(".pt2"):
        return _program_workload(typed, mode, device)
    match = _FACTORY.match(typed)
    if match and not is_there(typed):
        source = WorkloadSource(
            kind=SourceKind.FACTORY,
            where=typed,
            digest=digest_of(typed.encode()),
            entry=match.group(2),
            import_path=import_path(Path.cwd()),
        )
        return Workload(name=typed, source=source, mode=mode or Mode.TRAIN, device=device)
    if is_file(typed):
        raise BadWorkload(f"'{typed}' is neither a .py nor a .pt2 file. WORKLOAD is {FORMS}.")
    raise BadWorkload(f"'{typed}' is not a workload. WORKLOAD is {FORMS}.{near_file(Path(typed))}")


def file_workload(name: str, path: Path, entry: str, *, mode: Mode | None, device: str) -> Workload:
    """A workload from a Python file that follows the KernelBench convention."""
    data = read_bytes(path, BadWorkload)
    names = names_in(data, str(path), BadWorkload)
    kind = entry or "Model"
    wanted = [kind, *(["get_init_inputs"] if kind in names.needing else [])]
    wanted += [] if "get_samples" in names.defined else ["get_inputs"]
    missing = [] if names.star else [each for each in wanted if each not in names.defined]
    if missing:
        raise BadWorkload(_missing(path, missing, names, entry))
    source = WorkloadSource(
        kind=SourceKind.FILE,
        where=str(path.resolve()),
        digest=digest_of(data),
        entry=kind,
        import_path=import_path(path.resolve().parent),
    )
    return Workload(name=name, source=source, mode=mode or names.mode or Mode.TRAIN, device=device)


def _missing(path: Path, missing: Sequence[str], names: Names, entry: str) -> str:
    fixes = []
    for each in missing:
        if each in _FIXES:
            fixes.append(f"add: {_FIXES[each]}")
        else:
            near = difflib.get_close_matches(each, names.defined, n=1, cutoff=0.5)
            classes = sorted(name for name in names.defined if name[:1].isupper())
            other = near[0] if near else (classes[0] if len(classes) == 1 else "")
            hint = f", or name another class: {path}:{other}" if other else ""
            fixes.append(f"define class {each}(torch.nn.Module){hint}")
    return f"{path} does not define {' and '.join(missing)}. You must {'; '.join(fixes)}."


def _program_workload(typed: str, mode: Mode | None, device: str) -> Workload:
    """An exported program. Its own mode was fixed by the export; ``mode`` is that of a module judged against it, and
    programs are exported to be used for inference.
    """
    data = read_bytes(Path(typed), BadWorkload)
    if not data.startswith(b"PK"):
        raise BadWorkload(f"{typed} is not a program that torch.export.save wrote: it is no archive. Save it again.")
    source = WorkloadSource(
        kind=SourceKind.PROGRAM, where=str(Path(typed).resolve()), digest=digest_of(data), import_path=()
    )
    return Workload(name=typed, source=source, mode=mode or Mode.EVAL, device=device)


def import_path(first: Path) -> tuple[str, ...]:
    """``first``, then the folders that the user added to Python's path: a child's environment is empty."""
    own = {Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()}
    added = [Path(entry).resolve() for entry in sys.path if entry and Path(entry).is_dir()]
    users = [entry for entry in added if not any(entry.is_relative_to(each) for each in own)]
    return tuple(dict.fromkeys(str(entry) for entry in (first.resolve(), *users)))
