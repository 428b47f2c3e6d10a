"""Seccomp: system calls that no kernel for a GPU or a CPU needs, and with which a process could look into others, leave
its confinement or reach the network, are refused (seccomp(2), classic BPF). What is refused raises PermissionError.

Here is also what Landlock does not see: owners, modes, times and attributes of files, sockets that other processes have
bound in the file system, limits and priorities of other processes, and memory that would outlive its process.
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
_NAMESPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET

# Instructions of classic BPF: load a word of the call's data, compare, test bits, return.
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT, _SECOND_ARGUMENT_AT = 0, 4, 16, 24
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
_X32 = 0x40000000
_LOCAL = 1
"""AF_UNIX. The driver of an NVIDIA GPU does not start unless it may make such a socket and bind a name to it."""
# Of the kinds of sockets SOCK_DGRAM and SOCK_RAW alone have it: such a socket can be sent from to any address. From the
# others nobody is reached, because nothing can be connected.
_UNCONNECTED = 0b10
# FS_IOC_SETFLAGS and FS_IOC_FSSETXATTR need no descriptor to write to; TIOCSTI and TIOCLINUX type on a terminal.
_REQUESTS = (0x40086602, 0x401C5820, 0x5412, 0x541C)

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
    "fchmodat2": 452,
    "setxattrat": 463,
    "removexattrat": 466,
    "open_tree_attr": 467,
    "file_setattr": 469,
}
"""Numbers that all architectures share, by name."""

_X86_64 = {
    "shmget": 29,
    "connect": 42,
    "semget": 64,
    "msgget": 68,
    "chmod": 90,
    "fchmod": 91,
    "chown": 92,
    "fchown": 93,
    "lchown": 94,
    "ptrace": 101,
    "utime": 132,
    "setpriority": 141,
    "sched_setparam": 142,
    "sched_setscheduler": 144,
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
    "setxattr": 188,
    "lsetxattr": 189,
    "fsetxattr": 190,
    "removexattr": 197,
    "lremovexattr": 198,
    "fremovexattr": 199,
    "clock_settime": 227,
    "utimes": 235,
    "mq_open": 240,
    "kexec_load": 246,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "ioprio_set": 251,
    "fchownat": 260,
    "futimesat": 261,
    "fchmodat": 268,
    "unshare": 272,
    "utimensat": 280,
    "perf_event_open": 298,
    "open_by_handle_at": 304,
    "clock_adjtime": 305,
    "setns": 308,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "kcmp": 312,
    "finit_module": 313,
    "sched_setattr": 314,
    "seccomp": 317,
    "kexec_file_load": 320,
    "bpf": 321,
    "userfaultfd": 323,
}
_AARCH64 = {
    "setxattr": 5,
    "lsetxattr": 6,
    "fsetxattr": 7,
    "removexattr": 14,
    "lremovexattr": 15,
    "fremovexattr": 16,
    "ioprio_set": 30,
    "umount2": 39,
    "mount": 40,
    "pivot_root": 41,
    "chroot": 51,
    "fchmod": 52,
    "fchmodat": 53,
    "fchownat": 54,
    "fchown": 55,
    "quotactl": 60,
    "utimensat": 88,
    "acct": 89,
    "unshare": 97,
    "kexec_load": 104,
    "init_module": 105,
    "delete_module": 106,
    "clock_settime": 112,
    "ptrace": 117,
    "sched_setparam": 118,
    "sched_setscheduler": 119,
    "setpriority": 140,
    "reboot": 142,
    "settimeofday": 170,
    "adjtimex": 171,
    "mq_open": 180,
    "msgget": 186,
    "semget": 190,
    "shmget": 194,
    "connect": 203,
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
    "sched_setattr": 274,
    "seccomp": 277,
    "bpf": 280,
    "userfaultfd": 282,
    "kexec_file_load": 294,
}
_X86_64_SPECIAL = {
    "ioctl": 16,
    "socket": 41,
    "socketpair": 53,
    "clone": 56,
    "prctl": 157,
    "sched_setaffinity": 203,
    "prlimit64": 302,
    "clone3": 435,
}
_AARCH64_SPECIAL = {
    "ioctl": 29,
    "sched_setaffinity": 122,
    "prctl": 167,
    "socket": 198,
    "socketpair": 199,
    "clone": 220,
    "prlimit64": 261,
    "clone3": 435,
}
# By machine: the architecture as the kernel names it, what is refused, and the calls whose arguments decide.
_MACHINES = {
    "x86_64": (0xC000003E, _X86_64 | _ALIKE, _X86_64_SPECIAL),
    "aarch64": (0xC00000B7, _AARCH64 | _ALIKE, _AARCH64_SPECIAL),
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
    first, second = _one(_LOAD, _FIRST_ARGUMENT_AT), _one(_LOAD, _SECOND_ARGUMENT_AT)
    lines += _rule(special["clone"], [first, _one(_IF_ANY_BIT, _NAMESPACES, 0, 1), *refuse, *allow])
    lines += _rule(special["prctl"], [first, _one(_IF_EQUAL, _PR_SET_SECCOMP, 0, 1), *refuse, *allow])
    for name in ("sched_setaffinity", "prlimit64"):
        # 0 is who calls; any other number may be another process of the same user.
        lines += _rule(special[name], [first, _one(_IF_EQUAL, 0, 1, 0), *refuse, *allow])
    connectable = [second, _one(_IF_ANY_BIT, _UNCONNECTED, 0, 1), *refuse, *allow]
    lines += _rule(special["socket"], [first, _one(_IF_EQUAL, _LOCAL, 1, 0), *refuse, *connectable])
    lines += _rule(special["socketpair"], connectable)
    requests = [part for each in _REQUESTS for part in (_one(_IF_EQUAL, each, 0, 1), *refuse)]
    lines += _rule(special["ioctl"], [second, *requests, *allow])
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
