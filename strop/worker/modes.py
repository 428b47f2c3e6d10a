"""What is in force while code runs: the contract's autocast, seeds, gradients."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np
import torch

from strop.records.contract import Contract
from strop.targets._arithmetic import autocasting


@contextmanager
def calling(contract: Contract, device: str, *, grad: bool) -> Iterator[None]:
    """In force around every call of a workload or candidate. Both settings belong to a thread, so each thread enters
    anew.
    """
    with ExitStack() as stack:
        stack.enter_context(torch.set_grad_enabled(grad))
        stack.enter_context(autocasting(contract, device))
        yield


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """All generators that workloads draw from, seeded; afterwards they are as they were, but for those of devices."""
    before = torch.get_rng_state(), np.random.get_state(), random.getstate()
    torch.manual_seed(seed)
    np.random.seed(seed % 2**32)
    random.seed(seed)
    try:
        yield
    finally:
        torch.set_rng_state(before[0])
        np.random.set_state(before[1])
        random.setstate(before[2])
