"""Memory that results must not share: the inputs of their call, and the results of the call before."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from strop.worker.tensors import memory_of, share_memory


class Watch:
    """Remembers the last results. It keeps them alive, because freed memory may honestly be used again."""

    def __init__(self) -> None:
        self._last: tuple[torch.Tensor, ...] = ()

    def aliases(self, inputs: Mapping[str, torch.Tensor], outputs: Mapping[str, torch.Tensor]) -> tuple[str, ...]:
        """Paths of outputs that share memory with an input of this call or with an output of the last one."""
        others = [memory_of(tensor) for tensor in (*inputs.values(), *self._last)]
        return tuple(
            path for path, tensor in outputs.items() if any(share_memory(memory_of(tensor), other) for other in others)
        )

    def remember(self, outputs: Mapping[str, torch.Tensor]) -> None:
        """These are the last results now."""
        self._last = tuple(outputs.values())
