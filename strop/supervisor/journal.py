"""The run's pen: every event goes into the ledger first, then into the state, then to whoever listens."""

from __future__ import annotations

from collections.abc import Sequence

from strop.errors import UsageError
from strop.ports import LedgerPort, Listener
from strop.records.event import Happening
from strop.supervisor.state import RunState


class Journal:
    """Writes one run. ``state`` is always what the ledger's events say, no more and no less."""

    def __init__(self, ledger: LedgerPort, run: str, listeners: Sequence[Listener]) -> None:
        self._ledger = ledger
        self._run = run
        self._listeners = tuple(listeners)
        self.state = RunState()
        for event in ledger.events(run):
            self.state.hear(event)
            for listener in self._listeners:
                listener.heard(event)

    def write(self, what: Happening) -> None:
        """Append one event and let everybody know.

        Raises:
            StoreError: it could not be written; nothing before it is lost.
            UsageError: another process writes to the same run.
        """
        event = self._ledger.append(self._run, what)
        if event.sequence != self.state.last_sequence + 1:
            raise UsageError(
                f"Run {self._run} is being continued by another process at the same time. End one of them; "
                "what both have written stays in the ledger."
            )
        self.state.hear(event)
        for listener in self._listeners:
            listener.heard(event)

    def catch_up(self) -> None:
        """Hear what was written but not yet heard: an interrupt may fall between the two."""
        for event in self._ledger.events(self._run):
            if event.sequence > self.state.last_sequence:
                self.state.hear(event)
                for listener in self._listeners:
                    listener.heard(event)
