"""How a generated kernel is laid out over the machine: the loops of a C++ kernel, the launch of a Triton kernel, as text."""

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
    """Heuristic, size hints and the arguments of the launch of a generated Triton kernel."""
    facts = [*_heuristic(source)]
    numbers = [ast.unparse(argument) for argument in call.args if not isinstance(argument, ast.Name)]
    named = [f"{key.arg}={ast.unparse(key.value)}" for key in call.keywords if key.arg not in (None, "stream")]
    launch = ", ".join([*numbers, *named])
    return "\n".join([*facts, f"launch: {launch}"] if launch else facts)


def _heuristic(source: str) -> list[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and "triton_heuristics" in ast.unparse(decorator.func):
                    return _facts(decorator)
    return []


def _facts(decorator: ast.Call) -> list[str]:
    kind = ast.unparse(decorator.func).rsplit(".", maxsplit=1)[-1]
    named = {key.arg: ast.unparse(key.value) for key in decorator.keywords if key.arg}
    return [f"kind: {kind}", *(f"{fact}: {named[fact]}" for fact in _HEURISTIC_FACTS if fact in named)]
