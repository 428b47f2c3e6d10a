"""Where Dynamo had to leave the graph, and why: listed while a workload is captured."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch._dynamo import utils as dynamo_utils

from strop.capture.entry import SUFFIX
from strop.records.graph import GraphBreak

_EXPLANATION = re.compile(r"^\s*Explanation: (.+?)\s*$", re.MULTILINE)
_OUR_NAME = re.compile(rf"{SUFFIX}\d+")
_WORDS = {
    "generic_jump": "the control flow depends on the value of a tensor",
    "call_function": "a function was called that Dynamo does not trace",
}


@contextmanager
def graph_breaks() -> Iterator[list[GraphBreak]]:
    """Collect the breaks of every compilation inside the block; the list is complete when the block ends."""
    # Dynamo keeps one list per process of each. Neither is absent in a version that we support, but they are no
    # promise.
    reasons: list[Any] = getattr(dynamo_utils, "graph_break_reasons", [])
    reasons_before, frames_before = len(reasons), _compiled_frames()
    found: list[GraphBreak] = []
    try:
        yield found
    finally:
        new = [_break(reason) for reason in reasons[reasons_before:]]
        before = {id(frame) for frame in frames_before}
        new += [_skipped(frame) for frame in _compiled_frames() if id(frame) not in before and frame.fail_reason]
        # A break in an inlined function is met twice: by its caller's frame, then by its own.
        found.extend(dict.fromkeys(new))


def _compiled_frames() -> list[Any]:
    listed = getattr(dynamo_utils, "get_compilation_metrics", list)
    return list(listed())


def _break(reason: Any) -> GraphBreak:
    return GraphBreak(reason=reason_text(str(reason.reason)), where=_place(reason.user_stack))


def _skipped(frame: Any) -> GraphBreak:
    """A frame that Dynamo gave up, such as one with an ``nn.LSTM``; ``torch.compile`` runs it eagerly as well."""
    name = _OUR_NAME.sub("", str(frame.co_name))
    where = f"{frame.fail_user_frame_filename}:{frame.fail_user_frame_lineno} in {name}"
    return GraphBreak(reason=f"the whole function runs eagerly: {reason_text(str(frame.fail_reason))}", where=where)


def reason_text(message: str) -> str:
    """The first line of Dynamo's message with its explanation, without hints and links."""
    title = message.strip().splitlines()[0].strip() if message.strip() else "unknown"
    explanation = _EXPLANATION.search(message)
    detail = explanation.group(1) if explanation else _WORDS.get(title.split(" ", maxsplit=1)[0], "")
    return f"{title}: {detail}" if detail else title


def _place(stack: list[traceback.FrameSummary]) -> str:
    if not stack:
        return "unknown place"
    frame = stack[-1]
    return f"{frame.filename}:{frame.lineno} in {_OUR_NAME.sub('', frame.name)}"
