"""Stations that only turn records into records: cases, layouts, aim, decide."""

from dataclasses import replace

import pytest

from strop.pipeline.aim import aim, build_profile
from strop.pipeline.cases import SEEDS, full_plan, screening_plan
from strop.pipeline.decide import decide
from strop.pipeline.layouts import given_layout, made_layout, made_leaves
from strop.records.candidate import Candidate, Origin, RecipeForm, SourceForm
from strop.records.decision import Drop, Judgement, Keep, Repair
from strop.records.evidence import Circumstance, Distribution
from strop.records.graph import Capture, CapturedGraph, GraphNode
from strop.records.measurement import Comparison, TimeDecision
from strop.records.profile import Bound, DeviceKernel, KernelResources
from strop.records.recipe import parse_recipe
from strop.records.target import Multiprocessor
from strop.records.tensor import DType
from strop.records.verdict import Failed, Inconclusive, Passed, Skipped, Verdict
from strop.records.workload import Domain, DomainKind, Leaf
from strop.stats.occupancy import with_occupancy
from strop.wire.messages import KernelSample, ProfileReply
from tests.unit.pipeline.scripted import CONDITIONS, DESCRIPTION, REQUEST, TARGET, description

CANDIDATE = Candidate(workload_id="w", form=RecipeForm(recipe=parse_recipe("a")), origin=Origin.CATALOGUE)


def comparison(**changes):
    return replace(
        Comparison(
            baseline="default", baseline_ns=2.0, candidate_ns=1.0, speedup=2.0, low=1.9, high=2.1, raw_speedup=1.9,
            decision=TimeDecision.FASTER, pairs=3, processes=1, kernel_speedup=None, peak_memory_ratio=None,
            noise_ratio=0.01, conditions=CONDITIONS,
        ),
        **changes,
    )  # fmt: skip


def judged(*findings, error=1.0, timed=True, of=CANDIDATE, **changes):
    verdict = Verdict(candidate_id=of.id, findings=findings, isolation="C", error_ratio=error)
    return Judgement(verdict=verdict, comparison=comparison(**changes) if timed else None)


def test_right_and_faster_is_kept():
    decision = decide(CANDIDATE, judged(Passed(check="matches_reference"), peak_memory_ratio=1.5), REQUEST)
    assert isinstance(decision, Keep)


@pytest.mark.parametrize(
    ("judgement", "reason", "says"),
    [
        (judged(Failed(check="survives", because="it hung")), "survives", "it hung"),
        (judged(Passed(check="a"), Inconclusive(check="b", because="no way")), "inconclusive", "b: no way"),
        (judged(Skipped(check="a", because="")), "inconclusive", "no check looked"),
        (judged(Passed(check="a"), timed=False), "inconclusive", "not timed"),
        (judged(Passed(check="a"), error=2.5), "less_accurate", "2.50 times"),
        (judged(Passed(check="a"), peak_memory_ratio=3.0), "more_memory", "3.00 times"),
        (judged(Passed(check="a"), decision=TimeDecision.UNDECIDED), "not_faster", "undecided: 2.000x"),
    ],
)
def test_everything_else_is_dropped_with_its_reason(judgement, reason, says):
    decision = decide(CANDIDATE, judgement, REQUEST)
    assert isinstance(decision, Drop) and decision.reason == reason and says in decision.because


def test_source_text_that_does_not_build_may_be_mended():
    source = replace(CANDIDATE, form=SourceForm(text="x ="))
    failed = judged(Failed(check="builds", because="syntax error"), of=source)
    assert decide(source, failed, REQUEST) == Repair(candidate=source, because="builds: syntax error")
    assert isinstance(decide(CANDIDATE, failed, REQUEST), Drop)


def test_every_plan_has_enough_seeds_and_screening_is_a_part_of_the_full_one():
    full, quick = full_plan(DESCRIPTION), screening_plan(DESCRIPTION)
    assert len(quick.values) >= SEEDS and {c.distribution for c in quick.values} <= {
        c.distribution for c in full.values
    }
    assert {c.distribution for c in full.values} == set(Distribution)
    assert {c.circumstance for c in full.state} == set(Circumstance) - {Circumstance.PLAIN}
    assert [c.parameters_draw for c in full.parameters] == [1, 2, 3]
    assert len({c.index for c in full.values}) == len(full.values)
    assert full.values[0].distribution is Distribution.OWN


def test_inputs_with_a_fixed_meaning_are_only_drawn_by_their_own_generator():
    fixed = description(inputs=(replace(DESCRIPTION.inputs[0], domain=Domain(kind=DomainKind.FIXED)),))
    plan = full_plan(fixed)
    assert {c.distribution for c in plan.values} == {Distribution.OWN} and len(plan.values) == SEEDS
    no_constants = full_plan(description(constants=()))
    assert Distribution.BEYOND_CONSTANTS not in {c.distribution for c in no_constants.values}


def test_what_a_run_leaves_behind_holds_outputs_and_touched_state():
    mutating = description(
        mutates=("x",),
        updates=("count",),
        outputs=(Leaf(path="out", tensor=replace(DESCRIPTION.outputs[0].tensor, stride=(1, 64))),),
    )
    leaves = made_leaves(mutating)
    assert [leaf.path for leaf in leaves] == ["out", "state:inputs:x", "state:buffers:count"]
    assert leaves[0].tensor.stride is None
    wide = made_layout(mutating, 2, wide=True)
    assert [span.tensor.dtype for span in wide.slot] == [DType.FLOAT64, DType.FLOAT64, DType.INT64]
    assert [span.path for span in given_layout(mutating, 1).fixed] == ["w", "count"]


def test_a_profile_names_what_no_kernel_accounts_for_and_aim_points_at_headroom():
    def sample(name, nodes, time_ns, flop=0):
        return KernelSample(
            name=name,
            language="cpp",
            nodes=nodes,
            calls=1,
            time_ns=time_ns,
            moved_bytes=64,
            work_flop=flop,
            graph_id="g",
        )

    reply = ProfileReply(
        call_ns=1000.0,
        kernels=(
            sample("light", ("a",), 100.0),
            sample("heavy", ("b", "ghost"), 600.0),
            sample("alien", ("z",), 200.0),
        ),
        notes=("n",),
    )
    profile = build_profile("w", TARGET, reply)
    assert [kernel.name for kernel in profile.kernels] == ["heavy", "alien", "light"]
    assert profile.overhead_ns == pytest.approx(100.0) and profile.notes == ("n",)
    assert profile.kernels[0].share == pytest.approx(0.6) and profile.kernels[0].bound in set(Bound)
    nodes = tuple(GraphNode(name=name, op="call_function", target="t") for name in "ab")
    found = aim(profile, Capture(graphs=(CapturedGraph(id="g", nodes=nodes, decompositions_version=1),)))
    assert [o.region.nodes for o in found] == [("b",), ("a",)]
    assert found[0].headroom_ns == pytest.approx(600.0 - profile.kernels[0].floor_ns)
    assert build_profile("w", TARGET, replace(reply, call_ns=0.0)).kernels[0].share == 0.0


def test_what_a_device_really_ran_is_told_with_its_occupancy():
    taken = KernelResources(grid=(1000, 1, 1), block=(128, 1, 1), registers=24, shared_bytes=0)
    ran = (
        DeviceKernel(name="own", calls=1, time_ns=60.0, resources=taken),
        DeviceKernel(name="copy", calls=1, time_ns=4.0),
    )
    sample = KernelSample(
        name="k", language="triton", nodes=("a",), calls=1, time_ns=64.0, moved_bytes=64, work_flop=0, graph_id="g",
        launched=ran,
    )  # fmt: skip
    reply = ProfileReply(call_ns=100.0, kernels=(sample,), notes=())
    hopper = Multiprocessor(count=132, threads=2048, blocks=32, registers=65536, shared_bytes=233472)
    own, copy = build_profile("w", replace(TARGET, multiprocessor=hopper), reply).kernels[0].launched
    assert own == replace(ran[0], resources=with_occupancy(taken, hopper)) and own.resources.occupancy_ratio == 1.0
    assert copy == ran[1]
    assert build_profile("w", TARGET, reply).kernels[0].launched == ran


def test_the_first_redraw_of_parameters_meets_the_first_cases_inputs():
    plan = full_plan(DESCRIPTION)
    first = plan.values[0]
    assert (plan.parameters[0].index, plan.parameters[0].distribution) == (first.index, first.distribution)
    assert plan.parameters[1].index not in {case.index for case in plan.values}


def test_a_profile_says_how_much_of_a_multiprocessor_a_launch_takes():
    taken = KernelResources(grid=(8, 1, 1), block=(128, 1, 1), registers=168, shared_bytes=0)
    launched = tuple(
        DeviceKernel(name=name, calls=1, time_ns=400.0, library="", resources=each)
        for name, each in (("triton_poi_0", taken), ("Memset (Device)", None))
    )
    sample = KernelSample(
        name="triton_poi_0",
        language="triton",
        nodes=(),
        calls=1,
        time_ns=800.0,
        moved_bytes=640,
        work_flop=0,
        launched=launched,
    )
    limits = Multiprocessor(count=4, threads=2048, blocks=32, registers=65536, shared_bytes=1 << 17)
    reply = ProfileReply(call_ns=1000.0, kernels=(sample,))
    (kernel,) = build_profile("w", replace(TARGET, multiprocessor=limits), reply).kernels
    assert kernel.resources.occupancy_ratio == 12 / 64 and kernel.resources.limited_by == "registers"
    assert kernel.launched[1] == launched[1]
    assert kernel.diagnosis.startswith("moves 800 MB/s, 80 % of what a copy reaches; 168 registers a thread")


def test_products_of_rounded_operands_have_the_faster_ceiling():
    rates = (("float32", 1e9), ("tf32", 8e9), ("bfloat16", 16e9))
    target = replace(TARGET, ceilings=replace(TARGET.ceilings, product_flop_per_s=rates))

    def floor_ns(name, flop, dtype="float32", on=target):
        launched = (DeviceKernel(name=name, calls=1, time_ns=1000.0),)
        sample = KernelSample(
            name="extern_kernels.convolution",
            language="library",
            nodes=(),
            calls=1,
            time_ns=1000.0,
            moved_bytes=0,
            work_flop=flop,
            dtype=dtype,
            launched=launched,
        )
        return build_profile("w", on, ProfileReply(call_ns=1000.0, kernels=(sample,))).kernels[0].floor_ns

    assert floor_ns("ampere_sgemm_128x64_tn", 800) == pytest.approx(800.0)
    assert floor_ns("sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32", 800) == pytest.approx(100.0)
    assert floor_ns("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128>(P)", 800) == pytest.approx(100.0)
    assert floor_ns("nvjet_unknown", 4000) == pytest.approx(500.0)
    assert floor_ns("sm90_tf32", 800, "bfloat16") == pytest.approx(50.0)
    assert floor_ns("sm90_tf32", 800, on=TARGET) == pytest.approx(800.0)
