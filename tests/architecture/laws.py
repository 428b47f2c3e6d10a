"""The laws on structure: cycles, hidden imports, size, shelves, guests, the wall. Each answers with its violations."""

import ast
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from tests.architecture.tree import PACKAGE, Import, Module, imports, modules, own_targets

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 50
# A kernel is one long straight piece of traced code; cutting it up would hide what the device executes.
FREE_OF_FUNCTION_LIMIT = {"kernels"}

SHELVES = ("targets", "transforms", "checks", "searches", "agents")

# Third-party packages that a room may import. A room that is not listed lives on the standard library.
GUESTS: dict[str, set[str]] = {
    "wire": {"torch", "pydantic"},
    "stats": {"torch", "numpy"},
    "settings": {"pydantic"},
    "ports": {"torch"},
    "targets": {"torch", "numpy", "psutil"},
    "kernels": {"torch", "triton", "numpy"},
    "transforms": {"torch", "numpy"},
    "checks": {"torch", "numpy"},
    "searches": {"optuna", "numpy"},
    "capture": {"torch", "numpy", "sympy"},
    "lowering": {"torch", "triton", "numpy", "sympy"},
    "profiling": {"torch", "triton", "numpy", "psutil"},
    "sandbox": {"torch", "psutil", "cloudpickle"},
    "storage": {"sqlalchemy", "alembic", "pydantic", "fsspec"},
    "report": {"typer", "rich", "jinja2"},
    "worker": {"torch", "triton", "numpy", "psutil", "cloudpickle"},
    "pipeline": {"torch", "numpy"},
    "integration": {"torch"},
    "api": {"torch", "cloudpickle"},
    "cli": {"typer", "rich", "pydantic", "psutil"},
}

# The lazy front door and the command line import late, for start-up time; nobody else may.
LATE_IMPORTS_ALLOWED = ("__init__.py", "cli/")

WORKER_MAY_IMPORT = {
    "records",
    "errors",
    "settings",
    "spec",
    "registry",
    "wire",
    "kernels",
    "transforms",
    "capture",
    "lowering",
    "targets",
    "profiling",
    "worker",
}


def hidden_imports(package: Path) -> list[str]:
    """Imports of our own code inside functions hide an edge of the import graph."""
    return [
        f"{one.where}: imports {one.target} inside a function; move it to the top, or the code to another room"
        for module in modules(package)
        if not module.inside.startswith(LATE_IMPORTS_ALLOWED)
        for one in imports(module)
        if one.in_function and one.top == package.name
    ]


def front_door(package: Path) -> list[str]:
    """Inside the package nobody enters through the lazy front door: it leads to the highest floor but one."""
    return [
        f"{one.where}: imports {name or 'everything'} from {package.name} itself; import from the room that defines it"
        for module in modules(package)
        for one in imports(module)
        if one.target == package.name and module.room not in {"cli", ""}
        for name in one.names or ("",)
        if name != "__version__" and not (name and _is_room(package, name))
    ]


def _is_room(package: Path, name: str) -> bool:
    return (package / name).is_dir() or (package / f"{name}.py").is_file()


def cycles(package: Path) -> list[str]:
    """Groups of modules that import one another, however indirectly."""
    graph = _import_graph(package)
    return [f"these modules import one another: {' -> '.join(group)}" for group in _loops(graph)]


def _import_graph(package: Path) -> dict[str, set[str]]:
    known = {module.name for module in modules(package)}
    graph: dict[str, set[str]] = {name: set() for name in known}
    for module in modules(package):
        for one in imports(module):
            graph[module.name] |= {to for to in own_targets(one, known) if to in known and to != package.name}
    graph[package.name] = set()
    return {name: targets - {name} for name, targets in graph.items()}


def _loops(graph: dict[str, set[str]]) -> list[list[str]]:
    reach = {name: _reachable(graph, name) for name in graph}
    groups = {
        frozenset(other for other in reach[name] if name in reach[other]) for name in graph if name in reach[name]
    }
    return sorted(sorted(group) for group in groups)


def _reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    todo = list(graph[start])
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo.extend(graph[name])
    return seen


def long_files(folder: Path) -> list[str]:
    """Files of the folder that are longer than the limit; tests and tools are held to it too."""
    return [
        f"{module.where}: {lines} lines, the limit is {MAX_FILE_LINES}; split it along its nouns"
        for module in modules(folder)
        if (lines := len(module.text.splitlines())) > MAX_FILE_LINES
    ]


def long_functions(package: Path) -> list[str]:
    """Functions longer than the limit, decorators not counted."""
    return [
        f"{module.where}:{node.lineno}: {node.name} has {lines} lines, the limit is {MAX_FUNCTION_LINES}"
        for module in modules(package)
        if module.room not in FREE_OF_FUNCTION_LIMIT
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION_LINES
    ]


def missing_docstrings(package: Path) -> list[str]:
    """Modules that do not open by saying what they are."""
    return [
        f"{module.where}: open it with a docstring that says what it is"
        for module in modules(package)
        if not ast.get_docstring(module.tree)
    ]


def broken_shelves(package: Path) -> list[str]:
    """Shelf files whose one `ITEM` is missing, doubled, or not named like the file."""
    return [
        problem
        for module in modules(package)
        if module.room in SHELVES and module.path.parent.parent == package and not module.path.name.startswith("_")
        for problem in _shelf_problem(module)
    ]


def _shelf_problem(module: Module) -> Iterator[str]:
    stem = module.path.stem
    count = sum(_assigns_item(node) for node in module.tree.body)
    if count != 1:
        yield f"{module.where}: assign one module-level ITEM (found {count}), or begin the file's name with _"
        return
    name = getattr(_load(module).ITEM, "name", None)
    if name != stem:
        yield f"{module.where}: ITEM.name is {name!r}; call it {stem!r}, or rename the file"


def _assigns_item(node: ast.stmt) -> bool:
    match node:
        case ast.Assign(targets=targets):
            return any(isinstance(target, ast.Name) and target.id == "ITEM" for target in targets)
        case ast.AnnAssign(target=ast.Name(id="ITEM"), value=value):
            return value is not None
    return False


def _load(module: Module) -> ModuleType:
    if module.package == PACKAGE:
        return importlib.import_module(module.name)
    name = f"planted_{module.room}_{module.path.stem}"
    spec = importlib.util.spec_from_file_location(name, module.path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    try:
        spec.loader.exec_module(loaded)
    finally:
        del sys.modules[name]
    return loaded


def uninvited_guests(package: Path) -> list[str]:
    """Third-party imports outside the rooms that may have them."""
    home = sys.stdlib_module_names | {package.name}
    return [
        f"{one.where}: {module.room or 'the package itself'} may not import {one.top}; {_who_may(one)}"
        for module in modules(package)
        for one in imports(module)
        if one.top not in home and one.top not in GUESTS.get(module.room, set())
    ]


def _who_may(one: Import) -> str:
    rooms = sorted(room for room, guests in GUESTS.items() if one.top in guests)
    return f"it is a guest in {', '.join(rooms)}" if rooms else "no room does; decide first which one should"


def broken_wall(package: Path) -> list[str]:
    """What crosses the wall: imports of the worker, and imports by the worker of what it may not know."""
    known = {module.name for module in modules(package)}
    problems = []
    for module in modules(package):
        for one in imports(module):
            rooms = {target.split(".")[1] for target in own_targets(one, known) if "." in target}
            if "worker" in rooms and module.room != "worker":
                problems.append(f"{one.where}: imports the worker; it is spawned, never imported")
            if module.room == "worker" and (extra := rooms - WORKER_MAY_IMPORT):
                problems.append(f"{one.where}: the worker imports {', '.join(sorted(extra))} across the wall")
    return problems


def dependent_kernels(package: Path) -> list[str]:
    """Kernels run in a user's process with nothing else of the package loaded, so they import nothing else of it."""
    return [
        f"{one.where}: a kernel family imports {one.target}; it may use torch, Triton and its own room alone"
        for module in modules(package)
        if module.room == "kernels"
        for one in imports(module)
        if one.top == package.name and not f"{one.target}.".startswith(f"{package.name}.kernels.")
    ]
