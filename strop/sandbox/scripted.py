"""A child that nobody talks to: its questions lie in a file before it starts, its answers in another when it has ended.

Tools that start the program which they watch keep no pipe of ours open, and need none this way.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from strop.sandbox.process import Process, Setup
from strop.wire.codec import CodecError, decode, encode
from strop.wire.frames import Frame, FrameError, FrameKind, PipeClosed, pack, read_frame
from strop.wire.messages import ChildRole, Raised, ReplyMessage, RequestMessage

ANSWERS = ".answers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a scripted child ended: ``because`` is empty when every question was answered and nothing raised, else one
    sentence. ``report`` is what the tool around it wrote, ``printed`` the end of what both printed.
    """

    because: str
    report: str
    printed: str


def run_script(
    setup: Setup,
    role: ChildRole,
    requests: Sequence[RequestMessage],
    tool: Callable[[Path], Sequence[str]],
    timeout_s: float,
) -> Ended:
    """Have a fresh child answer ``requests`` under a tool, and wait for its end at most ``timeout_s`` seconds.

    Args:
        tool: the command that the worker's own is put behind, given the file into which the tool shall write.

    Whatever interrupts the waiting ends the child and all that it started.
    """
    with tempfile.TemporaryDirectory(prefix="strop-script-") as folder:
        script, report = Path(folder, "script"), Path(folder, "report")
        script.write_bytes(b"".join(pack(Frame(FrameKind.RECORD, encode(request))) for request in requests))
        command = (*tool(report), sys.executable, "-m", "strop.worker", f"--script={script}", f"--role={role}")
        process = Process(role, replace(setup, command=lambda *_: command))
        in_peace = False
        try:
            is_late = not process.status.wait(timeout_s)
            in_peace = process.status.end == "exited"
            process.kill()
            process.watch.stop()
            because = _why(process, script.with_name(script.name + ANSWERS), len(requests))
            if is_late and process.watch.breach is None:
                because = f"It did not end within {timeout_s:g} s."
            return Ended(because=because, report=_text(report), printed=process.watch.tail())
        finally:
            process.end(in_peace=in_peace)


def _why(process: Process, answers: Path, asked: int) -> str:
    """What kept the child from answering everything, the first cause first."""
    if process.watch.breach is not None:
        return f"The process {process.watch.breach[1]}."
    try:
        given = _read(answers)
    except (FrameError, CodecError) as error:
        return f"The process broke the format: {error}."
    raised = next((reply for reply in given if isinstance(reply, Raised)), None)
    if raised is not None:
        return raised.detail
    return "" if len(given) == asked else f"The process {process.status.sentence()}."


def _read(answers: Path) -> list[ReplyMessage]:
    """The answers that are complete."""
    if not answers.is_file():
        return []
    descriptor = os.open(answers, os.O_RDONLY | os.O_CLOEXEC)
    try:
        given: list[ReplyMessage] = []
        while True:
            try:
                body = read_frame(descriptor).body
            except PipeClosed:
                return given
            given.append(decode(ReplyMessage, body))  # type: ignore[arg-type]
    finally:
        os.close(descriptor)


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
