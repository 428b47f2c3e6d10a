"""The edge of the process: what becomes of an exception that nobody handled, and who may write to standard output.

This is the only place where every kind of exception ends. It handles none of them: it says what happened and picks
the exit code. 2 and 3 come with the error itself, 130 is an interruption, anything else is a fault of ours (4), which
leaves a report file.
"""

from __future__ import annotations

import errno
import sys
import traceback
from contextlib import AbstractContextManager, redirect_stdout
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import typer

from strop.errors import StropError
from strop.report.jsons import Json, error_json, text
from strop.settings import read_settings

INTERRUPTED = 130
FAULT = 4
_REFUSALS = {errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS}


class Edge(AbstractContextManager["Edge"]):
    """Around one command. With ``--json`` standard output is kept for the one object; all else goes to stderr."""

    def __init__(self, wants_json: bool) -> None:
        self.wants_json = wants_json
        self._output: IO[str] = sys.stdout
        self._redirection = redirect_stdout(sys.stderr)

    def __enter__(self) -> Self:
        self._output = sys.stdout
        if self.wants_json:
            self._redirection = redirect_stdout(sys.stderr)
            self._redirection.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.wants_json:
            self._redirection.__exit__(kind, error, trace)
        if error is not None:
            self._end(error)

    def answer(self, value: Json) -> None:
        """Print the command's one object."""
        self._output.write(text(value) + "\n")
        self._output.flush()

    def _end(self, error: BaseException) -> None:
        match error:
            case typer.Exit() | typer.Abort() | SystemExit() | GeneratorExit() | BrokenPipeError():
                return
            case KeyboardInterrupt():
                self._say("KeyboardInterrupt", "Interrupted; nothing that was judged is lost.", INTERRUPTED, error)
            case StropError() if error.exit_code != FAULT:
                self._say(type(error).__name__, str(error), error.exit_code, error)
            case OSError() if error.errno in _REFUSALS:
                self._say(type(error).__name__, _refusal(error), 2, error)
            case _ if hasattr(error, "exit_code") and hasattr(error, "show"):
                self._misused(error)
            case _:
                where = leave_report(error)
                lead = str(error) if isinstance(error, StropError) else f"{type(error).__name__}: {error}"
                message = f"Internal fault: {lead}\nPlease report it with this file: {where}"
                self._say(type(error).__name__, message, FAULT, error, str(where))

    def _say(self, kind: str, message: str, exit_code: int, error: BaseException, report: str | None = None) -> None:
        sys.stderr.write(f"strop: {message}\n")
        if self.wants_json:
            self.answer(error_json(kind, message, exit_code, report))
        raise typer.Exit(exit_code) from error

    def _misused(self, error: BaseException) -> None:
        """The command line itself could not be read: Typer prints its own message; scripts get theirs."""
        if self.wants_json:
            message = str(getattr(error, "message", error))
            self.answer(error_json("UsageError", message, int(getattr(error, "exit_code", 2))))


def _refusal(error: OSError) -> str:
    where = f" '{error.filename}'" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk is full{where and ' at' + where}: free some space and run again; --resume goes on."
    return f"You may not write or read{where}: change its permissions, or set STROP_HOME to a folder that is yours."


def leave_report(error: BaseException) -> Path:
    """Write traceback and versions below the home's ``faults`` (or the system's temporary folder) and say where."""
    import tempfile
    from datetime import UTC, datetime

    body = "\n".join([*_circumstances(), "", "".join(traceback.format_exception(error))])
    name = f"fault-{datetime.now(UTC):%Y%m%dT%H%M%S%f}.txt"
    for folder in (_faults_folder(), Path(tempfile.gettempdir()) / "strop-faults"):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(body, encoding="utf-8")
        except OSError:
            continue
        return folder / name
    sys.stderr.write(body + "\n")
    return Path("(no file could be written; the report is above)")


def _faults_folder() -> Path:
    try:
        return read_settings().home / "faults"
    except StropError:
        return Path.cwd() / "strop-faults"


def _circumstances() -> list[str]:
    import platform
    import shlex

    lines = [f"command: {shlex.join(sys.argv)}", f"python: {sys.version}", f"platform: {platform.platform()}"]
    for package in ("strop", "torch", "triton", "numpy"):
        try:
            lines.append(f"{package}: {version(package)}")
        except PackageNotFoundError:
            lines.append(f"{package}: not installed")
    return lines
