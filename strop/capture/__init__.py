"""The one capture road: from a module and its inputs to captured ATen graphs, and what the compiler made of them."""

from strop.capture.dialect import DECOMPOSITIONS_VERSION
from strop.capture.entry import fresh_entry
from strop.capture.graph_record import graph_record
from strop.capture.placeholders import Placeholder, placeholders
from strop.capture.recorder import Captured, CapturedModule, capture, captured_modules, run_graph
from strop.capture.road import compile_through, own_errors, road

__all__ = [
    "DECOMPOSITIONS_VERSION",
    "Captured",
    "CapturedModule",
    "Placeholder",
    "capture",
    "captured_modules",
    "compile_through",
    "fresh_entry",
    "graph_record",
    "own_errors",
    "placeholders",
    "road",
    "run_graph",
]
