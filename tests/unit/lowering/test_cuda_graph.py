"""What stands around a captured graph: copies in and out, moved parameters, refusals. The recording itself is played by
a stand-in that runs the compiled code again, on the very memory that was captured.
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from strop.errors import BadCandidate
from strop.lowering import lower
from strop.lowering.cuda_graph import MOST_CAPTURES, Graphed, GraphPool
from strop.transforms._graph import CUDA_GRAPH
from tests.unit.capture.nets import ConvNet
from tests.unit.lowering.rewrites import fold_batch_norm


class Tape(GraphPool):
    """Records by remembering what to run; a replay writes its results into the captured ones, as a graph does."""

    def __init__(self, *, fails_with=None, within=False):
        super().__init__()
        self.records = self.replays = self.orders = 0
        self.fails_with, self.within = fails_with, within

    def record(self, run):
        self.records += 1
        if self.fails_with is not None:
            try:
                raise self.fails_with
            finally:
                raise RuntimeError("CUDA error: operation failed due to a previous error during capture")
        results = run()

        def replay():
            self.replays += 1
            for old, new in zip(results, run(), strict=True):
                if isinstance(old, torch.Tensor):
                    old.untyped_storage().copy_(new.untyped_storage())

        return replay, results

    def is_being_captured(self):
        return self.within

    def in_order(self):
        assert self.lock._is_owned()
        self.orders += 1


class Code:
    """Compiled code: clears its list of inputs, as Inductor's does."""

    def __init__(self, function):
        self.function, self.calls, self.seen = function, 0, []

    def __call__(self, args):
        self.calls += 1
        given = list(args)
        self.seen.append([value.data_ptr() for value in given if isinstance(value, torch.Tensor)])
        args.clear()
        return self.function(*given)


def affine(x, weight):
    return (x * weight, None, 3)


WEIGHT = torch.full((4,), 2.0)


def test_every_call_is_right_and_the_second_one_is_captured():
    code, tape = Code(affine), Tape()
    graphed = Graphed(code, [1], tape)
    for call in range(5):
        x = torch.randn(3, 4)
        args = [x, WEIGHT]
        result, none, number = graphed(args)
        torch.testing.assert_close(result, x * 2, rtol=0, atol=0)
        assert (none, number, args) == (None, 3, [])
        assert (tape.records, tape.replays) == (min(call, 1), max(0, call))


def test_inputs_are_copied_to_one_place_and_parameters_are_read_where_they_lie():
    code = Code(affine)
    graphed = Graphed(code, [1], Tape())
    xs = [torch.randn(3, 4) for _ in range(4)]
    for x in xs:
        graphed([x, WEIGHT])
    replayed = code.seen[2:]
    assert len({place for place, _ in replayed}) == 1
    assert replayed[0][0] not in {x.data_ptr() for x in xs}
    assert {weight for _, weight in replayed} == {WEIGHT.data_ptr()}


def test_parameters_that_change_in_place_are_followed_without_a_new_capture():
    weight, tape = torch.ones(4), Tape()
    graphed = Graphed(Code(affine), [1], tape)
    x = torch.randn(3, 4)
    for factor in (1.0, 2.0, 3.0, 4.0):
        weight.fill_(factor)
        torch.testing.assert_close(graphed([x, weight])[0], x * factor, rtol=0, atol=0)
    assert tape.records == 1


def test_parameters_that_move_are_captured_anew_but_not_for_ever(caplog):
    tape = Tape()
    graphed = Graphed(Code(affine), [1], tape)
    x = torch.randn(3, 4)
    weights = [torch.full((4,), float(number)) for number in range(MOST_CAPTURES + 4)]
    for weight in weights:
        torch.testing.assert_close(graphed([x, weight])[0], x * weight, rtol=0, atol=0)
    assert tape.records == MOST_CAPTURES
    assert "keep moving" in caplog.text


def test_results_are_the_callers_own():
    graphed = Graphed(Code(affine), [1], Tape())
    results = [graphed([torch.full((3, 4), float(number)), WEIGHT])[0] for number in range(5)]
    assert [result[0, 0].item() for result in results] == [0.0, 2.0, 4.0, 6.0, 8.0]
    results[3].zero_()
    assert graphed([torch.ones(3, 4), WEIGHT])[0].eq(2).all()


def test_results_keep_their_layout_and_what_they_share():
    def views(x):
        whole = x + 1
        return whole, whole[1:], (x * 3).t(), (x * 5)[:, :1].expand(3, 4)

    graphed = Graphed(Code(views), [], Tape())
    x = torch.randn(3, 4)
    for _ in range(3):
        found = graphed([x])
    expected = views(x)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
        assert one.stride() == other.stride()
    found[0].zero_()
    assert found[1].eq(0).all()
    assert not found[2].eq(0).all()


def test_inside_a_callers_own_capture_nothing_is_captured():
    tape = Tape(within=True)
    graphed = Graphed(Code(affine), [1], tape)
    for _ in range(3):
        graphed([torch.ones(3, 4), WEIGHT])
    assert (tape.records, tape.orders) == (0, 0)


def test_calls_from_several_threads_take_turns():
    tape = Tape()
    graphed = Graphed(Code(affine), [1], tape)
    graphed([torch.ones(3, 4), WEIGHT])

    def work(number):
        calls = [graphed([torch.full((3, 4), float(number)), WEIGHT])[0] for _ in range(30)]
        return all(result.eq(2 * number).all() for result in calls)

    with ThreadPoolExecutor(max_workers=4) as threads:
        assert all(threads.map(work, range(4)))
    assert tape.records == 1


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("CUDA error: operation not permitted when stream is capturing\nmore"),
        torch.AcceleratorError("CUDA error: operation not permitted when stream is capturing"),
    ],
)
def test_what_cannot_be_captured_is_refused_with_its_first_cause(error):
    graphed = Graphed(Code(affine), [1], Tape(fails_with=error))
    graphed([torch.ones(3, 4), WEIGHT])
    with pytest.raises(BadCandidate, match=r"cannot be captured .*: CUDA error: operation not permitted when stream"):
        graphed([torch.ones(3, 4), WEIGHT])


def test_memory_that_runs_out_stays_what_it_is():
    graphed = Graphed(Code(affine), [1], Tape(fails_with=torch.OutOfMemoryError("CUDA out of memory.")))
    graphed([torch.ones(3, 4), WEIGHT])
    with pytest.raises(torch.OutOfMemoryError):
        graphed([torch.ones(3, 4), WEIGHT])


def test_a_capture_that_fails_leaves_the_former_one_whole():
    tape, weight = Tape(), torch.full((4,), 3.0)
    graphed = Graphed(Code(affine), [1], tape)
    for _ in range(3):
        graphed([torch.ones(3, 4), WEIGHT])
    tape.fails_with = RuntimeError("CUDA error: operation not permitted when stream is capturing")
    with pytest.raises(BadCandidate):
        graphed([torch.ones(3, 4), weight])
    assert graphed([torch.full((3, 4), 5.0), WEIGHT])[0].eq(10).all()


def test_a_number_among_the_inputs_is_refused():
    graphed = Graphed(Code(lambda x, n: (x * n,)), [], Tape())
    graphed([torch.ones(3), 4])
    with pytest.raises(BadCandidate, match="it takes a int"):
        graphed([torch.ones(3), 4])


@pytest.fixture
def tape(monkeypatch):
    """The pool of whatever is lowered next."""
    found = Tape()
    monkeypatch.setattr(sys.modules["strop.lowering.lower"], "GraphPool", lambda: found)
    with torch.no_grad():
        yield found


def marked(rewrite=lambda graph: graph):
    def mark(graph):
        graph = rewrite(graph)
        graph.meta[CUDA_GRAPH] = True
        return graph

    return mark


def test_a_marked_graph_is_captured(tape):
    net = ConvNet().eval()
    lowered = lower(net, marked())
    for _ in range(4):
        x = torch.randn(2, 3, 8, 8)
        torch.testing.assert_close(lowered(x), net(x), rtol=1e-4, atol=1e-5)
    assert (tape.records, tape.replays) == (1, 3)
    assert lowered.graphs[0].wrapper


def test_packs_follow_parameters_through_a_captured_graph(tape):
    net = ConvNet().eval()
    net.norm.running_var.uniform_(0.5, 2)
    lowered = lower(net, marked(fold_batch_norm))
    x = torch.randn(2, 3, 8, 8)
    for _ in range(3):
        torch.testing.assert_close(lowered(x), net(x), rtol=1e-4, atol=1e-5)
    net.conv.weight.mul_(2)
    torch.testing.assert_close(lowered(x), net(x), rtol=1e-4, atol=1e-5)
    net.norm.weight = torch.nn.Parameter(torch.rand(8))
    torch.testing.assert_close(lowered(x), net(x), rtol=1e-4, atol=1e-5)
    assert tape.records == 1


def test_what_is_not_marked_is_not_captured(tape):
    lowered = lower(ConvNet().eval())
    for _ in range(3):
        lowered(torch.randn(2, 3, 8, 8))
    assert (tape.records, tape.orders) == (0, 0)
