"""Landlock: a process and what it starts may write below a few paths alone, open no TCP connection, and reach no
process outside by signals or abstract sockets (landlock(7)). What the kernel is too old for is left out, but for the
files.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable

from strop.sandbox.kernel import syscall

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_NET_SINCE, _SCOPE_SINCE = 4, 6
_TCP = 0b11
_SCOPES = 0b11

_WRITE_FILE, _REFER, _TRUNCATE = 1 << 1, 1 << 13, 1 << 14
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


def restrict(writable: Iterable[str]) -> None:
    """Restrict this thread, which needs ``no_new_privs``; paths that do not exist are left out.

    Raises:
        OSError: the kernel refuses.
    """
    known = version()
    writing = _WRITE_FILE | _MAKE_AND_REMOVE | (_REFER if known >= 2 else 0) | (_TRUNCATE if known >= 3 else 0)
    rules = _Ruleset(fs=writing, net=_TCP, scoped=_SCOPES)
    size = 24 if known >= _SCOPE_SINCE else 16 if known >= _NET_SINCE else 8
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
        allowed = writing if os.path.isdir(path) else writing & (_WRITE_FILE | _TRUNCATE)
        rule = _PathBeneath(allowed=allowed, descriptor=descriptor)
        syscall(_ADD, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(descriptor)
