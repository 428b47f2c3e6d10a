"""From raw kernel samples to a profile, and from a profile to opportunities: where a proposal could win how much."""

from __future__ import annotations

from dataclasses import replace

from strop.records.graph import Capture, CapturedGraph, Region
from strop.records.opportunity import Opportunity
from strop.records.profile import DeviceKernel, KernelProfile, Profile
from strop.records.target import Target
from strop.stats.diagnosis import Setting, diagnose, setting_of
from strop.stats.occupancy import with_occupancy
from strop.stats.roofline import profile_kernel
from strop.targets._kernel_names import rounds_to_tf32
from strop.wire.messages import KernelSample, ProfileReply

TF32 = "tf32"


def build_profile(workload_id: str, target: Target, reply: ProfileReply) -> Profile:
    """Kernels, heaviest first, each beside its floor at the target's ceilings and with what keeps it from it."""
    samples = [replace(sample, dtype=_unit_of(sample, target)) for sample in reply.kernels]
    kernels = tuple(_kernel(sample, target, reply.call_ns) for sample in samples)
    setting = setting_of(reply.call_ns, kernels)
    told = [_diagnosed(kernel, target, sample.dtype, setting) for kernel, sample in zip(kernels, samples, strict=True)]
    spent = sum(kernel.time_ns for kernel in kernels)
    return Profile(
        workload_id=workload_id,
        target=target.name,
        call_ns=reply.call_ns,
        overhead_ns=max(0.0, reply.call_ns - spent),
        kernels=tuple(sorted(told, key=lambda kernel: -kernel.time_ns)),
        notes=reply.notes,
    )


def _unit_of(sample: KernelSample, target: Target) -> str:
    """The element type whose product rate is the kernel's ceiling: float32 operands may be multiplied as TF32, which
    the kernel's name says, or that it is faster than float32 can be.
    """
    rates = dict(target.ceilings.product_flop_per_s)
    if sample.dtype != "float32" or not {"float32", TF32} <= set(rates) or sample.time_ns <= 0:
        return sample.dtype
    is_faster = sample.work_flop / sample.time_ns * 1e9 > rates["float32"]
    return TF32 if is_faster or any(rounds_to_tf32(each.name) for each in sample.launched) else sample.dtype


def _diagnosed(kernel: KernelProfile, target: Target, dtype: str, setting: Setting) -> KernelProfile:
    bound, diagnosis = diagnose(kernel, target, dtype, setting)
    return replace(kernel, bound=bound, diagnosis=diagnosis)


def _kernel(sample: KernelSample, target: Target, call_ns: float) -> KernelProfile:
    kernel = profile_kernel(
        name=sample.name,
        language=sample.language,
        nodes=sample.nodes,
        calls=sample.calls,
        time_ns=sample.time_ns,
        call_ns=call_ns,
        moved_bytes=sample.moved_bytes,
        work_flop=sample.work_flop,
        ceilings=target.ceilings,
        dtype=sample.dtype,
        graph_id=sample.graph_id,
        kind=sample.kind,
        launch=sample.launch,
        source=sample.source,
    )
    return replace(kernel, hash=sample.hash, launched=tuple(_launched(each, target) for each in sample.launched))


def _launched(kernel: DeviceKernel, target: Target) -> DeviceKernel:
    if kernel.resources is None:
        return kernel
    return replace(kernel, resources=with_occupancy(kernel.resources, target.multiprocessor))


def aim(profile: Profile, capture: Capture) -> tuple[Opportunity, ...]:
    """Opportunities by headroom. A kernel whose nodes are not in the captured graphs is an opportunity for nobody and
    is left out, as is one of unknown time.
    """
    found = [
        Opportunity(
            region=Region(graph_id=graph.id, nodes=nodes),
            kernels=(kernel.name,),
            share=kernel.share,
            time_ns=kernel.time_ns,
            bound=kernel.bound,
            headroom_ns=kernel.headroom_ns,
        )
        for kernel in profile.kernels
        for graph in capture.graphs
        if kernel.calls and graph.id == kernel.graph_id and (nodes := _known(kernel, graph))
    ]
    return tuple(sorted(found, key=lambda opportunity: -opportunity.headroom_ns))


def _known(kernel: KernelProfile, graph: CapturedGraph) -> tuple[str, ...]:
    names = {node.name for node in graph.nodes}
    return tuple(node for node in kernel.nodes if node in names)
