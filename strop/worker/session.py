"""What a worker remembers between requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from strop.errors import InternalFault
from strop.records.workload import Variant
from strop.wire.messages import ChildRole, Map
from strop.worker.arenas import Arena, arena
from strop.worker.describe import Reference, describe, describe_variant
from strop.worker.gold import Oracle
from strop.worker.leaves import tensors_in
from strop.worker.opened import Opened
from strop.worker.rounds import Round
from strop.worker.runner import Runner
from strop.worker.tensors import plain
from strop.worker.watch import Watch


@dataclass(slots=True, kw_only=True)
class Session:
    """The state of one child. Asking for what is not there yet is the parent's mistake and says so."""

    role: ChildRole
    given_descriptor: int
    made_descriptor: int
    watch: Watch = field(default_factory=Watch)
    has_run: bool = False
    variant: Variant | None = None
    _opened: Opened | None = None
    _references: dict[Variant | None, Reference] = field(default_factory=dict[Variant | None, Reference])
    _oracle: Oracle | None = None
    _runner: Runner | None = None
    _second: Runner | None = None
    launched: Mapping[str, Any] | None = None
    """What a question found out about the kernels of what is loaded, for its next asking."""
    _given: Arena | None = None
    _made: Arena | None = None
    _round: Round | None = None

    @property
    def opened(self) -> Opened:
        """The workload."""
        if self._opened is None:
            raise InternalFault("The worker was asked before Open.")
        return self._opened

    @property
    def runner(self) -> Runner:
        """What is loaded to be run."""
        if self._runner is None:
            raise InternalFault("The worker was asked to run before Load.")
        return self._runner

    @property
    def has_runner(self) -> bool:
        """Whether something is loaded."""
        return self._runner is not None

    @property
    def given(self) -> Arena:
        """Parameters, buffers and inputs."""
        if self._given is None:
            raise InternalFault("The worker was asked before Map.")
        return self._given

    @property
    def made(self) -> Arena:
        """Outputs and touched state."""
        if self._made is None:
            raise InternalFault("The worker was asked before Map.")
        return self._made

    @property
    def is_mapped(self) -> bool:
        """Whether there are arenas."""
        return self._given is not None and self._made is not None

    @property
    def reference(self) -> Reference:
        """The description of what is dealt with now; made when it is first needed."""
        if None not in self._references:
            self._references[None] = describe(self._own)
        if self.variant not in self._references:
            self._references[self.variant] = describe_variant(self.opened, self._references[None])
        return self._references[self.variant]

    @property
    def _own(self) -> Opened:
        return self.opened.own or self.opened

    @property
    def oracle(self) -> Oracle:
        """The workload in double precision; made when it is first needed."""
        reference = self.reference
        if self._oracle is None:
            self._oracle = Oracle(self._own, self._references[None])
        return self._oracle.at(self.opened, reference)

    @property
    def second(self) -> Runner:
        """A second instance of what is loaded; made when it is first needed."""
        if self._second is None:
            again = self.runner.again
            if again is None:
                raise InternalFault("What is loaded cannot be built a second time.")
            self._second = again()
        return self._second

    @property
    def round(self) -> Round:
        """Everything that a timed round needs, laid out beforehand."""
        if self._round is None:
            self._round = Round(self.opened, self.runner, self.given, self.made)
        return self._round

    def open(self, opened: Opened) -> None:
        """Start over with a workload, whose arenas are still to come."""
        self._opened, self.variant = opened, None
        self._references.clear()
        self._oracle = self._runner = self._second = self._round = self.launched = None
        self._given = self._made = None
        self.has_run = False

    def vary(self, variant: Variant | None) -> None:
        """Deal with a variant of the inputs, or with the workload's own; the arenas are those of before until they are
        mapped anew.
        """
        own = self._own
        self._opened, self.variant = own.at(variant) if variant is not None else own, variant
        self._round = self.launched = None

    def load(self, runner: Runner) -> None:
        """Replace what is run."""
        self._runner = runner
        self._second = self._round = self.launched = None
        self.watch.remember({path: plain(each) for path, each in tensors_in(runner.last_result, "out").items()})
        runner.last_result = None

    def map(self, request: Map) -> None:
        """Map both arenas; views into earlier ones end with their last user."""
        self._round = self.launched = None
        self.has_run = False
        self._given = arena(self.given_descriptor, request.given, request.given_handle, self._given)
        self._made = arena(self.made_descriptor, request.made, request.made_handle, self._made)
