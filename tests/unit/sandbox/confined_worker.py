"""What a confined child may try, one deed each: whatever succeeds that should not is raised as a sentence.

Run by `test_confinement.py` through the scripted worker; standard library alone.
"""

import ctypes
import fcntl
import mmap
import os
import resource
import socket
import time
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
SECRET = "SECRET_OF_SOMEBODY"
PTRACE_ATTACH, PTRACE = 16, {"x86_64": 101, "aarch64": 117}[os.uname().machine]
CLONE_NEWUSER = 0x10000000
PR_SET_SECCOMP, MODE_STRICT = 22, 1


class Escaped(RuntimeError):
    """Something worked that must not."""


def refused(what, deed, *arguments, **named):
    try:
        found = deed(*arguments, **named)
    except (OSError, ConnectionError):
        return
    raise Escaped(f"{what} worked: {found!r}")


def open_to_change(path):
    with os.fdopen(os.open(path, os.O_WRONLY), "wb"):
        return path


def zero(result):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def read_environments():
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                environment = (folder / "environ").read_bytes()
            except OSError:
                continue
            if SECRET.encode() in environment:
                raise Escaped(f"process {folder.name} has the secret")


def reach_the_network():
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        refused("a socket", socket.socket, socket.AF_INET, kind)
        refused("a socket", socket.socket, socket.AF_INET6, kind)
    refused("a raw socket", socket.socket, socket.AF_PACKET, socket.SOCK_RAW)
    refused("netlink", socket.socket, socket.AF_NETLINK, socket.SOCK_RAW)


def reach_a_bound_socket():
    """Those of other processes, with a name or in the file system: Landlock knows the first kind alone."""
    refused("a local socket that sends to any address", socket.socket, socket.AF_UNIX, socket.SOCK_DGRAM)
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        with socket.socket(socket.AF_UNIX, kind) as ours, socket.socket(socket.AF_UNIX, kind) as other:
            # This much a GPU's driver needs.
            ours.bind(f"\0strop-{os.getpid()}-{kind}")
            ours.listen()
            refused("a connection", other.connect, ours.getsockname())
    refused("sockets that send to any address", socket.socketpair, socket.AF_UNIX, socket.SOCK_DGRAM)
    here, there = socket.socketpair()
    with here, there:
        here.send(b"x")


def change_attributes():
    """What Landlock does not see; what is there already is set again."""
    outside = os.stat(__file__)
    with open(__file__, "rb") as file:
        for each in (__file__, file.fileno()):
            refused(f"chmod {each}", os.chmod, each, outside.st_mode & 0o7777)
            refused(f"utime {each}", os.utime, each, ns=(outside.st_atime_ns, outside.st_mtime_ns))
            refused(f"chown {each}", os.chown, each, outside.st_uid, -1)
        get_flags, set_flags = 0x80086601, 0x40086602
        try:
            flags = fcntl.ioctl(file, get_flags, bytes(8))
        except OSError:
            pass
        else:
            refused("flags of a file", fcntl.ioctl, file, set_flags, flags)
    own = Path(os.environ["HOME"]) / "attributed"
    own.write_text("x")
    refused("an attribute", os.setxattr, own, "user.strop", b"x")


def hinder_others():
    for pid in others():
        refused(f"looking at the limits of {pid}", resource.prlimit, pid, resource.RLIMIT_CORE)
        refused(f"the processors of {pid}", os.sched_setaffinity, pid, os.sched_getaffinity(0))
    refused("a priority", os.setpriority, os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0))
    os.sched_setaffinity(0, os.sched_getaffinity(0))


def ask_devices():
    """To read from one is no right to command it."""
    is_a_terminal = 0x5413  # TIOCGWINSZ
    descriptor = os.open("/dev/ptmx", os.O_RDONLY | os.O_NOCTTY)
    refused("a command to a device", fcntl.ioctl, descriptor, is_a_terminal, bytes(8))
    os.close(descriptor)


def leave_memory():
    """System V memory lives on when its process has ended."""
    number = {"x86_64": 29, "aarch64": 194}[os.uname().machine]
    refused("System V memory", lambda: zero(LIBC.syscall(number, 0, 4096, 0o600)))


def write_outside():
    own = Path(os.environ["HOME"])
    for folder in (own.parent, Path("/var/tmp"), Path("/"), Path("/etc"), Path("/usr"), own / "..", Path.cwd().parent):
        refused(f"writing to {folder}", (folder / "strop-was-here").write_text, "x")
        refused(f"a folder in {folder}", (folder / "strop-was-here").mkdir)
        refused(f"a link in {folder}", (folder / "strop-was-here").symlink_to, "x")
    for path in (os.__file__, "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/1/oom_score_adj"):
        refused(f"changing {path}", open_to_change, path)
    (own / "inside").write_text("x")
    refused("a link to the outside", os.link, own / "inside", own.parent / "strop-was-here")
    refused("moving out", os.rename, own / "inside", own.parent / "strop-was-here")
    (own / "folder").mkdir()
    (own / "inside").rename(own / "folder" / "inside")


def trace():
    for pid in (1, os.getppid()):
        refused("ptrace", lambda pid=pid: zero(LIBC.syscall(PTRACE, PTRACE_ATTACH, pid, 0, 0)))
        refused("the memory of another", os.open, f"/proc/{pid}/mem", os.O_RDONLY)


def become_more():
    refused("a user namespace", lambda: zero(LIBC.unshare(CLONE_NEWUSER)))
    refused("a mount", lambda: zero(LIBC.mount(b"none", b"/tmp", b"tmpfs", 0, None)))
    refused("a filter of its own", lambda: zero(LIBC.prctl(PR_SET_SECCOMP, MODE_STRICT, 0, 0, 0)))
    refused("a new root", lambda: zero(LIBC.chroot(b"/tmp")))


def signal_others():
    for pid in others():
        refused(f"a signal to {pid}", os.kill, pid, 0)


def others():
    """Whoever it can see but itself, and who started it."""
    seen = {int(name) for name in os.listdir("/proc") if name.isdigit()} | {os.getppid()}
    return sorted(seen - {os.getpid(), 0, 1})


def share_memory():
    path = Path("/dev/shm/strop-was-here")
    with path.open("w+b") as file:
        file.truncate(4096)
        with mmap.mmap(file.fileno(), 4096) as memory:
            memory[0] = 1
    time.sleep(0.2)


DEEDS = {
    deed.__name__: deed
    for deed in (
        *(read_environments, reach_the_network, reach_a_bound_socket, write_outside, trace, become_more),
        *(signal_others, hinder_others, change_attributes, ask_devices, share_memory, leave_memory),
    )
}
