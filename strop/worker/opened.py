"""An opened workload: its code, its structure, and how it is called under the contract."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch

from strop.records.contract import Contract
from strop.records.workload import Mode, Variant, Workload
from strop.worker.brought import Brought, pick
from strop.worker.guard import foreign
from strop.worker.leaves import Call, CallShape
from strop.worker.modes import calling
from strop.worker.tensors import like, overlaps_itself
from strop.worker.varying import fitted
from strop.worker.workloads import build_module, first_sample, made_there, mode_of

Tensors = Mapping[str, torch.Tensor]

LARGE_BYTES = 1 << 30
FIX = "Make the inputs what forward() takes."


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A workload as every role sees it."""

    workload: Workload
    contract: Contract
    construct_seed: int
    brought: Brought
    shape: CallShape
    kept: list[Tensors] = field(default_factory=list[Tensors])
    own: Opened | None = None
    """Of a variant: the workload with its own inputs, whose module it calls."""

    @property
    def sample(self) -> Tensors:
        """The tensors that fix the shapes of all inputs."""
        return self.kept[0] if self.kept else first_sample(self.brought, self.workload.device)[1]

    def let_go(self) -> None:
        """Keep the sample no longer where it is large: once arenas are lent it is seldom needed, and is drawn again."""
        if sum(tensor.nbytes for sample in self.kept for tensor in sample.values()) > LARGE_BYTES:
            self.kept.clear()

    @property
    def mode(self) -> Mode:
        """Train or eval."""
        return mode_of(self.workload, self.brought)

    def build(self) -> torch.nn.Module:
        """A fresh module; always the same parameters."""
        return build_module(self.brought, self.mode, self.workload.device, self.construct_seed)

    def draw(self, seed: int) -> Call:
        """Inputs from the workload's own generator; always the same for a seed."""
        return made_there(self.brought, self.workload.device, seed, self.brought.draw)

    @cached_property
    def module(self) -> torch.nn.Module:
        """The reference's own module; what is loaded to be run is another one."""
        return self.build() if self.own is None else self.own.module

    def at(self, variant: Variant) -> Opened:
        """The same workload with inputs of another shape or layout.

        Raises:
            Blamed: its generator raises.
        """
        brought = self.brought
        if variant.sample:
            samples = brought.others[variant.sample - 1]
            brought = replace(brought, draw=pick(samples), varies=len(samples) > 1)
        else:
            brought = replace(brought, draw=fitted(brought.draw, variant.inputs))
        shape, sample, _ = first_sample(brought, self.workload.device)
        return replace(self, brought=brought, shape=shape, kept=[sample], own=self)

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Gradient and math modes around a call."""
        with calling(self.contract, self.workload.device, grad=self.workload.grad):
            yield

    def call(self, module: torch.nn.Module, tensors: Tensors) -> Any:
        """Call the workload's own module.

        Raises:
            Blamed: it raises.
        """
        return self.call_with(module, self.shape.build(tensors))

    def call_with(self, module: torch.nn.Module, call: Call) -> Any:
        """The same with a call that was built before, whose containers can then be looked at.

        Raises:
            Blamed: it raises.
        """
        with self.calling(), foreign("workload", "The model's forward()", FIX):
            return module(*call.args, **call.kwargs)

    def fresh_sample(self) -> dict[str, torch.Tensor]:
        """Private copies of the sample, in the layout that they have in an arena."""
        return {path: private(tensor) for path, tensor in self.sample.items()}


def open_workload(workload: Workload, contract: Contract, construct_seed: int, brought: Brought) -> Opened:
    """Take the first sample and settle the structure of calls."""
    shape, sample, _ = first_sample(brought, workload.device)
    return Opened(
        workload=workload,
        contract=contract,
        construct_seed=construct_seed,
        brought=brought,
        shape=shape,
        kept=[sample],
    )


def private(tensor: torch.Tensor) -> torch.Tensor:
    """A copy that can be written to and needs no gradient, with the strides that an arena gives it."""
    plain = tensor.detach()
    return plain.contiguous().clone() if overlaps_itself(plain) else like(plain)
