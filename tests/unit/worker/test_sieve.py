"""What an edited kernel leaves beside the compiler's own: kernels are played by functions that write in place."""

import pytest
import torch

from strop.errors import BadCandidate
from strop.transforms._kernel_text import read_kernel
from strop.worker import sieve
from strop.worker.sieve import Sieve
from tests.unit.transforms.kernel_samples import looped, pointwise

COLUMNS = 4000
ELEMENTWISE = read_kernel(pointwise())
ROW_SUMS = read_kernel(looped(columns=COLUMNS))
IN_PLACE = read_kernel(pointwise().replace("in_ptr0", "in_out_ptr0"))
ADDED_UP = read_kernel(pointwise(body="tl.atomic_add(out_ptr0, tmp0)"))


def checked(kernel, arguments, own, *edits):
    """Check edits one after another; what is said of each, empty for what passes."""
    made, said = Sieve(kernel, arguments, lambda: own(*arguments)), []
    for edit in edits:
        try:
            made.check(lambda edit=edit: edit(*arguments))
            said.append("")
        except BadCandidate as refused:
            said.append(str(refused))
    made.put_back()
    return said


def row_sums(x, out, *_):
    out.copy_(x.float().sum(-1))


def row_sums_one_by_one(x, out, *_):
    out.copy_(x.float().cumsum(-1)[:, -1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("centred", [False, True], ids=["large sums", "sums of nothing but rounding"])
def test_sums_in_another_order_pass_and_wrong_ones_do_not(dtype, centred):
    x = torch.randn(64, COLUMNS, generator=torch.Generator().manual_seed(3))
    x = (x - x.mean(-1, keepdim=True) if centred else x + 0.1).to(dtype)

    def without_the_end(x, out, *_):
        out.copy_(x[:, :-60].float().sum(-1))

    arguments = (x, torch.empty(64, dtype=dtype), 64, COLUMNS)
    other_order, wrong = checked(ROW_SUMS, arguments, row_sums, row_sums_one_by_one, without_the_end)
    assert not other_order
    assert "leaves other values in out_ptr0: they differ by up to" in wrong and "where rounding explains" in wrong


def doubled(x, out, *_):
    out.copy_(2 * x)


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.float8_e5m2, torch.int64, torch.uint8, torch.bool]
)
def test_a_kernel_that_leaves_out_elements_does_not_pass_for_what_the_call_wrote_before(dtype):
    x = (torch.arange(40) % 3).to(dtype)

    def copied(x, out, *_):
        out.copy_(x)

    def without_the_end(x, out, *_):
        out[:-2].copy_(x[:-2])

    arguments = (x, x.clone(), 40)
    right, nothing, most = checked(ELEMENTWISE, arguments, copied, copied, lambda *_: None, without_the_end)
    assert not right
    for said in (nothing, most):
        assert "out_ptr0" in said and ("at other places" if dtype.is_floating_point else "of 40 places") in said


def test_integers_have_to_be_equal():
    def one_off(x, out, *_):
        doubled(x, out)
        out[7] += 1

    x = torch.arange(30)
    assert "differ at 1 of 30 places" in checked(ELEMENTWISE, (x, x.clone(), 30), doubled, one_off)[0]


def test_nan_and_infinity_pass_at_their_own_places_alone():
    x = torch.tensor([1.0, torch.nan, torch.inf, -torch.inf])

    def other_bits(x, out, *_):
        doubled(x, out)
        out[0] *= 1 + 2**-23
        out[1] = -torch.nan

    def elsewhere(x, out, *_):
        out.copy_(2 * x.flip(0))

    passes, turned, finite = checked(
        ELEMENTWISE, (x, x.clone(), 4), doubled, other_bits, elsewhere, lambda x, out, *_: out.fill_(2.0)
    )
    assert not passes and "at other places" in turned and "at other places" in finite


def test_every_launch_begins_with_the_same_contents_and_the_last_ones_are_put_back():
    x = torch.arange(1.0, 5.0)
    own, twice = lambda x, *_: x.add_(1), lambda x, *_: x.add_(2)
    same, wrong, again = checked(IN_PLACE, (x, torch.zeros(4), 4), own, own, twice, own)
    assert not same and not again and "in_out_ptr0" in wrong
    assert x.tolist() == [1, 2, 3, 4]


def test_what_is_added_to_keeps_its_contents_and_its_sums_are_as_long_as_the_inputs():
    x, out = torch.rand(1 << 16), torch.tensor([3.0])

    def added(x, out, *_):
        assert out.item() == 3
        out.add_(x.sum())

    def one_by_one(x, out, *_):
        out.add_(x.cumsum(0)[-1])

    same, nothing = checked(ADDED_UP, (x, out, 1), added, one_by_one, lambda *_: None)
    assert not same and nothing


def test_layouts_stay_what_they_were_and_views_of_one_memory_go_on_sharing_it():
    whole = torch.arange(24.0).view(4, 6)
    x, out = whole[1:, ::2].t(), whole[:1, 1::2].t()

    def last(x, out, *_):
        assert (x.stride(), x.storage_offset(), out.storage_offset()) == ((2, 6), 6, 1)
        out.copy_(x[:, -1:])

    def careless(x, out, *_):
        last(x, out)
        x[0, 0] = 5.0

    before = whole.clone()
    right, careless_said = checked(ELEMENTWISE, (x, out, 3), last, last, careless)
    assert not right and "other values in in_ptr0" in careless_said
    assert torch.equal(whole, before)


def test_parameters_and_expanded_inputs_can_be_arguments():
    weight = torch.nn.Parameter(torch.ones(1, 3)).expand(5, 3)
    assert checked(ELEMENTWISE, (weight, torch.empty(5, 3), 15), doubled, doubled) == [""]
    assert checked(ELEMENTWISE, (torch.empty(0), torch.empty(0), 0), doubled, doubled) == [""]


def test_without_memory_nothing_is_compared(monkeypatch):
    def full(*_):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(sieve, "same_bits", full)
    assert checked(ELEMENTWISE, (torch.ones(3), torch.ones(3), 3), doubled, lambda *_: None) == [""]
