"""What Inductor generated for one graph, read from the wrapper that it writes: kernels and library calls in order.

The wrapper is plain, self-contained Python, and its outline has been the same from torch 2.11 to 2.14: kernels are
assigned from ``async_compile.<language>(...)``, a function ``call`` runs them, comments above each call name the
graph nodes. Reading it needs no private hook, works for cached results too, and ignores what it does not know.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from strop.capture.kernel_source import cpp_loops, triton_launch
from strop.records.graph import CompiledKernel, CompilerOutput, KernelKind

_SOURCE_NODES = re.compile(r"(?:Topologically Sorted|Unsorted) Source Nodes: \[([^\]]*)\]")
_HANDLE = re.compile(r"\[Provenance debug handles\] (\S+)")
_STREAM = re.compile(r"= get_raw_stream\(")
_LIBRARY = ("extern_kernels.", "torch.ops.", "aten.", "inductor_ops.")
_BOOKKEEPING = ("inductor_ops._alloc_from_pool", "torch.ops.inductor._alloc_from_pool")
_LANGUAGES = {
    "cpp_pybinding": "cpp",
    "cpp": "cpp",
    "triton": "triton",
    "metal": "metal",
    "cutlass": "cuda",
    "cuda": "cuda",
}
_FUSED = re.compile(r"\A(?:cpp|triton_[a-z]+)_fused_(.+?)_\d+\Z")


@dataclass(frozen=True, slots=True)
class Definition:
    """One generated kernel as the wrapper defines it; ``literal`` is where its source stands, None when it has none."""

    language: str
    source: str
    literal: ast.Constant | None = None


@dataclass(slots=True)
class _Wrapper:
    """A parsed wrapper module."""

    lines: list[str]
    definitions: dict[str, Definition] = field(default_factory=dict)
    calls: list[tuple[ast.Call, int]] = field(default_factory=list)


def compiler_output(
    wrapper: str,
    *,
    origins: Mapping[str, tuple[str, ...]] | None = None,
    names: Mapping[str, str] | None = None,
    graph_id: str = "",
) -> CompilerOutput:
    """Read the kernels out of a generated wrapper.

    Args:
        wrapper: the text that Inductor wrote.
        origins: which nodes of the compiled graph each ``<kernel>:<number>`` came from, as the lowering noted it.
        names: for nodes of the compiled graph the name of the captured graph's node that they came from.
        graph_id: id of the captured graph, copied into the records.
    """
    try:
        tree = ast.parse(wrapper)
    except SyntaxError:
        return CompilerOutput(
            kernels=(), wrapper=wrapper, notes=("The wrapper is not Python (cpp_wrapper); not read.",)
        )
    parsed = _Wrapper(wrapper.splitlines())
    parsed.definitions = dict(definitions(tree))
    parsed.calls = list(kernel_calls(tree))
    kernels = [_kernel(call, line, parsed, origins or {}, names or {}, graph_id) for call, line in parsed.calls]
    known = tuple(kernel for kernel in kernels if kernel is not None)
    notes = (
        () if known or not wrapper else ("No kernel: nothing is left to compute, or the wrapper's form is unknown.",)
    )
    return CompilerOutput(kernels=known, wrapper=wrapper, notes=notes)


def definitions(tree: ast.Module) -> Iterator[tuple[str, Definition]]:
    """The generated kernels that a parsed wrapper defines, by name, in the order in which they stand."""
    for statement in tree.body:
        match statement:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Attribute(value=ast.Name(id="async_compile"), attr=kind), args=args),
            ):
                texts = [arg for arg in args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
                literal = texts[-1] if texts else None
                source = str(literal.value).strip("\n") if literal else ""
                yield name, Definition(_LANGUAGES.get(kind, kind), source, literal)


def kernel_calls(tree: ast.Module) -> Iterator[tuple[ast.Call, int]]:
    """Everything that a parsed wrapper calls when it runs, in order, with the line on which it does."""
    for function in _call_functions(tree):
        yield from _calls(function)


def _call_functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """``call`` and, when the graph is cut for CUDA graphs, its partitions; they may be methods of a class."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    yield from sorted(
        (node for node in found if node.name == "call" or node.name.startswith("partition_")),
        key=lambda node: node.lineno,
    )


def _calls(function: ast.FunctionDef) -> Iterator[tuple[ast.Call, int]]:
    for statement in _statements(function.body):
        match statement:
            case ast.Expr(value=ast.Call() as call) | ast.Assign(value=ast.Call() as call):
                yield call, statement.lineno


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.With | ast.If | ast.For | ast.While):
            yield from _statements(statement.body)
            yield from _statements(getattr(statement, "orelse", []))


def _kernel(
    call: ast.Call,
    line: int,
    wrapper: _Wrapper,
    origins: Mapping[str, tuple[str, ...]],
    names: Mapping[str, str],
    graph_id: str,
) -> CompiledKernel | None:
    path = ast.unparse(call.func)
    name = path.removesuffix(".run")
    nodes = _nodes(_comments_above(wrapper.lines, line), origins, names)
    definition = wrapper.definitions.get(name)
    if definition is not None:
        return CompiledKernel(
            name=name,
            kind=KernelKind.GENERATED,
            language=definition.language,
            nodes=nodes or _operators_in_name(name),
            source=definition.source,
            launch=_launch(definition, call),
            graph_id=graph_id,
        )
    if path.startswith(_LIBRARY) and not path.startswith(_BOOKKEEPING):
        arguments = ", ".join(ast.unparse(each) for each in [*call.args, *call.keywords])
        return CompiledKernel(
            name=path, kind=KernelKind.EXTERN, language="library", nodes=nodes, launch=arguments, graph_id=graph_id
        )
    return None


def _launch(definition: Definition, call: ast.Call) -> str:
    if definition.language == "cpp":
        return cpp_loops(definition.source)
    if definition.language == "triton":
        return triton_launch(definition.source, call)
    return ""


def _comments_above(lines: list[str], line: int) -> str:
    """The comment block above a statement, whose line counts from one; fetching the stream may stand between."""
    last = line - 1
    while last > 0 and _STREAM.search(lines[last - 1]):
        last -= 1
    first = last
    while first > 0 and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return "\n".join(lines[first:last])


def _nodes(comments: str, origins: Mapping[str, tuple[str, ...]], names: Mapping[str, str]) -> tuple[str, ...]:
    handle = _HANDLE.search(comments)
    noted = origins.get(handle.group(1), ()) if handle else ()
    if noted:
        # Inductor's own passes make nodes that no captured node stands for; they say something only when nothing else
        # does.
        known = {names[node] for node in noted if node in names}
        return tuple(sorted(known or set(noted)))
    written = _SOURCE_NODES.search(comments)
    return tuple(part.strip() for part in written.group(1).split(",") if part.strip()) if written else ()


def _operators_in_name(name: str) -> tuple[str, ...]:
    fused = _FUSED.match(name)
    return (fused.group(1),) if fused else ()
