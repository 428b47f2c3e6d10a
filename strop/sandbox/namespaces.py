"""Namespaces: a process tree with rights, processes, network, shared memory and mounts of its own (namespaces(7)).

The keeper leaves for a user namespace in which its user has no rights outside, and starts the first process of a
process namespace there: whatever happens, all others end with that one. It cannot be looked into, and sees no process
outside, so that no environment but its own can be read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from strop.sandbox.kernel import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
    mount,
    unshare,
)


def leave() -> None:
    """Enter new namespaces, in which this process keeps its user and group; the next process that it starts is the
    first one of the process namespace.

    Raises:
        OSError: the kernel refuses; of both.
    """
    user, group = os.getuid(), os.getgid()
    unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWUTS)
    # Groups can only be mapped by who can no longer change them.
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")


def settle(shared_bytes: int | None = None, hidden: Iterable[str] = ()) -> None:
    """As the first process: a view of its own on processes, and on shared memory, of which there is so much at most;
    and folders that look empty, where they exist.
    """
    unshare(CLONE_NEWNS)
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    bound = f",size={shared_bytes}" if shared_bytes else ""
    mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, f"mode=1777{bound}")  # noqa: S108  (nobody else sees it)
    for folder in filter(os.path.isdir, hidden):
        mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV, "size=4096")


def children_of(pid: int) -> list[int]:
    """Processes that ``pid`` started, by the numbers that are valid here."""
    found: list[int] = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == pid:
            found.append(int(name))
    return found
