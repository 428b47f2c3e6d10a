"""The doors between rooms: what the line needs from the engines, as protocols. Tests and wiring bring the
implementations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, TypeVar

from strop.records.event import Event, Happening
from strop.records.evidence import Stage
from strop.records.profile import Counted
from strop.wire.layout import Layout
from strop.wire.messages import ChildRole, RequestMessage

if TYPE_CHECKING:
    # Whoever only passes doors on, such as the supervisor, need not wait for torch.
    import torch

    from strop.wire.tensors import Tensors

Reply = TypeVar("Reply")


class ArenaPort(Protocol):
    """Memory that the trusted side owns and lends to one child."""

    layout: Layout

    def views(self, slot: int | None) -> Tensors:
        """The tensors of a slot (None: the fixed ones) by path, as they are now."""
        ...

    def write(self, slot: int | None, values: Mapping[str, torch.Tensor]) -> None:
        """Put values into the tensors of a slot (None: the fixed ones)."""
        ...

    def poison(self, slots: Sequence[int]) -> None:
        """Fill these slots' tensors with NaN payloads (integers: random bits) and renew the guards."""
        ...

    def unwritten(self, slot: int, of: torch.Tensor | None = None) -> dict[str, int]:
        """Per path, how many elements still hold the poison bit for bit, in ``of`` (a snapshot) or in the memory."""
        ...

    def guards_intact(self, of: torch.Tensor | None = None) -> bool:
        """False when a byte between the tensors changed since the last poison, in ``of`` or in the memory."""
        ...

    def snapshot(self) -> torch.Tensor:
        """A private copy of the whole arena."""
        ...


class ChildPort(Protocol):
    """One process behind the wall. Every method raises ChildFault when the child ends, hangs or breaks the format.

    ``stage`` is the stage that faults are put down to; None leaves that to the request. The caller sets it.
    """

    role: ChildRole
    stage: Stage | None

    @property
    def given(self) -> ArenaPort:
        """Parameters, buffers and inputs: what the parent hands in."""
        ...

    @property
    def made(self) -> ArenaPort:
        """Outputs and touched state: what the child hands back."""
        ...

    def ask(self, request: RequestMessage, answer: type[Reply], timeout_s: float) -> Reply:
        """Send one request, wait for its answer. ``Raised`` becomes a ChildFault."""
        ...

    def map(self, given: Layout, made: Layout) -> None:
        """Give both arenas their final size and have the child map them."""
        ...

    def time_calls(self, calls: int, slot: int, timeout_s: float) -> int:
        """Nanoseconds from "go" to the end of our own copy of one slot of ``made``, which the child is not told:
        ``calls`` calls, call i on slot i modulo the slots.
        """
        ...

    def stopped(self) -> Tensors:
        """What the last ``time_calls`` found in its slot as its clock stopped: what is graded. It is the caller's
        own, and can be asked for once.
        """
        ...

    def log_tail(self) -> str:
        """The end of what the child printed."""
        ...

    def close(self) -> None:
        """End the child and its whole group; idempotent."""
        ...


class WallPort(Protocol):
    """Where children come from."""

    @property
    def isolation(self) -> str:
        """Grade of the confinement that candidates get: A, B or C."""
        ...

    def child(self, role: ChildRole) -> AbstractContextManager[ChildPort]:
        """A fresh process; leaving the context ends it."""
        ...

    def counted(
        self, role: ChildRole, requests: Sequence[RequestMessage], kernels: Sequence[str], timeout_s: float
    ) -> Counted:
        """Counters of the first launches of ``kernels`` while a fresh child answers ``requests`` by itself, the last
        being AskCounters; nothing, with the reason, where counters cannot be read.
        """
        ...

    def device_lock(self, device: str, *, still: bool) -> AbstractContextManager[None]:
        """Exclusive use of a device across processes; held time is what ``device_seconds`` counts. ``still``: a clock
        runs meanwhile, so nothing else is started or warms up.
        """
        ...

    def held_s(self, device: str) -> float:
        """Seconds for which this wall has held the device's lock so far."""
        ...


class LedgerPort(Protocol):
    """Append-only memory of what happened."""

    def append(self, run: str, what: Happening) -> Event:
        """Write one event durably and return it with its sequence number and time."""
        ...

    def events(self, run: str) -> Iterator[Event]:
        """All events of a run in order."""
        ...

    def runs(self) -> Sequence[str]:
        """Run ids, newest first."""
        ...


class Listener(Protocol):
    """Whoever watches a run while it goes: the live view, a log."""

    def heard(self, event: Event) -> None:
        """Called after the event is in the ledger."""
        ...
