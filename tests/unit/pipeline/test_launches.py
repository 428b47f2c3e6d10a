"""Launches of generated kernels are tried alone: the proposals that leave them open come back settled."""

import pytest

from strop.pipeline import launches
from strop.pipeline.launches import FIRST_LAUNCHES, MOST_LAUNCHES, measured
from strop.records.graph import Region
from strop.records.opportunity import Legality, ParameterRange, Proposal
from strop.records.profile import Bound, KernelProfile
from strop.records.recipe import Step
from strop.wire import messages as m
from strop.wire.launches import AskLaunches
from tests.unit.pipeline.scripted import Script, ScriptedWall, crash
from tests.unit.pipeline.test_line import court

RANGES = (
    ParameterRange(name="xblock", choices=(64, 128, 256, 512, 1024, 2048, 4096)),
    ParameterRange(name="num_warps", choices=(8, 4, 2, 1, 16)),
    ParameterRange(name="evict", choices=("kept", "none")),
)


def retuned(kernel_hash="k-1", parameters=RANGES, **more):
    chosen = {each.name: each.choices[0] for each in parameters}
    arguments = {"kernel": "triton_red", "hash": kernel_hash, "form": "kept"} | chosen | more
    return Proposal(
        step=Step("retune", tuple(arguments.items())),
        region=Region(graph_id="g", nodes=("a",)),
        legality=(Legality.REASSOCIATED,),
        gain_ns=7.0,
        parameters=parameters,
    )


def kernel(kernel_hash="k-1", calls=2):
    return KernelProfile(
        name="triton_red",
        language="triton",
        nodes=("a",),
        calls=calls,
        time_ns=100.0,
        share=0.5,
        moved_bytes=1,
        work_flop=0,
        bound=Bound.MEMORY,
        floor_ns=10.0,
        hash=kernel_hash,
    )


def settled(launch_ns, proposals, budget_s=1e3, **more):
    wall = ScriptedWall(eager=Script(launch_ns=launch_ns, **more))
    with court(wall) as trusted:
        found = measured(trusted, proposals, [kernel()], budget_s)
    return found, wall


def asked(wall):
    return [request for _, request in wall.asked if isinstance(request, AskLaunches)]


def by_block(step):
    """Fastest at blocks of 2048 and two warps, without hints; nothing larger can be launched."""
    size, warps = step.argument("xblock", 0), step.argument("num_warps", 0)
    if size > 2048:
        return "its tile is too large"
    hints = 0.0 if step.argument("evict", "") == "none" else 1.0
    return 40.0 + abs(size - 2048) / 64 + abs(warps - 2) + hints


def test_the_fastest_launch_is_named_and_its_gain_is_what_was_measured():
    (found,), _ = settled(lambda step: 60.0 if step.argument("xblock", 0) == 128 else 90.0, [retuned()])
    assert found.step.argument("xblock", 0) == 128
    assert found.gain_ns == 2 * 40.0, "two launches a call, each 40 ns faster than its own"
    assert found.parameters == (), "nothing is left to search for"


def test_what_is_fastest_is_followed_beyond_the_first_choices():
    (found,), wall = settled(by_block, [retuned()])
    assert found.step.argument("xblock", 0) == 2048
    steps = [step for request in asked(wall) for step in request.steps]
    assert len(steps) == len(set(steps)) <= MOST_LAUNCHES, "no launch is tried twice"
    assert steps[0] == retuned().step
    assert {step.argument("xblock", 0) for step in steps[:FIRST_LAUNCHES]} <= {64, 128, 256, 512}, "near the estimate"
    nearby = [step.argument("xblock", 0) for step in steps[FIRST_LAUNCHES : 3 * FIRST_LAUNCHES]]
    assert sum(size in (1024, 2048) for size in nearby) > len(nearby) / 3, "what was fast is looked at more closely"
    assert all(step.argument("form", "") == "kept" for step in steps)


def test_a_kernel_that_can_be_launched_in_one_way_only_is_timed_as_well():
    one_way = retuned(parameters=tuple(ParameterRange(name=each.name, choices=each.choices[:1]) for each in RANGES))
    (found,), wall = settled(lambda step: 60.0, [one_way])
    assert [request.steps for request in asked(wall)] == [(one_way.step,)]
    assert found.gain_ns == 2 * 40.0 and found.parameters == ()


def test_a_slower_launch_promises_nothing():
    (found,), _ = settled(lambda step: 130.0, [retuned()])
    assert found.gain_ns == 0.0


def test_each_form_of_a_kernel_has_its_own_best():
    def form_ns(step):
        return (30.0 if step.argument("form", "") == "persistent" else 70.0) + step.argument("num_warps", 0)

    one, other = settled(form_ns, [retuned(form="persistent"), retuned()])[0]
    assert (one.step.argument("form", ""), other.step.argument("form", "")) == ("persistent", "kept")
    assert one.gain_ns > other.gain_ns > 0


def test_other_proposals_are_left_alone_and_nobody_is_asked():
    closed = [retuned(parameters=()), retuned(kernel_hash="")]
    found, wall = settled(by_block, closed)
    assert list(found) == closed and asked(wall) == []


@pytest.mark.parametrize("request_type", [AskLaunches, m.Load])
def test_a_child_that_dies_leaves_the_proposals_as_they_were_and_it_is_said(request_type, caplog):
    proposals = [retuned()]
    found, wall = settled(by_block, proposals, faults={request_type: crash()})
    assert list(found) == proposals
    assert len(asked(wall)) <= 1, "it is not asked again"
    assert "could not be timed alone" in caplog.text


def test_what_fails_alone_at_every_launch_is_not_proposed_and_it_is_said(caplog):
    caplog.set_level("INFO", logger="strop")
    closed = retuned(parameters=())
    found, wall = settled(lambda step: "it leaves other values in out_ptr0", [retuned(), closed])
    assert found == (closed,) and len(asked(wall)) == 1
    assert "it leaves other values in out_ptr0" in caplog.text


def test_a_launch_that_fails_alone_gives_way_to_one_that_does_not():
    fails = retuned().step
    (found,), _ = settled(lambda step: "it leaves other values" if step == fails else 60.0, [retuned()])
    assert found.step != fails and found.gain_ns > 0


def test_time_runs_out(monkeypatch):
    clock = iter(range(0, 10_000, 20))
    monkeypatch.setattr(launches.time, "monotonic", lambda: float(next(clock)))
    _, wall = settled(by_block, [retuned()], budget_s=120.0)
    limits = [request.limit_s for request in asked(wall)]
    assert limits == sorted(limits, reverse=True) and len(limits) == 2 and limits[-1] == 10.0
