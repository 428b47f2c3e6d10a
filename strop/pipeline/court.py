"""The trusted side of a workload: a reference child, a baseline child, and the answers they gave, cached per secret
draw.

Seeds are drawn here, when a case is first asked for, and never leave this process except to the reference child.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from types import TracebackType

import torch

from strop.pipeline.blame import owned, trusted
from strop.pipeline.gold import Gold, bytes_of, limit_bytes, waiting_bytes
from strop.pipeline.golds import Golds
from strop.pipeline.layouts import given_layout, made_layout
from strop.ports import ChildPort, WallPort
from strop.records.candidate import CompiledForm, Form, NullForm
from strop.records.contract import Contract
from strop.records.evidence import FEW_CHANGED, Case, Distribution
from strop.records.target import Target
from strop.records.workload import Description, Variant, Workload
from strop.targets._devices import give_back_unused
from strop.wire.messages import (
    ChildRole,
    Deliver,
    Delivered,
    Describe,
    DescribedReply,
    Done,
    DrawInputs,
    DrawParameters,
    Expect,
    Load,
    Loaded,
    Open,
    Perturb,
    Ran,
    Run,
    Vary,
)
from strop.wire.tensors import Tensors, copied

EAGER = "eager"
SLOTS = 2
"""A run of a candidate needs its own slot and one with other contents."""
CHILDREN_OF_A_COURT = 4
"""Besides the reference and what is lent to it: baseline, null worker, a candidate, and one that is on its way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds that one request may take. Building includes the compiler's work."""

    open_s: float = 120.0
    build_s: float = 300.0
    run_s: float = 60.0
    gold_s: float = 300.0


Wanted = tuple[ChildRole, Form]


@dataclass(slots=True, kw_only=True)
class Court:
    """Context manager; entering starts the trusted children and describes the workload."""

    wall: WallPort
    workload: Workload
    contract: Contract
    target: Target
    baseline_mode: str = EAGER
    timeouts: Timeouts = field(default_factory=Timeouts)
    construct_seed: int = field(default_factory=lambda: secrets.randbits(31))
    held_bytes: int = 0
    """What a child was seen to hold beside what it is lent."""
    spare: bool = False
    """Processors are to spare: what will be needed is loaded before it is."""
    _stack: ExitStack = field(default_factory=ExitStack)
    _reference: ChildPort | None = None
    _baseline: Future[ChildPort] | None = None
    _null: Future[ChildPort] | None = None
    variant: Variant | None = None
    """Of the inputs that are dealt with; None: the workload's own."""
    _eager: ChildPort | None = None
    _descriptions: dict[Variant | None, Description] = field(default_factory=dict[Variant | None, Description])
    _golds: Golds = field(init=False)
    _parameters: dict[int, Tensors] = field(default_factory=dict[int, Tensors])
    _others: dict[Variant | None, Tensors] = field(default_factory=dict[Variant | None, Tensors])
    _seed: int = field(default_factory=lambda: secrets.randbits(31))
    _delivered: dict[int, int] = field(default_factory=dict[int, int])
    _held: dict[tuple[int, tuple[str, ...]], int] = field(default_factory=dict[tuple[int, tuple[str, ...]], int])

    def __post_init__(self) -> None:
        self._golds = Golds(self, limit_bytes(self.target))

    def __enter__(self) -> Court:
        # What this side computes must not keep processors busy beside a child that is timed.
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        self._stack.callback(torch.set_num_threads, threads)
        with self._stack:
            self._reference = self._stack.enter_context(self.wall.child(ChildRole.REFERENCE))
            with trusted("The workload could not be loaded"):
                self.open(self._reference)
                self._map_reference()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def description(self) -> Description:
        """What the reference said about the workload, with the inputs that are dealt with."""
        if self.variant not in self._descriptions:
            raise RuntimeError("the court is used before it was entered")
        return self._descriptions[self.variant]

    @property
    def reference(self) -> ChildPort:
        """The child that knows the fp64 answers."""
        if self._reference is None:
            raise RuntimeError("the court is used before it was entered")
        return self._reference

    @property
    def baseline(self) -> ChildPort:
        """The child that runs the baseline; started when first needed."""
        return self.begin_baseline().result()

    @property
    def null(self) -> ChildPort:
        """The trusted child that only hands back what it made once: what it costs is the cost of the harness."""
        if self._null is None:
            self._null = self.begun(self._stack, [(ChildRole.BASELINE, NullForm())])[0]
        return self._null.result()

    @property
    def baseline_wanted(self) -> Wanted:
        """A child that runs the baseline, as ``begun`` is asked for it."""
        return ChildRole.BASELINE, CompiledForm(mode=self.baseline_mode)

    def begin_baseline(self) -> Future[ChildPort]:
        """The child that runs the baseline, on its way if nobody needed it before."""
        self._baseline = self._baseline or self.begun(self._stack, [self.baseline_wanted])[0]
        return self._baseline

    def expect_clock(self) -> None:
        """Begin to load the court's own children that a clock needs, if there are processors to spare."""
        if self.spare and self._baseline is None and self._null is None:
            wanted: list[Wanted] = [self.baseline_wanted, (ChildRole.BASELINE, NullForm())]
            self._baseline, self._null = self.begun(self._stack, wanted)

    def loaded(self, stack: ExitStack, role: ChildRole, form: Form) -> ChildPort:
        """A fresh child with a form built and one slot lent; ``stack`` ends it."""
        child = stack.enter_context(self.wall.child(role))
        with owned(child):
            self.open(child)
            self.load(child, form)
            # In the background this comes at any time, and a fresh child knows of the workload's own inputs alone.
            self._lend(child, 1, self._descriptions[None])
        return child

    def begun(self, stack: ExitStack, wanted: Sequence[Wanted]) -> list[Future[ChildPort]]:
        """Several fresh children at once, in the background: starting Python and the compiler's work take seconds each
        and share nothing. Each future will hold a child, or why there is none; ``stack`` ends them.
        """
        threads = ThreadPoolExecutor(max_workers=len(wanted) or 1)
        stack.callback(threads.shutdown, cancel_futures=True)
        return [threads.submit(self.loaded, stack, role, form) for role, form in wanted]

    def has_room_for(self, children: int) -> bool:
        """True when so many loaded children, each with as many slots as any is lent off the clock, take no more than a
        part of the memory.
        """
        given, made = given_layout(self.description, SLOTS), made_layout(self.description, SLOTS, wide=False)
        lent_bytes = given.total_bytes + made.total_bytes
        # Until that is seen, a child is taken to hold as much again as it is lent.
        return children * (lent_bytes + max(lent_bytes, self.held_bytes)) <= waiting_bytes(self.target)

    def change_baseline(self, mode: str, child: ChildPort | None = None) -> None:
        """Judge against another mode from now on; answers of the old baseline are forgotten. ``child`` is one that runs
        this mode already and that will be ended by this court; else one is started when it is needed.
        """
        before = self._baseline.result() if self._baseline is not None else None
        if before is not child:
            if before is not None:
                before.close()
            self._baseline = None
        if child is not None and self._baseline is None:
            self._baseline = Future()
            self._baseline.set_result(child)
        self._golds.clear()
        self.baseline_mode = mode

    def step_down(self) -> None:
        """Lend the court's own children one slot each after they were on the clock, where the slots of a clock would
        leave no room for the next candidate. One that is not loaded, for whatever reason, was on none.
        """
        if self.has_room_for(CHILDREN_OF_A_COURT):
            return
        for opened in (self._baseline, self._null):
            child = opened.result() if opened and opened.done() and not opened.exception() else None
            if child is not None and child.made.layout.slots > 1:
                with owned(child):
                    self.map(child, 1)

    def keep(self, children: ExitStack) -> None:
        """End these children together with the court."""
        self._stack.callback(children.close)

    def device(self, *, timed: bool = False) -> AbstractContextManager[None]:
        """Exclusive use of the device: around what runs on it, never around what only builds. While something is
        ``timed`` nothing is started beside it.
        """
        return self.wall.device_lock(self.target.lock, still=timed)

    def open(self, child: ChildPort) -> None:
        """Have a child load the workload's code under the contract. What this side no longer needs is for the child."""
        give_back_unused(self.workload.device)
        child.ask(self.open_request(), Done, self.timeouts.open_s)

    def open_request(self) -> Open:
        """What a child is told first: the workload, the contract, and how it is built."""
        return Open(
            workload=self.workload,
            contract=self.contract.on_device(self.workload.device),
            threads=self.target.threads,
            construct_seed=self.construct_seed,
        )

    def load(self, child: ChildPort, form: Form) -> Loaded:
        """Have a child build what it is to run."""
        return child.ask(Load(form=form, target=self.target), Loaded, self.timeouts.build_s)

    def map(self, child: ChildPort, slots: int) -> None:
        """Lend a child arenas of ``slots`` slots; parameters must be delivered again afterwards."""
        self._lend(child, slots, self.description)

    def _lend(self, child: ChildPort, slots: int, description: Description) -> None:
        self._delivered.pop(id(child), None)
        child.map(given_layout(description, slots), made_layout(description, slots, wide=False))
        child.given.poison(range(slots))

    @contextmanager
    def with_eager(self) -> Generator[None]:
        """Have eager at hand for variants meanwhile: a compiled baseline was not made for them."""
        with ExitStack() as stack:
            own = self.baseline_mode == EAGER
            form = CompiledForm(mode=EAGER)
            self._eager = self.baseline if own else self.loaded(stack, ChildRole.BASELINE, form)
            stack.callback(setattr, self, "_eager", None)
            yield
            # Not after a fault or an interrupt: who is asked then may still owe another answer.
            self.turn(None)

    @property
    def eager(self) -> ChildPort:
        """The child that answers for variants."""
        if self._eager is None:
            raise RuntimeError("other inputs were asked for without eager at hand")
        return self._eager

    def turn(self, variant: Variant | None) -> None:
        """Deal with other inputs, or with the workload's own again, eager being at hand.

        Raises:
            BadWorkload: the workload itself does not take them.
        """
        if variant == self.variant:
            return
        if self.variant is not None:
            self._others.pop(self.variant, None)
        self.variant = variant
        with trusted("The workload was called with other inputs"):
            self.reference.ask(Vary(variant=variant), Done, self.timeouts.gold_s)
            self._map_reference()
            self.vary(self.eager)

    def _map_reference(self) -> None:
        if self.variant not in self._descriptions:
            reply = self.reference.ask(Describe(), DescribedReply, self.timeouts.gold_s)
            self._descriptions[self.variant] = reply.description
        self._delivered.pop(id(self.reference), None)
        self.reference.map(given_layout(self.description, 1), made_layout(self.description, 1, wide=True))

    def vary(self, child: ChildPort) -> None:
        """Have a child deal with the inputs that this court deals with now."""
        child.ask(Vary(variant=self.variant), Done, self.timeouts.run_s)
        self.map(child, SLOTS)

    def parameters(self, draw: int) -> Tensors:
        """Parameters and buffers of one draw (0: the module's own initialisation)."""
        if draw not in self._parameters:
            request = DrawParameters(seed=self._seed, draw=draw)
            with trusted("The workload's parameters could not be drawn"):
                self.reference.ask(request, Done, self.timeouts.gold_s)
            self._parameters[draw] = copied(self.reference.given.views(None))
            self._delivered[id(self.reference)] = draw
        return self._parameters[draw]

    def holding(self, draw: int, names: Sequence[str]) -> int:
        """A draw like another one, but that these of its tensors keep the values of draw 0."""
        first, held = self.parameters(0), tuple(names)
        if not held:
            return draw
        number = self._held.setdefault((draw, held), FEW_CHANGED + 1 + len(self._held))
        self._parameters[number] = {**self.parameters(draw), **{name: first[name] for name in held}}
        return number

    def deliver(self, child: ChildPort, draw: int) -> Delivered | None:
        """Bring a child's parameters to ``draw``; None when they are there already."""
        values = self.parameters(draw)
        if self._delivered.get(id(child)) == draw:
            return None
        child.given.write(None, values)
        reply = child.ask(Deliver(), Delivered, self.timeouts.run_s)
        self._delivered[id(child)] = draw
        return reply

    @property
    def other_inputs(self) -> Tensors:
        """Inputs that belong to no case: what lies in the slot beside the one that is judged."""
        if self.variant in self._others:
            return self._others[self.variant]
        with trusted("The workload's inputs could not be drawn"):
            drawn = self.draw_inputs(Distribution.OWN, self._seed)
        if bytes_of(drawn) <= limit_bytes(self.target):
            self._others[self.variant] = drawn
        return drawn

    def draw_inputs(self, distribution: Distribution, seed: int | None = None) -> Tensors:
        """Inputs from the reference child; fresh ones unless it is said which."""
        drawn = secrets.randbits(31) if seed is None else seed
        self._ask_reference(DrawInputs(slot=0, seed=drawn, distribution=distribution))
        return copied(self.reference.given.views(0))

    @property
    def is_random(self) -> bool:
        """A call of the workload draws random numbers."""
        return bool(self.description.random_ops)

    def expect(self, inputs: Tensors, draw: int, seed: int | None = None) -> Tensors:
        """The workload's results in double precision; what they draw at random follows from the seed."""
        self.deliver(self.reference, draw)
        self.reference.given.write(0, inputs)
        self._ask_reference(Expect(slot=0, seed=seed))
        return snapshot_of(self.reference, 0)

    def perturb(self, inputs: Tensors, draw: int, contract: Contract | None = None) -> Tensors:
        """The workload's results after one honest rounding of everything, at the precision of another contract if one
        is named, where the reference's next answer will overwrite them.
        """
        self.deliver(self.reference, draw)
        self.reference.given.write(0, inputs)
        self._ask_reference(Perturb(slot=0, seed=secrets.randbits(31), contract=contract))
        return self.reference.made.views(0)

    def _ask_reference(self, request: DrawInputs | Expect | Perturb) -> None:
        """Double precision takes twice the memory of everybody else: what this side no longer needs is for it."""
        give_back_unused(self.workload.device)
        self.reference.ask(request, Done, self.timeouts.gold_s)

    def gold(self, case: Case) -> Gold:
        """The case's inputs and answers; the same secret draw for every candidate of this court."""
        return self._golds.of(case)

    def honest(self, gold: Gold) -> Iterator[Tensors]:
        """Samples of honest rounding on a gold's inputs; each may be overwritten by the next."""
        return self._golds.honest(gold)

    def answer_of_baseline(self, inputs: Tensors, draw: int) -> Tensors:
        """The baseline's results; for a variant those of eager."""
        return run_once(self, self.baseline if self.variant is None else self.eager, inputs, draw)


def run_once(court: Court, child: ChildPort, inputs: Tensors, draw: int) -> Tensors:
    """One plain run of a trusted child on ``inputs``."""
    court.deliver(child, draw)
    child.given.write(0, inputs)
    child.made.poison([0])
    child.ask(Run(slot=0), Ran, court.timeouts.run_s)
    return snapshot_of(child, 0)


def snapshot_of(child: ChildPort, slot: int) -> Tensors:
    """A private copy of one slot's results, as they lie there now. Of nothing else: a child that was on the clock has
    hundreds of slots.
    """
    return copied(child.made.views(slot))
