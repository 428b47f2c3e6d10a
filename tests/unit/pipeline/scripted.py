"""A wall without processes: children that compute ``y = w * x`` in torch and can be told to err, so that the line is
tested in milliseconds.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import torch

from strop.errors import ChildFault
from strop.records.contract import CONTRACTS
from strop.records.event import Request
from strop.records.evidence import FEW_CHANGED, Circumstance, CrashEvidence, CrashKind, Distribution, Stage
from strop.records.graph import Capture, CapturedGraph, GraphNode, Region
from strop.records.measurement import Conditions
from strop.records.opportunity import Decline, Legality, Proposal
from strop.records.recipe import Step
from strop.records.target import Ceilings, MemoryLevel, Target
from strop.records.tensor import DType, TensorSpec
from strop.records.workload import Description, Domain, DomainKind, Leaf, SourceKind, Workload, WorkloadSource
from strop.wire import messages as m
from strop.wire.chain import Chain
from strop.wire.launches import LaunchesReply, LaunchTime
from strop.wire.omission import Omitted
from strop.wire.regions import RegionsReply
from strop.wire.tensors import copied, views
from tests.unit.wire.guards import guard_mask

GLUE_NS = 2e5
"""What the chain adds to a call."""
CONDITIONS = Conditions(machine="m", device="cpu", threads=1, contract="fp32", versions=())
TARGET = Target(
    name="scripted",
    device="nowhere",
    summary="a target for tests",
    languages=("torch",),
    memory=(MemoryLevel(name="L3", size_bytes=1024), MemoryLevel(name="memory", size_bytes=1 << 30)),
    ceilings=Ceilings(copy_bytes_per_s=1e9, product_flop_per_s=(("float32", 1e9),), call_overhead_ns=1000.0),
)
REQUEST = Request(contract=CONTRACTS["fp32"], baselines=("eager", "default"))
X = TensorSpec(shape=(64, 4), dtype=DType.FLOAT32)
W = TensorSpec(shape=(4,), dtype=DType.FLOAT32)
DESCRIPTION = Description(
    parameters=(Leaf(path="w", tensor=W),),
    buffers=(Leaf(path="count", tensor=TensorSpec(shape=(1,), dtype=DType.INT64)),),
    inputs=(Leaf(path="x", tensor=X, domain=Domain(kind=DomainKind.REAL)),),
    outputs=(Leaf(path="out", tensor=X),),
    constants=(6.0,),
)
WORKLOAD = Workload(name="scale", source=WorkloadSource(kind=SourceKind.FILE, where="scale.py", digest="d"))


def crash(kind=CrashKind.RAISED, detail="it broke", stage=Stage.BUILD):
    return ChildFault(CrashEvidence(stage=stage, kind=kind, detail=detail))


@dataclass
class Script:
    """How one kind of child behaves. ``compute(x, w)`` is in the dtype it is given; ``call_ns`` feeds its clock, and
    ``chained_ns`` if it is another while calls are chained;
    ``launch_ns(step)`` is how long an edited kernel takes alone beside its own ``own_ns``, or why it cannot be
    launched.
    """

    compute: Callable = lambda x, w: x * w
    call_ns: float = 1e6
    chained_ns: float = 0.0
    faults: dict[type, Exception] = field(default_factory=dict)
    broken_times: int = 1 << 30
    clock_fault: Exception | None = None
    spoil: Callable | None = None
    ran: dict = field(default_factory=dict)
    delivered: dict = field(default_factory=dict)
    memory_bytes: int = 100
    held_bytes: int = 100
    kernel_ns: float = 100.0
    accepts: bool = True
    launch_ns: Callable = lambda step: 100.0
    own_ns: float = 100.0


class ScriptedArena:
    def __init__(self):
        self.layout = None

    def give(self, layout):
        self.layout = layout
        self.buffer = torch.zeros(layout.total_bytes, dtype=torch.uint8)
        self._guards = guard_mask(layout)

    def views(self, slot):
        return views(self.buffer, self.layout, slot)

    def write(self, slot, values):
        for path, tensor in self.views(slot).items():
            tensor.copy_(values[path])

    def poison(self, slots):
        for slot in slots:
            for tensor in self.views(slot).values():
                tensor.fill_(torch.nan if tensor.is_floating_point() or tensor.is_complex() else 77)
        self.buffer[self._guards] = 171

    def unwritten(self, slot, of=None):
        seen = views(self.buffer if of is None else of, self.layout, slot)
        return {
            path: int((each.isnan() if each.is_floating_point() else each == 77).sum()) for path, each in seen.items()
        }

    def guards_intact(self, of=None):
        return bool(((self.buffer if of is None else of)[self._guards] == 171).all())

    def snapshot(self):
        return self.buffer.clone()


class ScriptedChild:
    def __init__(self, role, wall, script):
        self.role, self.wall, self.script = role, wall, script
        self.given, self.made = ScriptedArena(), ScriptedArena()
        self.closed = False
        self.w = self.count = self.variant = None
        self.random = random.Random(len(wall.children))

    def log_tail(self):
        return ""

    def close(self):
        self.closed = True

    def map(self, given, made):
        self.given.give(given)
        self.made.give(made)
        self.given.poison(range(given.slots))

    def time_calls(self, calls, slots, timeout_s, key=0):
        if self.script.clock_fault:
            raise self.script.clock_fault
        inputs = self.wall.description.inputs
        draws = [self.given.views(slot) for slot in range(calls, self.given.layout.slots)]
        for each in range(calls):
            if key:
                before = self.made.views(each - 1) if each else {}
                outputs = {leaf.path: before[leaf.path] for leaf in self.wall.description.outputs if before}
                self.given.write(each, Chain(key, inputs, draws).inputs(each, outputs))
            self._run(each)
        self.seen = [copied(self.made.views(slot)) for slot in slots]
        jitter = 1 + 0.001 * self.random.gauss(0, 1)
        call_ns = (self.script.chained_ns or self.script.call_ns) + GLUE_NS if key else self.script.call_ns
        return int(call_ns * calls * jitter)

    def stopped(self):
        return self.seen

    def ask(self, request, answer, timeout_s):
        self.wall.asked.append((self.role, request))
        fault = self.script.faults.get(type(request))
        if fault is not None and self.wall.broken.setdefault(type(request), 0) < self.script.broken_times:
            self.wall.broken[type(request)] += 1
            raise fault
        if isinstance(request, m.Load):
            self.script = self.wall.script_for(self.role, request.form)
            fault = self.script.faults.get(m.Load)
            if fault is not None and self.wall.broken.setdefault("load", 0) < self.script.broken_times:
                self.wall.broken["load"] += 1
                raise fault
        reply = getattr(self, "_" + request.ask)(request)
        assert isinstance(reply, answer)
        return reply

    def _open(self, request):
        return m.Done()

    def _describe(self, request):
        if self.variant in self.wall.refused:
            raise crash(detail="The model's forward() raised.")
        return m.DescribedReply(description=self.wall.described(self.variant))

    def _vary(self, request):
        self.variant = request.variant
        return m.Done()

    def _load(self, request):
        return m.Loaded(notes=("built",))

    def _draw_parameters(self, request):
        generator = torch.Generator().manual_seed(request.seed + min(request.draw, FEW_CHANGED - 1))
        fixed = self.given.views(None)
        for path, tensor in fixed.items():
            tensor.copy_(torch.randn(4, generator=generator) if path == "w" else torch.tensor(request.draw))
        if "w" in fixed and request.draw == 0 and self.wall.first_parameters is not None:
            fixed["w"].copy_(self.wall.first_parameters)
        if "w" in fixed and request.draw == FEW_CHANGED:
            fixed["w"][1] += 1
        self.w = fixed["w"].clone() if "w" in fixed else torch.ones(4)
        return m.Done()

    def _draw_inputs(self, request):
        x = torch.randn(self.given.views(0)["x"].shape, generator=torch.Generator().manual_seed(request.seed)) * 10
        if request.distribution is Distribution.SPECIAL:
            x[0, 0], x[1, 1] = torch.nan, torch.inf
        if request.distribution in self.wall.overflowing:
            x[0, 0] = torch.inf
        self.given.views(0)["x"].copy_(x)
        return m.Done()

    def _deliver(self, request):
        self.w = self.given.views(None).get("w", torch.ones(4)).clone()
        return m.Delivered(**({"matched_by": "name"} | self.script.delivered))

    def _expect(self, request):
        given, made = self.given.views(0), self.made.views(0)
        # The reference reads parameters where they lie, each time that it answers.
        w = self.given.views(None).get("w", torch.ones(4))
        seed = request.seed if isinstance(request, m.Expect) else None
        with torch.random.fork_rng():
            torch.manual_seed(11 if seed is None else seed)
            made["out"].copy_(self.wall.reference(given["x"].double(), w.double()))
        return m.Done()

    def _regions(self, request):
        return RegionsReply(regions=self.wall.regions, left_out=self.wall.left_out)

    def _omit(self, request):
        if request.operator is None:
            return Omitted(operators=tuple(operator for operator, _ in self.wall.operators))
        answer = self.wall.operators[request.operator][1]
        w = self.given.views(None).get("w", torch.ones(4))
        self.made.views(0)["out"].copy_(answer(self.given.views(0)["x"].double(), w.double(), request))
        return Omitted()

    def _perturb(self, request):
        self._expect(request)
        out = self.made.views(0)["out"]
        noise = 2 * torch.rand(out.shape, generator=torch.Generator().manual_seed(request.seed), dtype=out.dtype) - 1
        out.mul_(1 + noise * 2.0**-24)
        return m.Done()

    def _run(self, request):
        slot = request if isinstance(request, int) else request.slot
        given, made = self.given.views(slot), self.made.views(slot)
        circumstance = Circumstance.PLAIN if isinstance(request, int) else request.circumstance
        result = self.script.compute(given["x"], self.w)
        if result is not None:
            made["out"].copy_(result)
        if self.script.spoil:
            self.script.spoil(self, slot, circumstance)
        return m.Ran(**({"outputs": self.wall.described(self.variant).outputs} | self.script.ran))

    def _accept(self, request):
        return m.Accepted(accepted=self.wall.accepts)

    def _capture(self, request):
        nodes = (
            GraphNode(name="x", op="placeholder", target="x"),
            GraphNode(name="mul", op="call_function", target="aten.mul"),
        )
        return m.CaptureReply(capture=Capture(graphs=(CapturedGraph(id="g", nodes=nodes, decompositions_version=1),)))

    def _profile(self, request):
        rows = (("light", ("mul",), 1, 0), ("heavy", ("mul", "ghost"), 3, 100), ("alien", ("z",), 2, 0))
        unit = self.script.kernel_ns
        kernels = [
            m.KernelSample(
                name=name,
                graph_id="g",
                language="cpp",
                nodes=nodes,
                calls=1,
                time_ns=unit * k,
                moved_bytes=64,
                work_flop=flop,
            )
            for name, nodes, k, flop in rows
        ]
        return m.ProfileReply(call_ns=self.script.kernel_ns * 10, kernels=tuple(kernels), notes=("seen",))

    def _proposals(self, request):
        proposal = Proposal(
            step=Step("double"),
            region=Region(graph_id="g", nodes=("mul",)),
            legality=(Legality.BIT_EXACT,),
            gain_ns=5.0,
        )
        decline = Decline(transform="other", because="there is nothing to do")
        return m.ProposalsReply(proposals=(proposal,), declines=(decline,), minimal_bytes=2048, product_flop=1000)

    def _launches(self, request):
        times = []
        for step in request.steps:
            taken = self.script.launch_ns(step)
            failed = isinstance(taken, str)
            times.append(
                LaunchTime(step=step, because=taken)
                if failed
                else LaunchTime(step=step, time_ns=taken, own_ns=self.script.own_ns)
            )
        return LaunchesReply(times=tuple(times))

    def _memory(self, request):
        return m.MemoryReply(peak_bytes=self.script.memory_bytes, held_bytes=self.script.held_bytes)


class ScriptedWall:
    """``scripts`` maps what is loaded (a mode, ``candidate``, ``null``) to its behaviour."""

    isolation = "C"
    first_parameters = None
    """Of draw 0, where they shall be no random ones."""

    def __init__(self, description=DESCRIPTION, reference=lambda x, w: x * w, **scripts):
        self.description, self.reference, self.scripts = description, reference, scripts
        self.children, self.asked, self.broken, self.locks = [], [], {}, []
        self.overflowing, self.accepts, self.refused = (), True, ()
        # Operators of the reference beside what is answered without each: a function of x, w and the request.
        self.operators = ()
        # What recipes replace. A recipe may have a script of its own, by its text.
        self.regions, self.left_out = (), ()

    def described(self, variant):
        """A set of other arguments has twice the rows."""
        if variant is None:
            return self.description
        own = self.description.inputs[0]
        twice = replace(own, tensor=replace(own.tensor, shape=(2 * own.tensor.shape[0], *own.tensor.shape[1:])))
        inputs = variant.inputs or (twice,)
        made = replace(inputs[0], path="out", domain=None, tensor=replace(inputs[0].tensor, stride=None))
        return replace(self.description, inputs=inputs, outputs=(made,))

    def script_for(self, role, form):
        recipe = str(getattr(form, "recipe", ""))
        if recipe in self.scripts:
            return self.scripts[recipe]
        name = "candidate" if role.is_judged else getattr(form, "mode", form.form).replace("-", "_")
        default = Script(call_ns=1e3, compute=lambda x, w: x) if name == "null" else Script()
        return self.scripts.get(name, default)

    @contextmanager
    def child(self, role):
        child = ScriptedChild(
            role, self, self.scripts.get(("candidate" if role.is_judged else role.value) + "_before_load", Script())
        )
        self.children.append(child)
        try:
            yield child
        finally:
            child.close()

    def held_s(self, device):
        return float(self.locks.count(device))

    @contextmanager
    def device_lock(self, device, *, still):
        self.locks.append(device)
        yield


def description(**changes):
    return replace(DESCRIPTION, **changes)
