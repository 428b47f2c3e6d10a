"""What in the text of a candidate makes a reader look twice? Never a reason to fail it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from strop.checks._base import Check, Example, Rules
from strop.checks._bound import nothing_of_that
from strop.records.evidence import PolicyEvidence, Stage
from strop.records.verdict import Finding, Passed

MOST_NOTES = 12

_MODULES = {
    "inspect": "looks at the stack or at source text",
    "gc": "walks through live objects",
    "importlib": "imports by name at run time",
    "ctypes": "calls native code by address",
    "cffi": "calls native code",
    "mmap": "maps memory",
    "threading": "starts threads",
    "_thread": "starts threads",
    "concurrent": "starts threads or processes",
    "asyncio": "defers work",
    "multiprocessing": "starts processes",
    "subprocess": "starts programs",
    "signal": "handles signals",
    "socket": "opens sockets",
    "urllib": "reaches for the network",
    "http": "reaches for the network",
    "requests": "reaches for the network",
    "pickle": "pickles",
    "shelve": "stores on disk",
    "sqlite3": "stores on disk",
    "tempfile": "writes files",
    "shutil": "moves files",
    "pathlib": "reads or writes files",
    "time": "looks at the clock",
    "resource": "changes limits",
    "atexit": "runs code at the end of the process",
}
_CALLS = {
    "open": "reads or writes files",
    "eval": "evaluates text",
    "exec": "executes text",
    "compile": "compiles text",
    "__import__": "imports by name at run time",
    "setattr": "sets attributes by name",
    "globals": "reaches for its module's names",
    "id": "uses the identity of an object",
}
_ATTRIBUTES = {
    "_getframe": "walks up the stack",
    "_current_frames": "walks up the stack",
    "modules": "looks at the loaded modules",
    "get_objects": "walks through live objects",
    "data_ptr": "uses the address of a tensor",
    "_version": "uses the version counter of a tensor",
    "environ": "reads the environment",
    "fork": "starts processes",
    "system": "starts programs",
    "_exit": "ends the process",
    "abort": "ends the process",
    "kill": "sends signals",
    "dup2": "rewires file descriptors",
    "settrace": "traces execution",
    "setrecursionlimit": "changes limits",
    "set_num_threads": "changes the number of threads",
    "set_float32_matmul_precision": "changes the precision of products everywhere",
    "allow_tf32": "changes the precision of products everywhere",
    "manual_seed": "seeds the random numbers of the process",
}


class StaticPolicy(Check):
    """Text proves nothing: honest kernels use threads and files, and a liar spells things differently. So this check
    only adds a note for the reader and leaves judging to what is observed.
    """

    name = "static_policy"
    summary = "Notes constructs worth a second look: patching, introspection, threads, processes, files, clocks."
    stages = (Stage.POLICY,)
    judges = PolicyEvidence
    only_notes = True
    examples = (
        Example(
            says="Nothing to note.",
            evidence=PolicyEvidence(
                text="import torch\n\nclass ModelNew(torch.nn.Module):\n    pass\n", language="python"
            ),
            outcome="passed",
        ),
        Example(
            says="A clock is patched; the note says where.",
            evidence=PolicyEvidence(text="import time\ntime.perf_counter = lambda: 0.0\n", language="python"),
            outcome="passed",
        ),
        Example(
            says="A fall-back around a kernel.",
            evidence=PolicyEvidence(
                text="def forward(x):\n    try:\n        return kernel(x)\n    except Exception:\n        return x\n",
                language="python",
            ),
            outcome="passed",
        ),
        Example(
            says="No Python, so nothing was read.",
            evidence=PolicyEvidence(text="__global__ void k() {}", language="cuda"),
            outcome="skipped",
        ),
        Example(
            says="Text that does not parse will not build either.",
            evidence=PolicyEvidence(text="def forward(:\n", language="python"),
            outcome="skipped",
        ),
    )

    def judge(self, evidence: PolicyEvidence, rules: Rules) -> Finding:
        """Always passes what could be read, with its notes."""
        if evidence.language != "python":
            return nothing_of_that(self.name, "")
        try:
            tree = ast.parse(evidence.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return nothing_of_that(self.name, f"the text does not parse ({type(error).__name__}: {error})")
        return Passed(check=self.name, because="; ".join(notes(tree)))


def notes(tree: ast.Module) -> list[str]:
    """Sentences in the order of the text, each construct once, at most ``MOST_NOTES`` of them."""
    found: dict[str, int] = {}
    imported = _imported_names(tree)
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        for what in _suspicions(node, imported):
            found[what] = min(found.get(what, line), line)
    ordered = sorted(found.items(), key=lambda item: (item[1], item[0]))
    said = [f"line {line}: {what}" for what, line in ordered[:MOST_NOTES]]
    return said + ([f"and {len(ordered) - MOST_NOTES} more"] if len(ordered) > MOST_NOTES else [])


def _imported_names(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return names


def _suspicions(node: ast.AST, imported: set[str]) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (_MODULES[top] for alias in names if (top := alias.name.split(".")[0]) in _MODULES)
        case ast.ImportFrom(module=str(module)) if (top := module.split(".")[0]) in _MODULES:
            yield _MODULES[top]
        case ast.Call(func=ast.Name(id=name)) if name in _CALLS:
            yield _CALLS[name]
        case ast.Attribute(attr=name) if name in _ATTRIBUTES:
            yield _ATTRIBUTES[name]
        case ast.Assign(targets=targets) if any(_root(target) in imported for target in targets):
            yield "replaces something in a module that it imported"
        case ast.Global():
            yield "keeps state in global names"
        case ast.Try():
            yield "catches errors, perhaps to fall back"
        case _:
            return


def _root(target: ast.expr) -> str:
    """The name that an attribute chain starts from; empty when ``target`` is no attribute."""
    if not isinstance(target, ast.Attribute):
        return ""
    value = target.value
    while isinstance(value, ast.Attribute):
        value = value.value
    return value.id if isinstance(value, ast.Name) else ""


ITEM = StaticPolicy()
