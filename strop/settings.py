"""The only reader of the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from strop.errors import UsageError

_COUNT = re.compile(r"0*[1-9][0-9]{0,3}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment says.

    ``home`` (STROP_HOME) holds ledger, artefacts and calibration; ``logs`` (STROP_LOGS) is a comma-separated list of
    ``room`` or ``room:LEVEL``;
    ``disabled`` (STROP_DISABLE=1) switches everything off; ``kernelbench`` (STROP_KERNELBENCH) is the suite behind
    ``kernelbench:L/ID``; ``compilers`` (CC, CXX) are what children, whose environment is empty, compile with;
    ``isolation`` (STROP_ISOLATION) is the grade that candidates have to be confined by, empty for the strongest there
    is.
    """

    home: Path
    logs: str = ""
    disabled: bool = False
    kernelbench: str = ""
    threads: int = 1
    compilers: tuple[tuple[str, str], ...] = ()
    isolation: str = ""


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Read STROP_* from ``environment`` (default: this process's).

    Raises:
        UsageError: a value that cannot be understood.
    """
    env = os.environ if environment is None else environment
    cache = env.get("XDG_CACHE_HOME") or str(Path(env.get("HOME", "/tmp")) / ".cache")  # noqa: S108  (no home: the system's temporary folder)
    disabled = env.get("STROP_DISABLE", "0").lower()
    if disabled not in ("", "0", "1", "true", "false"):
        raise UsageError(f"STROP_DISABLE is '{disabled}': set it to 1 or 0.")
    threads = env.get("STROP_THREADS", "1")
    if not _COUNT.match(threads):
        raise UsageError(f"STROP_THREADS is '{threads}': set it to a whole number from 1 to 9999.")
    isolation = env.get("STROP_ISOLATION", "").upper()
    if isolation not in ("", "A", "B", "C"):
        raise UsageError(f"STROP_ISOLATION is '{isolation}': set it to A, B or C, or to nothing for the strongest.")
    own = env.get("STROP_HOME")
    home = at_home(own, "STROP_HOME") if own else at_home(cache, "XDG_CACHE_HOME") / "strop"
    return Settings(
        home=home,
        logs=env.get("STROP_LOGS", ""),
        disabled=disabled in ("1", "true"),
        kernelbench=env.get("STROP_KERNELBENCH", ""),
        threads=int(threads),
        isolation=isolation,
        compilers=tuple((name, env[name]) for name in ("CC", "CXX") if env.get(name)),
    )


def at_home(path: str, said_by: str, error: type[UsageError] = UsageError) -> Path:
    """``path`` with a leading ``~`` or ``~user`` replaced by that user's folder; ``said_by`` is where it was named.

    Raises:
        error: nobody has that name, or it is no path.
    """
    if "\0" in path:
        raise error(f"{said_by} is {path!r}, which is no path: name a folder.")
    try:
        return Path(path).expanduser()
    except RuntimeError:
        user = path.split("/")[0]
        raise error(f"{said_by} is '{path}', and '{user}' is nobody's home here: write the path in full.") from None
