"""Memory that results must not share: the inputs of their call, and the results of the calls before."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import torch

from strop.worker.tensors import memory_of, share_memory

CALLS = 6
SMALL_BYTES = 64 << 20
"""Of results that are larger than this together, only the last are remembered."""


class Watch:
    """Remembers the last results, several calls of them where they are small: buffers may take turns. It keeps them
    alive, because freed memory may honestly be used again.
    """

    def __init__(self) -> None:
        self._last: deque[tuple[torch.Tensor, ...]] = deque(maxlen=CALLS)

    def aliases(self, inputs: Mapping[str, torch.Tensor], outputs: Mapping[str, torch.Tensor]) -> tuple[str, ...]:
        """Paths of outputs that share memory with an input of this call or with an output of an earlier one."""
        before = [tensor for results in self._last for tensor in results]
        others = [memory_of(tensor) for tensor in (*inputs.values(), *before)]
        return tuple(
            path for path, tensor in outputs.items() if any(share_memory(memory_of(tensor), other) for other in others)
        )

    def remember(self, outputs: Mapping[str, torch.Tensor]) -> None:
        """These are the last results now."""
        results = tuple(outputs.values())
        held = [memory for each in results if (memory := memory_of(each)) is not None]
        if CALLS * sum(end - start for start, end in held) > SMALL_BYTES:
            self._last.clear()
        self._last.append(results)
