"""Whole runs as events, from small records: one that kept something, one that the compiler won, one inadmissible."""

from dataclasses import replace

from strop.records.event import (
    Admitted,
    BaselinesMeasured,
    Best,
    Captured,
    CatalogueAsked,
    Decided,
    Described,
    Event,
    Happening,
    Judged,
    Noted,
    Profiled,
    Proposed,
    RunEnded,
    StopReason,
)
from strop.records.graph import Capture, CapturedGraph, KernelEdit, KernelKind, Region
from strop.records.opportunity import Decline, Legality, Opportunity, Proposal
from strop.records.profile import Bound, DeviceKernel, KernelCounters, KernelProfile, KernelResources, Profile
from strop.records.recipe import Step
from strop.records.workload import Description
from tests.unit.supervisor.makers import WORKLOAD, candidate, decide, judgement, keep, started

KERNEL = KernelProfile(
    name="cpp_fused_<relu>|add_0",
    language="cpp",
    nodes=("relu", "add"),
    calls=1,
    time_ns=750_000.0,
    share=0.75,
    moved_bytes=4_000_000,
    work_flop=1_000_000,
    bound=Bound.MEMORY,
    floor_ns=300_000.0,
    graph_id="g",
    kind=KernelKind.GENERATED,
    launch="omp parallel num_threads(2)\nfor x0 < 1000 step 16",
    source='#include <a.h>\nextern "C" void kernel(const float* in_ptr0)\n{\n}',
)
PRODUCT = KernelProfile(
    name="extern_kernels.mm",
    language="library",
    nodes=("mm",),
    calls=1,
    time_ns=100_000.0,
    share=0.1,
    moved_bytes=2_000_000,
    work_flop=30_000_000,
    bound=Bound.COMPUTE,
    floor_ns=90_000.0,
    graph_id="g",
    kind=KernelKind.EXTERN,
    launch="buf0, arg1_1, out=buf1",
)
LIGHTER = replace(PRODUCT, nodes=("mm_1",), time_ns=50_000.0, share=0.05, floor_ns=45_000.0, launch="buf1, out=buf2")
UNSEEN = replace(KERNEL, name="cpp_fused_tanh_1", nodes=("tanh",), calls=0, time_ns=0.0, share=0.0)
TAKEN = KernelResources(
    grid=(66, 1, 1),
    block=(128, 1, 1),
    registers=168,
    shared_bytes=4096,
    spilled_registers=0,
    stages=3,
    occupancy_ratio=0.1875,
    limited_by="registers",
    waves=0.5,
)
COUNTED = KernelCounters(memory_ratio=0.8, compute_ratio=0.2, dram_bytes=4e6, rules=("Use fewer registers.",))
ON_DEVICE = replace(
    PRODUCT,
    launched=(
        DeviceKernel(
            name="nvjet_tst_128", calls=1, time_ns=90_000.0, library="cuBLAS", resources=TAKEN, counters=COUNTED
        ),
        DeviceKernel(name="Memset (Device)", calls=2, time_ns=10_000.0, library="the driver"),
    ),
    diagnosis="counted: memory busy 80 %",
)
KERNELS = (KERNEL, PRODUCT, LIGHTER, UNSEEN)
REGION = Region(graph_id="g", nodes=("relu", "add"))


def survey() -> list[Happening]:
    profile = Profile(workload_id=WORKLOAD.id, target="null", call_ns=1e6, overhead_ns=1e5, kernels=KERNELS)
    opportunity = Opportunity(
        region=REGION, kernels=(KERNEL.name,), share=0.75, time_ns=750_000.0, bound=Bound.MEMORY, headroom_ns=450_000.0
    )
    proposal = Proposal(
        step=Step("fold", (("at", "relu"),)), region=REGION, legality=(Legality.REASSOCIATED,), gain_ns=4e5
    )
    return [
        started(),
        Described(description=Description(parameters=(), buffers=(), inputs=(), outputs=())),
        Admitted(admissible=True),
        Captured(capture=Capture(graphs=(CapturedGraph(id="g", nodes=(), decompositions_version=1),))),
        BaselinesMeasured(
            call_ns=(("eager", 2e6), ("default", 1e6)), failed=(("reduce-overhead", "no such mode"),), best="default"
        ),
        Profiled(profile=profile, opportunities=(opportunity,)),
        CatalogueAsked(
            proposals=(proposal,), declines=(Decline(transform="pool", because="there is no <pooling> here"),)
        ),
    ]


def tried(recipe: str, outcome: float | str, *, confirmed: float | str | None = None) -> list[Happening]:
    what = candidate(recipe)
    found = judgement(what, outcome)
    happened: list[Happening] = [
        Proposed(candidate=what),
        Judged(verdict=found.verdict),
        Decided(decision=decide(what, found)),
    ]
    if confirmed is not None:
        again = judgement(what, confirmed)
        happened += [Judged(verdict=again.verdict), Decided(decision=decide(what, again), final=True)]
    return happened


def ended(reason: StopReason = StopReason.NOTHING_LEFT, because: str = "everything that applies was tried") -> RunEnded:
    return RunEnded(
        because=because,
        device_seconds_s=40.0,
        wall_seconds_s=75.0,
        reason=reason,
        interrupted=reason is StopReason.INTERRUPTED,
    )


def happy() -> list[Happening]:
    """``fold`` is kept at 1.4 (screening said 1.5); others failed, were not faster, or were overruled."""
    kept = keep("fold", 1.4)
    return [
        *survey(),
        *tried("fold", 1.5, confirmed=1.4),
        *tried("lie", "matches_reference"),
        *tried("idle", 1.0),
        *tried("lucky", 1.2, confirmed=1.0),
        Best(kept=kept, without_work_removed=kept, without_compiler=None),
        Noted(text="the machine was busy"),
        ended(),
    ]


EDIT = KernelEdit(
    kernel=KERNEL.name,
    hash="k-1",
    diff="--- before/k\n+++ after/k\n@@ -1,2 +1,2 @@\n #include <a.h>\n-old ```<b>\n+new ```<b>",
)


def edited(*edits: KernelEdit) -> list[Happening]:
    """``fold`` is kept, and changes generated kernels."""
    kept = keep("fold", 1.4)
    verdict = replace(kept.verdict, edits=edits)
    return [
        *survey(),
        Proposed(candidate=kept.candidate),
        Judged(verdict=verdict),
        Decided(decision=replace(kept, verdict=verdict), final=True),
        ended(),
    ]


def beaten() -> list[Happening]:
    """Nothing beat the compiler."""
    return [*survey(), *tried("idle", 1.0), ended()]


def inadmissible() -> list[Happening]:
    """No verdict would mean anything."""
    why = "A trivial answer would pass: zeros"
    return [
        started(),
        Described(description=Description(parameters=(), buffers=(), inputs=(), outputs=())),
        Admitted(admissible=False, because=why),
        ended(StopReason.INCONCLUSIVE, why),
    ]


def events(happenings: list[Happening], run: str = "r-1") -> list[Event]:
    return [
        Event(run=run, sequence=i, at=f"2030-01-01T00:00:{i % 60:02d}.000+00:00", what=what)
        for i, what in enumerate(happenings, start=1)
    ]
