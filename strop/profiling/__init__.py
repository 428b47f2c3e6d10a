"""Profiling, behind the wall: where a call's time goes, kernel by kernel, and what each kernel cannot do without."""

from strop.profiling.cost import Cost, node_cost, region_cost
from strop.profiling.minimal import CapturedGraphLike, minimal_cost
from strop.profiling.profile import KERNEL_RANGES, profile_calls

__all__ = [
    "KERNEL_RANGES",
    "CapturedGraphLike",
    "Cost",
    "minimal_cost",
    "node_cost",
    "profile_calls",
    "region_cost",
]
