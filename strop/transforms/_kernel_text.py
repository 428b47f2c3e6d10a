"""A Triton kernel as Inductor writes it, read and changed as text: launch parameters, eviction hints, what it is called
with. Only the places that change are touched; everything else stays as the compiler wrote it, byte for byte.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strop.errors import BadCandidate

HEURISTICS = "triton_heuristics"
FIXED = "fixed_config"
POINTWISE = "pointwise"
LOOPED = "reduction"
PERSISTENT = "persistent_reduction"
WARPS = "num_warps"
STAGES = "num_stages"
EVICTION = "eviction_policy"
ONE_DIMENSION = "Grid1D"

_KEPT = ("filename", "triton_meta", "inductor_meta")
"""What every decorator of Inductor takes, the one with a fixed launch included."""


@dataclass(frozen=True, slots=True)
class KernelText:
    """One parsed kernel. ``kind`` is Inductor's heuristic (``pointwise``, ``reduction``, ...), ``size_hints`` the sizes
    rounded up to powers of two by prefix (``x``, ``y``, ``r0_``), ``blocks`` the block sizes that the launch chooses,
    by argument name (``XBLOCK``).
    """

    source: str
    name: str
    kind: str
    size_hints: Mapping[str, int]
    arguments: tuple[str, ...]
    blocks: tuple[str, ...]
    facts: Mapping[str, Any]
    decorator: ast.Call
    function: ast.FunctionDef

    @property
    def runtime_arguments(self) -> tuple[str, ...]:
        """What the wrapper calls it with, in order: everything but the block sizes."""
        return tuple(each for each in self.arguments if each not in self.blocks)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Arguments whose former contents it has no use for: the first that happens to them is a store. What it changes
        for its caller (``mutated_arg_names``) is one of its inputs under another name as well.
        """
        kept = [each for each in self.facts.get("mutated_arg_names", ()) if not each.startswith("in_out_ptr")]
        targets = [each for call in _calls_of(self.function, "store") for each in ast.walk(call.args[0])]
        uses = (each for each in ast.walk(self.function) if isinstance(each, ast.Name))
        first = {each.id: each for each in sorted(uses, key=_place, reverse=True)}
        pointers = [each for each in self.runtime_arguments if "_ptr" in each and each not in kept]
        return tuple(each for each in pointers if first.get(each) in targets)

    @property
    def numels(self) -> dict[str, int]:
        """The sizes that the text states exactly, by prefix."""
        return {
            statement.targets[0].id.removesuffix("numel"): statement.value.value
            for statement in self.function.body
            if isinstance(statement, ast.Assign)
            and isinstance(statement.targets[0], ast.Name)
            and statement.targets[0].id.endswith("numel")
            and isinstance(statement.value, ast.Constant)
            and isinstance(statement.value.value, int)
        }

    @property
    def periods(self) -> tuple[int, ...]:
        """Into how large parts its elements fall that read the same part of something smaller: what is loaded from an
        address that knows its element by ``xindex % period`` alone, where the period divides the size. Empty where
        program instances are not counted in one dimension.
        """
        size = self.numels.get("x", 0)
        if self.facts.get("grid_type") != ONE_DIMENSION or len(self.program_ids) != 1:
            return ()
        known = _names_of_x(self.function)
        uses = (_uses_of_x(call.args[0], known) for call in _calls_of(self.function, "load"))
        found = {period for use in uses if len(use) == 1 for period in use}
        return tuple(sorted(each for each in found if 1 < each < size and size % each == 0))

    @property
    def program_ids(self) -> list[ast.Call]:
        """Where it asks which program instance it is."""
        return list(_calls_of(self.function, "program_id"))

    @property
    def loads(self) -> int:
        """Loads in the text, those in loops counted once."""
        return sum(1 for _ in _calls_of(self.function, "load"))

    @property
    def has_products(self) -> bool:
        """Whether tiles are multiplied as matrices."""
        return any(True for _ in _calls_of(self.function, "dot"))

    @property
    def has_atomics(self) -> bool:
        """Whether results depend on the order in which program instances run."""
        return any(True for _ in _calls_of(self.function, "atomic_"))


def read_kernel(source: str) -> KernelText | None:
    """Parse a generated kernel; None for text that is not one of Inductor's own (a user's kernel, C++)."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for decorator in function.decorator_list:
                if isinstance(decorator, ast.Call) and _path(decorator.func).startswith(f"{HEURISTICS}."):
                    return _read(source, function, decorator)
    return None


def _read(source: str, function: ast.FunctionDef, decorator: ast.Call) -> KernelText:
    given = {each.arg: each.value for each in decorator.keywords if each.arg}
    parameters = function.args.args
    return KernelText(
        source=source,
        name=function.name,
        kind=_path(decorator.func).rpartition(".")[2],
        size_hints=_literal(given.get("size_hints")) or {},
        arguments=tuple(each.arg for each in parameters),
        blocks=tuple(
            each.arg for each in parameters if each.annotation and "constexpr" in ast.unparse(each.annotation)
        ),
        facts=_plain_items(given.get("inductor_meta")),
        decorator=decorator,
        function=function,
    )


_WHOLE = 0
_INDEX = {"xindex": frozenset({_WHOLE})}


def _names_of_x(function: ast.FunctionDef) -> Mapping[str, frozenset[int]]:
    """What the names that a kernel gives to parts of ``xindex`` (``x0 = (xindex % 16)``) are made of."""
    return _INDEX | {
        each.targets[0].id: _uses_of_x(each.value, _INDEX)
        for each in function.body
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name) and each.targets[0].id != "xindex"
    }


def _uses_of_x(node: ast.AST, known: Mapping[str, frozenset[int]]) -> frozenset[int]:
    """The periods of the remainders of ``xindex`` that an expression is made of; beside them ``_WHOLE`` where it takes
    anything else of it, or a value that was loaded, which may be any.
    """
    match node:
        case ast.BinOp(left=ast.Name(id="xindex"), op=ast.Mod(), right=ast.Constant(value=int(period))):
            return frozenset({period})
        case ast.Name(id=name):
            return frozenset({_WHOLE}) if name.startswith("tmp") else known.get(name, frozenset())
        case _:
            return frozenset().union(*(_uses_of_x(each, known) for each in ast.iter_child_nodes(node)))


def _place(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _path(node: ast.expr) -> str:
    return ast.unparse(node)


def _literal(node: ast.expr | None) -> Any:
    if node is None:
        return None
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _plain_items(node: ast.expr | None) -> dict[str, Any]:
    """The items of a dictionary display whose values are literals; others (``DeviceProperties(...)``) are left out."""
    if not isinstance(node, ast.Dict):
        return {}
    return {
        str(key.value): _literal(value)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and _literal(value) is not None
    }


def with_launch(kernel: KernelText, launch: Mapping[str, int]) -> str:
    """The kernel with one fixed launch instead of those that the compiler would try.

    Inductor's own ``fixed_config`` takes block sizes, warps and stages as they are and tunes nothing. What the function
    does not take as an argument must not be in ``launch``.

    Raises:
        BadCandidate: a value that is missing or that the kernel has no use for.
    """
    wanted = {*kernel.blocks, WARPS, STAGES}
    if set(launch) != wanted:
        raise BadCandidate(
            f"{kernel.name} is launched with {', '.join(sorted(wanted))}; these were given: "
            f"{', '.join(sorted(launch)) or 'none'}."
        )
    given = {each.arg: each.value for each in kernel.decorator.keywords if each.arg}
    parts = [f"config={dict(sorted(launch.items()))!r}"]
    parts += [f"{name}={_segment(kernel.source, given[name])}" for name in _KEPT if name in given]
    inner = ",\n    ".join(parts)
    return spliced(kernel.source, [(kernel.decorator, f"{HEURISTICS}.{FIXED}(\n    {inner}\n)")])


def with_stages(source: str, stages: int) -> str:
    """The text with every loop over a row pipelined ``stages`` deep. Triton pipelines a loop without products only when
    the loop itself says so.
    """
    kernel = read_kernel(source)
    if kernel is None:
        raise BadCandidate("This is no kernel that Inductor wrote, so its loops cannot be pipelined.")
    changes: list[tuple[ast.expr, str]] = []
    for loop in _loops(kernel.function):
        kept = [ast.unparse(each) for each in (*loop.args, *(key for key in loop.keywords if key.arg != STAGES))]
        changes.append((loop, f"tl.range({', '.join([*kept, f'{STAGES}={stages}'])})"))
    return spliced(source, changes)


def with_swizzle(kernel: KernelText, period: int) -> str:
    """The text with program instances in another order: those that use the same part of what repeats every ``period``
    elements run one after another, so that it is read from memory once and not once for each repetition.

    Every instance still runs once, if the period is a multiple of the block and divides the size. Such orders are known
    as swizzling or rasterisation (NVIDIA, CUTLASS: efficient GEMM in CUDA, threadblock rasterization).
    """
    (place,) = kernel.program_ids
    own, repeats = ast.unparse(place), kernel.numels["x"] // period
    return spliced(kernel.source, [(place, f"({own} % {repeats} * ({period} // XBLOCK) + {own} // {repeats})")])


def _loops(function: ast.FunctionDef) -> Iterator[ast.Call]:
    """The innermost ``tl.range(...)`` of each loop."""
    for node in ast.walk(function):
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and _path(node.iter.func) == "tl.range":
            yield node.iter


def fixed_launch(kernel: KernelText) -> dict[str, int]:
    """The launch that :func:`with_launch` wrote; empty for a kernel that has none."""
    if kernel.kind != FIXED:
        return {}
    given = {each.arg: each.value for each in kernel.decorator.keywords if each.arg}
    return dict(_literal(given.get("config")) or {})


def with_eviction(source: str, policy: str) -> str:
    """The text with ``policy`` on every load that has an eviction hint; an empty policy takes the hints away."""
    kernel = read_kernel(source)
    if kernel is None:
        raise BadCandidate("This is no kernel that Inductor wrote, so its eviction hints cannot be changed.")
    changes: list[tuple[ast.expr, str]] = []
    for call in _calls_of(kernel.function, "load"):
        for keyword in call.keywords:
            if keyword.arg == EVICTION:
                changes.append((keyword.value, repr(policy)))
    return spliced(source, changes)


def eviction_hints(kernel: KernelText) -> frozenset[str]:
    """The policies that the kernel's loads name."""
    found = (
        _literal(keyword.value)
        for call in _calls_of(kernel.function, "load")
        for keyword in call.keywords
        if keyword.arg == EVICTION
    )
    return frozenset(policy for policy in found if policy)


def with_name(source: str, name: str) -> str:
    """The same kernel called ``name``: the wrapper looks it up by the name that it had."""
    kernel = read_kernel(source)
    if kernel is None or kernel.name == name:
        return source
    lines = source.splitlines(keepends=True)
    row = kernel.function.lineno - 1
    lines[row] = lines[row].replace(f"def {kernel.name}(", f"def {name}(", 1)
    return "".join(lines)


def code_text(source: str) -> str:
    """What of a kernel's text says what it computes and how it may be launched.

    Left out are comments, layout, its name, and Inductor's notes to itself (``inductor_meta``), which differ between
    modes and when compilation is observed. C++ and other languages are compared without blank space.
    """
    kernel = read_kernel(source)
    if kernel is None:
        return " ".join(source.split())
    function = ast.parse(ast.unparse(kernel.function)).body[0]
    assert isinstance(function, ast.FunctionDef)  # noqa: S101 - a function's own text is one
    function.name = "kernel"
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call):
            decorator.keywords = [each for each in decorator.keywords if each.arg not in ("inductor_meta", "filename")]
    return ast.unparse(function)


def _calls_of(function: ast.FunctionDef, name: str) -> Iterator[ast.Call]:
    """Calls of ``tl.<name>``; a name that ends with an underscore stands for all that begin so."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _path(node.func.value) == "tl":
            called = node.func.attr
            if called == name or (name.endswith("_") and called.startswith(name)):
                yield node


def _segment(source: str, node: ast.expr) -> str:
    return ast.get_source_segment(source, node) or ast.unparse(node)


def spliced(source: str, changes: Sequence[tuple[ast.expr, str]]) -> str:
    """Put other text in the place of nodes of a parsed ``source``, the last first so that places stay valid; columns
    count bytes of UTF-8.
    """
    data = source.encode()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node, text in sorted(changes, key=lambda change: _place(change[0]), reverse=True):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        data = data[:begin] + text.encode() + data[end:]
    return data.decode()
