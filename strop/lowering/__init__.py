"""From a captured graph and a rewrite of it to compiled code; the only room that touches Inductor's private parts."""

from strop.lowering.frozen import FROZEN, Packed, split_frozen
from strop.lowering.lower import Lowered, LoweredGraph, LoweringOptions, lower, unchanged
from strop.lowering.modes import MODES, compile_mode, inductor_options, lasting_mode, modes_differ, prepare_process
from strop.lowering.retrace import refresh_metadata, retrace, settle
from strop.lowering.torch_shims import closed_doors

__all__ = [
    "FROZEN",
    "MODES",
    "Lowered",
    "LoweredGraph",
    "LoweringOptions",
    "Packed",
    "closed_doors",
    "compile_mode",
    "inductor_options",
    "lasting_mode",
    "lower",
    "modes_differ",
    "prepare_process",
    "refresh_metadata",
    "retrace",
    "settle",
    "split_frozen",
    "unchanged",
]
