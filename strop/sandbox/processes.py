"""Reading process trees from /proc and ending them, daemons that left their session included."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

MARK = "STROP_CHILD"
BLOCK_BYTES = 512
"""What ``st_blocks`` counts in."""
_ENDED, _HALF_GONE = "ZX", "H"
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _state_and_parent(pid: int) -> tuple[str, int] | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except _GONE:
        return None
    state, parent, threads = fields[0].decode(), int(fields[1]), int(fields[17])
    # The first thread of a process may end before the others: only the last one's end is the end of the process.
    return (_HALF_GONE if state in _ENDED and threads > 1 else state), parent


def descendants(root: int) -> set[int]:
    """Living processes below ``root``, zombies left out, ``root`` itself not included."""
    seen = {pid: found for pid in _pids() if (found := _state_and_parent(pid)) is not None}
    tree = {root}
    while more := {pid for pid, (_, parent) in seen.items() if parent in tree} - tree:
        tree |= more
    return {pid for pid in tree - {root} if seen[pid][0] not in _ENDED}


def marked(token: str) -> set[int]:
    """Living processes whose environment carries ``token``, wherever in the tree they hang."""
    entry = f"{MARK}={token}".encode()
    found = set()
    for pid in _pids():
        with contextlib.suppress(*_GONE):
            if entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0") and is_alive(pid):
                found.add(pid)
    return found


def is_alive(pid: int) -> bool:
    """Whether there is such a process, and it has not ended."""
    state = _state_and_parent(pid)
    return state is not None and state[0] not in _ENDED


def resident_bytes(pids: Iterable[int], lent_bytes: int) -> int:
    """Resident memory without mapped files and without the ``lent_bytes`` that the parent lends to each.

    Cheap, but pages that processes share through fork count once for each of them.
    """
    return sum(_own_bytes(f"/proc/{pid}/status", "RssAnon:", "RssShmem:", lent_bytes) for pid in pids)


def proportional_bytes(pids: Iterable[int], lent_bytes: int) -> int:
    """Like ``resident_bytes``, but a page counts once, divided among its users (Pss of proc(5)); takes milliseconds.

    A process that forbids being looked into (PR_SET_DUMPABLE) counts in full.
    """
    return sum(
        _own_bytes(f"/proc/{pid}/smaps_rollup", "Pss_Anon:", "Pss_Shmem:", lent_bytes)
        or resident_bytes([pid], lent_bytes)
        for pid in pids
    )


def _own_bytes(path: str, private: str, shared: str, lent_bytes: int) -> int:
    found = {private: 0, shared: 0}
    with contextlib.suppress(*_GONE):
        for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, rest = line.partition(" ") if "\t" not in line else line.partition("\t")
            if name in found:
                found[name] = int(rest.split()[0]) * 1024
    return found[private] + max(0, found[shared] - lent_bytes)


def busy_ticks(pid: int) -> int:
    """Processor time that the process has used, in clock ticks; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except _GONE:
        return 0
    return int(fields[11]) + int(fields[12])


def folder_bytes(folder: str) -> int:
    """Bytes that the files of a folder take on disk, links not followed; files that vanish meanwhile count nothing."""
    total, todo = 0, [folder]
    while todo:
        with contextlib.suppress(OSError), os.scandir(todo.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_blocks * BLOCK_BYTES
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
    return total


def end_tree(keeper: int, token: str, patience_s: float = 5.0) -> set[int]:
    """Kill everything below ``keeper`` and everything marked with ``token``; what could not be ended is returned.

    The keeper is left alive until the rest is gone, since it is what orphans fall to.
    """
    until = time.monotonic() + patience_s
    pause_s = 0.001
    while left := (descendants(keeper) | marked(token)) - {keeper, os.getpid()}:
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > until:
            return left
        time.sleep(pause_s)
        pause_s = min(0.05, 2 * pause_s)
    return set()
