"""The user's own code behind a workload: which modules were imported from the user's folders, and what they held."""

from __future__ import annotations

import hashlib
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
    roots = [Path(folder).resolve() for folder in folders]
    # A copy: looking at a module may import another one.
    imported = dict(sys.modules if modules is None else modules)
    found: dict[str, str] = {}
    for name, module in imported.items():
        path = _file_of(module)
        if path is None or not any(path.is_relative_to(root) for root in roots):
            continue
        if _INSTALLED.isdisjoint(path.parts) and not any(path.is_relative_to(other) for other in _OTHERS):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return tuple(sorted(found.items()))


def _file_of(module: ModuleType | None) -> Path | None:
    """The module's file; None for what is built in, made up or gone."""
    where = vars(module).get("__file__") if isinstance(module, ModuleType) else None
    if not isinstance(where, str):
        return None
    path = Path(where)
    return path.resolve() if path.is_file() else None
