"""CUDA's streams, events and graphs on the host, as late as they may be.

What is put on another stream is done when somebody waits for it, else when the call is over and its result was taken. A
graph is a list of operators, which each replay goes through again at the same addresses. A candidate runs this text and
has its forward passed through `as_seen`. Kernels of Triton, the allocator and time are not modelled.
"""

from unittest import mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

streams = []
capturing = []


class Order:
    """An operator that was asked for; its new results are there, with nothing in them."""

    def __init__(self, operator, args, kwargs, result):
        self.operator, self.args, self.kwargs, self.result = operator, args, kwargs, result

    def carry_out(self):
        made = self.operator(*self.args, **self.kwargs)
        if self.result is not None:
            self.result.copy_(made)


class Ordering(TorchDispatchMode):
    """Operators become orders of a list; views and what has no operands are made at once."""

    def __init__(self, orders):
        super().__init__()
        self.orders = orders

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if operator._schema.is_mutable:
            self.orders.append(Order(operator, args, kwargs, None))
            return kwargs.get("out", args[0])
        result = operator(*args, **kwargs)
        has_operands = any(isinstance(each, torch.Tensor) for each in tree_leaves((args, kwargs)))
        is_new = isinstance(result, torch.Tensor) and not operator.is_view
        if is_new and has_operands:
            result.fill_(torch.nan)
            self.orders.append(Order(operator, args, kwargs, result))
        return result


class Event:
    """Knows what had been put on a stream when it was recorded."""

    def __init__(self, *args, **kwargs):
        self.orders = []

    def record(self, stream):
        self.orders = [(stream, order) for order in stream.orders]

    def synchronize(self):
        for stream, order in self.orders:
            if order in stream.orders:
                stream.orders.remove(order)
                order.carry_out()


class Stream:
    """Orders that nobody has waited for so far."""

    def __init__(self, *args, **kwargs):
        self.orders = []
        streams.append(self)

    def record_event(self):
        event = Event()
        event.record(self)
        return event

    def wait_event(self, event):
        event.synchronize()

    def wait_stream(self, stream):
        stream.record_event().synchronize()


own = Stream()
"""The current stream outside of any block; only copies between host and device are late on it."""


class Graph:
    """What was asked for while it was captured."""

    def __init__(self):
        self.orders = []

    def replay(self):
        for order in self.orders:
            order.carry_out()


class Capture(Ordering):
    """In force while a graph is captured."""

    def __init__(self, graph):
        super().__init__(graph.orders)

    def __enter__(self):
        capturing.append(self)
        return super().__enter__()

    def __exit__(self, *error):
        capturing.pop()
        return super().__exit__(*error)


def finish(which=None):
    """Wait for streams, all of them if none are named."""
    for stream in which or streams:
        stream.record_event().synchronize()


copy_now = torch.Tensor.copy_


def copy(self, source, non_blocking=False):
    """A copy that does not block is an order as well."""
    if not non_blocking:
        return copy_now(self, source)
    own.orders.append(Order(copy_now, (self, source), {}, None))
    return self


def as_seen(forward):
    """The result as a copy on the current stream finds it; then the device is waited for."""

    def call(self, *args):
        result = forward(self, *args)
        finish([own])
        if not any(stream.orders for stream in streams):
            return result
        seen = result.clone()
        finish()
        return seen

    return call


for name, value in {
    "Stream": Stream,
    "Event": Event,
    "CUDAGraph": Graph,
    "graph": Capture,
    "stream": lambda stream: Ordering(stream.orders),
    "current_stream": lambda: own,
    "synchronize": lambda device=None: finish(),
    "is_current_stream_capturing": lambda: bool(capturing),
    "_sleep": lambda cycles: None,
}.items():
    mock.patch(f"torch.cuda.{name}", value, create=True).start()
torch.Tensor.pin_memory = lambda self: self
torch.Tensor.record_stream = lambda self, stream: None
torch.Tensor.copy_ = copy
