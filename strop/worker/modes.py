"""What is in force while code runs: math modes of the contract, seeds, gradients, threads."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch

from strop.records.contract import Contract, Precision

_FP32 = {Precision.IEEE32: "ieee", Precision.TF32: "tf32"}
_AUTOCAST = {Precision.BF16: torch.bfloat16, Precision.FP16: torch.float16}


def set_math_modes(contract: Contract) -> None:
    """State the contract's arithmetic, through torch's newer precision settings alone: mixing them with the older
    ones raises.

    Lower precisions than TF32 are not a mode of fp32 operations but of the tensors themselves; see :func:`calling`.
    """
    backends: Any = torch.backends
    wanted = [
        (backends.cuda.matmul, contract.matmul),
        (backends.cudnn.conv, contract.conv),
        (backends.cudnn.rnn, contract.rnn),
        # oneDNN knows TF32 too, but no contract on a CPU asks for it.
        (backends.mkldnn.matmul, Precision.IEEE32),
        (backends.mkldnn.conv, Precision.IEEE32),
        (backends.mkldnn.rnn, Precision.IEEE32),
    ]
    for backend, precision in wanted:
        backend.fp32_precision = _FP32.get(precision, "ieee")


@contextmanager
def calling(contract: Contract, device: str, *, grad: bool) -> Iterator[None]:
    """In force around every call of a workload or candidate. Both settings belong to a thread, so each thread enters
    anew.
    """
    with ExitStack() as stack:
        stack.enter_context(torch.set_grad_enabled(grad))
        dtype = _AUTOCAST.get(contract.matmul)
        if dtype is not None:
            stack.enter_context(torch.autocast(torch.device(device).type, dtype=dtype))
        yield


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """All three generators that workloads draw from, seeded; afterwards they are as they were."""
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
