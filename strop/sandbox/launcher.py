"""The keeper of one child: starts it confined, inherits whatever it leaves behind, and ends it all when the parent is
gone.

Run by `strop.sandbox.keeper` with a plan as JSON in its one argument, or forked of a nursery; it uses the standard
library alone and starts in some ten milliseconds. It makes itself the reaper of all its descendants (prctl(2),
PR_SET_CHILD_SUBREAPER), so that a daemon that left its session still stands in its process tree; the user's own process
stays untouched. What confines the child is a list of layers, put on one after the other between fork and exec. Where
the plan asks for namespaces, a process stands between: the first of the namespace, with which all others end.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from strop.sandbox import landlock, namespaces, seccomp
from strop.sandbox.kernel import (
    PR_SET_CHILD_SUBREAPER,
    PR_SET_DUMPABLE,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    drop_capabilities,
    prctl,
)
from strop.sandbox.processes import descendants

Become = Callable[[Mapping[str, Any]], None]

OOM_SCORE = 500
CANNOT_START = 127


def _own_session(plan: Mapping[str, Any]) -> None:
    keeper = os.getppid()
    os.setsid()
    # Whoever kills the keeper kills its child with it.
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if keeper != plan["keeper"] or os.getppid() != keeper:
        raise OSError("the keeper is gone already")


def _resource_limits(plan: Mapping[str, Any]) -> None:
    for name, value in plan["rlimits"].items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bound, bound))


def _first_to_be_killed(plan: Mapping[str, Any]) -> None:
    # When memory runs out the kernel shall take the child and not the user's process.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(OOM_SCORE), encoding="ascii")


def _no_new_privileges(plan: Mapping[str, Any]) -> None:
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def _write_here_alone(plan: Mapping[str, Any]) -> None:
    # In a namespace of processes there is nobody outside to be signalled.
    alone = NAMESPACES in plan["layers"]
    landlock.restrict(plan["writable"], landlock.FILES_SINCE if alone else landlock.SIGNALS_SINCE)


def _no_capabilities(plan: Mapping[str, Any]) -> None:
    drop_capabilities()


def _harmless_calls(plan: Mapping[str, Any]) -> None:
    seccomp.install()


LAYERS = {
    "session": _own_session,
    "rlimits": _resource_limits,
    "oom": _first_to_be_killed,
    "no_new_privileges": _no_new_privileges,
    "landlock": _write_here_alone,
    "capabilities": _no_capabilities,
    "seccomp": _harmless_calls,
}
NAMESPACES = "namespaces"
"""The layer that is put on before the fork."""


def _become_child(plan: Mapping[str, Any], status: int, become: Become | None) -> NoReturn:
    try:
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(plan["output"], 1)
        os.dup2(plan["output"], 2)
        os.chdir(plan["scratch"])
        for name in plan["layers"]:
            if name != NAMESPACES:
                LAYERS[name](plan)
        keep = {0, 1, 2, status, *plan["lent"]}
        for descriptor in map(int, os.listdir("/proc/self/fd")):
            if descriptor not in keep:
                with contextlib.suppress(OSError):
                    os.close(descriptor)
        os.set_inheritable(status, False)
        signal.pthread_sigmask(signal.SIG_SETMASK, set())
        if become is None:
            os.execve(plan["command"][0], plan["command"], plan["environment"])  # noqa: S606  (there is no shell)
    except (OSError, ValueError, KeyError) as error:
        os.write(status, f"refused {error}\n".encode())
        os._exit(CANNOT_START)
    # Behind this line nothing is the keeper's any more, neither what is raised nor how it ends.
    os.close(status)
    become(plan)
    sys.exit(0)


def _tell(status: int, line: str) -> None:
    # Nobody listens once the parent is gone.
    with contextlib.suppress(OSError):
        os.write(status, f"{line}\n".encode())


def _outcome(wait_status: int) -> str:
    code = os.waitstatus_to_exitcode(wait_status)
    return f"exited {code}" if code >= 0 else f"signal {-code}"


def _reap(child: int, status: int) -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, wait_status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            if pid == child:
                _tell(status, _outcome(wait_status))


def _start(plan: dict[str, Any], status: int, become: Become | None) -> int:
    """Start the child, in namespaces of its own where the plan says so; whose end is the child's end."""
    plan["keeper"] = os.getpid()
    if NAMESPACES not in plan["layers"]:
        child = _forked(plan, status, become)
        _tell(status, f"started {child}")
        return child
    try:
        namespaces.leave()
    except OSError as error:
        _tell(status, f"refused {error}")
        sys.exit(CANNOT_START)
    started, starts = os.pipe2(os.O_CLOEXEC)
    first = os.fork()
    if first == 0:
        os.close(started)
        _be_first(plan, status, starts, become)
    os.close(starts)
    os.read(started, 1)
    os.close(started)
    # Only here does the child have the number by which the parent knows it.
    for child in namespaces.children_of(first):
        _tell(status, f"started {child}")
    return first


def _be_first(plan: dict[str, Any], status: int, starts: int, become: Become | None) -> NoReturn:
    """The first process of the namespace: it waits for the child and for what that leaves behind, and tells the end."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    plan["keeper"] = os.getpid()
    try:
        namespaces.settle(plan["rlimits"].get("RLIMIT_FSIZE"), plan["hidden"])
    except OSError as error:
        _tell(status, f"refused {error}")
        os._exit(CANNOT_START)
    child = _forked(plan, status, become)
    # Nobody in here may look into it, whoever has its user's rights.
    prctl(PR_SET_DUMPABLE, 0)
    for descriptor in {plan["output"], plan["life"], *plan["lent"]}:
        os.close(descriptor)
    os.write(starts, b"!")
    while True:
        pid, wait_status = os.wait()
        if pid == child:
            _tell(status, _outcome(wait_status))
            os._exit(0)


def _forked(plan: Mapping[str, Any], status: int, become: Become | None) -> int:
    child = os.fork()
    if child == 0:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        _become_child(plan, status, become)
    return child


def _end_everything(plan: Mapping[str, Any], child: int, status: int) -> None:
    """The parent is gone: leave neither process nor folder."""
    until = time.monotonic() + 10.0
    while (left := descendants(os.getpid())) and time.monotonic() < until:
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        _reap(child, status)
        time.sleep(0.005)
    shutil.rmtree(plan["scratch"], ignore_errors=True)


def main() -> None:
    """Keep the child of the plan that stands on the command line."""
    keep(json.loads(sys.argv[1]), None)


def keep(plan: dict[str, Any], become: Become | None) -> None:
    """Start the child of the plan, report its end, and stay until the parent lets go of the life line. The child
    becomes the plan's command, or else does what ``become`` says.
    """
    status, life = plan["status"], plan["life"]
    # The parent ends its children itself: signals for the terminal's foreground group are not for the keeper.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    woken, wakes = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    child = _start(plan, status, become)
    for descriptor in {plan["output"], *plan["lent"]}:
        os.close(descriptor)
    poll = select.poll()
    poll.register(woken, select.POLLIN)
    poll.register(life, select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in poll.poll()}
        if woken in ready:
            os.read(woken, 4096)
            _reap(child, status)
        if life in ready:
            _end_everything(plan, child, status)
            return
