"""Other shapes and layouts: what a claim leads to, and what a candidate has to do there."""

import secrets
from contextlib import ExitStack
from dataclasses import replace

import pytest
import torch

from strop.errors import ChildLost, WorkloadInconclusive
from strop.pipeline.cases import full_plan, screening_plan, variant_cases
from strop.pipeline.claims import GROWN_BYTES, boundary_sizes, claimed_variants, told
from strop.pipeline.judge import CONFIRMATION, VERIFICATION, judge
from strop.records.candidate import CompiledForm
from strop.records.evidence import CrashKind, Distribution
from strop.records.tensor import DType, Symbol, TensorSpec
from strop.records.verdict import Inconclusive, Scope
from strop.records.workload import Domain, DomainKind, Leaf, Variant
from strop.wire import messages as m
from strop.wire.messages import ChildRole
from tests.unit.pipeline.scripted import CONDITIONS, Script, ScriptedWall, X, crash, description
from tests.unit.pipeline.test_line import FLOOR, RECIPE, RULES, SOURCE, court, failed_check, run

ROWS = Symbol(name="rows", low=1, high=100)


def leaf(*shape, path="x", stride=None, **changes):
    return Leaf(path=path, tensor=TensorSpec(shape=shape, dtype=DType.FLOAT32, stride=stride, **changes))


CLAIM = description(claims=(leaf(ROWS, 4),))
NAMES = ("x of 1 x 4", "x of 65 x 4", "x of 100 x 4", "x of 48 x 4")


@pytest.fixture(autouse=True)
def the_secret_size_is_in_the_middle(monkeypatch):
    monkeypatch.setattr("strop.pipeline.claims.randbelow", lambda sizes: sizes * 5 // 8)


@pytest.mark.parametrize(
    ("low", "high", "own", "growth", "sizes"),
    [
        (1, None, 64, 4.0, (1, 65, 256, 176)),
        (1, 64, 64, 4.0, (1, 48, 63, 33)),
        (1, 96, 48, 4.0, (1, 49, 96, 16)),
        (1, None, 100, 1.0, (1, 101, 68, 63)),
        (7, 9, 8, 4.0, (7, 9)),
        (1, 1, 1, 4.0, ()),
        (1, None, 1, 4.0, (2, 4, 3)),
    ],
)
def test_boundaries_of_one_dimension(low, high, own, growth, sizes):
    assert boundary_sizes(Symbol(name="n", low=low, high=high), own, growth) == sizes


def shapes_of(variants):
    return [tuple(each.tensor.shape for each in variant.inputs) for variant in variants]


def test_equal_names_are_equal_sizes_and_each_dimension_is_at_another_boundary():
    columns = Symbol(name="columns", low=1, high=None)
    found = claimed_variants(
        description(inputs=(leaf(64, 16), leaf(64, path="y")), claims=(leaf(ROWS, columns), leaf(ROWS, path="y")))
    )
    assert shapes_of(found) == [
        ((1, 17), (1,)),
        ((65, 32), (65,)),
        ((100, 24), (100,)),
        ((48, 1), (48,)),
    ]


def test_large_inputs_do_not_grow_much():
    rows = GROWN_BYTES // 16
    found = claimed_variants(description(inputs=(leaf(rows, 4),), claims=(leaf(replace(ROWS, high=None), 4),)))
    assert max(shape[0][0] for shape in shapes_of(found)) == rows + 1


def test_a_size_that_is_meant_twice_grows_half_as_far():
    square = description(inputs=(leaf(64, 64),), claims=(leaf(replace(ROWS, high=None), replace(ROWS, high=None)),))
    assert max(shape[0] for shape in shapes_of(claimed_variants(square))) == (128, 128)


@pytest.mark.parametrize("own", [1, 6, 40, 48, 1000, 4096])
def test_vectors_divide_the_secret_size_where_they_divide_the_own_one(own, monkeypatch):
    monkeypatch.setattr("strop.pipeline.claims.randbelow", secrets.randbelow)
    vector = max(each for each in (1, 2, 4, 8, 16) if own % each == 0)
    for _ in range(20):
        secret = boundary_sizes(Symbol(name="n", low=1, high=None), own, 4.0)[-1]
        assert secret != own and secret % vector == 0 and secret // vector % 2 == 1


@pytest.mark.parametrize(
    ("kind", "error"), [(CrashKind.MEMORY, WorkloadInconclusive), (CrashKind.INFRASTRUCTURE, ChildLost)]
)
def test_where_a_trusted_child_ends_the_shape_is_named(kind, error):
    wall = ScriptedWall(CLAIM, eager=ends_at(65, kind))
    with pytest.raises(error, match=r"With x of 65 x 4, which the workload claims: .* it broke"):
        run(wall, SOURCE)


def test_what_lay_transposed_still_does():
    found = claimed_variants(description(inputs=(leaf(8, 4, stride=(1, 8)),), claims=(leaf(ROWS, 4),)))
    assert [variant.inputs[0].tensor.stride for variant in found[:2]] == [(1, 1), (1, 9)]


def test_sets_of_arguments_come_first_and_there_are_never_more_than_four_shapes():
    assert claimed_variants(replace(CLAIM, other_samples=3))[:3] == tuple(Variant(sample=n) for n in (1, 2, 3))
    assert len(claimed_variants(replace(CLAIM, other_samples=7))) == 4


def test_any_layout_is_two_of_them_where_they_differ():
    inputs = (leaf(64, 4), leaf(5, path="bias"), leaf(path="scale"), leaf(1, 3, path="row"))
    transposed, sliced = claimed_variants(description(inputs=inputs, any_layout=True))
    assert {each.path: each.tensor.stride for each in transposed.inputs} == {"x": (1, 64)}
    assert {each.path: each.tensor.stride for each in sliced.inputs} == {"x": (7, 1), "bias": (2,), "row": (6, 1)}
    blocks = claimed_variants(description(inputs=(leaf(2, 3, 6, 16),), any_layout=True))[1]
    assert blocks.inputs[0].tensor.stride == (354, 117, 19, 1)
    assert claimed_variants(description(inputs=(leaf(1),), any_layout=True)) == ()
    assert claimed_variants(description()) == ()


def test_a_variant_in_words():
    own = (leaf(64, 4), leaf(5, path="bias"))
    assert told(Variant(inputs=(leaf(65, 4), leaf(5, path="bias"))), own) == "x of 65 x 4"
    assert told(Variant(inputs=(leaf(64, 4, stride=(1, 64)),)), own) == "x of 64 x 4 with strides (1, 64)"
    assert told(Variant(sample=2), own) == "its set 2 of other arguments"
    assert told(Variant(sample=2), own, (leaf(2, 4), leaf(7, path="bias"))) == "x of 2 x 4, bias of 7"


def test_plans():
    assert screening_plan(CLAIM).variants == ()
    variants = full_plan(CLAIM).variants
    assert len(variants) == 4
    cases = variant_cases(CLAIM, variants[0])
    assert [case.distribution for case in cases] == [Distribution.OWN, Distribution.NORMAL]
    assert {case.variant for case in cases} == {variants[0]}
    shares = Domain(kind=DomainKind.DISTRIBUTION)
    cut = replace(CLAIM, inputs=(replace(CLAIM.inputs[0], domain=shares),))
    assert [case.distribution for case in variant_cases(cut, variants[0])] == [Distribution.NORMAL]


def test_a_general_candidate_passes_and_the_verdict_lists_what_was_shown():
    wall = ScriptedWall(CLAIM)
    verdict = run(wall, SOURCE).verdict
    assert verdict.outcome == "passed"
    assert verdict.scope == Scope(shapes="declared", variants=NAMES)
    varied = [request.variant for role, request in wall.asked if role.is_judged and isinstance(request, m.Vary)]
    assert len(varied) == 5 and varied[-1] is None


def test_without_a_claim_nothing_is_asked():
    wall = ScriptedWall()
    assert run(wall, SOURCE).verdict.scope == Scope()
    assert not any(isinstance(request, m.Vary) for _, request in wall.asked)


def only_first_rows(x, w):
    made = x * w
    made[64:] = 0
    return made


def test_right_at_its_own_shape_alone_fails_with_the_shape_in_the_sentence():
    verdict = run(ScriptedWall(CLAIM, candidate=Script(compute=only_first_rows)), SOURCE).verdict
    assert verdict.objection.check == "matches_reference"
    assert verdict.objection.because.startswith("With x of 65 x 4: Wrong values, on ")
    assert verdict.scope.variants == ("x of 1 x 4",)


def test_results_of_the_wrong_shape_are_named_before_their_values():
    wall = ScriptedWall(CLAIM, candidate=Script(ran={"outputs": (leaf(64, 4, path="out"),)}))
    found = run(wall, SOURCE).verdict.objection
    assert found.check == "keeps_interface"
    assert found.because.startswith("With x of 1 x 4: out: shape is (64, 4)")


def ends_at(rows, kind=CrashKind.RAISED):
    def compute(x, w):
        if len(x) == rows:
            raise crash(kind)
        return x * w

    return Script(compute=compute)


def test_whoever_raises_there_does_not_survive():
    found = run(ScriptedWall(CLAIM, candidate=ends_at(48)), SOURCE).verdict.objection
    assert found.check == "survives" and found.because.startswith("With x of 48 x 4: It ended while other shapes")
    script = Script(faults={m.Vary: crash(CrashKind.SIGNAL)})
    assert failed_check(run(ScriptedWall(CLAIM, candidate=script), SOURCE)) == "survives"


def test_a_fault_of_ours_there_is_nobodys():
    found = run(ScriptedWall(CLAIM, candidate=ends_at(48, CrashKind.INFRASTRUCTURE)), SOURCE).verdict.objection
    assert isinstance(found, Inconclusive) and found.check == "survives"


def test_whoever_does_not_find_back_fails():
    seen = []

    def compute(x, w):
        seen.append(len(x))
        return x * w * (0 if len(x) == 64 and 100 in seen else 1)

    found = run(ScriptedWall(CLAIM, candidate=Script(compute=compute)), SOURCE).verdict.objection
    assert found.check == "matches_reference" and found.because.startswith("Back at its own shapes: Wrong values")


def test_what_the_workload_does_not_take_is_left_out():
    wall = ScriptedWall(CLAIM, candidate=ends_at(65))
    wall.refused = (claimed_variants(CLAIM)[1],)
    verdict = run(wall, SOURCE).verdict
    assert verdict.outcome == "passed" and verdict.scope.variants == (NAMES[0], *NAMES[2:])
    assert any("does not answer with x of 65 x 4" in note and "raised" in note for note in verdict.notes)


def test_a_recipe_is_narrowed_to_its_own_shapes():
    wall = ScriptedWall(CLAIM, candidate=Script(compute=only_first_rows))
    verdict = run(wall, RECIPE).verdict
    assert verdict.outcome == "passed" and verdict.scope == Scope()
    assert any("a recipe is compiled for its own" in note for note in verdict.notes)


def test_sets_of_other_arguments_are_named_by_their_shapes():
    verdict = run(ScriptedWall(description(other_samples=1)), SOURCE).verdict
    assert verdict.scope.variants == ("x of 128 x 4",)


def test_other_layouts_hold_the_same_values():
    verdict = run(ScriptedWall(description(any_layout=True)), SOURCE).verdict
    assert verdict.scope.variants == ("x of 64 x 4 with strides (1, 64)", "x of 64 x 4 with strides (7, 1)")

    def packed(x, w):
        return torch.as_strided(x, X.shape, (4, 1)) * w

    wall = ScriptedWall(description(any_layout=True), candidate=Script(compute=packed))
    assert failed_check(run(wall, SOURCE)) == "matches_reference"


def test_beside_a_compiled_baseline_eager_answers_and_goes():
    def exact(x, w):
        assert len(x) == 64
        return x * w

    wall = ScriptedWall(CLAIM, default=Script(compute=exact), candidate=Script(call_ns=5e5))
    with court(wall) as trusted:
        trusted.change_baseline("default")
        judgement = judge(trusted, SOURCE, RULES, CONDITIONS, FLOOR, CONFIRMATION)
        closed = sum(child.closed for child in wall.children)
        with pytest.raises(RuntimeError, match="eager at hand"):
            trusted.turn(Variant(sample=1))
    assert judgement.verdict.scope.variants == NAMES and judgement.comparison is not None
    assert closed >= 1


def test_who_is_loaded_meanwhile_is_lent_what_its_own_inputs_take():
    wall = ScriptedWall(CLAIM)
    with court(wall) as trusted, ExitStack() as stack, trusted.with_eager():
        trusted.turn(claimed_variants(CLAIM)[0])
        child = trusted.loaded(stack, ChildRole.BASELINE, CompiledForm(mode="default"))
        assert child.given.views(0)["x"].shape == (64, 4)


def test_nobody_is_asked_to_turn_back_after_an_interrupt():
    def interrupted(x, w):
        if len(x) == 65:
            raise KeyboardInterrupt
        return x * w

    wall = ScriptedWall(CLAIM, candidate=Script(compute=interrupted))
    with pytest.raises(KeyboardInterrupt):
        run(wall, SOURCE)
    assert next(each for _, each in reversed(wall.asked) if isinstance(each, m.Vary)).variant is not None


def test_the_users_acceptance_function_is_not_asked_about_shapes_that_it_may_not_know():
    wall = ScriptedWall(replace(CLAIM, has_acceptance=True))
    assert run(wall, SOURCE).verdict.scope.variants == NAMES
    asked = [type(request) for _, request in wall.asked]
    assert m.Accept in asked and m.Accept not in asked[asked.index(m.Vary) :]


def test_the_answers_for_a_variant_are_remembered():
    wall = ScriptedWall(CLAIM)
    with court(wall) as trusted:
        for _ in range(2):
            wall.asked.clear()
            assert judge(trusted, SOURCE, RULES, CONDITIONS, FLOOR, VERIFICATION).verdict.outcome == "passed"
    assert not any(isinstance(request, m.Expect | m.Describe) for _, request in wall.asked)
