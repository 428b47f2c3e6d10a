"""Expect: the workload in double precision, whatever precision its code asks for along the way.

Parameters and inputs are widened, and a dispatch mode widens what the code itself makes or converts (``.float()``,
``dtype=torch.float32``, constants). What is expected is therefore the function in real arithmetic, as far as fp64
gives it. Numbers that torch or the code takes from the element type (``finfo(dtype).eps`` in RMSNorm,
``finfo(dtype).min`` in masks) are part of the function, and are given back the value that they have in the workload's
own type.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch._ops import OpOverload
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import _pytree as pytree

from strop.errors import BadWorkload
from strop.worker.describe import Reference
from strop.worker.guard import foreign
from strop.worker.leaves import Call, flatten, flatten_call, is_left_behind
from strop.worker.modes import seeded
from strop.worker.opened import Opened
from strop.worker.rounds import STATE_BUFFERS, STATE_INPUTS
from strop.worker.spy import arguments
from strop.worker.state import restore
from strop.worker.tensors import wide_dtype
from strop.worker.watching import WatchingMode

Tensors = Mapping[str, torch.Tensor]

_SEED = 11
_DTYPE_VIEWS = ("aten::view.dtype", "aten::view_as_real", "aten::view_as_complex")
_WIDE = torch.finfo(torch.float64)


class Widening(WatchingMode):
    """Runs every operator on double precision, whatever the code asked for.

    Args:
        own: the floating type in which the workload really computes.
    """

    def __init__(self, own: torch.dtype) -> None:
        super().__init__()
        info = torch.finfo(own)
        self._numbers = {
            _WIDE.eps: info.eps,
            _WIDE.tiny: info.tiny,
            _WIDE.smallest_normal: info.smallest_normal,
            _WIDE.max: info.max,
            _WIDE.min: info.min,
        }

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Widen the arguments and go on."""
        if not isinstance(func, OpOverload):
            return func(*args, **(kwargs or {}))
        args, kwargs = self.widened(func, args, kwargs or {})
        return func(*args, **kwargs)

    def widened(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The same arguments in double precision; tensors that the operator writes to stay what they are."""
        if f"{func._schema.name}.{func._schema.overload_name}" in _DTYPE_VIEWS:
            return list(args), dict(kwargs)
        written = {id(value) for argument, value in arguments(func, args, kwargs) if _is_written(argument)}

        def widen(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                wide = wide_dtype(value.dtype)
                return value if wide is value.dtype or id(value) in written else value.to(wide)
            if isinstance(value, torch.dtype):
                return wide_dtype(value)
            return self._numbers.get(value, value) if isinstance(value, float) else value

        return [pytree.tree_map(widen, each) for each in args], {
            name: pytree.tree_map(widen, each) for name, each in kwargs.items()
        }


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Results and touched state of one call in double precision."""

    outputs: Tensors
    inputs: Tensors
    buffers: Tensors
    result: Any


class Oracle:
    """The workload in double precision."""

    def __init__(self, opened: Opened, reference: Reference) -> None:
        self._opened = opened
        self._reference = reference
        self._module = _widened(opened)
        self.own = own_dtype(reference)

    def answer(
        self, fixed: Tensors, inputs: Tensors, mode: WatchingMode | None = None, seed: int | None = None
    ) -> Answer:
        """Call with these parameters, buffers and inputs; each call starts from the buffers in ``fixed``. What it draws
        at random follows from ``seed``, and is always the same without one.

        Raises:
            BadWorkload: in double precision the results have another structure.
            Blamed: the workload's code raises.
        """
        self._deliver(fixed)
        given = {path: tensor.to(wide_dtype(tensor.dtype), copy=True) for path, tensor in inputs.items()}
        call = self._opened.shape.build(given)
        with ExitStack() as stack:
            stack.enter_context(seeded(_SEED if seed is None else seed))
            stack.enter_context(in_small_steps())
            stack.enter_context(default_dtype(torch.float64))
            stack.enter_context(torch.set_grad_enabled(self._opened.workload.grad))
            stack.enter_context(foreign("workload", "The model's forward() in double precision"))
            if "torch._dynamo" in sys.modules:
                # What the model compiles itself would hide its operators from the mode.
                stack.enter_context(torch.compiler.set_stance("force_eager"))
            stack.enter_context(mode or Widening(self.own))
            result = self._module(*call.args, **call.kwargs)
        tree, tensors = flatten(result, "out")
        found = dict(zip(tree.paths, tensors, strict=True)) | self._left(call)
        if tuple(found) != tuple(leaf.path for leaf in self._reference.description.outputs):
            raise BadWorkload(
                "In double precision the model returns other results than in its own: make what it returns depend on "
                "its arguments alone, not on their element type or on earlier calls."
            )
        outputs = {path: tensor.detach() for path, tensor in found.items()}
        buffers = {name: buffer.detach() for name, buffer in self._module.named_buffers()}
        return Answer(outputs=outputs, inputs=given, buffers=buffers, result=result)

    def at(self, opened: Opened, reference: Reference) -> Oracle:
        """The same module, for a variant of the inputs."""
        other = copy.copy(self)
        other._opened, other._reference = opened, reference
        return other

    def _left(self, call: Call) -> dict[str, torch.Tensor]:
        """What lies now where the workload is known to put tensors into its arguments."""
        wanted = [leaf.path for leaf in self._reference.description.outputs if is_left_behind(leaf.path)]
        now = flatten_call(call)[1] if wanted else {}
        return {path: now[path] for path in wanted if path in now}

    def _deliver(self, fixed: Tensors) -> None:
        parameters = dict(self._module.named_parameters())
        with torch.no_grad():
            for name, parameter in parameters.items():
                parameter.copy_(fixed[name])
        buffers = {name: value for name, value in fixed.items() if name not in parameters}
        restore(self._module, {name: value.to(wide_dtype(value.dtype)) for name, value in buffers.items()})


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """The element type of tensors that are made without naming one."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def in_small_steps() -> Iterator[None]:
    """Attention as products and a softmax instead of one fused operator, so that each can be looked at."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


def _widened(opened: Opened) -> torch.nn.Module:
    try:
        module = copy.deepcopy(opened.module)
    except (RuntimeError, TypeError, NotImplementedError, AttributeError):
        # Some modules refuse to be copied (they hold locks, handles, non-leaf tensors); the same code builds the same
        # one.
        module = opened.build()
    module = module.double()
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.dtype is torch.complex64:
            tensor.data = tensor.data.to(torch.complex128)
    return module


def own_dtype(reference: Reference) -> torch.dtype:
    """The least precise floating type among parameters and inputs: the one in which the workload computes."""
    leaves = (*reference.description.parameters, *reference.description.inputs)
    kinds = [getattr(torch, leaf.tensor.dtype.value) for leaf in leaves if leaf.tensor.dtype.is_floating]
    real = [torch.empty(0, dtype=kind).real.dtype if kind.is_complex else kind for kind in kinds]
    return max(real, key=lambda kind: torch.finfo(kind).eps, default=torch.float32)


def write_answer(answer: Answer, made: Tensors) -> None:
    """Copy an answer to its places in the arena."""
    for path, place in made.items():
        if path.startswith(STATE_INPUTS):
            value = answer.inputs[path.removeprefix(STATE_INPUTS)]
        elif path.startswith(STATE_BUFFERS):
            value = answer.buffers[path.removeprefix(STATE_BUFFERS)]
        else:
            value = answer.outputs[path]
        if value.shape != place.shape:
            raise BadWorkload(f"{path} has the shape {tuple(value.shape)} now and had {tuple(place.shape)} at first.")
        place.copy_(value)
