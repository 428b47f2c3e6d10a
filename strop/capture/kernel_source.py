"""How a generated kernel is laid out over the machine, as text: loops of a C++ kernel, launch of a Triton kernel."""

from __future__ import annotations

import ast
import re

_FOR = re.compile(
    r"\bfor\s*\(\s*(?:int64_t|long|auto)\s+(\w+)\s*=[^;]*;\s*\1\s*<\s*([^;]+);\s*\1\s*(?:\+\+|\+=\s*([^)]*\)?))\s*\)"
)
_CAST = re.compile(r"static_cast<\w+>\(\s*([^()]*)\s*\)")
_NUMBER = re.compile(r"\b(\d+)L\b")
_PRAGMA = re.compile(r"#pragma omp (.+)")
_HEURISTIC_FACTS = ("size_hints", "reduction_hint", "num_warps", "num_stages")


def cpp_loops(source: str) -> str:
    """The loop nest of a generated C++ kernel, one loop a line, inner loops indented; OpenMP lines as they stand."""
    lines: list[str] = []
    open_loops: list[int] = []
    depth = 0
    for text in source.splitlines():
        while open_loops and depth <= open_loops[-1] and text.strip() not in ("", "{"):
            open_loops.pop()
        indent = "  " * len(open_loops)
        pragma, loop = _PRAGMA.search(text), _FOR.search(text)
        if pragma:
            lines.append(f"{indent}omp {pragma.group(1).strip()}")
        elif loop:
            step = _plain(loop.group(3) or "1")
            lines.append(f"{indent}for {loop.group(1)} < {_plain(loop.group(2))} step {step}")
            open_loops.append(depth)
        depth += text.count("{") - text.count("}")
    return "\n".join(lines)


def _plain(expression: str) -> str:
    return _NUMBER.sub(r"\1", _CAST.sub(r"\1", expression)).strip()


def triton_launch(source: str, call: ast.Call) -> str:
    """Heuristic, size hints and the numbers of the launch of a generated Triton kernel."""
    kernel = _kernel_function(source)
    facts = _facts(kernel) if kernel is not None else []
    names = [argument.arg for argument in kernel.args.args] if kernel is not None else []
    launch = [
        f"{name}={ast.unparse(value)}"
        for name, value in zip(names, call.args, strict=False)
        if name.endswith("numel") or isinstance(value, ast.Constant)
    ]
    launch += [f"{key.arg}={ast.unparse(key.value)}" for key in call.keywords if key.arg not in (None, "stream")]
    return "\n".join([*facts, f"launch: {', '.join(launch)}"] if launch else facts)


def _kernel_function(source: str) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return next((node for node in found if any(_is_jit(each) for each in node.decorator_list)), None)


def _is_jit(decorator: ast.expr) -> bool:
    return ast.unparse(decorator).startswith("triton.jit")


def _facts(kernel: ast.FunctionDef) -> list[str]:
    """What Inductor's own decorator says; a kernel that the user wrote has none, or one with other keywords."""
    for decorator in kernel.decorator_list:
        if isinstance(decorator, ast.Call) and "triton_heuristics" in ast.unparse(decorator.func):
            named = {key.arg: ast.unparse(key.value) for key in decorator.keywords if key.arg}
            kind = ast.unparse(decorator.func).rsplit(".", maxsplit=1)[-1]
            return [f"kind: {kind}", *(f"{fact}: {named[fact]}" for fact in _HEURISTIC_FACTS if fact in named)]
    return []
