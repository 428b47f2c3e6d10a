"""Landlock: a process and what it starts may write below a few paths alone, ask nothing of other devices, open no TCP
connection, and reach no process outside by signals or abstract sockets (landlock(7)).
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterable

from strop.sandbox.kernel import syscall

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_NET_SINCE, _DEVICES_SINCE = 4, 5
FILES_SINCE, SIGNALS_SINCE = 3, 6
"""Versions: an older one lets files be emptied that it lets nobody write to, or lets every process be signalled."""
_TCP = 0b11
_SCOPES = 0b11

_WRITE_FILE, _REFER, _TRUNCATE, _ASK_DEVICE = 1 << 1, 1 << 13, 1 << 14, 1 << 15
_MAKE_AND_REMOVE = sum(1 << bit for bit in range(4, 13))


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("descriptor", ctypes.c_int32))


def version() -> int:
    """Of the kernel's Landlock.

    Raises:
        OSError: it has none, or it is switched off.
    """
    return syscall(_CREATE, 0, 0, _VERSION_FLAG)


def restrict(writable: Iterable[str], at_least: int) -> None:
    """Restrict this thread, which needs ``no_new_privs``; paths that do not exist are left out.

    Raises:
        OSError: the kernel refuses, or its version is not ``at_least`` the one that is needed.
    """
    known = version()
    if known < at_least:
        raise OSError(errno.ENOSYS, f"Landlock of this kernel has version {known}, and {at_least} is needed")
    writing = _WRITE_FILE | _MAKE_AND_REMOVE | _REFER | _TRUNCATE | (_ASK_DEVICE if known >= _DEVICES_SINCE else 0)
    rules = _Ruleset(fs=writing, net=_TCP, scoped=_SCOPES)
    size = 24 if known >= SIGNALS_SINCE else 16 if known >= _NET_SINCE else 8
    ruleset = syscall(_CREATE, ctypes.byref(rules), size, 0)
    try:
        for path in writable:
            _allow(ruleset, path, writing)
        syscall(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, writing: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        # Of what can be done to a folder, nothing can be done to a file.
        allowed = writing if os.path.isdir(path) else writing & (_WRITE_FILE | _TRUNCATE | _ASK_DEVICE)
        rule = _PathBeneath(allowed=allowed, descriptor=descriptor)
        syscall(_ADD, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(descriptor)
