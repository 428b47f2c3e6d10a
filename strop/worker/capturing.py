"""Capture, with the module's state left as it was."""

from __future__ import annotations

from strop.capture import Captured, capture
from strop.worker.guard import foreign
from strop.worker.opened import Opened
from strop.worker.state import restore, snapshot


def captured(opened: Opened) -> Captured:
    """The graphs of one call of the workload's own module.

    Raises:
        Blamed: nothing could be captured, the graph is of a kind that Strop cannot handle, or the workload's code
        raises.
    """
    built = opened.shape.build(opened.fresh_sample())
    buffers = snapshot(opened.module)
    try:
        with opened.calling(), foreign("workload", "Capturing the workload"):
            return capture(opened.module, built.args, built.kwargs)
    finally:
        restore(opened.module, buffers)
