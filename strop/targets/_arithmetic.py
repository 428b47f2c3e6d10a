"""The contract's arithmetic as torch's own settings: set in a child, entered around calls, compared in the user's
process.

TF32 is a mode of fp32 operations and belongs to the whole process; lower precisions are not a mode but autocast, which
belongs to a thread.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from strop.records.contract import Contract, Precision

_FP32 = {Precision.IEEE32: "ieee", Precision.TF32: "tf32"}
_AUTOCAST = {Precision.BF16: torch.bfloat16, Precision.FP16: torch.float16}


def set_math_modes(contract: Contract) -> None:
    """State the contract's arithmetic, through torch's newer precision settings alone: mixing them with the older
    ones raises.

    Lower precisions than TF32 are not a mode of fp32 operations but of the tensors themselves; see
    :func:`autocasting`.
    """
    for place, precision in (*_wanted(contract, "cuda"), *_wanted(contract, "cpu")):
        _setting(place).fp32_precision = _FP32.get(precision, "ieee")


class MathModes:
    """What a contract demands of the settings of the process that it is computed in; looked at before every call.

    A class of operations that the contract computes under autocast has no fp32 arithmetic to agree about.
    """

    def __init__(self, contract: Contract, device: str) -> None:
        wanted = [(place, _FP32.get(precision)) for place, precision in _wanted(contract, torch.device(device).type)]
        self._demands = [(place, _setting(place), precision) for place, precision in wanted if precision is not None]

    def difference(self) -> str:
        """The first setting that is another, as ``<setting> is <value>, not <value>``; empty when there is none."""
        for place, setting, wanted in self._demands:
            found = setting.fp32_precision
            # Where nothing was said torch answers "none", and computes in full.
            if found != wanted and (found, wanted) != ("none", "ieee"):
                return f"torch.backends.{place}.fp32_precision is {found!r}, not {wanted!r}"
        return ""


def autocasts(contract: Contract) -> bool:
    """Whether calls under this contract run under autocast."""
    return contract.matmul in _AUTOCAST


def autocasting(contract: Contract, device: str) -> AbstractContextManager[Any]:
    """The contract's autocast around a call; nothing for a contract without one."""
    dtype = _AUTOCAST.get(contract.matmul)
    return nullcontext() if dtype is None else torch.autocast(torch.device(device).type, dtype=dtype)


def _wanted(contract: Contract, kind: str) -> tuple[tuple[str, Precision], ...]:
    if kind == "cuda":
        return (("cuda.matmul", contract.matmul), ("cudnn.conv", contract.conv), ("cudnn.rnn", contract.rnn))
    # oneDNN knows TF32 too, but no contract on a CPU asks for it.
    here = contract.on_device("cpu")
    return (("mkldnn.matmul", here.matmul), ("mkldnn.conv", here.conv), ("mkldnn.rnn", here.rnn))


def _setting(place: str) -> Any:
    library, _, operation = place.partition(".")
    return getattr(getattr(torch.backends, library), operation)
