"""The one capture road: Dynamo, then AOTAutograd with Strop's decompositions, then a function of the caller's choice.

:func:`compile_through` (or ``torch.compile(module, backend=road(compile_graph))``) leaves pytrees, ModelOutput, keyword
and non-tensor arguments, mutated inputs, graph breaks and guards to Dynamo. What the caller's function returns is what
runs; capture returns the graph itself, lowering returns compiled code. Both therefore see the very same graph, with the
same id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.exc import BackendCompilerFailed
from torch._functorch import config as functorch_config
from torch._guards import TracingContext
from torch.fx import GraphModule

from strop.capture.dialect import canonicalise, decompositions
from strop.capture.entry import fresh_entry
from strop.capture.placeholders import label, origins
from strop.errors import NotSupported, StropError

CompileGraph = Callable[[GraphModule, Sequence[Any]], Callable[..., Any]]
"""Takes a captured graph and its fake inputs, returns what Dynamo calls instead. A result with ``_boxed_call = True``
gets its arguments as one list, which it may clear; any other gets them spread."""

_DISTRIBUTED = ("c10d", "_c10d_functional", "c10d_functional", "_c10d_functional_autograd", "_dtensor", "symm_mem")


class Road:
    """A Dynamo backend; see :func:`road`."""

    def __init__(self, compile_graph: CompileGraph, owner: torch.nn.Module | None) -> None:
        self.__name__ = "strop"
        self._compile_graph = compile_graph
        self._owner = owner

    def __call__(self, module: GraphModule, example_inputs: Sequence[Any], **options: Any) -> Callable[..., Any]:
        if options:
            raise NotSupported(f"The capture road takes no options, but got {', '.join(sorted(options))}.")
        known = origins(module, example_inputs, self._owner)

        def compile_inference(graph: GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
            _refuse_what_is_not_supported(graph)
            label(graph, known, _static_inputs())
            return self._compile_graph(canonicalise(graph), inputs)

        backend = aot_autograd(
            fw_compiler=_refuse_training,
            inference_compiler=compile_inference,
            decompositions=decompositions(),
            keep_inference_input_mutations=True,
        )
        # Inductor expects effect tokens to stay inside the graph; its own entry point sets this too.
        with functorch_config.patch(unlift_effect_tokens=True):
            return backend(module, example_inputs)


def road(compile_graph: CompileGraph, *, owner: torch.nn.Module | None = None) -> Road:
    """Make the Dynamo backend that runs every graph through ``compile_graph``.

    Args:
        compile_graph: called once per graph and per recompilation, inside Dynamo's compilation.
        owner: the module that is compiled; with it parameters are named by its own fully qualified names.
    """
    return Road(compile_graph, owner)


def compile_through(
    module: torch.nn.Module, compile_graph: CompileGraph, *, dynamic: bool | None = None
) -> Callable[..., Any]:
    """The module's call through the road, independent of everything that Dynamo compiled before in this process."""
    return torch.compile(fresh_entry(module), backend=road(compile_graph, owner=module), dynamic=dynamic)


@contextmanager
def own_errors() -> Iterator[None]:
    """Let errors of Strop that were raised inside a backend come out as themselves instead of as Dynamo's wrapper."""
    try:
        yield
    except BackendCompilerFailed as failure:
        if isinstance(failure.inner_exception, StropError):
            raise failure.inner_exception from failure
        raise


def _refuse_training(graph: GraphModule, inputs: Sequence[Any]) -> NoReturn:
    raise NotSupported(
        "This graph would need a backward pass: gradients are enabled and a parameter or input requires them. "
        "Call the module under torch.no_grad() or torch.inference_mode(); training is not supported yet."
    )


def _static_inputs() -> Sequence[int]:
    """Positions of inputs that keep their address, says Dynamo: parameters, buffers, tensors held by modules."""
    context = TracingContext.try_get()
    metadata = context.fw_metadata if context is not None else None
    return metadata.static_input_indices or () if metadata is not None else ()


def _refuse_what_is_not_supported(graph: GraphModule) -> None:
    devices: set[str] = set()
    for node in graph.graph.nodes:
        namespace = getattr(node.target, "namespace", "")
        if namespace in _DISTRIBUTED:
            raise NotSupported(
                f"The graph communicates between processes ({node.target}). Strop optimises one process and one "
                "device: give it the part of the model between two communications."
            )
        value = node.meta.get("val")
        # A zero-dimensional CPU tensor is a number that torch lets into any graph.
        if isinstance(value, torch.Tensor) and (value.dim() > 0 or value.device.type != "cpu"):
            devices.add(str(value.device))
    if len(devices) > 1:
        raise NotSupported(
            f"The graph spreads over several devices ({', '.join(sorted(devices))}). "
            "Move the module and its inputs to one."
        )
