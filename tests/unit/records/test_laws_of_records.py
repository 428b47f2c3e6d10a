"""Ids depend on content alone, and illegal states refuse to exist."""

import dataclasses

import pytest

from strop.records.candidate import Candidate, ModuleForm, Origin, RecipeForm, SourceForm
from strop.records.contract import CONTRACTS, Precision
from strop.records.decision import IllegalDecision, Keep
from strop.records.graph import Role
from strop.records.ids import content_id
from strop.records.measurement import Block, Comparison, Conditions, TimeDecision
from strop.records.profile import Bound, KernelProfile
from strop.records.recipe import parse_recipe
from strop.records.target import Ceilings, MemoryLevel, Target
from strop.records.tensor import DType, Symbol, TensorSpec
from strop.records.verdict import Failed, Inconclusive, Passed, Skipped, Verdict
from strop.records.workload import Mode, SourceKind, Workload, WorkloadSource

CONDITIONS = Conditions(machine="m", device="cpu", threads=1, contract="fp32", versions=(("torch", "2.13"),))


def candidate(text="a{b=1}"):
    return Candidate(workload_id="w-1", form=RecipeForm(recipe=parse_recipe(text)), origin=Origin.CATALOGUE)


def comparison(decision=TimeDecision.FASTER):
    return Comparison(
        baseline="default", baseline_ns=2.0, candidate_ns=1.0, speedup=2.0, low=1.9, high=2.1, raw_speedup=1.9,
        decision=decision, pairs=3, processes=1, kernel_speedup=None, peak_memory_ratio=None, noise_ratio=0.01,
        conditions=CONDITIONS,
    )  # fmt: skip


def verdict(*findings, of=None):
    return Verdict(candidate_id=(of or candidate()).id, findings=findings, isolation="C")


def test_a_candidates_id_is_its_form_for_its_workload():
    assert candidate().id == dataclasses.replace(candidate(), origin=Origin.HUMAN, idea="x", lineage=("c-0",)).id
    assert candidate().id != candidate("a{b=2}").id
    assert candidate().id != dataclasses.replace(candidate(), workload_id="w-2").id
    assert candidate().recipe == "a{b=1}"
    source = dataclasses.replace(candidate(), form=SourceForm(text="x"))
    assert source.recipe is None and source.id != candidate().id


def test_a_live_candidates_id_does_not_depend_on_where_its_file_lies():
    one, two = (
        dataclasses.replace(candidate(), form=ModuleForm(where=where, digest="d")).id for where in ("/one", "/two")
    )
    assert one == two


def test_a_workloads_id_does_not_depend_on_where_its_file_lies():
    def workload(where, mode=Mode.TRAIN, kind=SourceKind.FILE):
        return Workload(name="n", source=WorkloadSource(kind=kind, where=where, digest="d"), mode=mode)

    assert workload("/one.py").id == workload("/two.py").id
    assert workload("/one.py").id != workload("/one.py", Mode.EVAL).id
    assert workload("a:f", kind=SourceKind.FACTORY).id != workload("b:f", kind=SourceKind.FACTORY).id


def test_ids_see_types_and_contents():
    assert content_id("x", 1) != content_id("x", "1")
    assert content_id("x", {"b": 1, "a": 2}) == content_id("x", {"a": 2, "b": 1})
    assert content_id("x", {3, 1}) == content_id("x", {1, 3})
    assert content_id("x", b"ab") == content_id("x", b"ab") and content_id("x", Role.INPUT).startswith("x-")


def test_only_what_is_right_and_faster_can_be_kept():
    right = verdict(Passed(check="matches_reference"))
    assert Keep(candidate=candidate(), verdict=right, comparison=comparison()).decision == "keep"
    with pytest.raises(IllegalDecision, match="verdict is failed"):
        Keep(candidate=candidate(), verdict=verdict(Failed(check="c", because="b")), comparison=comparison())
    with pytest.raises(IllegalDecision, match="timing says undecided"):
        Keep(candidate=candidate(), verdict=right, comparison=comparison(TimeDecision.UNDECIDED))
    with pytest.raises(IllegalDecision, match="on the verdict of"):
        Keep(candidate=candidate("other"), verdict=right, comparison=comparison())


def test_a_verdict_passes_only_when_somebody_looked_and_nobody_objects():
    passed, skipped = Passed(check="a"), Skipped(check="b", because="x")
    failed, unsure = Failed(check="c", because="x"), Inconclusive(check="d", because="x")
    assert verdict(passed, skipped).outcome == "passed"
    assert verdict(skipped).outcome == "inconclusive" and verdict(skipped).objection is None
    assert verdict(passed, unsure).outcome == "inconclusive"
    assert verdict(unsure, failed).objection == failed and verdict(unsure, failed).outcome == "failed"


def test_a_contract_knows_which_devices_have_tf32():
    assert CONTRACTS["fp32"].conv is Precision.TF32
    assert CONTRACTS["fp32"].on_device("cpu").conv is Precision.IEEE32
    assert CONTRACTS["fp32"].on_device("cuda:0").conv is Precision.TF32
    assert CONTRACTS["bf16"].on_device("cpu").matmul is Precision.BF16
    rounding = [precision.unit_roundoff for precision in (Precision.IEEE32, Precision.TF32, Precision.BF16)]
    assert rounding == sorted(rounding)


def test_sizes_of_tensors():
    spec = TensorSpec(shape=(Symbol(name="s", low=3), 4), dtype=DType.BFLOAT16)
    assert (spec.elements, spec.size_bytes) == (12, 24)
    assert {kind: kind.item_bytes for kind in DType}[DType.COMPLEX128] == 16
    assert DType.FLOAT16.is_floating and not DType.BOOL.is_floating


def test_a_target_names_its_last_level_cache_and_the_rate_of_every_type():
    ceilings = Ceilings(
        copy_bytes_per_s=1.0, product_flop_per_s=(("float32", 2.0), ("bfloat16", 8.0)), call_overhead_ns=1
    )
    assert ceilings.product_rate_flop_per_s("float32") == 2.0
    assert ceilings.product_rate_flop_per_s("float64") == 8.0
    levels = (
        MemoryLevel(name="L2", size_bytes=5),
        MemoryLevel(name="L3", size_bytes=7),
        MemoryLevel(name="memory", size_bytes=99),
    )
    target = Target(name="t", device="cpu", summary="", languages=(), memory=levels, ceilings=ceilings)
    assert target.last_level_cache_bytes == 7
    assert dataclasses.replace(target, memory=levels[2:]).last_level_cache_bytes == 0


def test_conditions_name_what_differs():
    assert CONDITIONS.difference(CONDITIONS) == ""
    assert "threads: 1 against 2" in CONDITIONS.difference(dataclasses.replace(CONDITIONS, threads=2))


def test_a_block_gives_the_time_of_one_call_without_the_hand_off():
    block = Block(side="baseline", pair=0, process=0, calls=10, elapsed_ns=1100, null_ns=100)
    assert block.call_ns == 100.0
    assert dataclasses.replace(block, null_ns=2000).call_ns == 1.0


def test_headroom_is_what_lies_above_the_floor():
    kernel = KernelProfile(
        name="k", language="cpp", nodes=(), calls=1, time_ns=5, share=1, moved_bytes=1, work_flop=1,
        bound=Bound.MEMORY, floor_ns=2,
    )  # fmt: skip
    assert kernel.headroom_ns == 3 and dataclasses.replace(kernel, floor_ns=9).headroom_ns == 0
