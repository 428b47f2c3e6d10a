"""Every law, run over a small tree with one planted violation: a law that cannot fail is no law."""

import shutil

import pytest

from tests.architecture import habits, laws
from tests.architecture.test_floors import lint_imports
from tests.architecture.tree import ROOT

DOC = '"""What this is."""\n'
LONG_FUNCTION = "def f():\n" + "    pass\n" * laws.MAX_FUNCTION_LINES
LONG_METHOD = "class A:\n    async def f():\n" + "        pass\n" * laws.MAX_FUNCTION_LINES
ITEM = DOC + "class Target:\n    name = {name!r}\n\n\nITEM = Target()\n"


@pytest.fixture
def plant(tmp_path):
    """Write files below a fresh package `strop`; every folder becomes a package that says what it is."""

    def planted(files):
        package = tmp_path / "strop"
        for name, text in {"__init__.py": DOC, **files}.items():
            path = package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not (path.parent / "__init__.py").exists():
                (path.parent / "__init__.py").write_text(DOC, encoding="utf-8")
            path.write_text(text, encoding="utf-8")
        return package

    return planted


# law, files, a piece of the sentence that must come out
VIOLATIONS = [
    (
        laws.hidden_imports,
        {"stats/a.py": "def f():\n    import strop.errors"},
        "stats/a.py:2: imports strop.errors",
    ),
    (laws.hidden_imports, {"stats/a.py": "f = lambda: import_module('strop.errors')"}, "stats/a.py:1"),
    (laws.hidden_imports, {"stats/a.py": "def f():\n    from .b import g", "stats/b.py": DOC}, "imports strop.stats.b"),
    (laws.front_door, {"stats/a.py": "from strop import optimize"}, "imports optimize from strop itself"),
    (laws.front_door, {"stats/a.py": "import strop"}, "stats/a.py:1"),
    (
        laws.cycles,
        {"stats/a.py": "import strop.stats.b", "stats/b.py": "from strop.stats import a"},
        "a -> strop.stats.b",
    ),
    (
        laws.cycles,
        {"s/__init__.py": "from strop.s.a import x", "s/a.py": "from strop.s import y"},
        "->",
    ),
    (
        laws.cycles,
        {"a.py": "import strop.b", "b.py": "import strop.c", "c.py": "import strop.a"},
        "b -> strop.c",
    ),
    (laws.long_files, {"stats/a.py": "x = 1\n" * (laws.MAX_FILE_LINES + 1)}, "401 lines"),
    (laws.long_functions, {"stats/a.py": LONG_FUNCTION}, "f has 51 lines"),
    (
        laws.long_functions,
        {"stats/a.py": LONG_METHOD},
        "51",
    ),
    (laws.missing_docstrings, {"stats/a.py": "x = 1\n"}, "stats/a.py: open it with a docstring"),
    (laws.broken_shelves, {"targets/cpu.py": DOC}, "assign one module-level ITEM (found 0)"),
    (laws.broken_shelves, {"targets/cpu.py": ITEM.format(name="cpu") + "ITEM = Target()\n"}, "(found 2)"),
    (laws.broken_shelves, {"targets/cpu.py": ITEM.format(name="gpu")}, "ITEM.name is 'gpu'; call it 'cpu'"),
    (laws.uninvited_guests, {"records/a.py": "import torch"}, "records may not import torch; it is a guest in"),
    (laws.uninvited_guests, {"stats/a.py": "def f():\n    from requests.api import get"}, "no room does"),
    (laws.uninvited_guests, {"a.py": "import numpy"}, "a may not import numpy"),
    (
        laws.broken_wall,
        {"sandbox/a.py": "import strop.worker.b", "worker/b.py": DOC},
        "a.py:1: imports the worker",
    ),
    (laws.broken_wall, {"sandbox/a.py": "from strop import worker", "worker/b.py": DOC}, "imports the worker"),
    (laws.broken_wall, {"worker/a.py": "from strop.checks import b", "checks/b.py": DOC}, "the worker imports checks"),
    (laws.dependent_kernels, {"kernels/a.py": "from strop.errors import E"}, "kernels/a.py:1"),
    (habits.broad_excepts, {"sandbox/a.py": "try:\n    f()\nexcept Exception:\n    pass"}, "sandbox/a.py:3"),
    (habits.broad_excepts, {"sandbox/a.py": "try:\n    f()\nexcept:\n    pass"}, "catches everything"),
    (
        habits.broad_excepts,
        {"worker/a.py": "try:\n    f()\nexcept (OSError, BaseException):\n    pass"},
        "a.py:3",
    ),
    (habits.broad_excepts, {"worker/a.py": "with contextlib.suppress(Exception):\n    f()"}, "worker/a.py:1"),
    (habits.prints, {"stats/a.py": "print(1)"}, "stats/a.py:1: prints"),
    (
        habits.fields_without_unit,
        {"records/a.py": "class A:\n    latency: float"},
        "latency is a quantity",
    ),
    (habits.fields_without_unit, {"records/a.py": "class A:\n    peak_memory: int | None = None"}, "peak_memory"),
    (habits.fields_without_unit, {"records/a.py": "class A:\n    kernel_ms: tuple[float, ...]"}, "kernel_ms"),
]


@pytest.mark.parametrize(("law", "files", "sentence"), VIOLATIONS, ids=lambda each: getattr(each, "__name__", None))
def test_a_violation_is_found(plant, law, files, sentence):
    problems = law(plant(files))
    assert len(problems) == 1
    assert sentence in problems[0]


def test_an_unlisted_record_is_found(plant):
    package = plant({"records/a.py": "class Thing: ...\nclass _Private: ..."})
    assert len(habits.unlisted_words(package, "`Other` and Thing without ticks")) == 1
    assert habits.unlisted_words(package, "| `Thing` | listed |") == []


HONEST = {
    "__init__.py": DOC + "def __getattr__(name):\n    from strop.api import load\n    return load\n",
    "api.py": DOC + "import strop.records.a\nfrom strop import __version__, errors\n",
    "errors.py": DOC,
    "records/__init__.py": DOC + "from strop.records.a import A\n",
    "records/a.py": DOC + "class A:\n    call_ns: float\n    peak_memory_bytes: int\n    wall_name: str\n",
    "targets/cpu.py": ITEM.format(name="cpu"),
    "targets/_base.py": DOC,
    "kernels/a.py": DOC + "import torch\nfrom strop.kernels import b\n" + LONG_FUNCTION,
    "kernels/b.py": DOC,
    "worker/guard.py": DOC + "try:\n    pass\nexcept BaseException:\n    pass\n",
    "worker/a.py": DOC + "from strop.kernels import b\nfrom strop.worker import guard\n",
    "cli/main.py": DOC + "def run():\n    import strop.api\n    print(1)\n",
}

LAWS = sorted({law for law, _, _ in VIOLATIONS}, key=lambda law: law.__name__)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_an_honest_tree_passes(plant, law):
    assert law(plant(HONEST)) == []


UPWARD = [
    {"stats/a.py": "import strop.storage", "storage/b.py": ""},
    {"stats/a.py": "import strop.wire", "wire/b.py": ""},
    {"profiling/a.py": "import strop.capture", "capture/b.py": ""},
    {"lowering/a.py": "import strop.sandbox", "sandbox/b.py": ""},
    {"sandbox/a.py": "import strop.worker", "worker/b.py": ""},
    {"worker/a.py": "import strop.lowering.b", "lowering/b.py": "import strop.checks", "checks/c.py": ""},
    {"attic/a.py": ""},
]


def contracts(package):
    """Our own contracts over a planted package."""
    shutil.copy(ROOT / "pyproject.toml", package.parent)
    return lint_imports(package.parent)


@pytest.mark.parametrize("files", UPWARD, ids=lambda files: "+".join(files))
def test_the_contract_breaks(plant, files):
    done = contracts(plant(files))
    assert done.returncode == 1
    assert "BROKEN" in done.stdout


def test_the_contract_keeps_an_honest_tree(plant):
    files = {"lowering/a.py": "import strop.capture", "capture/b.py": "from strop import __version__, errors", **HONEST}
    done = contracts(plant(files))
    assert done.returncode == 0, done.stdout + done.stderr
