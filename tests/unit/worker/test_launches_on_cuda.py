"""Edits of a generated kernel on a GPU: the right ones are timed, and those that leave something else say so."""

import pytest
import torch

from strop.lowering import lower
from strop.lowering.torch_shims import launches_seen
from strop.worker.questions import launches
from tests.unit.lowering.generated import Pointwise, RowSums, Softmax, generated, replace_source, retune

pytestmark = pytest.mark.gpu

CACHE_BYTES = 50 << 20


@pytest.fixture(autouse=True)
def on_cuda():
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    torch._dynamo.reset()
    with torch.no_grad(), torch.device("cuda"):
        yield


def timed(module, x, *change):
    """What is said of edits of the module's first kernel, and its recorded arguments before and after."""
    lowered = lower(module)
    with launches_seen() as seen:
        lowered(x)
    kernel, (graph,) = generated(lowered)[0], lowered.graphs
    place = launches._Place(kernel, graph, seen[kernel.name], graph.in_form)
    before = [each.clone() for each in place.arguments if isinstance(each, torch.Tensor)]
    found = launches._timed(place, [each(kernel) for each in change], CACHE_BYTES, until_s=float("inf"))
    after = [each for each in place.arguments if isinstance(each, torch.Tensor)]
    assert all(torch.equal(one, other) for one, other in zip(before, after, strict=True))
    return found


def source(change):
    """The edit that gives a kernel its own text but for one change."""

    def edit(kernel):
        assert change(kernel.source) != kernel.source
        return replace_source(kernel, change(kernel.source))

    return edit


def test_wrong_edits_are_dropped_and_right_ones_are_timed():
    right, other_factor, no_store = timed(
        Pointwise(),
        torch.randn(4097, 515),
        lambda kernel: retune(kernel, xblock=256, num_warps=2),
        source(lambda text: text.replace("3.0", "3.001")),
        source(lambda text: text.replace("xmask = xindex < xnumel", "xmask = xindex < xnumel - 1")),
    )
    assert (right.because, right.time_ns > 0, right.own_ns > 0) == ("", True, True)
    assert "out_ptr0: they differ by up to" in other_factor.because
    assert "out_ptr0: they are NaN or infinite at other places" in no_store.because
    assert other_factor.time_ns == no_store.time_ns == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("make", "columns"), [(RowSums, 5000), (Softmax, 3001)])
def test_other_launches_and_forms_of_a_reduction_pass_and_a_shorter_one_does_not(make, columns, dtype):
    *right, wrong = timed(
        make(),
        torch.randn(513, columns, dtype=dtype),
        lambda kernel: retune(kernel, xblock=1, rblock=512, num_warps=4),
        lambda kernel: retune(kernel, xblock=4, rblock=64, num_warps=8),
        lambda kernel: retune(kernel, form="persistent", xblock=1, num_warps=8),
        source(lambda text: text.replace("r0_mask = r0_index < r0_numel", "r0_mask = r0_index < r0_numel - 300")),
    )
    assert [each.because for each in right] == [""] * 3
    assert all(each.time_ns > 0 for each in right)
    assert "leaves other values in" in wrong.because
