"""System calls for which Python's library has no name, with errors as OSError. Standard library alone: the keeper of a
child uses it before anything else is imported.
"""

from __future__ import annotations

import contextlib
import ctypes
import os

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_NAME = 15
PR_CAPBSET_READ = 23
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REC, MS_PRIVATE = 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 18

_CAPABILITY_VERSION = 0x20080522
_LIBC = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def prctl(option: int, value: object, pointer: object = 0) -> int:
    """prctl(2).

    Raises:
        OSError: the kernel refuses; of all of these.
    """
    return _checked(_LIBC.prctl(option, value, pointer, 0, 0), f"prctl {option}")


def take_name(name: str) -> None:
    """How lists of processes call this one; 15 letters at most."""
    prctl(PR_SET_NAME, ctypes.c_char_p(name.encode()[:15]))


def syscall(number: int, *arguments: object) -> int:
    """Any system call by its number; integers are passed as long ones."""
    passed = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return _checked(_LIBC.syscall(ctypes.c_long(number), *passed), f"system call {number}")


def unshare(flags: int) -> None:
    """unshare(2)."""
    _checked(_LIBC.unshare(flags), "unshare")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """mount(2)."""
    texts = [os.fsencode(each) for each in (source, target, kind)]
    _checked(_LIBC.mount(*texts, ctypes.c_ulong(flags), options.encode()), f"mounting {target}")


def drop_capabilities() -> None:
    """Give up every capability, and the right to get one again by starting a program. Whoever may not give up that
    right has no capability, and with ``no_new_privs`` never gets one.
    """
    capability = 0
    with contextlib.suppress(PermissionError):
        while _LIBC.prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0:
            prctl(PR_CAPBSET_DROP, capability)
            capability += 1
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    _checked(_LIBC.capset(header, (ctypes.c_uint32 * 6)()), "capset")
