"""One child as the line sees it: questions with deadlines, the clock, and a word for every way in which it can end."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar, cast

from strop.errors import ChildFault
from strop.records.evidence import CrashEvidence, CrashKind, Stage
from strop.sandbox.arena import Arena, ArenaSpoiled
from strop.sandbox.channel import ChildEnded, Deadline, NoAnswer
from strop.sandbox.device_memory import is_on_device
from strop.sandbox.process import Process
from strop.sandbox.status import KEEPER_LOST
from strop.wire import messages as say
from strop.wire.codec import CodecError, decode, encode
from strop.wire.frames import GO, Frame, FrameError, FrameKind, pack
from strop.wire.layout import Layout
from strop.wire.omission import Omit
from strop.wire.tensors import Tensors

LOG = logging.getLogger(__name__)
Reply = TypeVar("Reply")

MAP_TIMEOUT_S = 120.0
ENOUGH_PROCESSORS = 4
_HAS_PROCESSORS = len(os.sched_getaffinity(0)) >= ENOUGH_PROCESSORS
LAST_WORDS_S = 2.0
_FROM_OUTSIDE = (("signal", str(int(signal.SIGKILL))), ("lost", KEEPER_LOST))
"""Ends that code of a trusted child does not bring about itself."""
DETAIL_CHARS = 1000
TAIL_CHARS = 8000

_STAGES: dict[type, Stage] = {
    say.DrawParameters: Stage.PARAMETERS,
    say.Deliver: Stage.PARAMETERS,
    say.DrawInputs: Stage.VALUES,
    say.Expect: Stage.VALUES,
    say.Perturb: Stage.VALUES,
    Omit: Stage.VALUES,
    say.Run: Stage.VALUES,
    say.Accept: Stage.VALUES,
    say.AskProfile: Stage.TIME,
    say.AskMemory: Stage.TIME,
}
_NAMES = {
    say.ChildRole.REFERENCE: "The reference's process",
    say.ChildRole.BASELINE: "The baseline's process",
    say.ChildRole.CANDIDATE: "The candidate's process",
    say.ChildRole.RECIPE: "The recipe's process",
}


class Child:
    """Implements `strop.ports.ChildPort` over a `Process`. Not for use by several threads at once.

    After any fault but one that its code raised the process is gone, and every further call raises that fault again.
    ``stage`` is the stage that faults are put down to; None leaves that to the request.
    """

    def __init__(self, role: say.ChildRole, process: Process) -> None:
        self.role = role
        self.stage: Stage | None = None
        self._process = process
        self._fault: ChildFault | None = None
        self._is_asked = False

    @property
    def given(self) -> Arena:
        """Parameters, buffers and inputs: what the parent hands in."""
        return self._process.given

    @property
    def made(self) -> Arena:
        """Outputs and touched state: what the child hands back."""
        return self._process.made

    def ask(self, request: say.RequestMessage, answer: type[Reply], timeout_s: float) -> Reply:
        """Send one request and wait for its answer at most ``timeout_s`` seconds.

        Raises:
            ChildFault: the code behind the wall raised, or the child ended, hung, broke a limit or the format.
        """
        default = _STAGES.get(type(request), Stage.BUILD)
        with self._putting_down(self.stage or default, f"'{request.ask}'", timeout_s):
            began_s = time.monotonic()
            deadline = Deadline.after(timeout_s)
            self._settle()
            self._process.channel.send_frame(Frame(FrameKind.RECORD, encode(request)), deadline)
            frame = self._process.channel.receive(deadline)
            LOG.debug("%s answered '%s' in %.0f ms", self.role, request.ask, (time.monotonic() - began_s) * 1e3)
            if frame.kind is not FrameKind.RECORD:
                raise FrameError(f"a {frame.kind.name} frame came where an answer was due")
            return self._understood(answer, frame.body, self.stage or default)

    def map(self, given: Layout, made: Layout) -> None:
        """Give both arenas their size and have the child map them; may be called again, arenas then grow where they
        must.
        """
        with self._putting_down(self.stage or Stage.BUILD, "the lending of memory", MAP_TIMEOUT_S):
            # What lies on a device is no part of the memory that is watched.
            lent = (layout.total_bytes for layout in (given, made) if not is_on_device(layout))
            self._process.watch.lent_bytes = sum(lent)
            self.given.resize(given)
            self.made.resize(made)
        request = say.Map(
            given=given, made=made, given_handle=self.given.handle.hex(), made_handle=self.made.handle.hex()
        )
        self.ask(request, say.Done, MAP_TIMEOUT_S)
        self.given.release_former()
        self.made.release_former()

    def time_calls(self, calls: int, slot: int, timeout_s: float) -> int:
        """Nanoseconds on the monotonic clock from "go" to the end of our own copy of one slot of ``made``, of which
        the child is not told; ``stopped`` returns that copy.

        Raises:
            ChildFault: as for ``ask``.
        """
        go = pack(Frame(FrameKind.GO, GO.pack(calls)))
        channel, made = self._process.channel, self.made
        with (
            self._putting_down(self.stage or Stage.TIME, f"{calls} timed calls", timeout_s),
            self._process.watch.quiet.keep(),
        ):
            made.prepare_stop()
            self._settle()
            deadline = Deadline.after(timeout_s)
            began_ns = time.monotonic_ns()
            channel.send(go, deadline)
            # A processor that sleeps while a device works takes long to wake, and never equally long.
            frame = channel.receive(deadline, awake=bool(made.handle) and _HAS_PROCESSORS)
            made.stop(slot)
            ended_ns = time.monotonic_ns()
            if frame.kind is FrameKind.RECORD:
                self._understood(say.Raised, frame.body, self.stage or Stage.TIME)
            if frame.kind is not FrameKind.DONE or frame.body:
                raise FrameError(f"a {frame.kind.name} frame came where the end of the timed calls was due")
        LOG.debug("%s did %d timed calls in %.1f ms", self.role, calls, (ended_ns - began_ns) / 1e6)
        return ended_ns - began_ns

    def stopped(self) -> Tensors:
        """What the last ``time_calls`` found in its slot as the clock stopped; it can be asked for once."""
        return self.made.stopped()

    def log_tail(self) -> str:
        """The end of what the child printed."""
        return self._process.watch.tail()

    def close(self) -> None:
        """End the child, everything that it started, and what it was lent; idempotent."""
        self._process.end(in_peace=not self._is_asked and self._fault is None)

    def _settle(self) -> None:
        self.given.settle()
        self.made.settle()

    def _understood(self, answer: type[Reply], body: bytes, stage: Stage) -> Reply:
        """The answer, unless it is the news that the code behind the wall raised."""
        try:
            reply = decode(answer, body)
        except CodecError as first:
            try:
                reply = decode(say.Raised, body)
            except CodecError:
                raise first from None
        if isinstance(reply, say.Raised):
            fault = ChildFault(self._raised(reply, stage))
            if reply.kind == "device":
                # Nothing can run there any more, and the device keeps what the process holds until it has ended.
                self._process.kill()
                self._fault = fault
            raise fault
        return cast(Reply, reply)

    def _raised(self, reply: say.Raised, stage: Stage) -> CrashEvidence:
        kind = CrashKind.INFRASTRUCTURE
        if reply.who != "strop":
            kind = CrashKind.DEVICE if reply.kind == "device" else CrashKind.RAISED
        if reply.who == "candidate" and reply.kind == "memory":
            kind = CrashKind.MEMORY
        if kind is CrashKind.RAISED and self._process.watch.over_disk():
            kind = CrashKind.DISK
        return CrashEvidence(
            stage=stage,
            kind=kind,
            detail=_plain(reply.detail, DETAIL_CHARS),
            log_tail=_plain(reply.trace, TAIL_CHARS, end=True),
        )

    @contextmanager
    def _putting_down(self, stage: Stage, what: str, timeout_s: float) -> Iterator[None]:
        """Turn everything that can happen to the child into one fault, put down to ``stage``."""
        if self._fault is not None:
            raise self._fault
        try:
            if self._process.channel.has_unasked_answer():
                raise FrameError("it answered before it was asked")
            self._is_asked = True
            yield
            self._is_asked = False
        except ChildFault:
            self._is_asked = False
            raise
        except NoAnswer:
            fault = self._end(
                stage, CrashKind.TIMEOUT, f"gave no answer to {what} within {timeout_s:g} s and was ended"
            )
        except ChildEnded:
            fault = self._explained(stage, what)
        except (FrameError, CodecError) as error:
            fault = self._end(stage, CrashKind.PROTOCOL, f"broke the format in answer to {what}: {error}")
        except ArenaSpoiled as error:
            fault = self._end(stage, CrashKind.INFRASTRUCTURE, f"had to be ended: {error}")
        else:
            return
        self._fault = fault
        raise fault

    def _explained(self, stage: Stage, what: str) -> ChildFault:
        """Why the pipe went dead: the status comes a moment after it."""
        status = self._process.status
        ended = status.wait(LAST_WORDS_S)
        if not ended:
            return self._end(stage, CrashKind.PROTOCOL, f"closed its pipe before it answered {what}, and was ended")
        kind = {
            "exited": CrashKind.EXITED,
            "signal": CrashKind.SIGNAL,
            "lost": CrashKind.SIGNAL,
            "refused": CrashKind.INFRASTRUCTURE,
        }[status.end]
        if not self.role.is_judged and (status.end, status.value) in _FROM_OUTSIDE:
            kind = CrashKind.INFRASTRUCTURE
        return self._end(stage, kind, f"{status.sentence()} before it answered {what}")

    def _end(self, stage: Stage, kind: CrashKind, detail: str) -> ChildFault:
        self._process.kill()
        self._process.watch.stop()
        # A broken limit explains everything that followed from it.
        kind, detail = self._process.watch.breach or (kind, detail)
        return ChildFault(
            CrashEvidence(
                stage=stage,
                kind=kind,
                detail=_plain(f"{_NAMES[self.role]} {detail}.", DETAIL_CHARS),
                log_tail=_plain(self.log_tail(), TAIL_CHARS, end=True),
            )
        )


def _plain(text: str, limit: int, *, end: bool = False) -> str:
    """Text from behind the wall without control characters, cut to ``limit`` characters at its end or its beginning."""
    clean = "".join(mark if mark.isprintable() or mark in "\n\t" else "\ufffd" for mark in text)
    if len(clean) <= limit:
        return clean
    return f"... {clean[-limit:]}" if end else f"{clean[:limit]} ..."
