"""Which generated kernels are worth another launch, which launches are possible, and what is said otherwise."""

import pytest

from strop.errors import BadCandidate
from strop.records.opportunity import Legality
from strop.records.recipe import Recipe, parse_recipe
from strop.transforms import SHELF
from strop.transforms._base import GeneratedKernel
from strop.transforms._kernel_text import eviction_hints, fixed_launch, read_kernel
from strop.transforms._launches import Launch, Shape, estimate, launches, why_not_legal, why_not_tunable
from tests.unit.transforms.kernel_samples import looped, persistent, pointwise, profiled, tiled
from tests.unit.transforms.rewriting import TARGET, WITHOUT_CPP

RETUNE = SHELF.get("retune_generated_kernel")
EDIT = SHELF.get("edit_generated_kernel")


def proposals(*kernels):
    return list(RETUNE.proposals(kernels, WITHOUT_CPP))


def argument(proposal, name):
    return proposal.step.argument(name, "")


def test_a_heavy_kernel_is_proposed_with_what_it_may_win():
    (found,) = proposals(profiled(pointwise(), time_ns=80e3, floor_ns=40e3, nodes=("add", "relu")))
    assert argument(found, "hash") == profiled(pointwise()).hash
    assert argument(found, "form") == "kept"
    assert found.region.graph_id == "g-1" and found.region.nodes == ("add", "relu")
    assert 0 < found.gain_ns < 40e3
    assert found.legality == (Legality.BIT_EXACT,)
    (step,) = parse_recipe(str(Recipe((found.step,)))).steps
    assert step == found.step


def test_every_value_that_a_proposal_names_is_its_first_choice():
    for found in proposals(profiled(pointwise()), profiled(tiled()), profiled(looped()), profiled(persistent())):
        assert all(argument(found, each.name) == each.choices[0] for each in found.parameters)
        assert {each.name for each in found.parameters} <= {each.name for each in RETUNE.parameters}
        assert all(len(set(each.choices)) == len(each.choices) for each in found.parameters)


def test_light_and_strange_kernels_are_left_alone():
    assert proposals(profiled(pointwise(), share=0.01)) == []
    assert proposals(profiled("void kernel() {}", language="cpp")) == []
    assert proposals(profiled(pointwise(), calls=0)) == []
    assert proposals(profiled(pointwise(), hash="")) == []
    assert proposals(profiled(pointwise(grid="ComboKernelGrid"))) == []
    assert proposals() == []
    assert RETUNE.why_not(None, TARGET).endswith(".")


def test_launches_of_one_kernel_are_counted_together():
    few = [profiled(pointwise(), share=0.005, nodes=(f"add_{i}",)) for i in range(10)]
    (found,) = proposals(*few)
    assert found.region.nodes == tuple(f"add_{i}" for i in range(10))
    assert found.gain_ns == pytest.approx(10 * proposals(profiled(pointwise()))[0].gain_ns)


def test_only_the_heaviest_are_tried():
    many = [profiled(pointwise(elements=1024 * (1 + i)), time_ns=1e3 * (1 + i)) for i in range(20)]
    found = proposals(*many)
    assert len(found) == 6
    assert {argument(each, "hash") for each in found} == {each.hash for each in many[-6:]}


def test_reductions_add_in_another_order_and_atomics_too():
    assert all(each.legality == (Legality.REASSOCIATED,) for each in proposals(profiled(looped())))
    (found,) = proposals(profiled(pointwise(body="tl.atomic_add(out_ptr0, tmp0)")))
    assert found.legality == (Legality.REASSOCIATED,)


def test_a_row_that_is_read_twice_and_fits_is_offered_in_one_piece():
    forms = [argument(each, "form") for each in proposals(profiled(looped(columns=4000, passes=3)))]
    assert forms == ["persistent", "kept"]
    assert RETUNE.forms({"form": "persistent"}) == ("persistent",)
    assert [argument(each, "form") for each in proposals(profiled(looped(columns=100_000, passes=3)))] == ["kept"]


def test_a_short_row_stays_in_one_piece():
    assert [argument(each, "form") for each in proposals(profiled(persistent(columns=1000)))] == ["kept"]


@pytest.mark.parametrize("source", [pointwise(), pointwise(elements=5000), tiled(), looped(), persistent()])
def test_offered_launches_are_legal_and_different(source):
    kernel = read_kernel(source)
    offered = launches(kernel)
    assert len(offered) == len(set(offered)) > 4
    assert all(why_not_legal(Shape(kernel), each) == "" for each in offered)
    scores = [estimate(Shape(kernel), each) for each in offered]
    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[-1] <= scores[0] <= 1


def test_a_small_kernel_gets_small_blocks():
    few, many = (dict(launches(read_kernel(pointwise(elements=size)))[0].blocks) for size in (20_000, 1 << 24))
    assert few["XBLOCK"] < many["XBLOCK"]


def test_too_many_rows_for_a_grid_need_larger_blocks():
    kernel = read_kernel(tiled(x=8, y=1 << 20))
    assert "rows of program instances" in why_not_legal(Shape(kernel), Launch((("YBLOCK", 8), ("XBLOCK", 8)), 4, 1))
    assert all(dict(each.blocks)["YBLOCK"] >= 16 for each in launches(kernel))


def test_blocks_stay_within_the_compilers_masks():
    shape = Shape(read_kernel(pointwise()))
    assert "up to 4096" in why_not_legal(shape, Launch((("XBLOCK", 8192),), 4, 1))
    assert why_not_legal(shape, Launch((("XBLOCK", 4096),), 32, 5)) == ""
    wide = Shape(read_kernel(persistent(columns=16000)))
    assert "tile is larger" in why_not_legal(wide, Launch((("XBLOCK", 8),), 4, 1))


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (pointwise().replace("triton_heuristics.pointwise", "triton_heuristics.template"), "kind template"),
        (pointwise(grid="CooperativeReductionGrid"), "CooperativeReductionGrid"),
        (pointwise(body="tl.dot(tmp0, tmp0)"), "products"),
        (pointwise().replace("XBLOCK : tl.constexpr", "XBLOCK : tl.constexpr, RSPLIT : tl.constexpr"), "RSPLIT"),
        (pointwise(), ""),
    ],
)
def test_why_a_kernel_cannot_be_retuned(source, says):
    assert says in why_not_tunable(read_kernel(source))
    assert bool(says) == bool(why_not_tunable(read_kernel(source)))


def edited(source, language="triton", **arguments):
    kernel = GeneratedKernel(name="kernel", language=language, source=source, in_form=lambda form: persistent())
    return RETUNE.edited(kernel, {"hash": "k-1", **arguments})


def test_what_is_not_named_takes_the_estimates_best():
    best = launches(read_kernel(looped()))[0].values()
    assert fixed_launch(read_kernel(edited(looped()))) == best
    chosen = fixed_launch(read_kernel(edited(looped(), num_warps=2)))
    assert chosen["num_warps"] == 2 and set(chosen) == set(best)


def test_a_form_keeps_the_name_that_the_wrapper_calls():
    found = read_kernel(edited(looped(), form="persistent", xblock=1, num_warps=8))
    assert found.name == read_kernel(looped()).name
    assert fixed_launch(found) == {"XBLOCK": 1, "num_warps": 8, "num_stages": 1}


def test_eviction_and_stages_reach_the_text():
    found = edited(looped(), xblock=1, rblock=1024, num_warps=4, num_stages=3, evict="none")
    assert eviction_hints(read_kernel(found)) == set()
    assert "num_stages=3)" in found


def test_a_loop_block_is_no_argument_of_the_persistent_form():
    with pytest.raises(BadCandidate, match="has no R0_BLOCK in this form"):
        edited(looped(), form="persistent", rblock=1024)


def test_an_edit_needs_an_author():
    assert list(EDIT.proposals([profiled(pointwise())], TARGET)) == []
    assert "person or an agent" in EDIT.why_not(None, TARGET)
    assert EDIT.forms({"source": "x"}) == ()


LARGE = 1 << 22


def repeating(elements=8 * LARGE, period=LARGE):
    return pointwise(elements=elements, body=f"tmp0 + tl.load(in_ptr1 + (xindex % {period}))")


def test_another_order_is_offered_where_something_large_is_read_again():
    (found,) = proposals(profiled(repeating()))
    assert {each.name: each.choices for each in found.parameters}["swizzle"] == (0, LARGE)
    odd = repeating(period=LARGE + 1, elements=4 * (LARGE + 1))
    for source in (pointwise(), repeating(period=1 << 10), repeating(elements=LARGE), odd):
        (found,) = proposals(profiled(source))
        assert "swizzle" not in {each.name for each in found.parameters}


def test_what_rows_read_again_is_as_large_as_its_rows():
    start = "    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]\n"
    again = f"{start}    tmp9 = tl.load(in_ptr1 + (512 * (xindex % 512)))\n    _tmp1 ="
    for columns, offered in ((8192, True), (512, False)):
        source = looped(rows=4096, columns=columns).replace("    _tmp1 =", again, 1)
        assert read_kernel(source).periods == (512,)
        found = proposals(profiled(source))
        assert {"swizzle" in {each.name for each in proposal.parameters} for proposal in found} == {offered}


def test_a_swizzle_reaches_the_text_beside_the_launch():
    kernel = GeneratedKernel(name="triton_poi_fused_add_0", language="triton", source=repeating(), in_form=str)
    edited = RETUNE.edited(kernel, {"xblock": 512, "num_warps": 4, "swizzle": LARGE})
    assert f"tl.program_id(0) % 8 * ({LARGE} // XBLOCK)" in edited
    assert fixed_launch(read_kernel(edited))["XBLOCK"] == 512
    assert RETUNE.edited(kernel, {"xblock": 512, "swizzle": 0}) == RETUNE.edited(kernel, {"xblock": 512})


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"swizzle": 64}, f"repeats every 64 elements; such periods are: {LARGE}"),
        ({"swizzle": True}, "has to be a whole number"),
        ({"swizzle": 3 * 256, "xblock": 512}, "XBLOCK is 512, which does not divide the period 768"),
    ],
)
def test_a_swizzle_that_would_run_a_program_twice_is_refused(arguments, says):
    source = repeating(period=768, elements=768 * 4) if "xblock" in arguments else repeating()
    kernel = GeneratedKernel(name="triton_poi_fused_add_0", language="triton", source=source, in_form=str)
    with pytest.raises(BadCandidate, match=says):
        RETUNE.edited(kernel, arguments)
