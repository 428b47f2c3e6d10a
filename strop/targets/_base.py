"""What a target file provides: whether this machine is one, how to wait for it, and how to measure its ceilings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from strop.records.target import Ceilings, Target
from strop.registry import Shelved


class TargetKind(Shelved):
    """One kind of hardware. A file on the shelf ends with ``ITEM = <subclass>()``."""

    name: ClassVar[str]
    summary: ClassVar[str]
    device: ClassVar[str]
    generic: ClassVar[bool] = False
    """True for a kind that stands in where no other fits."""
    languages: ClassVar[tuple[str, ...]]
    source: ClassVar[str]
    """Where the figures in the file come from."""

    @abstractmethod
    def present(self) -> bool:
        """True when this process can use such a device now."""

    @abstractmethod
    def measure_ceilings(self, threads: int) -> Ceilings:
        """Measure copy bandwidth, product rates and call overhead on this machine; takes seconds."""

    @abstractmethod
    def describe(self, ceilings: Ceilings, threads: int) -> Target:
        """The record that the other rooms see."""

    @abstractmethod
    def identity(self) -> Mapping[str, str]:
        """What tells this machine's device from another of its kind: the key under which ceilings are cached."""

    def environment(self) -> Mapping[str, str]:
        """What a child's environment needs so that it sees this device and no other of its kind."""
        return {}

    @abstractmethod
    def synchronise(self) -> None:
        """Return when everything that was started on the device has ended."""
