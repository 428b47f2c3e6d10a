"""What a candidate could leave out and pass, on scripted children: judged as values are, in a judgement's cases."""

from dataclasses import replace
from itertools import count

import pytest
import torch

from strop.errors import WorkloadInconclusive
from strop.pipeline.liveness import liveness, other_values, with_notes
from strop.records.event import Admitted
from strop.records.evidence import CrashKind, Distribution
from strop.records.liveness import Liveness, Part, PartKind
from strop.records.tensor import DType, TensorSpec
from strop.records.workload import Leaf
from strop.wire import messages as m
from strop.wire.omission import Omit, Operator
from tests.unit.pipeline.scripted import DESCRIPTION, Script, ScriptedWall, crash
from tests.unit.pipeline.test_line import court
from tests.unit.pipeline.test_survey import stations


def operator(name, answer, operands=1, numbers=(0.5,)):
    return Operator(name=name, place="line 9 of forward()", operands=operands, numbers=numbers), answer


def part(name, kind=PartKind.OPERATOR):
    return Part(kind=kind, name=name, place="line 9 of forward()" if kind is PartKind.OPERATOR else "")


def right(x, w, request):
    return x * w


def wrong(x, w, request):
    return x * w + 1


def looked_at(wall, limit_s=600.0, **options):
    with court(wall) as trusted:
        return liveness(trusted, limit_s, options.pop("say", lambda _: None), **options)


def walled(*operators, **options):
    wall = ScriptedWall(**options)
    wall.operators = operators
    return wall


def test_what_only_counts_is_no_part():
    found = looked_at(walled(operator("add", right, operands=0, numbers=())))
    assert (found.parts, found.dead) == (1, ())


def test_what_nobody_notices_is_dead_and_what_is_noticed_lives():
    said = []
    found = looked_at(walled(operator("clamp", right), operator("mul", wrong)), say=said.append)
    assert found.dead == (part("clamp"),) and found.own_only == found.unsettled == ()
    # The third part is the parameter; the counter is a whole number and no part.
    assert (found.parts, found.looked_at, found.because) == (3, 3, "")
    assert said[0] == "leaving out part 1 of 3: clamp" and "trying 1 of them on other inputs" in said[3]


def test_one_way_that_passes_everywhere_is_enough_and_it_must_be_the_same_one():
    def first_operand(x, w, request):
        return x * w + (request.operand != 0)

    asked = []

    def remembering(x, w, request):
        asked.append(request)
        return right(x, w, request) if request.operand is None else wrong(x, w, request)

    wall = walled(operator("add", first_operand, operands=2), operator("softmax", remembering, numbers=(1.0,)))
    found = looked_at(wall)
    assert found.dead == (part("add"), part("softmax"))
    assert asked[0].operand == 0 and asked[1].operand is None and asked[1].numbers == (1.0,)
    # The way that was noticed once is not tried again.
    assert all(request.operand is None for request in asked[1:])


@pytest.mark.parametrize("clue", ["parameters", Distribution.BEYOND_CONSTANTS])
def test_what_matters_in_another_case_is_dead_under_the_own_inputs_alone(clue):
    wall = walled()

    def matters(x, w, request):
        drawn = [each for _, each in wall.asked if isinstance(each, m.DrawInputs)][-1]
        parameters = [each for _, each in wall.asked if isinstance(each, m.DrawParameters)][-1]
        noticed = parameters.draw == 1 if clue == "parameters" else drawn.distribution is clue
        return x * w + noticed

    wall.operators = (operator("clamp", matters),)
    found = looked_at(wall)
    assert found.own_only == (part("clamp"),) and not found.dead


def test_a_parameter_that_changes_nothing_is_dead():
    found = looked_at(walled(reference=lambda x, w: 2 * x, eager=Script(compute=lambda x, w: 2 * x)))
    assert found.dead == (part("w", PartKind.PARAMETER),)
    assert looked_at(walled()).dead == ()


def test_buffers_are_parts_and_parameters_are_put_back():
    description = replace(
        DESCRIPTION, parameters=(), buffers=(Leaf(path="w", tensor=TensorSpec(shape=(4,), dtype=DType.FLOAT32)),)
    )
    alone = {"reference": lambda x, w: x.sin(), "eager": Script(compute=lambda x, w: x.sin())}
    found = looked_at(walled(description=description, **alone))
    assert found.dead == (part("w", PartKind.BUFFER),)
    with court(walled(**alone)) as trusted:
        liveness(trusted, 600.0, lambda _: None)
        draw = trusted._delivered[id(trusted.reference)]
        assert torch.equal(trusted.reference.given.views(None)["w"], trusted.parameters(draw)["w"])


def test_code_that_does_not_run_without_a_part_needs_it():
    def raises(x, w, request):
        raise crash()

    assert looked_at(walled(operator("mul", raises))).dead == ()

    def hangs(x, w, request):
        raise crash(kind=CrashKind.TIMEOUT, detail="it hangs")

    with pytest.raises(WorkloadInconclusive, match="could not be looked at: it hangs"):
        looked_at(walled(operator("mul", hangs)))


def test_what_the_time_does_not_allow_is_said():
    ticks = count()
    many = [operator(f"clamp_{number}", right) for number in range(40)]
    found = looked_at(walled(*many), limit_s=3.0, clock=lambda: float(next(ticks)))
    assert (found.looked_at, found.parts) == (3, 41)
    # What was looked at is spread over the whole call.
    assert found.unsettled == (part("clamp_0"), part("clamp_16"), part("clamp_32")) and not found.dead
    assert found.because == "the 3 s for it were over"


def test_nan_and_inf_only_narrow_a_claim():
    wall = walled(operator("clamp", right))
    looked_at(wall)
    drawn = {each.distribution for _, each in wall.asked if isinstance(each, m.DrawInputs)}
    assert drawn == set(Distribution) - {Distribution.SPECIAL}


def test_the_operators_are_seen_on_inputs_of_no_case():
    wall = walled(operator("clamp", right))
    with court(wall) as trusted:
        liveness(trusted, 600.0, lambda _: None)
        assert next(each for _, each in wall.asked if isinstance(each, Omit)) == Omit(slot=0)
        assert trusted.other_inputs["x"].shape == (64, 4)


@pytest.mark.parametrize("values", [[0.0], [-1.0], [1.0], [2.0, 2.0], [-1.0, 1.0, 3.0], [1j, 2.0]])
def test_other_values_are_others_and_positive_ones_stay_positive(values):
    given = torch.tensor(values)
    moved = other_values(given)
    assert moved.dtype is given.dtype and bool((moved != given).all())
    assert given.is_complex() or not bool((given > 0).all()) or bool((moved > 0).all())


def test_dead_parts_are_named_in_one_sentence():
    admitted = Admitted(admissible=True, notes=("n",))
    assert with_notes(admitted, Liveness(own_only=(part("clamp"),))) == admitted
    said = with_notes(admitted, Liveness(dead=(part("clamp"), part("w", PartKind.PARAMETER)))).notes
    assert said == (
        "n",
        "no case of a judgement shows whether each of these is there, so a candidate may leave it out and pass: "
        "clamp (line 9 of forward()), w",
    )


@pytest.mark.parametrize(("kernel_ns", "launch_bound"), [(100.0, True), (10_000.0, False)])
def test_the_line_asks_for_parts_and_whether_a_call_is_long_enough(kernel_ns, launch_bound):
    wall = walled(operator("clamp", right), eager=Script(kernel_ns=kernel_ns))
    with stations(wall) as line:
        assert line.liveness(600.0, lambda _: None).dead == (part("clamp"),)
        call = line.call()
    assert (call.call_ns, call.launches, call.is_launch_bound) == (10 * kernel_ns, 3, launch_bound)
    assert not any(isinstance(each, m.AskCapture) for _, each in wall.asked)
