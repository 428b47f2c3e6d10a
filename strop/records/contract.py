"""The precision promise: which arithmetic each class of operation may use, for baseline and candidate alike."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from strop.records._base import Record


class Precision(StrEnum):
    """Arithmetic of one class of operation, ordered from most to least exact."""

    IEEE32 = "ieee32"
    TF32 = "tf32"
    FP16 = "fp16"
    BF16 = "bf16"

    @property
    def unit_roundoff(self) -> float:
        """Half the distance from 1 to the next representable number (IEEE 754 binary formats; TF32 has 10 bits)."""
        return {"ieee32": 2.0**-24, "tf32": 2.0**-11, "fp16": 2.0**-11, "bf16": 2.0**-8}[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract(Record):
    """A named promise; ``fp32`` states PyTorch's defaults, of which TF32 cuDNN convolutions are one."""

    name: str
    matmul: Precision
    conv: Precision
    rnn: Precision
    storage: Precision

    def on_device(self, device: str) -> Contract:
        """The same promise where TF32 does not exist: on a CPU those classes are IEEE single precision."""
        if device.startswith("cuda"):
            return self
        keep = {
            name: Precision.IEEE32 if getattr(self, name) is Precision.TF32 else getattr(self, name)
            for name in ("matmul", "conv", "rnn", "storage")
        }
        return Contract(name=self.name, **keep)


def _uniform(name: str, precision: Precision) -> Contract:
    return Contract(name=name, matmul=precision, conv=precision, rnn=precision, storage=precision)


CONTRACTS: dict[str, Contract] = {
    "fp32": Contract(
        name="fp32",
        matmul=Precision.IEEE32,
        conv=Precision.TF32,
        rnn=Precision.TF32,
        storage=Precision.IEEE32,
    ),
    "fp32-strict": _uniform("fp32-strict", Precision.IEEE32),
    "tf32": Contract(
        name="tf32",
        matmul=Precision.TF32,
        conv=Precision.TF32,
        rnn=Precision.TF32,
        storage=Precision.IEEE32,
    ),
    "bf16": _uniform("bf16", Precision.BF16),
    "fp16": _uniform("fp16", Precision.FP16),
}
