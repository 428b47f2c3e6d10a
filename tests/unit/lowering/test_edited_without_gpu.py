"""Generated CUDA kernels are edited and retuned, loaded and compiled for sm_90, all without a GPU."""

import functools

import pytest
import torch
from torch import nn

from strop.errors import BadCandidate, NotSupported
from strop.lowering import LoweringOptions, torch_shims
from strop.lowering.kernel_edits import kernel_hash, kernel_part
from strop.lowering.recipes import RecipeRewrite
from strop.records.recipe import Recipe, parse_recipe
from strop.transforms._kernel_text import fixed_launch, read_kernel
from strop.transforms._launches import launches
from strop.transforms.separable_max_pool import PARTS
from tests.unit.lowering.generated import (
    Pointwise,
    RowSums,
    Several,
    Softmax,
    Transposed,
    generated,
    kernel_of,
    replace_source,
    retune,
)
from tests.unit.lowering.rewrites import swap
from tests.unit.lowering.without_gpu import assembled, loaded, lowered
from tests.unit.transforms.rewriting import WITHOUT_CPP

pytest.importorskip("triton")

aten = torch.ops.aten


@functools.cache
def plain(make, *shapes):
    """What the compiler writes when nobody edits, once per module and shapes."""
    return lowered(make, list(shapes))


def with_edits(make, shapes, *steps, **options):
    return lowered(make, shapes, options=LoweringOptions(edits=steps), **options)


@pytest.mark.parametrize(
    ("make", "shapes", "kind", "values", "launch"),
    [
        (Pointwise, [(4096, 512)], "pointwise", {"xblock": 2048, "num_warps": 8}, {"XBLOCK": 2048}),
        (Transposed, [(512, 256), (256, 512)], "pointwise", {"xblock": 16, "yblock": 64}, {"XBLOCK": 16, "YBLOCK": 64}),
        (RowSums, [(4096, 3000)], "reduction", {"xblock": 2, "rblock": 1024}, {"XBLOCK": 2, "R0_BLOCK": 1024}),
        (RowSums, [(4096, 500)], "persistent_reduction", {"xblock": 4, "num_warps": 2}, {"XBLOCK": 4}),
    ],
    ids=["pointwise", "two dimensions", "looped", "persistent"],
)
def test_the_launch_is_the_one_that_was_asked_for(make, shapes, kind, values, launch):
    kernel = kernel_of(plain(make, *shapes), kind)
    found = with_edits(make, shapes, retune(kernel, **{"num_warps": 4, "num_stages": 1, **values}))
    (edited,) = generated(found)
    (config,) = loaded(edited.source, edited.name).configs
    assert config.kwargs == launch
    assert (config.num_warps, config.num_stages) == (values.get("num_warps", 4), 1)
    assert fixed_launch(read_kernel(edited.source)) == {**launch, "num_warps": config.num_warps, "num_stages": 1}


def test_nothing_else_changes():
    untouched = plain(Several, (256, 64))
    kernel = kernel_of(untouched, "pointwise")
    found = with_edits(Several, [(256, 64)], retune(kernel, xblock=256, num_warps=2, num_stages=1))
    before, after = (
        each.graphs[0].wrapper.partition("\n")[2] for each in (untouched, found)
    )  # the first line is a number
    assert after.replace(generated(found)[0].source, kernel.source) == before
    assert [each.name for each in generated(found)] == [each.name for each in generated(untouched)]
    assert generated(found)[1:] == generated(untouched)[1:]


@pytest.mark.parametrize(
    ("form", "columns", "kind"), [("persistent", 3000, "reduction"), ("looped", 500, "persistent")]
)
def test_a_reduction_gets_another_form(form, columns, kind):
    kernel = next(
        each
        for each in generated(lowered(Softmax, [(4096, columns)]))
        if read_kernel(each.source).kind.startswith(kind)
    )
    (edited,) = generated(with_edits(Softmax, [(4096, columns)], retune(kernel, form=form, num_warps=4)))
    assert edited.name == kernel.name
    assert ("for r0_offset in" in edited.source) == (form == "looped")
    assert ("R0_BLOCK: tl.constexpr =" in edited.source) == (form == "persistent")
    assembled(edited.source, edited.name)


def test_pipelined_loops_keep_their_loads_in_shared_memory():
    kernel = kernel_of(plain(Softmax, (4096, 3000)), "reduction")
    values = {"xblock": 1, "rblock": 512, "num_warps": 4}
    used = [
        assembled(edited.source, edited.name).shared_bytes
        for stages in (1, 3)
        for edited in generated(with_edits(Softmax, [(4096, 3000)], retune(kernel, num_stages=stages, **values)))
    ]
    assert used[0] < 512 * 4 < 2 * 512 * 4 <= used[1]


@pytest.mark.parametrize(
    ("make", "shapes"),
    [
        (Pointwise, [(4096, 512)]),
        (Transposed, [(512, 256), (256, 512)]),
        (Softmax, [(512, 700)]),
        (RowSums, [(64, 9000)]),
    ],
    ids=["pointwise", "two dimensions", "persistent", "looped"],
)
def test_every_launch_that_is_offered_compiles_without_spilling(make, shapes):
    kernel = generated(plain(make, *shapes))[0]
    offered = launches(read_kernel(kernel.source))
    assert len(offered) > 4
    names = {"XBLOCK": "xblock", "YBLOCK": "yblock", "R0_BLOCK": "rblock"}
    for launch in offered[:4]:
        values = {names[block]: size for block, size in launch.blocks}
        step = retune(kernel, **values, num_warps=launch.warps, num_stages=launch.stages)
        edited = generated(with_edits(make, shapes, step))[0]
        found = assembled(edited.source, edited.name)
        assert found.spilled_bytes == 0, launch
        assert found.registers <= 255 and found.shared_bytes <= 227 << 10, launch


def test_an_edited_source_is_what_is_loaded():
    kernel = kernel_of(plain(Pointwise, (4096, 512)), "pointwise")
    source = kernel.source.replace("1.0", "2.0").replace(kernel.name, "mine")
    step = replace_source(kernel, source)
    assert parse_recipe(str(Recipe((step,)))) == Recipe((step,))
    found = with_edits(Pointwise, [(4096, 512)], step, compiling=True)
    (edited,) = generated(found)
    assert edited.source == source.replace("mine(", f"{kernel.name}(")
    assert "2.0" in found.graphs[0].wrapper
    assert edited.hash != kernel.hash


def test_text_that_quotes_and_escapes_survives_the_wrapper():
    kernel = kernel_of(plain(Pointwise, (4096, 512)), "pointwise")
    source = kernel.source.replace(
        "xoffset =", "tl.static_print('''a\\\\n\\'b\"''')\n    # \\n stays\n    xoffset =", 1
    )
    (edited,) = generated(with_edits(Pointwise, [(4096, 512)], replace_source(kernel, source)))
    assert edited.source == source


BROKEN = {
    "tmp0 + undefined_name": "undefined_name is not defined",
    "tl.no_such_function(tmp0)": "no_such_function",
    "tmp0 +": "invalid syntax",
}


@pytest.mark.parametrize("text", BROKEN)
def test_what_triton_cannot_compile_is_the_candidates_fault(text):
    kernel = kernel_of(plain(Pointwise, (4096, 512)), "pointwise")
    head, line, tail = kernel.source.partition("tmp2 = ")
    source = head + line + text + "\n" + tail.partition("\n")[2]
    with pytest.raises(BadCandidate) as caught:
        with_edits(Pointwise, [(4096, 512)], replace_source(kernel, source), compiling=True)
    said = str(caught.value)
    assert BROKEN[text] in said
    assert "\n" not in said


def test_a_long_kernel_leaves_room_for_what_is_wrong():
    kernel = kernel_of(plain(Pointwise, (4096, 512)), "pointwise")
    head, line, tail = kernel.source.partition("    tmp2 = ")
    filler = "    tmp0 = tmp0 + tl.full([1], 0.0, tl.float32)\n" * 80
    source = f"{head}{filler}{line}tmp0 + undefined_name\n" + tail.partition("\n")[2]
    with pytest.raises(BadCandidate) as caught:
        with_edits(Pointwise, [(4096, 512)], replace_source(kernel, source), compiling=True)
    assert "undefined_name is not defined" in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_a_fault_that_is_not_the_edits_stays_what_it_is(monkeypatch):
    kernel = kernel_of(plain(Pointwise, (4096, 512)), "pointwise")
    monkeypatch.setattr(torch_shims.GraphLowering, "init_wrapper_code", lambda self: 1 / 0)
    with pytest.raises(Exception, match="division by zero") as caught:
        with_edits(Pointwise, [(4096, 512)], retune(kernel, xblock=512))
    assert not isinstance(caught.value, BadCandidate)


def test_a_hash_that_is_nowhere_is_said_with_those_that_are():
    kernel = kernel_of(plain(Pointwise, (4096, 512)), "pointwise")
    other = kernel_of(plain(Pointwise, (4096, 500)), "pointwise")
    assert other.hash != kernel.hash
    with pytest.raises(BadCandidate) as caught:
        with_edits(Pointwise, [(4096, 512)], retune(other, xblock=512))
    assert other.hash in str(caught.value) and f"{kernel.name} ({kernel.hash})" in str(caught.value)


def test_a_hash_stands_for_the_code_and_not_for_how_it_was_compiled():
    kernels = generated(plain(Several, (256, 64)))
    options = LoweringOptions(observe=True, inductor={"profiler_mark_wrapper_call": True})
    watched = generated(lowered(Several, [(256, 64)], options=options))
    assert [each.hash for each in watched] == [each.hash for each in kernels]
    assert all(each.hash == kernel_hash(each.graph_id, each.source) for each in kernels)
    assert kernel_hash("another graph", kernels[0].source) != kernels[0].hash
    assert kernel_hash(kernels[0].graph_id, kernels[0].source + "\n# a comment\n") == kernels[0].hash


def test_cuda_graphs_change_no_hash():
    graphs = LoweringOptions(mode="reduce-overhead")
    found = generated(lowered(Several, [(256, 64)], options=graphs))
    assert [each.hash for each in found] == [each.hash for each in generated(plain(Several, (256, 64)))]


def test_cuda_graphs_record_what_was_edited():
    kernel = kernel_of(plain(Pointwise, (4096, 512)), "pointwise")
    options = LoweringOptions(mode="reduce-overhead", edits=(retune(kernel, xblock=512, num_warps=2),))
    (edited,) = generated(lowered(Pointwise, [(4096, 512)], options=options))
    assert fixed_launch(read_kernel(edited.source))["XBLOCK"] == 512


def test_a_hash_changes_with_torch_and_triton(monkeypatch):
    from strop.lowering import kernel_edits

    kernel = kernel_of(plain(Pointwise, (4096, 512)), "pointwise")
    for versions in (("2.99.0", "3.7.1"), (torch.__version__, "9.9")):
        monkeypatch.setattr(kernel_edits, "_versions", lambda versions=versions: versions)
        assert kernel_hash(kernel.graph_id, kernel.source) != kernel.hash


def test_edits_apply_to_the_graph_as_earlier_steps_left_it():
    make, shapes = (lambda: nn.Sequential(nn.ReLU(), nn.Softmax(-1))), [(64, 512)]
    rewrite = swap(aten.relu.default, aten.abs.default)
    kernel = generated(lowered(make, shapes, rewrite))[0]
    found = lowered(make, shapes, rewrite, LoweringOptions(edits=(retune(kernel, xblock=2, num_warps=2),)))
    assert fixed_launch(read_kernel(generated(found)[0].source))["XBLOCK"] == 2
    with pytest.raises(BadCandidate, match="no generated kernel has the hash"):
        lowered(make, shapes, options=LoweringOptions(edits=(retune(kernel, xblock=2, num_warps=2),)))


def test_a_recipe_of_both_kinds_of_steps():
    def make():
        return nn.Sequential(nn.AvgPool2d(2), nn.Flatten(), nn.Softmax(-1))

    first = parse_recipe("avg_pool_as_conv")
    rewrite = RecipeRewrite(first, WITHOUT_CPP)
    kernels = generated(lowered(make, [(8, 4, 64, 64)], rewrite))
    softmax = next(each for each in kernels if "softmax" in each.name)
    recipe = parse_recipe(f"{retune(softmax, num_warps=2)} ; {first}")
    both = LoweringOptions(edits=kernel_part(recipe))
    found = lowered(make, [(8, 4, 64, 64)], RecipeRewrite(recipe, WITHOUT_CPP), both)
    assert found.graphs[0].rewritten_id != found.graphs[0].captured_id
    for before, after in zip(kernels, generated(found), strict=True):
        launch = fixed_launch(read_kernel(after.source))
        assert launch["num_warps"] == 2 if before.name == softmax.name else after == before


def test_two_edits_of_two_kernels():
    kernels = generated(plain(Several, (256, 64)))
    steps = [retune(each, num_warps=2) for each in kernels]
    edited = generated(with_edits(Several, [(256, 64)], *steps))
    assert [fixed_launch(read_kernel(each.source))["num_warps"] for each in edited] == [2] * len(kernels)


def test_a_kernel_that_has_a_fixed_launch_is_not_retuned_again():
    kernel = kernel_of(plain(Pointwise, (4096, 512)), "pointwise")
    step = retune(kernel, xblock=512, num_warps=4, num_stages=1)
    (once,) = generated(with_edits(Pointwise, [(4096, 512)], step))
    with pytest.raises(BadCandidate, match="fixed_config are launched in one way only"):
        with_edits(Pointwise, [(4096, 512)], step, retune(once, xblock=256))


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"xblock": 8192}, "up to 4096"),
        ({"xblock": 100}, "power of two"),
        ({"num_warps": 64}, "up to 32"),
        ({"num_stages": 9}, "between 1 and 5"),
        ({"yblock": 64}, "has no YBLOCK"),
        ({"form": "persistent"}, "no persistent form"),
        ({"xblock": "wide"}, "whole number"),
        ({"xblok": 64}, "does not know xblok"),
    ],
)
def test_values_that_do_not_fit_are_said(values, says):
    kernel = kernel_of(plain(Pointwise, (4096, 512)), "pointwise")
    with pytest.raises(BadCandidate, match=says):
        with_edits(Pointwise, [(4096, 512)], retune(kernel, **values))


def test_a_source_that_takes_other_arguments_is_refused():
    kernel = kernel_of(plain(Pointwise, (4096, 512)), "pointwise")
    for source, says in (
        (kernel.source.replace("(in_ptr0, ", "("), "is called with 3 arguments"),
        ("print('hello')", "not a Triton kernel"),
        ("", "needs the new text"),
    ):
        with pytest.raises(BadCandidate, match=says):
            with_edits(Pointwise, [(4096, 512)], replace_source(kernel, source))


def test_a_torch_that_was_not_tried_is_refused(monkeypatch):
    kernel = kernel_of(plain(Pointwise, (4096, 512)), "pointwise")
    monkeypatch.setattr(torch_shims, "_closed", set())
    monkeypatch.setattr(torch_shims, "torch_version", lambda: (9, 0))
    with pytest.raises(NotSupported, match="retune a generated kernel are refused"):
        with_edits(Pointwise, [(4096, 512)], retune(kernel, xblock=512))


def test_a_pool_in_parts_needs_memory_for_one_part_between_its_passes():
    recipe = parse_recipe("separable_max_pool{form=parts}")
    found = lowered(lambda: nn.MaxPool2d(4, 1, 1), [(8, 16, 512, 512)], RecipeRewrite(recipe, WITHOUT_CPP))
    (graph,) = found.graphs
    assert graph.wrapper.count("= empty_strided_cuda(") == 2, "what lies between the passes, and the result"
    assert graph.wrapper.count("# reuse") == PARTS - 1
    assert graph.wrapper.count("# alias") == PARTS
