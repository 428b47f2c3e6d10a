"""The user's own code behind a workload: which modules were imported from the user's folders, and what they held."""

from __future__ import annotations

import hashlib
import os
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType

_INSTALLED = frozenset({"site-packages", "dist-packages"})
_OTHERS = (
    Path(__file__).resolve().parents[1],
    *{Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")},
)


def own_code(
    folders: Iterable[str], modules: Mapping[str, ModuleType | None] | None = None
) -> tuple[tuple[str, str], ...]:
    """Names of all imported modules whose files lie below ``folders``, each with the SHA-256 of its file, by name.

    What was installed beside Python, Python's own library and Strop are left out: their versions are among the
    conditions of a measurement. Ask when everything was called once, so that what is imported late is there.
    """
    # As text: there are thousands of modules, and Path takes its time over each.
    roots = tuple(_folder(Path(folder)) for folder in folders)
    others = tuple(_folder(other) for other in _OTHERS)
    # A copy: looking at a module may import another one.
    imported = dict(sys.modules if modules is None else modules)
    found: dict[str, str] = {}
    for name, module in imported.items():
        file = _file_of(module)
        if not file.startswith(roots) or file.startswith(others) or not _INSTALLED.isdisjoint(Path(file).parts):
            continue
        found[name] = hashlib.sha256(Path(file).read_bytes()).hexdigest()
    return tuple(sorted(found.items()))


def _folder(path: Path) -> str:
    return os.path.join(path.resolve(), "")


def _file_of(module: ModuleType | None) -> str:
    """The module's file; empty for what is built in, made up or gone."""
    where = vars(module).get("__file__") if isinstance(module, ModuleType) else None
    return os.path.realpath(where) if isinstance(where, str) and os.path.isfile(where) else ""
