"""What candidates are held against is remembered within limits, and made anew, bit for bit, where it was forgotten."""

from collections import Counter
from dataclasses import replace

import pytest
import torch

from strop.pipeline.cases import full_plan
from strop.pipeline.court import Court
from strop.pipeline.gold import HOST_BYTES, SHARE_OF_MEMORY, Gold, Remembered, bytes_of, limit_bytes
from strop.pipeline.judge import VERIFICATION, judge
from strop.pipeline.measure import lane
from strop.records.contract import CONTRACTS
from strop.records.evidence import Case, Distribution
from strop.records.target import MemoryLevel
from strop.records.tensor import HOST
from strop.stats.errors import HONEST_SAMPLES
from strop.wire import messages as m
from strop.wire.tensors import same_bits
from tests.unit.pipeline.scripted import CONDITIONS, DESCRIPTION, TARGET, WORKLOAD, Script, ScriptedChild, ScriptedWall
from tests.unit.pipeline.test_honest_rounding import coarse, perturbed
from tests.unit.pipeline.test_line import FLOOR, RECIPE, RULES

GOLD_BYTES = 64 * 4 * (4 + 8 + 4)
SAMPLES_BYTES = HONEST_SAMPLES * 64 * 4 * 8


def target_of(memory_bytes, device="nowhere"):
    return replace(TARGET, memory=(MemoryLevel(name="memory", size_bytes=memory_bytes),), device=device)


def court(wall, limit):
    """A court that may remember ``limit`` bytes of answers, and as many of samples."""
    target = target_of(limit * SHARE_OF_MEMORY)
    return Court(wall=wall, workload=WORKLOAD, contract=CONTRACTS["fp32"], target=target)


def case_of(index, draw=0, distribution=Distribution.OWN):
    return Case(index=index, distribution=distribution, parameters_draw=draw)


def draws(wall):
    return [request for _, request in wall.asked if isinstance(request, m.DrawInputs)]


def same(one: Gold, other: Gold):
    return all(
        same_bits(getattr(one, side)[path], getattr(other, side)[path])
        for side in ("inputs", "expected", "baseline")
        for path in getattr(one, side)
    )


class TestRemembered:
    def test_what_was_used_longest_ago_goes_first(self):
        memory = Remembered(30)
        for name in "abc":
            assert memory.keep(name, name.upper(), 10) == name.upper()
        assert memory.get("a") == "A"
        memory.keep("d", "D", 10)
        assert [memory.get(name) for name in "abcd"] == ["A", None, "C", "D"]
        memory.keep("e", "E", 20)
        assert [memory.get(name) for name in "abcde"] == [None, None, None, "D", "E"]

    def test_it_never_takes_more_than_its_limit(self):
        memory, sizes = Remembered(100), {}
        generator = torch.Generator().manual_seed(1)
        for step in range(300):
            size = int(torch.randint(0, 130, (), generator=generator))
            key = step % 23
            sizes[key] = size
            memory.keep(key, size, size)
            held = [memory.get(one) for one in sizes]
            assert sum(one for one in held if one is not None) <= 100
            assert memory.get(key) == (size if size <= 100 else None)

    def test_what_is_kept_again_takes_the_place_of_what_was(self):
        memory = Remembered(10)
        memory.keep("a", 1, 6)
        memory.keep("a", 2, 8)
        assert memory.get("a") == 2
        memory.keep("b", 3, 2)
        assert (memory.get("a"), memory.get("b")) == (2, 3), "the earlier size no longer counts"
        assert memory.keep("a", 4, 11) == 4
        assert memory.get("a") is None, "what is out of date is not handed out"

    def test_what_would_fill_more_than_everything_drives_nothing_out(self):
        memory = Remembered(10)
        memory.keep("a", 1, 10)
        assert memory.has_room_for(10) and not memory.has_room_for(11)
        memory.keep("b", 2, 11)
        assert (memory.get("a"), memory.get("b")) == (1, None)

    def test_everything_can_be_forgotten(self):
        memory = Remembered(10)
        memory.keep("a", 1, 10)
        memory.clear()
        assert memory.get("a") is None
        memory.keep("b", 2, 10)
        assert memory.get("b") == 2


def test_how_much_may_be_remembered():
    assert limit_bytes(target_of(16_000)) == 1000
    assert limit_bytes(target_of(6000, HOST)) == HOST_BYTES
    assert bytes_of({"a": torch.zeros(3, 5), "b": torch.zeros(4, dtype=torch.int8)}) == 64


def test_what_a_gold_takes_is_what_its_tensors_take():
    with court(ScriptedWall(), 1 << 20) as trusted:
        assert trusted.gold(case_of(0)).size_bytes == GOLD_BYTES


@pytest.mark.parametrize("slots", [1, 100])
def test_a_baseline_that_was_on_the_clock_answers_as_before_and_no_slot_is_kept_but_the_one(slots):
    with court(ScriptedWall(), 1 << 20) as trusted:
        lane(trusted, trusted.baseline, slots)
        gold = trusted.gold(case_of(0))
    held = (
        each.untyped_storage().nbytes()
        for side in (gold.inputs, gold.expected, gold.baseline)
        for each in side.values()
    )
    assert sum(held) == GOLD_BYTES == gold.size_bytes
    assert torch.allclose(gold.baseline["out"].double(), gold.expected["out"])


def test_what_is_remembered_is_not_made_again():
    wall = ScriptedWall()
    with court(wall, 2 * GOLD_BYTES) as trusted:
        first, _ = trusted.gold(case_of(0)), trusted.gold(case_of(1))
        asked = len(wall.asked)
        assert trusted.gold(case_of(0)).inputs is first.inputs
        assert len(wall.asked) == asked
        trusted.gold(case_of(2))
        asked = len(wall.asked)
        assert trusted.gold(case_of(0)).inputs is first.inputs, "the case that was used last stays"
        assert len(wall.asked) == asked


@pytest.mark.parametrize("limit", [0, GOLD_BYTES - 1, GOLD_BYTES])
@pytest.mark.parametrize("distribution", [Distribution.OWN, Distribution.SPECIAL])
def test_what_was_forgotten_is_drawn_again_bit_for_bit(limit, distribution):
    wall = ScriptedWall()
    with court(wall, limit) as trusted:
        cases = [case_of(index, distribution=distribution) for index in range(3)]
        first = [trusted.gold(case) for case in cases]
        again = [trusted.gold(case) for case in cases]
    assert all(one.inputs is not other.inputs and same(one, other) for one, other in zip(first, again, strict=True))
    assert not same(first[0], first[1])
    seeds = Counter(request.seed for request in draws(wall))
    assert sorted(seeds.values()) == [2, 2, 2], "three cases twice"


@pytest.mark.parametrize("limit", [0, GOLD_BYTES, 1 << 20])
def test_cases_that_differ_in_their_parameters_share_their_inputs(limit):
    with court(ScriptedWall(), limit) as trusted:
        for _ in range(2):
            golds = [trusted.gold(case_of(0, draw)) for draw in range(3)]
            assert all(same_bits(gold.inputs["x"], golds[0].inputs["x"]) for gold in golds)
            assert not same_bits(golds[0].expected["out"], golds[1].expected["out"])
            trusted.gold(case_of(7))


def test_a_draw_that_had_to_be_redrawn_is_not_tried_again():
    wall = ScriptedWall()
    wall.overflowing = (Distribution.LOG_NORMAL,)
    with court(wall, 0) as trusted:
        first = trusted.gold(case_of(0, distribution=Distribution.LOG_NORMAL))
        tried = len(draws(wall))
        again = trusted.gold(case_of(0, distribution=Distribution.LOG_NORMAL))
    assert first.redrawn and again.redrawn and same(first, again)
    assert tried > 2 and len(draws(wall)) == tried + 1
    assert draws(wall)[-1].distribution is Distribution.OWN


@pytest.mark.parametrize("limit", [0, GOLD_BYTES, 2 * GOLD_BYTES])
def test_inputs_that_only_other_parameters_could_not_bear_are_replaced_for_good(limit):
    """The case was drawn apart from its twin, so the twin's inputs are none of its own, remembered or not."""
    known = []

    def reference(x, w):
        if not known:
            known.append((x[:, :2].clone(), w.clone()))
        (first, own), answer = known[0], x * w
        return answer * torch.inf if torch.equal(first, x[:, :2]) and not torch.equal(own, w) else answer

    with court(ScriptedWall(reference=reference), limit) as trusted:
        twin, first = trusted.gold(case_of(0)), trusted.gold(case_of(0, draw=1))
        assert not same_bits(twin.inputs["x"], first.inputs["x"])
        assert same(trusted.gold(case_of(0)), twin)
        trusted.gold(case_of(5))
        assert same(trusted.gold(case_of(0)), twin)
        assert same(trusted.gold(case_of(0, draw=1)), first)


def test_samples_are_remembered_only_where_there_is_room_for_all():
    for limit, walks in ((SAMPLES_BYTES, 1), (max(GOLD_BYTES, SAMPLES_BYTES) - 1, 2)):
        wall = ScriptedWall()
        with court(wall, limit) as trusted:
            for _ in range(2):
                assert len(list(trusted.honest(trusted.gold(case_of(0))))) == HONEST_SAMPLES
        assert perturbed(wall) == walks * HONEST_SAMPLES


def test_samples_belong_to_the_inputs_that_they_were_drawn_on(monkeypatch):
    """A generator that ignores its seed gives a case other inputs when it has to be drawn again."""
    numbers = iter(range(1000))
    seeded = ScriptedChild._draw_inputs
    monkeypatch.setattr(
        ScriptedChild, "_draw_inputs", lambda child, request: seeded(child, replace(request, seed=next(numbers)))
    )
    with court(ScriptedWall(), 8 * SAMPLES_BYTES) as trusted:
        first = trusted.gold(case_of(0))
        list(trusted.honest(first))
        for index in range(1, 8 * SAMPLES_BYTES // GOLD_BYTES + 1):
            trusted.gold(case_of(index))
        again = trusted.gold(case_of(0))
        assert not same_bits(first.inputs["x"], again.inputs["x"])
        for sample in trusted.honest(again):
            assert torch.allclose(sample["out"], again.expected["out"])


def test_inputs_that_are_not_the_courts_own_leave_nothing_behind():
    wall = ScriptedWall()
    with court(wall, 1 << 20) as trusted:
        gold = trusted.gold(case_of(0))
        clocked = replace(gold, inputs={path: each.clone() for path, each in gold.inputs.items()})
        for _ in range(2):
            list(trusted.honest(clocked))
        assert perturbed(wall) == 2 * HONEST_SAMPLES
        list(trusted.honest(trusted.gold(case_of(1234))))
        assert perturbed(wall) == 3 * HONEST_SAMPLES


@pytest.mark.parametrize("limit", [0, GOLD_BYTES, 1 << 20])
def test_every_candidate_is_judged_on_the_same_secret_draws(limit):
    seen = []

    def watches(x, w):
        seen[-1].append(x.numpy().tobytes() + w.numpy().tobytes())
        return w * x

    wall = ScriptedWall(candidate=Script(compute=watches))
    with court(wall, limit) as trusted:
        for _ in range(2):
            seen.append([])
            assert judge(trusted, RECIPE, RULES, CONDITIONS, FLOOR, VERIFICATION).verdict.outcome == "passed"
    assert len(set(seen[0])) >= len(full_plan(DESCRIPTION).values)
    assert seen[0] == seen[1]


@pytest.mark.parametrize("limit", [0, 1 << 20])
def test_a_verdict_does_not_hang_on_what_is_remembered(limit):
    for compute, outcome in ((coarse, "passed"), (lambda x, w: (x * w).half(), "failed")):
        with court(ScriptedWall(candidate=Script(compute=compute)), limit) as trusted:
            judgement = judge(trusted, RECIPE, RULES, CONDITIONS, FLOOR, VERIFICATION)
            assert judgement.verdict.outcome == outcome
