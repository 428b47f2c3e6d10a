"""How strongly a candidate is confined: the grades, the layers that each consists of, and which of them this machine
gives, found out by trying.
"""

from __future__ import annotations

import os
import sys
import tempfile
from enum import StrEnum
from functools import cache
from pathlib import Path

from strop.sandbox.keeper import Keeper, Plan
from strop.sandbox.processes import end_tree

TRY_S = 20.0
_PROCESS = ("session", "rlimits", "oom", "no_new_privileges")
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "dri", "kfd")


class Grade(StrEnum):
    """A: namespaces, Landlock, seccomp, and a user without any rights outside; B: Landlock and seccomp; C: a process
    with limits, and no more.
    """

    A = "A"
    B = "B"
    C = "C"


def layers_of(grade: Grade) -> tuple[str, ...]:
    """The layers by the names that the keeper knows, in the order in which they are put on."""
    more = {
        Grade.A: ("namespaces", "landlock", "capabilities", "seccomp"),
        Grade.B: ("landlock", "capabilities", "seccomp"),
        Grade.C: (),
    }
    return (*_PROCESS, *more[grade])


def writable_by(scratch: Path, cache: Path | None, grade: Grade) -> list[str]:
    """What a confined child may write to: its scratch folder, the compile cache if it is lent one, and devices."""
    devices = [f"/dev/{name}" for name in _DEVICES]
    devices += [f"/dev/{name}" for name in os.listdir("/dev") if name.startswith("nvidia")]
    if grade is Grade.A:
        # There it is its own; elsewhere what others share lies in it, and what is left in it would stay.
        devices.append("/dev/shm")  # noqa: S108
    # Of /proc its own entries alone: there are settings of the whole kernel, and root owns them in any namespace.
    return [str(scratch), *([str(cache)] if cache is not None else []), "/proc/self", *devices]


def best_grade() -> Grade:
    """The strongest that this machine gives."""
    return next(grade for grade in Grade if not why_not(grade))


@cache
def why_not(grade: Grade) -> str:
    """What stands against a grade on this machine, found out by starting a process under it; empty for nothing."""
    if grade is Grade.C:
        return ""
    with tempfile.TemporaryDirectory(prefix="strop-") as folder:
        scratch = Path(folder)
        command = [sys.executable, "-I", "-S", "-c", "pass"]
        keeper = Keeper(
            Plan(command=command, scratch=scratch, layers=layers_of(grade), writable=writable_by(scratch, None, grade))
        )
        ended = keeper.status.wait(TRY_S)
        end_tree(keeper.pid, "")
        keeper.kill()
        os.close(keeper.output)
        keeper.close()
    status = keeper.status
    if ended and (status.end, status.value) == ("exited", "0"):
        return ""
    return f"a process under it {status.sentence()}"
