"""Whatever foreign code raises ends here, as a word about whose code it was. Nothing else in Strop catches
everything.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, TypeVar

from strop.errors import BadCandidate, BadWorkload, NotSupported, StropError
from strop.records.evidence import Stage
from strop.wire.messages import Raised

Who = Literal["workload", "candidate", "strop"]
T = TypeVar("T")

DETAIL_CHARS = 1000
TRACE_CHARS = 4000
_NO_DEVICE = ("not compiled with cuda", "no nvidia driver", "no cuda gpus", "invalid device ordinal", "not linked with")
_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "cannot allocate memory", "not enough memory")


class Blamed(Exception):
    """Foreign code raised; ``who`` says whose it was, ``detail`` is one sentence for its author."""

    def __init__(self, who: Who, error: str, detail: str, trace: str = "") -> None:
        super().__init__(detail)
        self.who: Who = who
        self.error = error
        self.detail = detail
        self.trace = trace


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
        raise Blamed(who, type(error).__name__, _sentence(error, doing, fix), _trace(error)) from error


def contained(stage: Stage, work: Callable[[], T]) -> T | Raised:
    """Do one piece of work for the parent; a failure of any kind is an answer too."""
    try:
        return work()
    except Blamed as fault:
        return _raised(stage, fault.who, fault.error, fault.detail, fault.trace)
    except StropError as error:
        return _raised(stage, _responsible(error), type(error).__name__, str(error), "")
    except BaseException as error:
        detail = _sentence(error, "The worker itself", "Please report it.")
        return _raised(stage, "strop", type(error).__name__, detail, _trace(error))


def _raised(stage: Stage, who: Who, error: str, detail: str, trace: str) -> Raised:
    return Raised(
        stage=stage,
        who=who,
        error=_printable(error)[:DETAIL_CHARS],
        detail=_printable(detail)[:DETAIL_CHARS],
        trace=_printable(trace)[-TRACE_CHARS:],
    )


def _responsible(error: StropError) -> Who:
    if isinstance(error, BadCandidate):
        return "candidate"
    return "workload" if isinstance(error, BadWorkload | NotSupported) else "strop"


def _sentence(error: BaseException, doing: str, fix: str) -> str:
    text = _text(error)
    if isinstance(error, StropError):
        return text
    if isinstance(error, MemoryError) or any(sign in text.lower() for sign in _OUT_OF_MEMORY):
        fix = "It needs more memory than it may have: use smaller shapes."
    elif any(sign in text.lower() for sign in _NO_DEVICE):
        fix = "This machine has no such device: make everything on the device that the workload runs on."
    said = f": {text}" if text else ""
    return f"{doing} raised {type(error).__name__}{said}".rstrip(".") + "." + (f" {fix}" if fix else "")


def _text(error: BaseException) -> str:
    """The first line of the message; an exception's own ``__str__`` is foreign code as well."""
    try:
        lines = str(error).strip().splitlines()
    except BaseException:
        return "its message cannot be printed"
    return lines[0].strip() if lines else ""


def _trace(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error))[-TRACE_CHARS:]
    except BaseException:
        return "its traceback cannot be printed"


def _printable(text: str) -> str:
    """Text that survives JSON: no lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")
