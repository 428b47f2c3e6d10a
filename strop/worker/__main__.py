"""`python -m strop.worker --read FD --write FD --given FD --made FD --role ROLE`: one child, answering until the pipe
closes.

`python -m strop.worker --script FILE --role ROLE`: the questions lie in FILE, the answers go to FILE.answers; there are
no arenas, and no tensor is handed over.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.util
import os

if __name__ == "__main__":
    # What is imported stays: looking for garbage among it is a sixth of a start, a third with compilers.
    gc.disable()

from strop.records.tensor import HOST
from strop.wire.codec import decode, encode
from strop.wire.frames import GO, Frame, FrameKind, PipeClosed
from strop.wire.messages import ChildRole, Done, ReplyMessage, RequestMessage
from strop.worker.handlers import handle, play
from strop.worker.pipe import Pipe
from strop.worker.session import Session

_exit = os._exit
_PROCESSORS = len(os.sched_getaffinity(0))
COMPILERS_MODULES = (
    "torch._dynamo",
    "torch._functorch.aot_autograd",
    "torch._inductor.compile_fx",
    "torch._inductor.codegen.cpp",
    "triton",
    "torch._inductor.codegen.triton",
    "torch._inductor.runtime.triton_heuristics",
)


NO_ARENA = -1
# Between two timed rounds on a device: a processor that sleeps takes long to wake, and never equally long.
AWAKE_S = 0.05
ENOUGH_PROCESSORS = 4


def main() -> bool:
    """Serve the parent; False when the process may end in its own time, because a tool around it wants to see that."""
    given = _arguments()
    session = Session(role=ChildRole(given.role), given_descriptor=given.given, made_descriptor=given.made)
    if given.script:
        reading = os.open(given.script, os.O_RDONLY | os.O_CLOEXEC)
        writing = os.open(f"{given.script}.answers", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        serve(Pipe(reading, writing), session)
        return False
    serve(Pipe(given.read, given.write), session)
    return True


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m strop.worker")
    for name in ("read", "write", "given", "made"):
        parser.add_argument(f"--{name}", type=int, default=NO_ARENA, help="a descriptor that the parent opened")
    parser.add_argument("--script", default="", help="a file of questions, instead of the descriptors")
    parser.add_argument("--role", choices=[role.value for role in ChildRole], required=True)
    return parser.parse_args()


def warm_up(pipe: Pipe, role: ChildRole) -> None:
    """While nobody asks, import what compiling will take: the compiler's modules alone need seconds."""
    for module in COMPILERS_MODULES if role is not ChildRole.CANDIDATE else ():
        if pipe.is_asked() or importlib.util.find_spec(module.partition(".")[0]) is None:
            return
        importlib.import_module(module)


def _awake_s(device: str) -> float:
    """How long a child that was timed stays awake for its next round; where processors are scarce others need them."""
    return AWAKE_S if device != HOST and _PROCESSORS >= ENOUGH_PROCESSORS else 0.0


def serve(pipe: Pipe, session: Session) -> None:
    """Answer frame by frame. A frame that cannot be read ends the worker: parent and child come from one release."""
    warm_up(pipe, session.role)
    gc.freeze()
    gc.enable()
    awake_s = 0.0
    while True:
        try:
            frame = pipe.read(awake_s)
        except PipeClosed:
            return
        if frame.kind is FrameKind.GO:
            (calls,) = GO.unpack(frame.body)
            reply = play(session, calls)
            if isinstance(reply, Done):
                pipe.write_done()
                awake_s = _awake_s(session.opened.workload.device)
                continue
        else:
            reply = handle(session, decode(RequestMessage, frame.body))  # type: ignore[arg-type]
        pipe.write(Frame(FrameKind.RECORD, encode(reply, ReplyMessage)))


if __name__ == "__main__":
    if main():
        # Threads that a candidate left behind must not keep the process alive.
        _exit(0)
