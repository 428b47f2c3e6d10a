"""Which family a workload belongs to: the class of operation that holds most of its time, read off graph and profile.

The rules know ATen operators and shapes, never names of workloads. A kernel's time goes to the heaviest node that it
computes, going by the graph alone; without a profile every node counts with that estimate. Element-wise nodes go along
with others: they decide only where there is nothing else.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from strop.records.graph import Capture, CapturedGraph, GraphNode, Role
from strop.records.profile import Profile
from strop.records.tensor import DType, TensorSpec

LAUNCH_BOUND = "launch-bound models"
ATTENTION = "attention"
SUMMED_PRODUCTS = "products followed by a linear reduction"
STRUCTURED_PRODUCTS = "structured products"
POOLING = "pooling"
ROWS = "norms, softmax, losses"
SCANS = "scans"
GROUPED_CONVOLUTIONS = "depthwise and grouped convolutions"
CONVOLUTIONS = "convolutions and their layout"
REDUCED_CONVOLUTIONS = "convolutions followed by pooling or norms"
FAR_CONVOLUTIONS = "3D and transposed convolutions"
ELEMENT_WISE = "element-wise"
PRODUCTS = "matrix products"

FEW_KERNELS = 16
"""A call of fewer kernels is short, but no model that spends its time between kernels."""

FLOP_PER_BYTE = 12.0
"""How many operations of a single-precision product take as long as one byte, on the GPUs that this is made for; it
only has to rank nodes of one graph.
"""

_FUSED_ATTENTION = ("scaled_dot_product", "flash_attention", "efficient_attention")
_PRODUCTS = ("mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "dot", "linear", "matmul", "addbmm")
_MIXERS = frozenset({"_softmax", "_safe_softmax", "softmax", "relu"})
_SCANS = ("cumsum", "cumprod", "logcumsumexp", "cummax", "cummin")
_ROWS = (
    *("_softmax", "_safe_softmax", "_log_softmax", "softmax", "log_softmax", "logsumexp", "sum", "mean", "prod"),
    *("amax", "amin", "max"),
    *("min", "argmax", "argmin", "norm", "linalg_vector_norm", "var", "std", "var_mean", "std_mean", "aminmax"),
    *("native_layer_norm", "native_group_norm", "native_batch_norm", "_native_batch_norm_legit", "median", "any"),
    *("_native_batch_norm_legit_no_training", "_native_batch_norm_legit_functional", "_fused_rms_norm", "all"),
    *("mse_loss", "nll_loss_forward", "nll_loss2d_forward", "huber_loss", "smooth_l1_loss", "binary_cross_entropy"),
)
_SHAPES = (
    *("view", "permute", "expand", "squeeze", "unsqueeze", "reshape", "slice", "select", "alias", "clone", "detach"),
    *("as_strided", "split", "split_with_sizes", "transpose", "t", "_unsafe_view", "unbind", "_to_copy", "getitem"),
)
_LINEAR = (*_SHAPES, "mul", "div", "add", "sub", "neg", "sum", "mean")
_LINEAR_REDUCTIONS = ("sum", "mean", "avg_pool1d", "avg_pool2d", "avg_pool3d", "_adaptive_avg_pool2d")
_TRIANGLES = ("triu", "tril", "diag", "diag_embed", "diagonal_copy")
_DTYPE_WORDS = {DType.FLOAT32: "fp32", DType.BFLOAT16: "bf16", DType.FLOAT16: "fp16", DType.FLOAT64: "fp64"}


def family_of(capture: Capture, profile: Profile | None = None) -> str:
    """The family as words; what has no operator that stands out is element-wise."""
    if profile is not None and _is_launch_bound(profile):
        return LAUNCH_BOUND
    graphs = [_Graph(graph) for graph in capture.graphs]
    weights, totals = _measured_ns(graphs, profile), _loose_ns(graphs, profile)
    if not weights and not totals.keys() - {ELEMENT_WISE}:
        weights, totals = _estimated(graphs), defaultdict(float)
    for (graph, node), weight in weights.items():
        totals[graph.kind(node)] += weight
    if not totals:
        return ELEMENT_WISE
    kind = max(totals, key=lambda each: totals[each])
    inside = [(graph, node, weight) for (graph, node), weight in weights.items() if graph.kind(node) == kind]
    refine = {PRODUCTS: _product_family, CONVOLUTIONS: _convolution_family}.get(kind)
    return refine(inside) if refine is not None and inside else kind


def _is_launch_bound(profile: Profile) -> bool:
    """A model that spends its time between kernels, and no short call of a few."""
    return profile.launches >= FEW_KERNELS and profile.is_launch_bound


class _Graph:
    """One captured graph with what the rules ask of it. Nodes are named by their names."""

    def __init__(self, graph: CapturedGraph) -> None:
        self.id = graph.id
        self.nodes = {node.name: node for node in graph.nodes}
        self.users: dict[str, list[GraphNode]] = defaultdict(list)
        for node in graph.nodes:
            for source in node.inputs:
                self.users[source].append(node)
        self.attending = set(self._attention())

    def kind(self, node: GraphNode) -> str:
        return ATTENTION if node.name in self.attending else _kind(node)

    def inputs(self, node: GraphNode) -> list[GraphNode]:
        return [self.nodes[name] for name in node.inputs if name in self.nodes]

    def weight(self, node: GraphNode) -> float:
        """What a node costs, in bytes that could be moved in the meantime."""
        if node.op != "call_function" or operator_of(node) in _SHAPES:
            return 0.0
        moved = sum(_bytes(each) for each in (*self.inputs(node), node))
        return max(float(moved), self.flop(node) / FLOP_PER_BYTE)

    def rank(self, node: GraphNode) -> tuple[bool, float]:
        """Orders the nodes of one kernel: what is more than element-wise is what the kernel is there for."""
        return self.kind(node) != ELEMENT_WISE, self.weight(node)

    def flop(self, node: GraphNode) -> float:
        """Operations of a product or convolution; 0 for everything else, whose traffic counts."""
        kind, operands = _kind(node), [each for each in map(_first, self.inputs(node)) if each is not None]
        out = _first(node)
        if out is None or not operands:
            return 0.0
        if kind == CONVOLUTIONS:
            weight = operands[1] if len(operands) > 1 else operands[0]
            per_place = weight.elements / max(1, _size(weight, 0))
            return 2.0 * per_place * (operands[0].elements if is_transposed(node) else out.elements)
        if kind == PRODUCTS and len(operands[-2:][0].shape) > 0:
            return 2.0 * out.elements * _size(operands[-2:][0], -1)
        if kind == ATTENTION:
            length = _size(operands[1] if len(operands) > 1 else operands[0], -2)
            return 4.0 * operands[0].elements * length
        return 0.0

    def next_heavy(self, node: GraphNode, seen: set[str] | None = None) -> Iterator[GraphNode]:
        """The first nodes on every way onwards that do more than move or map elements."""
        seen = set() if seen is None else seen
        for user in self.users[node.name]:
            if user.name in seen or user.op != "call_function":
                continue
            seen.add(user.name)
            if _kind(user) == ELEMENT_WISE:
                yield from self.next_heavy(user, seen)
            else:
                yield user

    def _attention(self) -> Iterator[str]:
        """Scores, their softmax or rectifier, and the product with values that were computed as well."""
        for first in self.nodes.values():
            if operator_of(first) not in ("bmm", "baddbmm"):
                continue
            for second, between in self._products_after(first):
                if operator_of(second) == "bmm" and _MIXERS & set(between):
                    yield from (first.name, second.name)

    def _products_after(self, first: GraphNode) -> Iterator[tuple[GraphNode, Sequence[str]]]:
        """Products that a product's result reaches through anything but products, with the operators on the way."""
        queue: list[tuple[GraphNode, tuple[str, ...]]] = [(first, ())]
        seen: set[str] = set()
        while queue:
            node, way = queue.pop()
            for user in self.users[node.name]:
                if user.name in seen or user.op != "call_function":
                    continue
                seen.add(user.name)
                if _kind(user) == PRODUCTS:
                    yield user, way
                elif _kind(user) in (ELEMENT_WISE, ROWS):
                    queue.append((user, (*way, operator_of(user))))


Weighed = tuple[_Graph, GraphNode, float]


def _measured_ns(graphs: Sequence[_Graph], profile: Profile | None) -> dict[tuple[_Graph, GraphNode], float]:
    """The time of each kernel that names nodes of a graph, put down to the one that it is there for."""
    measured: dict[tuple[_Graph, GraphNode], float] = defaultdict(float)
    by_id = {graph.id: graph for graph in graphs}
    for kernel in profile.kernels if profile is not None else ():
        graph = by_id.get(kernel.graph_id)
        named = [graph.nodes[name] for name in kernel.nodes if name in graph.nodes] if graph is not None else []
        if graph is not None and named and kernel.calls:
            measured[graph, max(named, key=graph.rank)] += kernel.time_ns
    return measured


def _estimated(graphs: Sequence[_Graph]) -> dict[tuple[_Graph, GraphNode], float]:
    every = [(graph, node) for graph in graphs for node in graph.nodes.values()]
    heavy = [(graph, node) for graph, node in every if graph.kind(node) != ELEMENT_WISE] or every
    return {(graph, node): weight for graph, node in heavy if (weight := graph.weight(node)) > 0}


def _loose_ns(graphs: Sequence[_Graph], profile: Profile | None) -> dict[str, float]:
    """Time of kernels that are in no captured graph, by what their own name says: operators of eager code."""
    known = {name for graph in graphs for name in graph.nodes}
    loose: dict[str, float] = defaultdict(float)
    for kernel in profile.kernels if profile is not None else ():
        if kernel.calls and not known.intersection(kernel.nodes):
            loose[_kind_of(re.split(r"::|\.", kernel.name)[-1])] += kernel.time_ns
    return loose


def operator_of(node: GraphNode) -> str:
    """The operator without library and overload: ``addmm`` of ``aten.addmm.default``; empty for what is no call."""
    parts = node.target.split(".")
    return "" if node.op != "call_function" else parts[1] if len(parts) > 1 else parts[0]


def _kind(node: GraphNode) -> str:
    operator = operator_of(node)
    # Of two tensors these reduce nothing.
    return ELEMENT_WISE if operator in ("max", "min") and len(node.inputs) > 1 else _kind_of(operator)


def _kind_of(operator: str) -> str:
    if any(word in operator for word in _FUSED_ATTENTION):
        return ATTENTION
    if "convolution" in operator or operator.startswith("conv"):
        return CONVOLUTIONS
    if operator in _PRODUCTS or "rnn" in operator or "lstm" in operator or "gru" in operator:
        return PRODUCTS
    if "pool" in operator:
        return POOLING
    if operator in _SCANS:
        return SCANS
    return ROWS if operator in _ROWS else ELEMENT_WISE


def _product_family(inside: Sequence[Weighed]) -> str:
    if _most(inside, _is_summed):
        return SUMMED_PRODUCTS
    if _most(inside, _is_structured):
        return STRUCTURED_PRODUCTS
    heaviest = _first(max(inside, key=lambda each: each[2])[1])
    word = _DTYPE_WORDS.get(heaviest.dtype, str(heaviest.dtype)) if heaviest is not None else ""
    return f"{word} {PRODUCTS}".strip()


def _convolution_family(inside: Sequence[Weighed]) -> str:
    if _most(inside, lambda _, node: is_transposed(node) or len(_shape(node)) == 5):
        return FAR_CONVOLUTIONS
    if _most(inside, lambda _, node: _argument(node, "groups") not in ("", "1")):
        return GROUPED_CONVOLUTIONS
    if _most(inside, lambda graph, node: any(_kind(each) in (POOLING, ROWS) for each in graph.next_heavy(node))):
        return REDUCED_CONVOLUTIONS
    return CONVOLUTIONS


def _most(inside: Sequence[Weighed], holds: Callable[[_Graph, GraphNode], bool]) -> bool:
    """True when what the rule says is true of at least half of the time."""
    having = sum(weight for graph, node, weight in inside if holds(graph, node))
    return 2 * having >= sum(weight for _, _, weight in inside)


def _is_summed(graph: _Graph, node: GraphNode) -> bool:
    """The result goes, through linear operators alone, into a sum or a mean and nowhere else."""
    while len(users := graph.users[node.name]) == 1:
        node = users[0]
        operator = operator_of(node)
        if operator in _LINEAR_REDUCTIONS:
            return True
        if operator not in _LINEAR:
            return False
    return False


def _is_structured(graph: _Graph, node: GraphNode) -> bool:
    """An operand is a transposed input, or a triangle or diagonal is cut from an operand or from the result."""
    sources = graph.inputs(node)
    transposed = any(
        operator_of(each) == "permute" and any(source.role is Role.INPUT for source in graph.inputs(each))
        for each in sources
    )
    around = (*sources, *graph.users[node.name])
    return transposed or any(operator_of(each) in _TRIANGLES for each in around)


def is_transposed(node: GraphNode) -> bool:
    """True for a transposed convolution."""
    return _argument(node, "transposed") == "True" or "transpose" in operator_of(node)


def _argument(node: GraphNode, name: str) -> str:
    """The text of one argument that is no node; empty when the record has none of that name."""
    return next((text.partition("=")[2] for text in node.arguments if text.startswith(f"{name}=")), "")


def _first(node: GraphNode) -> TensorSpec | None:
    return node.outputs[0] if node.outputs else None


def _shape(node: GraphNode) -> tuple[object, ...]:
    spec = _first(node)
    return spec.shape if spec is not None else ()


def _size(spec: TensorSpec, dim: int) -> int:
    if len(spec.shape) < abs(dim + (dim >= 0)):
        return 1
    size = spec.shape[dim]
    return size if isinstance(size, int) else size.low


def _bytes(node: GraphNode) -> int:
    return sum(spec.size_bytes for spec in node.outputs)
