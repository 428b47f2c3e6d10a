"""A region of a captured graph as a file after the KernelBench convention, which a person can read and any command
takes: its nodes are the forward, what lies around it comes as inputs and parameters that are drawn alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from torch.fx import Graph, Node
from torch.fx.node import map_arg

from strop.errors import NotSupported
from strop.records.graph import Role
from strop.transforms._graph import ROLE

_FILE = '''"""What `{step}` replaces{within}, as a workload of its own."""

{imports}


def drawn(shape, stride, dtype, device, low, high, mean, std):
    made = torch.empty_strided(shape, stride, dtype=dtype, device=device)
    if dtype is torch.bool:
        return made.bernoulli_(mean)
    if not dtype.is_floating_point:
        return made.random_(int(low), int(high) + 1)
    if low >= 0:
        return made.uniform_(low, high)
    return made.normal_(mean, std)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
{owned}

{forward}

def get_init_inputs():
    return []


def get_inputs():
    return [
{inputs}
    ]
'''


@dataclass(frozen=True, slots=True)
class Values:
    """What is known of a tensor: of its finite elements the least, the largest, the mean and the spread."""

    low: float
    high: float
    mean: float
    std: float


UNKNOWN = Values(-1.0, 1.0, 0.0, 1.0)


def values_of(tensor: torch.Tensor) -> Values:
    """Of a real tensor; one without finite elements counts as standard normal.

    Raises:
        NotSupported: it is complex.
    """
    if tensor.is_complex():
        raise NotSupported("it has complex numbers around it")
    real = tensor.detach().to(torch.uint8) if tensor.dtype is torch.bool else tensor.detach()
    if real.is_floating_point() and not math.isfinite(float(real.sum(dtype=torch.float32))):
        real = real[torch.isfinite(real)]
    if not real.numel():
        return UNKNOWN
    low, high = (float(each) for each in torch.aminmax(real))
    std, mean = (float(each) for each in torch.std_mean(real.float(), correction=0))
    return Values(low, high, mean, std or 1.0)


def region_text(
    step: str, within: str, nodes: Collection[Node], inputs: Sequence[Node], values: Mapping[Node, Values]
) -> str:
    """The file.

    Args:
        step: what replaces the region; without it nothing in the text says where it was.
        within: the workload's name.
        nodes: the region.
        inputs: nodes outside of it whose results it reads.
        values: what those results were when the workload was called.

    Raises:
        NotSupported: it cannot be written down; the message is half a sentence that says why.
    """
    lines = {node: f"drawn({_described(node, values[node])})" for node in inputs}
    owned = [node for node in inputs if _is_owned(node)]
    given = [node for node in inputs if node not in owned]
    if not given:
        raise NotSupported("it reads parameters alone")
    graph, names = _copied(nodes, given, owned)
    code = graph.python_code("self")
    return _FILE.format(
        step=step,
        within=f" in {within}" if within else "",
        imports="\n".join(sorted({"import torch", *_imports(code.src, code.globals)})),
        owned="\n".join(f"        {_registered(node, names[node], lines[node], is_named=bool(step))}" for node in owned)
        or "        pass",
        forward="\n".join(f"    {line}".rstrip() for line in code.src.strip().splitlines()),
        inputs="\n".join(f"        {lines[node]}," for node in given),
    )


def _copied(nodes: Collection[Node], given: Sequence[Node], owned: Sequence[Node]) -> tuple[Graph, dict[Node, str]]:
    graph, copies, names = Graph(), dict[Node, Node](), dict[Node, str]()
    for number, node in enumerate(given):
        copies[node] = graph.placeholder(f"x{number}")
    for number, node in enumerate(owned):
        names[node] = f"p{number}"
        copies[node] = graph.create_node("get_attr", names[node])
    for node in nodes:
        args, kwargs = map_arg((node.args, node.kwargs), lambda old: copies[old])
        # Without its name, so that equal regions have equal code.
        copies[node] = graph.create_node(node.op, node.target, args, kwargs)
    results = [copies[node] for node in nodes if is_result(node, nodes)]
    graph.output(results[0] if len(results) == 1 else tuple(results))
    return graph, names


def is_result(node: Node, nodes: Collection[Node]) -> bool:
    """Whether anything outside of the region reads it."""
    return any(user not in nodes for user in node.users)


def _is_owned(node: Node) -> bool:
    role, _ = node.meta.get(ROLE, (Role.INPUT, ""))
    return node.op == "placeholder" and role in (Role.PARAMETER, Role.BUFFER)


def _registered(node: Node, name: str, made: str, *, is_named: bool) -> str:
    role, path = node.meta[ROLE]
    is_parameter = role is Role.PARAMETER and node.meta["val"].is_floating_point()
    call = f"self.{name} = torch.nn.Parameter({made})" if is_parameter else f'self.register_buffer("{name}", {made})'
    return f"{call}  # {path}" if is_named else call


def _described(node: Node, values: Values) -> str:
    tensor = node.meta.get("val")
    if not isinstance(tensor, torch.Tensor):
        raise NotSupported("something around it is no tensor")
    shape, stride = tuple(tensor.shape), tuple(tensor.stride())
    if any(type(size) is not int for size in (*shape, *stride)):
        raise NotSupported("its shapes are open")
    if _overlaps(shape, stride):
        raise NotSupported("elements of what it reads share memory")
    figures = (values.low, values.high, values.mean, values.std)
    if not all(math.isfinite(each) for each in figures):
        raise NotSupported("the values around it are beyond all bounds")
    device = tensor.device.type
    return ", ".join([str(shape), str(stride), str(tensor.dtype), repr(device), *(f"{each:.6g}" for each in figures)])


def _overlaps(shape: Sequence[int], stride: Sequence[int]) -> bool:
    """Whether two elements may lie at one place."""
    reach = 0
    for step, size in sorted(zip(stride, shape, strict=True)):
        if size > 1 and step <= reach:
            return True
        reach += (size - 1) * step
    return False


def _imports(code: str, named: Mapping[str, Any]) -> list[str]:
    return [_imported(name, value) for name, value in named.items() if re.search(rf"\b{name}\b", code)]


def _imported(name: str, value: Any) -> str:
    """The line that gives a name of the code its meaning."""
    if isinstance(value, ModuleType):
        return f"import {value.__name__}" if value.__name__ == name else f"import {value.__name__} as {name}"
    if isinstance(value, float):
        return f"from math import {name}"
    module, qualified = getattr(value, "__module__", ""), getattr(value, "__qualname__", "")
    if not module or "." in qualified or not qualified:
        raise NotSupported(f"its code names {name}, which no import gives")
    if module == "builtins":
        return f"from types import {qualified} as {name}" if qualified == "NoneType" else f"{name} = {qualified}"
    return f"from {module} import {qualified}" + ("" if qualified == name else f" as {name}")
