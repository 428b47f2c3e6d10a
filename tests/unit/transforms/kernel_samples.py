"""Kernels in the form that Inductor gives them, written out, so that reading them needs no compiler and no Triton."""

from strop.records.graph import KernelKind
from strop.records.profile import Bound, KernelProfile

HEAD = """import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.hints import ReductionHint, TileHint, DeviceProperties
"""

DEVICE = "DeviceProperties(type='cuda', multi_processor_count=132, cc=90)"
META = f"""filename=__file__,
    triton_meta={{{{'signature': {{{{'in_ptr0': '*{{dtype}}'}}}}, 'device': {DEVICE}, 'constants': {{{{}}}}}}}},
    inductor_meta={{{{'grid_type': '{{grid}}', 'kernel_name': '{{name}}', 'num_load': 1, 'backend_hash': 'F00'}}}}"""


def pointwise(elements=1 << 20, dtype="fp32", name="triton_poi_fused_add_0", grid="Grid1D", body="tmp0 + 1.0"):
    """One dimension."""
    hint = 1 << (elements - 1).bit_length()
    return f"""{HEAD}
@triton_heuristics.pointwise(
    size_hints={{'x': {hint}}},
    {META.format(dtype=dtype, name=name, grid=grid)},
    min_elem_per_thread=0
)
@triton.jit
def {name}(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = {elements}
    xoffset = tl.program_id(0) * XBLOCK  # a comment: äöü
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    tmp0 = tl.load(in_ptr0 + (xindex), xmask, eviction_policy='evict_last')
    tmp1 = {body}
    tl.store(out_ptr0 + (xindex), tmp1, xmask)
"""


def tiled(x=512, y=4096, name="triton_poi_fused_add_1"):
    """Two dimensions."""
    return f"""{HEAD}
@triton_heuristics.pointwise(
    size_hints={{'y': {y}, 'x': {x}}}, tile_hint=TileHint.DEFAULT,
    {META.format(dtype="fp32", name=name, grid="Grid2D")},
    min_elem_per_thread=0
)
@triton.jit
def {name}(in_ptr0, out_ptr0, ynumel, xnumel, YBLOCK : tl.constexpr, XBLOCK : tl.constexpr):
    ynumel = {y}
    xnumel = {x}
    tmp0 = tl.load(in_ptr0 + (tl.arange(0, XBLOCK)[None, :] + tl.arange(0, YBLOCK)[:, None]))
    tl.store(out_ptr0 + (tl.arange(0, XBLOCK)[None, :] + tl.arange(0, YBLOCK)[:, None]), tmp0)
"""


def looped(rows=4096, columns=4000, passes=2, hint="INNER", name="triton_red_fused_sum_2"):
    """A reduction that goes over its rows ``passes`` times."""
    loop = """    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + tl.arange(0, R0_BLOCK)[None, :]
        tmp0 = tl.load(in_ptr0 + (r0_index), r0_index < r0_numel, eviction_policy='evict_first', other=0.0)
        _tmp1 = _tmp1 + tmp0
"""
    top, wide = (1 << (size - 1).bit_length() for size in (rows, columns))
    return f"""{HEAD}
@triton_heuristics.reduction(
    size_hints={{'x': {top}, 'r0_': {wide}}},
    reduction_hint=ReductionHint.{hint},
    {META.format(dtype="fp32", name=name, grid="Grid1D")}
)
@triton.jit
def {name}(in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
    xnumel = {rows}
    r0_numel = {columns}
    _tmp1 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
{loop * passes}    tl.store(out_ptr0 + (tl.arange(0, XBLOCK)[:, None]), tl.sum(_tmp1, 1)[:, None], None)
"""


def persistent(rows=4096, columns=1000, name="triton_per_fused_sum_3"):
    """A reduction that holds whole rows."""
    top, wide = (1 << (size - 1).bit_length() for size in (rows, columns))
    return f"""{HEAD}
@triton_heuristics.persistent_reduction(
    size_hints={{'x': {top}, 'r0_': {wide}}},
    reduction_hint=ReductionHint.INNER,
    {META.format(dtype="fp32", name=name, grid="Grid1D")}
)
@triton.jit
def {name}(in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr):
    xnumel = {rows}
    r0_numel = {columns}
    R0_BLOCK: tl.constexpr = {wide}
    tmp0 = tl.load(in_ptr0 + (tl.arange(0, R0_BLOCK)[None, :]), None, eviction_policy='evict_first')
    tl.store(out_ptr0 + (tl.arange(0, XBLOCK)[:, None]), tl.sum(tmp0, 1)[:, None], None)
"""


def profiled(source, time_ns=50e3, floor_ns=20e3, share=0.2, name="triton_kernel", **changes):
    """A kernel with its time."""
    given = {
        "language": "triton",
        "nodes": ("add",),
        "calls": 1,
        "moved_bytes": 1 << 20,
        "work_flop": 0,
        "bound": Bound.MEMORY,
        "graph_id": "g-1",
        "kind": KernelKind.GENERATED,
        "hash": f"k-{abs(hash(source)) % 10**8}",
    }
    return KernelProfile(
        name=name, source=source, time_ns=time_ns, floor_ns=floor_ns, share=share, **{**given, **changes}
    )
