"""Results must not share memory with the inputs of their call or with earlier results, whatever they say themselves."""

import torch

from strop.worker.tensors import memory_of, plain
from strop.worker.watch import CALLS, SMALL_BYTES, Watch


def test_buffers_that_take_turns_are_seen():
    watch, buffers = Watch(), [torch.zeros(8) for _ in range(CALLS)]
    seen = []
    for call in range(CALLS + 1):
        out = {"out": buffers[call % CALLS]}
        seen.append(watch.aliases({}, out))
        watch.remember(out)
    assert seen == [()] * CALLS + [("out",)]


def test_of_large_results_only_the_last_are_kept_alive():
    watch = Watch()
    first, second = (torch.empty(SMALL_BYTES // 4 // CALLS + 1) for _ in range(2))
    watch.remember({"out": first})
    watch.remember({"out": second})
    assert watch.aliases({}, {"out": first}) == ()
    assert watch.aliases({}, {"out": second}) == ("out",)


def test_an_input_handed_back_is_seen():
    x = torch.zeros(8)
    assert Watch().aliases({"x": x}, {"out": x[2:]}) == ("out",)


class Liar(torch.Tensor):
    @property
    def shape(self):
        return torch.Size((3,))

    def untyped_storage(self):
        return torch.zeros(9).untyped_storage()


def test_what_a_result_says_about_itself_does_not_count():
    buffer = torch.zeros(8)
    by_class = buffer.as_subclass(Liar)
    by_attribute = buffer.view(8)
    by_attribute.untyped_storage = lambda: torch.zeros(9).untyped_storage()
    for each in (by_class, by_attribute, torch.nn.Parameter(buffer)):
        assert type(plain(each)) is torch.Tensor
        assert plain(each).shape == (8,)
        assert memory_of(plain(each)) == memory_of(buffer)
    assert plain(buffer) is buffer
