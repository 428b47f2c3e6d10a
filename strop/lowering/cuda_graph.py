"""A compiled graph captured as one CUDA graph: the launches are recorded once and replayed as one.

It stands around whatever was compiled, edited kernels and C++ wrappers included, and its results are the caller's own,
as those of any call. Inductor's own CUDA graphs lack three things: results stay valid only until the next call, torch
2.11 refuses calls from a second thread, and what they cannot capture runs without them, said in the log alone.
"""

from __future__ import annotations

import logging
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import torch

from strop.errors import BadCandidate
from strop.lowering.torch_shims import same_addresses

log = logging.getLogger("strop.lowering")

MOST_CAPTURES = 8
"""Parameters that lie somewhere else at each call would have every call captured anew."""

Compiled = Callable[[list[Any]], Sequence[Any]]
Recording = tuple[Callable[[], None], Sequence[Any]]
"""Replays what was recorded; the results, which every replay writes anew."""


@dataclass(slots=True, eq=False)
class GraphPool:
    """What the captured graphs of one module share: memory for everything that does not outlive a call, and the order
    in which they run, without which they could not share it.
    """

    lock: threading.RLock = field(default_factory=threading.RLock)
    _handle: Any = None
    _last: Any = None

    def record(self, run: Callable[[], Sequence[Any]]) -> Recording:
        """Capture what ``run`` launches; it is not executed yet."""
        if self._handle is None:
            self._handle = torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        # The outer context puts the caller's stream back even where the end of a broken capture raises.
        with (
            torch.cuda.stream(torch.cuda.current_stream()),
            torch.cuda.graph(graph, pool=self._handle, capture_error_mode="thread_local"),
        ):
            results = run()
        return graph.replay, results

    def recover(self) -> None:
        """A broken capture leaves torch's random generators in the belief that it goes on; one that ends well, though
        of nothing, sets them right.
        """
        with warnings.catch_warnings(), suppress(RuntimeError):
            warnings.simplefilter("ignore")
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                pass

    def is_being_captured(self) -> bool:
        """True while the caller captures a graph of their own, of which this call becomes a part."""
        return torch.cuda.is_current_stream_capturing()

    def in_order(self) -> None:
        """Let this call's work begin after that of the last call, on whichever stream that was."""
        stream = torch.cuda.current_stream()
        if self._last is not None and self._last != stream:
            stream.wait_stream(self._last)
        self._last = stream


class Graphed:
    """Compiled code that is replayed; what Dynamo calls with one list of all inputs.

    The first call runs as compiled, since libraries and kernels set themselves up then. The second is captured. Static
    inputs are read where they lie, all others are copied to where the graph reads them; where a static input lies
    somewhere else than before, the call is captured anew.
    """

    _boxed_call = True

    def __init__(self, compiled: Compiled, static: Sequence[int], pool: GraphPool) -> None:
        self._compiled = compiled
        self._static = list(static)
        self._pool = pool
        self._is_warm = False
        self._captures = 0
        self._places: dict[int, torch.Tensor] = {}
        self._addresses: list[int | None] = []
        self._replay: Callable[[], None] | None = None
        self._results: Sequence[Any] = ()
        self._is_alone: Sequence[bool] = ()

    def __call__(self, args: list[Any]) -> Sequence[Any]:
        if self._pool.is_being_captured():
            return self._compiled(args)
        with self._pool.lock:
            self._pool.in_order()
            if not self._is_warm:
                results = self._compiled(args)
                self._is_warm = True
                return results
            if self._replay is None or not same_addresses(args, self._addresses, self._static):
                if self._captures == MOST_CAPTURES:
                    return self._compiled(args)
                self._capture(args)
            return self._run(args)

    def _run(self, args: list[Any]) -> list[Any]:
        assert self._replay is not None  # noqa: S101 - the caller has captured
        if self._places:
            given = [args[index] for index in self._places]
            torch._foreach_copy_(list(self._places.values()), given)  # type: ignore[attr-defined]
        args.clear()
        self._replay()
        copies: dict[int, torch.Tensor] = {}
        return [
            value.clone() if alone else _copied(value, copies)
            for value, alone in zip(self._results, self._is_alone, strict=True)
        ]

    def _capture(self, args: list[Any]) -> None:
        self._captures += 1
        if self._captures == MOST_CAPTURES:
            log.warning("parameters keep moving: from the next move on calls run as compiled, without a CUDA graph")
        static = frozenset(self._static)
        places = {index: _place_for(value) for index, value in enumerate(args) if index not in static}
        inputs = [args[index] if index in static else places[index] for index in range(len(args))]
        try:
            self._replay, self._results = self._pool.record(lambda: self._compiled(list(inputs)))
        except RuntimeError as error:
            self._pool.recover()
            raise _refusal(error) from error
        self._places = places
        self._is_alone = _alone(self._results)
        self._addresses = [value.data_ptr() if index in static else None for index, value in enumerate(inputs)]


def _place_for(value: Any) -> torch.Tensor:
    """Memory of its own for an input, in the input's layout."""
    if not isinstance(value, torch.Tensor):
        raise BadCandidate(
            f"The call cannot be captured as a CUDA graph: it takes a {type(value).__name__}, which a replay would not "
            "read again."
        )
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device)


def _alone(results: Sequence[Any]) -> list[bool]:
    """For each result whether a plain copy is like it: nothing shares its memory, and its elements lie dense."""
    storages = Counter(_storage(value) for value in results if isinstance(value, torch.Tensor))
    return [
        isinstance(value, torch.Tensor)
        and storages[_storage(value)] == 1
        and torch.empty_like(value, device="meta").stride() == value.stride()
        for value in results
    ]


def _copied(value: Any, copies: dict[int, torch.Tensor]) -> Any:
    """A copy within a copy of the whole memory in which the result lies; ``copies`` holds those that were made."""
    if not isinstance(value, torch.Tensor):
        return value
    storage = value.untyped_storage()
    if storage._cdata not in copies:
        whole = torch.empty(0, dtype=torch.uint8, device=value.device)
        copies[storage._cdata] = whole.set_(storage, 0, (storage.nbytes(),), (1,)).clone()
    memory = copies[storage._cdata].untyped_storage()
    return torch.empty(0, dtype=value.dtype, device=value.device).set_(
        memory, value.storage_offset(), value.shape, value.stride()
    )


def _storage(value: torch.Tensor) -> int:
    return value.untyped_storage()._cdata


def _refusal(error: BaseException) -> Exception:
    """What went wrong first, since the end of a broken capture raises once more."""
    while error.__context__ is not None:
        error = error.__context__
    if isinstance(error, torch.OutOfMemoryError):
        return error
    text = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    return BadCandidate(f"The call cannot be captured as a CUDA graph: {text}.")
