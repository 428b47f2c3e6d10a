"""Reading a generated kernel, and changing it without touching anything else."""

import ast

import pytest

from strop.errors import BadCandidate
from strop.transforms._kernel_text import (
    code_text,
    eviction_hints,
    fixed_launch,
    read_kernel,
    with_eviction,
    with_launch,
    with_name,
    with_stages,
    with_swizzle,
)
from tests.unit.transforms.kernel_samples import looped, persistent, pointwise, tiled


def test_what_a_kernel_says_about_itself():
    kernel = read_kernel(looped(rows=100, columns=3000))
    assert (kernel.name, kernel.kind) == ("triton_red_fused_sum_2", "reduction")
    assert kernel.size_hints == {"x": 128, "r0_": 4096}
    assert kernel.blocks == ("XBLOCK", "R0_BLOCK")
    assert kernel.runtime_arguments == ("in_ptr0", "out_ptr0", "xnumel", "r0_numel")
    assert kernel.facts["grid_type"] == "Grid1D"
    assert (kernel.loads, kernel.has_atomics, kernel.has_products) == (2, False, False)
    assert eviction_hints(kernel) == {"evict_first"}
    assert read_kernel(pointwise(body="tl.atomic_add(out_ptr0, tmp0)")).has_atomics
    assert read_kernel(pointwise(body="tl.dot(tmp0, tmp0)")).has_products


def test_outputs_are_what_is_written_before_it_is_read():
    plain, written = pointwise(), "tl.store(out_ptr0 + (xindex), tmp1, xmask)"
    assert read_kernel(plain).outputs == ("out_ptr0",)
    assert read_kernel(plain.replace(written, f"{written}\n    tmp2 = tl.load(out_ptr0)")).outputs == ("out_ptr0",)
    assert read_kernel(pointwise(body="tl.load(out_ptr0 + (xindex), xmask)")).outputs == ()
    assert read_kernel(pointwise(body="tl.atomic_add(out_ptr0, tmp0)")).outputs == ()
    sized = plain.replace("xnumel, XBLOCK", "ks0, xnumel, XBLOCK").replace("(xindex), tmp1", "(ks0*xindex), tmp1")
    assert read_kernel(sized).outputs == ("out_ptr0",)


@pytest.mark.parametrize(("name", "outputs"), [("out_ptr0", ()), ("in_out_ptr0", ("in_out_ptr0",))])
def test_what_is_changed_for_the_caller_is_an_input_as_well(name, outputs):
    changed = f"inductor_meta={{'mutated_arg_names': ['{name}'], "
    text = pointwise().replace("out_ptr0", name).replace("inductor_meta={", changed)
    assert read_kernel(text).outputs == outputs


@pytest.mark.parametrize("text", ["", "def f(:", "void kernel() {}", "@triton.jit\ndef f(x):\n    pass\n"])
def test_other_text_is_not_a_kernel_of_inductors(text):
    assert read_kernel(text) is None


@pytest.mark.parametrize("source", [pointwise(), tiled(), looped(), persistent()])
def test_a_launch_replaces_the_decorator_and_nothing_else(source):
    kernel = read_kernel(source)
    launch = dict.fromkeys(kernel.blocks, 8) | {"num_warps": 2, "num_stages": 1}
    edited = with_launch(kernel, launch)
    again = read_kernel(edited)
    assert again.kind == "fixed_config"
    assert fixed_launch(again) == launch
    assert again.facts == kernel.facts
    assert edited.partition("@triton.jit")[2] == source.partition("@triton.jit")[2]
    assert edited.partition("@triton_heuristics")[0] == source.partition("@triton_heuristics")[0]
    assert fixed_launch(kernel) == {}


@pytest.mark.parametrize("launch", [{}, {"XBLOCK": 8}, {"XBLOCK": 8, "YBLOCK": 8, "num_warps": 4, "num_stages": 1}])
def test_a_launch_that_does_not_fit_is_refused(launch):
    with pytest.raises(BadCandidate, match="is launched with XBLOCK, num_stages, num_warps"):
        with_launch(read_kernel(pointwise()), launch)


def test_eviction_hints():
    source = looped(passes=3)
    assert eviction_hints(read_kernel(with_eviction(source, "evict_last"))) == {"evict_last"}
    without = with_eviction(source, "")
    assert eviction_hints(read_kernel(without)) == set()
    assert with_eviction(without, "evict_first") == source
    with pytest.raises(BadCandidate):
        with_eviction("void kernel() {}", "")


def test_every_loop_is_pipelined():
    source = looped(passes=3)
    edited = with_stages(source, 3)
    assert edited.count("tl.range(0, r0_numel, R0_BLOCK, num_stages=3)") == 3
    assert with_stages(edited, 2) == with_stages(source, 2)
    assert with_stages(persistent(), 3) == persistent()


def test_a_name_is_changed_where_it_is_defined():
    renamed = with_name(pointwise(), "other")
    assert read_kernel(renamed).name == "other"
    assert with_name(renamed, "triton_poi_fused_add_0") == pointwise()


def test_what_counts_as_the_same_code():
    source = pointwise()
    same = [
        source.replace("# a comment: äöü", ""),
        source.replace("F00", "BA8"),
        with_name(source, "other"),
        source + "\n",
    ]
    other = [source.replace("1.0", "2.0"), pointwise(elements=1 << 21), pointwise(dtype="fp16")]
    other += [source.replace("multi_processor_count=132", "multi_processor_count=108"), with_eviction(source, "")]
    assert {code_text(each) for each in same} == {code_text(source)}
    assert len({code_text(each) for each in (source, *other)}) == 1 + len(other)
    ast.parse(code_text(source))
    assert code_text("int  f()\n{ }") == code_text("int f() { }") != code_text("int g() { }")


def repeating(elements=64, period=16, **more):
    """Something small is read again for every part of something large."""
    text = pointwise(elements=elements, **more)
    return text.replace("tmp1 =", f"tmp2 = tl.load(in_ptr1 + ((xindex % {period})), xmask)\n    tmp1 =")


def test_periods_are_those_of_what_is_read_again():
    assert read_kernel(repeating()).periods == (16,)
    assert read_kernel(pointwise()).periods == ()
    assert read_kernel(repeating(period=24)).periods == (), "the last part would be cut off"
    assert read_kernel(repeating(period=64)).periods == (), "nothing repeats"
    assert read_kernel(repeating(grid="Grid2D")).periods == ()
    assert read_kernel(repeating().replace("xindex % 16", "(xindex // 2) % 16")).periods == ()
    assert read_kernel(repeating().replace("xindex % 16", "xindex % ks0")).periods == ()


@pytest.mark.parametrize(
    ("address", "periods"),
    [
        ("x0", (16,)),
        ("(-1) + x0", (16,)),
        ("r0_1 + 512*x0", (16,)),
        ("x0 + 32*x1", ()),
        ("x0 + 16*tmp0", ()),
        ("tmp0", ()),
        ("x2", ()),
    ],
)
def test_what_knows_its_element_by_more_than_a_remainder_does_not_repeat(address, periods):
    names = "x0 = (xindex % 16)\n    x1 = xindex // 16\n    x2 = xindex\n    xmask ="
    source = repeating().replace("xmask =", names, 1).replace("((xindex % 16))", f"({address})")
    assert f"in_ptr1 + ({address})" in source and read_kernel(source).periods == periods


def test_a_swizzle_changes_one_expression():
    edited = with_swizzle(read_kernel(repeating()), 16)
    assert edited.replace("(tl.program_id(0) % 4 * (16 // XBLOCK) + tl.program_id(0) // 4)", "tl.program_id(0)") == (
        repeating()
    )
    wide = repeating().replace("tl.program_id(0)", "tl.program_id(0).to(tl.int64)")
    assert "tl.program_id(0) // 4).to(tl.int64) * XBLOCK" in with_swizzle(read_kernel(wide), 16)
