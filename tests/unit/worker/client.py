"""A parent in a few lines: starts a worker with two pipes and two arenas, and speaks the wire with it."""

from __future__ import annotations

import mmap
import os
import selectors
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from strop.records.contract import CONTRACTS
from strop.records.evidence import Distribution
from strop.records.target import Ceilings, MemoryLevel, Target
from strop.records.tensor import DType
from strop.records.workload import Mode, SourceKind, Workload, WorkloadSource
from strop.wire import frames
from strop.wire.codec import decode, encode
from strop.wire.layout import plan_layout
from strop.wire.messages import (
    ChildRole,
    Describe,
    DescribedReply,
    Done,
    DrawInputs,
    DrawParameters,
    Load,
    Map,
    Open,
    Raised,
    ReplyMessage,
    RequestMessage,
)
from strop.wire.tensors import views

ROOT = Path(__file__).parents[3]
WIDE = {DType.FLOAT16: DType.FLOAT64, DType.BFLOAT16: DType.FLOAT64, DType.FLOAT32: DType.FLOAT64}
WIDE |= {DType.COMPLEX64: DType.COMPLEX128}
DEADLINE_S = 120.0

TARGET = Target(
    name="cpu",
    device="cpu",
    summary="a test's CPU",
    languages=("cpp",),
    memory=(MemoryLevel(name="L3", size_bytes=1 << 20), MemoryLevel(name="memory", size_bytes=1 << 33)),
    ceilings=Ceilings(copy_bytes_per_s=1e10, product_flop_per_s=(("float32", 1e11),), call_overhead_ns=1000.0),
)


def widened(leaf):
    return replace(leaf, tensor=replace(leaf.tensor, dtype=WIDE.get(leaf.tensor.dtype, leaf.tensor.dtype), stride=None))


def made_leaves(description):
    inputs = {leaf.path: leaf for leaf in description.inputs}
    buffers = {leaf.path: leaf for leaf in description.buffers}
    state = [replace(inputs[path], path=f"state:inputs:{path}") for path in description.mutates]
    state += [replace(buffers[path], path=f"state:buffers:{path}") for path in description.updates]
    return (*description.outputs, *state)


@dataclass
class Arena:
    descriptor: int
    layout: object = None
    memory: object = None

    def resize(self, layout):
        os.ftruncate(self.descriptor, max(layout.total_bytes, os.fstat(self.descriptor).st_size))
        self.layout = layout
        self.memory = torch.frombuffer(mmap.mmap(self.descriptor, layout.total_bytes), dtype=torch.uint8)

    def views(self, slot):
        return views(self.memory, self.layout, slot)

    def poison(self):
        for slot in range(self.layout.slots):
            for tensor in self.views(slot).values():
                tensor.fill_(torch.nan if tensor.is_floating_point() or tensor.is_complex() else 0)


@dataclass
class Child:
    role: ChildRole = ChildRole.BASELINE
    process: subprocess.Popen = field(init=False)

    def __post_init__(self):
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        self.given = Arena(os.memfd_create("given"))
        self.made = Arena(os.memfd_create("made"))
        descriptors = {"read": to_read, "write": to_write, "given": self.given.descriptor, "made": self.made.descriptor}
        options = [text for name, number in descriptors.items() for text in (f"--{name}", str(number))]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "strop.worker", *options, "--role", self.role.value],
            pass_fds=tuple(descriptors.values()),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._to)
        try:
            self.process.wait(timeout=10)
        finally:
            self.process.kill()
            self.process.wait()
            os.close(self._from)
            os.close(self.given.descriptor)
            os.close(self.made.descriptor)

    def _exactly(self, count, deadline):
        parts = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(self._from, selectors.EVENT_READ)
            while len(parts) < count:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise TimeoutError("the worker does not answer")
                chunk = os.read(self._from, count - len(parts))
                if not chunk:
                    raise EOFError(f"the worker ended: {self.process.wait()}")
                parts += chunk
        return bytes(parts)

    def receive(self):
        deadline = time.monotonic() + DEADLINE_S
        kind, length = frames.unpack_header(self._exactly(frames.HEADER.size, deadline))
        body = self._exactly(length, deadline)
        return kind, decode(ReplyMessage, body) if kind is frames.FrameKind.RECORD else None

    def say(self, request):
        frames.write_frame(self._to, frames.Frame(frames.FrameKind.RECORD, encode(request, RequestMessage)))
        return self.receive()[1]

    def ask(self, request, answer=Done):
        reply = self.say(request)
        assert isinstance(reply, answer), reply
        return reply

    def fails(self, request):
        return self.ask(request, Raised)

    def go(self, calls, key=0):
        frames.write_frame(self._to, frames.Frame(frames.FrameKind.GO, frames.GO.pack(calls, key)))
        return self.receive()

    def open(self, source, *, contract="fp32", **options):
        workload = source if isinstance(source, Workload) else workload_of(source, **options)
        return self.say(
            Open(workload=workload, contract=CONTRACTS[contract].on_device("cpu"), threads=1, construct_seed=5)
        )

    def describe(self):
        return self.ask(Describe(), DescribedReply).description

    def map(self, description, slots=2, wide=False):
        fixed = (*description.parameters, *description.buffers)
        leaves = made_leaves(description)
        given = plan_layout(fixed, description.inputs, slots)
        made = plan_layout((), tuple(map(widened, leaves)) if wide else leaves, slots)
        self.given.resize(given)
        self.made.resize(made)
        self.made.poison()
        self.ask(Map(given=given, made=made))

    def load(self, form):
        return self.say(Load(form=form, target=TARGET))

    def draw(self, slot, seed, distribution=Distribution.OWN):
        self.ask(DrawInputs(slot=slot, seed=seed, distribution=distribution))
        return {path: tensor.clone() for path, tensor in self.given.views(slot).items()}

    def draw_parameters(self, draw=0, seed=1):
        self.ask(DrawParameters(seed=seed, draw=draw))
        return {path: tensor.clone() for path, tensor in self.given.views(None).items()}

    def fill(self, slot, values):
        for path, tensor in self.given.views(slot).items():
            tensor.copy_(values[path])

    def results(self, slot=0):
        return {path: tensor.clone() for path, tensor in self.made.views(slot).items()}


_KEPT = {}


def kept(role):
    """The child of this role that tests share: to open a workload is to start over."""
    if role not in _KEPT or _KEPT[role].process.poll() is not None:
        _KEPT[role] = Child(role)
    return _KEPT[role]


def end_kept():
    while _KEPT:
        with _KEPT.popitem()[1]:
            pass


def declared_mode(path):
    """The parent reads a file's MODE before it opens it."""
    text = Path(path).read_text(encoding="utf-8") if str(path).endswith(".py") and Path(path).is_file() else ""
    return Mode.EVAL if 'MODE = "eval"' in text else Mode.TRAIN


def workload_of(path, *, kind=SourceKind.FILE, mode=None, entry="Model", import_path=(), device="cpu"):
    source = WorkloadSource(kind=kind, where=str(path), digest="test", entry=entry, import_path=import_path)
    return Workload(name="test", source=source, mode=mode or declared_mode(path), device=device)
