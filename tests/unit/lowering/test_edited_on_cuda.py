"""Edited and retuned kernels on a GPU: they run as they were asked to, and compute what they should."""

import pytest
import torch
from torch._inductor.codecache import PyCodeCache

from strop.errors import BadCandidate
from strop.lowering import LoweringOptions, lower
from strop.transforms._kernel_text import read_kernel
from strop.transforms._launches import launches
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

pytestmark = pytest.mark.gpu

MODES = ["default", "reduce-overhead"]
CALLS = 4  # with CUDA graphs: warm up, record, and replay twice


@pytest.fixture(autouse=True)
def on_cuda():
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    torch._dynamo.reset()
    with torch.no_grad(), torch.device("cuda"):
        yield


def compiled(module, *inputs, steps=(), mode="default"):
    """Lower and call a few times, each time on other contents."""
    lowered = lower(module, options=LoweringOptions(mode=mode, edits=tuple(steps)))
    for _ in range(CALLS):
        result = lowered(*inputs).clone()
    torch.cuda.synchronize()
    return lowered, result


def live(lowered, name):
    """Inductor's object for a kernel of the loaded wrapper."""
    (graph,) = lowered.graphs
    for module in reversed(PyCodeCache.modules):
        with open(module.__file__) as file:
            if file.read() == graph.wrapper:
                return getattr(module, name)
    raise AssertionError("the wrapper was never loaded")


def launched(lowered, name):
    """The launch that a kernel ended up with."""
    (launcher,) = live(lowered, name).launchers
    config = launcher.config
    return {**config.kwargs, "num_warps": config.num_warps, "num_stages": config.num_stages}


CASES = {
    "pointwise": (Pointwise, [(4097, 515)], "pointwise", {"xblock": 256, "num_warps": 2}, {"XBLOCK": 256}),
    "tiled": (Transposed, [(513, 260), (260, 513)], "pointwise", {"xblock": 16, "yblock": 64}, {"XBLOCK": 16}),
    "looped": (RowSums, [(4097, 3001)], "reduction", {"xblock": 2, "rblock": 512, "num_warps": 8}, {"R0_BLOCK": 512}),
    "pipelined": (
        RowSums,
        [(4097, 3001)],
        "reduction",
        {"xblock": 1, "rblock": 512, "num_stages": 3},
        {"num_stages": 3},
    ),
    "persistent": (Softmax, [(4097, 500)], "persistent_reduction", {"xblock": 2, "num_warps": 1}, {"XBLOCK": 2}),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_a_retuned_kernel_is_launched_as_asked_and_right(case, mode):
    make, shapes, kind, values, expected = CASES[case]
    module, inputs = make(), [torch.randn(shape) for shape in shapes]
    kernel = kernel_of(compiled(module, *inputs)[0], kind)
    step = retune(kernel, **{"num_warps": 4, "num_stages": 1, **values})
    lowered, result = compiled(module, *inputs, steps=[step], mode=mode)
    found = launched(lowered, kernel.name)
    assert expected.items() <= found.items()
    torch.testing.assert_close(result, module(*inputs), rtol=1e-4, atol=1e-3)
    for _ in range(2):
        fresh = [torch.randn(shape) for shape in shapes]
        torch.testing.assert_close(lowered(*fresh), module(*fresh), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("form", "columns"), [("persistent", 3001), ("looped", 500)])
def test_another_form_of_a_reduction_is_right(form, columns, mode):
    module, x = Softmax(), torch.randn(1025, columns)
    (kernel,) = generated(compiled(module, x)[0])
    lowered, result = compiled(module, x, steps=[retune(kernel, form=form)], mode=mode)
    assert read_kernel(kernel.source).kind != form
    assert ("for r0_offset in" in generated(lowered)[0].source) == (form == "looped")
    torch.testing.assert_close(result, torch.softmax(x * 2, -1), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("make", "shape"), [(Pointwise, (1023, 257)), (RowSums, (513, 5000)), (Softmax, (513, 700))])
def test_the_likeliest_launches_are_all_right(make, shape, dtype):
    module, x = make(), torch.randn(shape, dtype=dtype)
    kernel = generated(compiled(module, x)[0])[0]
    names = {"XBLOCK": "xblock", "YBLOCK": "yblock", "R0_BLOCK": "rblock"}
    tolerance = 1e-4 if dtype is torch.float32 else 2e-2
    reference = module(x.double())
    for launch in launches(read_kernel(kernel.source))[:6]:
        values = {names[block]: size for block, size in launch.blocks}
        step = retune(kernel, **values, num_warps=launch.warps, num_stages=launch.stages)
        torch._dynamo.reset()
        _, result = compiled(module, x, steps=[step])
        scale = reference.abs().max().item()
        assert (result.double() - reference).abs().max().item() <= tolerance * scale, launch


@pytest.mark.parametrize("mode", MODES)
def test_a_pointwise_kernel_has_the_same_bits_at_every_launch(mode):
    module, x = Pointwise(), torch.randn(4097, 515)
    lowered, expected = compiled(module, x)
    kernel = kernel_of(lowered, "pointwise")
    for size in (128, 1024, 4096):
        _, result = compiled(module, x, steps=[retune(kernel, xblock=size)], mode=mode)
        assert torch.equal(result, expected)


@pytest.mark.parametrize("mode", MODES)
def test_an_edited_source_is_what_runs(mode):
    module, x = Pointwise(), torch.randn(1000)
    kernel = kernel_of(compiled(module, x)[0], "pointwise")
    source = kernel.source.replace("3.0", "5.0")
    assert source != kernel.source
    lowered, result = compiled(module, x, steps=[replace_source(kernel, source)], mode=mode)
    torch.testing.assert_close(result, (x * 5 + 1).relu())
    assert generated(lowered)[0].source == source
    torch.testing.assert_close(compiled(module, x, mode=mode)[1], module(x))


def test_only_the_named_kernel_changes():
    module, x = Several(), torch.randn(256, 64)
    plain, expected = compiled(module, x)
    kernel = kernel_of(plain, "pointwise")
    lowered, result = compiled(module, x, steps=[retune(kernel, xblock=128, num_warps=1)])
    assert generated(lowered)[1:] == generated(plain)[1:]
    torch.testing.assert_close(result, expected)


BROKEN = {
    "unknown name": ("tmp0 + undefined_name", "undefined_name"),
    "shapes that do not fit": ("tmp0 + tl.arange(0, 16)", "incompatible"),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fault", BROKEN)
def test_what_does_not_compile_is_the_candidates_fault(fault, mode):
    text, says = BROKEN[fault]
    module, x = Pointwise(), torch.randn(1000)
    kernel = kernel_of(compiled(module, x)[0], "pointwise")
    head, line, tail = kernel.source.partition("tmp2 = ")
    source = head + line + text + "\n" + tail.partition("\n")[2]
    with pytest.raises(BadCandidate) as caught:
        compiled(module, x, steps=[replace_source(kernel, source)], mode=mode)
    assert says in str(caught.value)
    torch.testing.assert_close(compiled(module, x, mode=mode)[1], module(x))


def test_a_cached_compilation_is_never_an_edited_one():
    module, x = Pointwise(), torch.randn(3000)
    plain, expected = compiled(module, x)
    kernel = kernel_of(plain, "pointwise")
    for _ in range(2):
        torch._dynamo.reset()
        edited, result = compiled(module, x, steps=[replace_source(kernel, kernel.source.replace("3.0", "5.0"))])
        torch.testing.assert_close(result, (x * 5 + 1).relu())
        torch._dynamo.reset()
        again, result = compiled(module, x)
        assert torch.equal(result, expected)
        assert generated(again) == generated(plain) != generated(edited)
