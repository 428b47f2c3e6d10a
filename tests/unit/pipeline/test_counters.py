"""Counters find the kernels that they were counted of, and where there are none the profile says why."""

from dataclasses import replace

import pytest

from strop.errors import BadCandidate
from strop.pipeline.counters import heaviest, with_counters
from strop.pipeline.stations import LocalStations
from strop.records.candidate import Candidate, SourceForm
from strop.records.opportunity import Origin
from strop.records.profile import (
    Bound,
    Counted,
    CountedLaunch,
    DeviceKernel,
    KernelCounters,
    KernelResources,
)
from strop.records.target import Multiprocessor
from strop.wire.messages import AskCounters, AskProfile, ChildRole, KernelSample, Load, Open, ProfileReply
from tests.unit.pipeline.scripted import CONDITIONS, REQUEST, TARGET, WORKLOAD, Script, ScriptedWall, crash

FILL, ADD = "void at::native::elementwise<4, Fill>(int)", "void at::native::elementwise<4, Add>(int)"
HERE = ((8, 1, 1), (128, 1, 1))
SMS = Multiprocessor(count=4, threads=2048, blocks=32, registers=65536, shared_bytes=1 << 17)


def kernel(name, time_ns, shape=HERE):
    taken = KernelResources(grid=shape[0], block=shape[1], registers=32, shared_bytes=0) if shape else None
    return DeviceKernel(name=name, calls=1, time_ns=time_ns, resources=taken)


def reply(*launched):
    samples = [
        KernelSample(
            name=f"k{number}",
            language="triton",
            nodes=(),
            calls=1,
            time_ns=each.time_ns,
            moved_bytes=8,
            work_flop=8,
            launched=(each,),
        )
        for number, each in enumerate(launched)
    ]
    return ProfileReply(call_ns=1e6, kernels=tuple(samples))


def launch(name, time_ns=None, shape=HERE, **counters):
    return CountedLaunch(name=name, grid=shape[0], block=shape[1], counters=KernelCounters(time_ns=time_ns, **counters))


def times(profile):
    return [sample.launched[0].counters and sample.launched[0].counters.time_ns for sample in profile.kernels]


def test_the_heaviest_are_those_of_the_device_by_their_plain_names():
    one = reply(kernel(FILL, 3.0), kernel("Memcpy DtoD (Device -> Device)", 99.0, None), kernel(ADD, 4.0))
    assert heaviest(one) == ("elementwise",)
    many = reply(*(kernel(f"k{number}", float(number)) for number in range(9)))
    assert heaviest(many, 2) == ("k8", "k7")


def test_each_kernel_gets_the_longest_launch_of_its_own():
    found = with_counters(
        reply(kernel(FILL, 3.0), kernel(ADD, 4.0), kernel("red", 2.0), kernel("red", 2.0, ((9, 1, 1), HERE[1]))),
        Counted(launches=(launch(ADD, 40.0), launch(FILL, 30.0), launch("red", 5.0), launch("red", 7.0))),
    )
    assert times(found) == [30.0, 40.0, 7.0, None]
    otherwise = Counted(launches=(launch("elementwise(int)", 12.0),))
    assert times(with_counters(reply(kernel(FILL, 3.0), kernel("Memset (Device)", 1.0, None)), otherwise)) == [
        12.0,
        None,
    ]


def test_without_counters_a_note_says_why():
    found = with_counters(reply(kernel("red", 2.0)), Counted(because="nobody may."))
    assert found.notes == ("There are no counters: nobody may. Bounds are from the roofline.",)


class CountingWall(ScriptedWall):
    """Counts what the scripted profile launched."""

    asked_for = ()

    def counted(self, role, requests, kernels, timeout_s):
        self.asked_for = (role, [type(request) for request in requests], kernels)
        return Counted(launches=(launch("heavy", 9.0, memory_ratio=0.9, compute_ratio=0.1),))


def line_of(wall, multiprocessor):
    target = replace(TARGET, multiprocessor=multiprocessor)
    return LocalStations(wall=wall, workload=WORKLOAD, target=target, request=REQUEST, conditions=CONDITIONS)


def test_a_profile_has_counters_where_they_are_wanted(monkeypatch):
    monkeypatch.setattr("tests.unit.pipeline.scripted.ScriptedChild._profile", lambda *_: reply(kernel("heavy", 9e5)))
    for wanted, on_device, asked in ((True, SMS, True), (False, SMS, False), (True, None, False)):
        wall = CountingWall(eager=Script())
        with line_of(wall, on_device) as line:
            (found,) = line.profile(counters=wanted).profile.kernels
        assert bool(wall.asked_for) == asked
        assert (found.counters is not None) == asked
        if asked:
            assert wall.asked_for == (ChildRole.BASELINE, [Open, Load, AskCounters], ("heavy",))
            assert found.bound is Bound.MEMORY and "counted: memory busy 90 %" in found.diagnosis
            assert wall.locks


def test_where_nothing_ran_on_a_device_nothing_is_counted():
    wall = CountingWall(eager=Script())
    with line_of(wall, SMS) as line:
        notes = line.profile(counters=True).profile.notes
    assert wall.asked_for == () and any("no kernel ran on a device" in note for note in notes)


def test_a_candidate_is_profiled_in_the_baselines_place():
    candidate = Candidate(workload_id="w", origin=Origin.HUMAN, form=SourceForm(text="class ModelNew: ..."))
    wall = CountingWall(eager=Script())
    with line_of(wall, SMS) as line:
        profile = line.profile(candidate, counters=True).profile
        assert [child.role for child in wall.children if child.role.is_judged] == [ChildRole.CANDIDATE]
        assert all(child.closed for child in wall.children if child.role.is_judged)
        assert candidate.id in profile.notes[0] and profile.kernels


@pytest.mark.parametrize("request_kind", [Load, AskProfile])
def test_a_candidate_that_breaks_is_its_authors_business(request_kind):
    candidate = Candidate(workload_id="w", origin=Origin.HUMAN, form=SourceForm(text="class ModelNew: ..."))
    wall = CountingWall(candidate=Script(faults={request_kind: crash(detail="it broke")}))
    with line_of(wall, None) as line, pytest.raises(BadCandidate, match="could not be profiled: it broke"):
        line.profile(candidate)
