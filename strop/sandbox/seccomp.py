"""Seccomp: system calls that no kernel for a GPU or a CPU needs, and with which a process could look into others, leave
its confinement or reach the network, are refused (seccomp(2), classic BPF). What is refused raises PermissionError.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

from strop.sandbox.kernel import (
    CLONE_NEWCGROUP,
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    prctl,
)

_PR_SET_SECCOMP = 22
_MODE_FILTER = 2
_AF_UNIX = 1
_NAMESPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET

# Instructions of classic BPF: load a word of the call's data, compare, test bits, return.
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
_X32 = 0x40000000

_ALIKE = {
    "pidfd_getfd": 438,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "process_madvise": 440,
    "mount_setattr": 442,
}
"""Numbers that all architectures share, by name."""

_X86_64 = {
    "ptrace": 101,
    "pivot_root": 155,
    "adjtimex": 159,
    "chroot": 161,
    "acct": 163,
    "settimeofday": 164,
    "mount": 165,
    "umount2": 166,
    "swapon": 167,
    "swapoff": 168,
    "reboot": 169,
    "iopl": 172,
    "ioperm": 173,
    "init_module": 175,
    "delete_module": 176,
    "quotactl": 179,
    "clock_settime": 227,
    "kexec_load": 246,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "unshare": 272,
    "perf_event_open": 298,
    "open_by_handle_at": 304,
    "clock_adjtime": 305,
    "setns": 308,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "kcmp": 312,
    "finit_module": 313,
    "seccomp": 317,
    "kexec_file_load": 320,
    "bpf": 321,
    "userfaultfd": 323,
}
_AARCH64 = {
    "umount2": 39,
    "mount": 40,
    "pivot_root": 41,
    "chroot": 51,
    "quotactl": 60,
    "acct": 89,
    "unshare": 97,
    "kexec_load": 104,
    "init_module": 105,
    "delete_module": 106,
    "clock_settime": 112,
    "ptrace": 117,
    "reboot": 142,
    "settimeofday": 170,
    "adjtimex": 171,
    "add_key": 217,
    "request_key": 218,
    "keyctl": 219,
    "swapon": 224,
    "swapoff": 225,
    "perf_event_open": 241,
    "open_by_handle_at": 265,
    "clock_adjtime": 266,
    "setns": 268,
    "process_vm_readv": 270,
    "process_vm_writev": 271,
    "kcmp": 272,
    "finit_module": 273,
    "seccomp": 277,
    "bpf": 280,
    "userfaultfd": 282,
    "kexec_file_load": 294,
}
# By machine: the architecture as the kernel names it, what is refused, and the calls whose arguments decide.
_MACHINES = {
    "x86_64": (0xC000003E, _X86_64 | _ALIKE, {"socket": 41, "clone": 56, "clone3": 435, "prctl": 157}),
    "aarch64": (0xC00000B7, _AARCH64 | _ALIKE, {"socket": 198, "clone": 220, "clone3": 435, "prctl": 167}),
}


def program(machine: str) -> bytes:
    """The filter for a machine (``platform.machine()``).

    Raises:
        OSError: its system calls are not known here.
    """
    if machine not in _MACHINES:
        raise OSError(errno.ENOSYS, f"the system calls of {machine} are not known")
    architecture, refused, special = _MACHINES[machine]
    refuse = [_one(_RETURN, _REFUSE | errno.EPERM)]
    allow = [_one(_RETURN, _ALLOW)]
    lines = [_one(_LOAD, _ARCHITECTURE_AT), _one(_IF_EQUAL, architecture, 1, 0), _one(_RETURN, _KILL)]
    lines += [_one(_LOAD, _NUMBER_AT)]
    if machine == "x86_64":
        # The same kernel answers to a second set of numbers.
        lines += [_one(_IF_AT_LEAST, _X32, 0, 1), *refuse]
    for number in sorted(refused.values()):
        lines += _rule(number, refuse)
    argument = _one(_LOAD, _FIRST_ARGUMENT_AT)
    lines += _rule(special["socket"], [argument, _one(_IF_EQUAL, _AF_UNIX, 1, 0), *refuse, *allow])
    lines += _rule(special["clone"], [argument, _one(_IF_ANY_BIT, _NAMESPACES, 0, 1), *refuse, *allow])
    lines += _rule(special["prctl"], [argument, _one(_IF_EQUAL, _PR_SET_SECCOMP, 0, 1), *refuse, *allow])
    # Its flags lie in memory, where a filter cannot read; libraries fall back on clone.
    lines += _rule(special["clone3"], [_one(_RETURN, _REFUSE | errno.ENOSYS)])
    return b"".join([*lines, *allow])


def install() -> None:
    """Put the filter on this thread, which needs ``no_new_privs``, and on all that it starts.

    Raises:
        OSError: the kernel refuses, or this machine's system calls are not known.
    """
    code = program(platform.machine())
    buffer = ctypes.create_string_buffer(code, len(code))
    prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(_Program(len(code) // 8, ctypes.addressof(buffer))))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def _one(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _rule(number: int, then: list[bytes]) -> list[bytes]:
    """What is decided about one system call; it always ends in a return."""
    return [_one(_IF_EQUAL, number, 0, len(then)), *then]
