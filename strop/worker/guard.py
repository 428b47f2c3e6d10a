"""Whatever foreign code raises ends here, as a word about whose code it was. Nothing else in Strop catches
everything.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, TypeVar

from strop.errors import BadCandidate, BadWorkload, NotSupported, StropError
from strop.records.evidence import Stage
from strop.targets._devices import is_refused
from strop.wire.messages import Raised

Who = Literal["workload", "candidate", "strop"]
Kind = Literal["raised", "memory", "device"]
T = TypeVar("T")

DETAIL_CHARS = 1000
TRACE_CHARS = 4000
_NO_DEVICE = ("not compiled with cuda", "no nvidia driver", "no cuda gpus", "invalid device ordinal", "not linked with")
_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "cannot allocate memory", "not enough memory")
_BAD_LAUNCH = ("[cuda]: invalid argument", "invalid configuration argument", "signed integer is greater than maximum")
_MEMORY_STATISTICS = re.compile(r"\s(?=GPU \d|Process \d|Of the allocated)")
_PLACE_IN_KERNEL = re.compile(r"at \d+:\d+:\Z")


class Blamed(Exception):
    """Foreign code raised; ``who`` says whose it was, ``detail`` is one sentence for its author."""

    def __init__(self, who: Who, error: str, detail: str, trace: str = "", *, for_memory: bool = False) -> None:
        super().__init__(detail)
        self.who: Who = who
        self.error = error
        self.detail = detail
        self.trace = trace
        self.for_memory = for_memory


@contextmanager
def foreign(who: Who, doing: str, fix: str = "") -> Iterator[None]:
    """Run somebody else's code; all that it raises, SystemExit and KeyboardInterrupt included, becomes a Blamed.

    Args:
        who: whose code runs inside the block.
        doing: subject of the sentence, such as "The model's forward()".
        fix: what its author can do about it.
    """
    try:
        yield
    except Blamed:
        raise
    except BaseException as error:
        sentence, trace = _sentence(error, doing, fix), _trace(error)
        raise Blamed(who, type(error).__name__, sentence, trace, for_memory=_is_for_memory(error)) from error


def contained(stage: Stage, work: Callable[[], T], owner: Who = "strop") -> T | Raised:
    """Do one piece of work for the parent; a failure of any kind is an answer too.

    ``owner`` is whose code this process runs: what it did to the device or took of the memory may show only later, in
    our own calls, and is its fault all the same.
    """
    try:
        return work()
    except Blamed as fault:
        kind = _kind(fault.for_memory)
        return _raised(stage, _at_fault(fault.who, kind, owner), fault.error, fault.detail, fault.trace, kind)
    except StropError as error:
        kind = _kind(for_memory=False)
        who = _at_fault(_responsible(error), kind, owner)
        return _raised(stage, who, type(error).__name__, str(error), "", kind)
    except BaseException as error:
        kind = _kind(_is_for_memory(error))
        who = owner if kind == "memory" and owner == "candidate" else _at_fault("strop", kind, owner)
        doing = "Waiting for the device" if kind == "device" else "Making room for its results"
        ours = who == "strop"
        detail = _sentence(error, "The worker itself" if ours else doing, "Please report it." if ours else "")
        return _raised(stage, who, type(error).__name__, detail, _trace(error), kind)


def _at_fault(who: Who, kind: Kind, owner: Who) -> Who:
    """Whoever's code meets a device that refuses the process: it is the owner's that brought that about."""
    return owner if kind == "device" else who


def _raised(stage: Stage, who: Who, error: str, detail: str, trace: str, kind: Kind) -> Raised:
    return Raised(
        stage=stage,
        who=who,
        error=_printable(error)[:DETAIL_CHARS],
        detail=_printable(detail)[:DETAIL_CHARS],
        trace=_printable(trace)[-TRACE_CHARS:],
        kind=kind,
    )


def _kind(for_memory: bool) -> Kind:
    """The device is asked itself: many of its errors are over once they were raised, and some end the whole process."""
    if is_refused():
        return "device"
    return "memory" if for_memory else "raised"


def _is_for_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or any(sign in _text(error).lower() for sign in _OUT_OF_MEMORY)


def _responsible(error: StropError) -> Who:
    if isinstance(error, BadCandidate):
        return "candidate"
    return "workload" if isinstance(error, BadWorkload | NotSupported) else "strop"


def _sentence(error: BaseException, doing: str, fix: str = "") -> str:
    text = _text(error)
    if isinstance(error, StropError):
        return text
    if _is_for_memory(error):
        text = _MEMORY_STATISTICS.split(text)[0]
        fix = "It needs more memory than it may have: use smaller shapes."
    elif any(sign in text.lower() for sign in _BAD_LAUNCH):
        fix = "A launch takes at most 2147483647 blocks along x and 65535 along y and z, and 1024 threads in a block."
    elif any(sign in text.lower() for sign in _NO_DEVICE):
        fix = "This machine has no such device: make everything on the device that the workload runs on."
    said = f": {text}" if text else ""
    return f"{doing} raised {type(error).__name__}{said}".rstrip(".") + "." + (f" {fix}" if fix else "")


def _text(error: BaseException) -> str:
    """The first line of the message; an exception's own ``__str__`` is foreign code as well.

    Where that says no more than the place in a kernel, as Triton's compiler does, the last line says what is wrong.
    """
    try:
        lines = str(error).strip().splitlines()
    except BaseException:
        return "its message cannot be printed"
    first = lines[0].strip() if lines else ""
    return f"{first} {lines[-1].strip()}" if len(lines) > 1 and _PLACE_IN_KERNEL.match(first) else first


def _trace(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error))[-TRACE_CHARS:]
    except BaseException:
        return "its traceback cannot be printed"


def _printable(text: str) -> str:
    """Text that survives JSON: no lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")
