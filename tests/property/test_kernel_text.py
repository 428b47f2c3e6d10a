"""Any launch, hint or depth can be written into any kernel and read back; nothing else of the text changes."""

import ast

from hypothesis import given
from hypothesis import strategies as st

from strop.lowering.kernel_edits import KernelEdits, kernel_hash
from strop.records.recipe import Step
from strop.transforms._kernel_text import (
    code_text,
    eviction_hints,
    fixed_launch,
    read_kernel,
    with_eviction,
    with_launch,
    with_stages,
    with_swizzle,
)
from strop.transforms._launches import Shape, launches, why_not_legal
from tests.unit.transforms.kernel_samples import looped, persistent, pointwise, tiled

sizes = st.integers(min_value=1, max_value=1 << 22)
rows = st.integers(min_value=1, max_value=1 << 16)
sources = st.one_of(
    st.builds(pointwise, elements=sizes, dtype=st.sampled_from(["fp32", "bf16", "fp64", "i8"])),
    st.builds(tiled, x=rows, y=rows),
    st.builds(looped, rows=rows, columns=sizes, passes=st.integers(1, 3), hint=st.sampled_from(["INNER", "OUTER"])),
    st.builds(persistent, rows=rows, columns=st.integers(2, 4096)),
)
powers = st.integers(0, 12).map(lambda exponent: 1 << exponent)


@given(sources, st.data())
def test_a_launch_is_read_back_and_the_function_stays(source, data):
    kernel = read_kernel(source)
    launch = {name: data.draw(powers) for name in (*kernel.blocks, "num_warps", "num_stages")}
    edited = with_launch(kernel, launch)
    again = read_kernel(edited)
    assert fixed_launch(again) == launch
    assert ast.dump(ast.Module(again.function.body, [])) == ast.dump(ast.Module(kernel.function.body, []))
    assert again.arguments == kernel.arguments
    assert with_launch(again, launch) == edited


@given(sources, st.sampled_from(["", "evict_first", "evict_last"]), st.integers(2, 5))
def test_hints_and_depths_are_idempotent_and_commute(source, policy, stages):
    edited = with_stages(with_eviction(source, policy), stages)
    assert with_eviction(with_stages(source, stages), policy) == edited
    assert with_stages(with_eviction(edited, policy), stages) == edited
    assert eviction_hints(read_kernel(edited)) <= {policy}
    back = with_stages(edited, 1)
    assert code_text(with_eviction(back, policy)) == code_text(with_stages(with_eviction(source, policy), 1))


@given(sources)
def test_every_offered_launch_is_legal(source):
    kernel = read_kernel(source)
    for launch in launches(kernel)[::50]:
        assert why_not_legal(Shape(kernel), launch) == ""
        assert fixed_launch(read_kernel(with_launch(kernel, launch.values()))) == launch.values()


texts = st.text(alphabet=st.sampled_from("abc\\'\"\n# {}é"), max_size=40)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=3))
def test_any_text_survives_in_the_wrapper(pairs):
    wrapper = "async_compile = AsyncCompile()\n"
    for index, (old, _) in enumerate(pairs):
        wrapper += f"kernel_{index} = async_compile.cpp_pybinding(['float*'], {f'x{index} {old}'!r})\n# é\n"
    steps = [
        Step(
            "edit_generated_kernel", (("hash", kernel_hash("g", f"x{index} {old}".strip("\n"))), ("source", f"y{new}"))
        )
        for index, (old, new) in enumerate(pairs)
    ]
    edits = KernelEdits.of(steps)
    scope = {}
    exec(edits.apply(wrapper, "g", {}), {"AsyncCompile": Recorder, "scope": scope})
    edits.require_all()
    assert Recorder.last.sources == [f"\ny{new}".rstrip() + "\n" for _, new in pairs]


class Recorder:
    """Stands for the compiler: it keeps what it is given."""

    last = None

    def __init__(self):
        self.sources = []
        Recorder.last = self

    def cpp_pybinding(self, types, source):
        self.sources.append(source)


@given(st.integers(0, 4), st.integers(1, 9), st.integers(2, 9))
def test_a_swizzle_runs_every_program_once_and_those_of_one_part_together(block_exponent, blocks, repeats):
    block = 1 << block_exponent
    period = block * blocks
    source = pointwise(elements=period * repeats, body=f"tl.load(in_ptr1 + (xindex % {period}))")
    kernel = read_kernel(source)
    if period < 2:
        return
    assert kernel.periods == (period,)
    (line,) = [each for each in with_swizzle(kernel, period).splitlines() if "xoffset =" in each]
    expression = line.partition("=")[2].partition("#")[0].replace("tl.program_id(0)", "program")
    offsets = [eval(expression, {"program": program, "XBLOCK": block}) for program in range(blocks * repeats)]
    assert sorted(offsets) == [program * block for program in range(blocks * repeats)]
    parts = [offset % period for offset in offsets]
    assert all(len(set(parts[at : at + repeats])) == 1 for at in range(0, len(parts), repeats))
