"""The user's own code behind a workload, module by module."""

import hashlib
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest
import torch

import strop
from strop.records.workload import SourceKind
from strop.worker.describe import describe
from strop.worker.own_code import own_code
from tests.unit.worker.opening import model, opened

FACTORY = """
import torch
from code_helper import width

def make():
    return torch.nn.Linear(width(), 3), (torch.randn(2, width()),)
"""
HELPER = "def width():\n    return 4\n"


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of the user's, from which nothing stays imported."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def code_of(where, folder, kind):
    found = opened(where, kind=kind, import_path=(str(folder),))
    return dict(describe(found).description.code)


def test_a_factory_and_its_helpers(folder):
    (folder / "code_factory.py").write_text(FACTORY)
    (folder / "code_helper.py").write_text(HELPER)
    (folder / "code_unused.py").write_text("")
    found = code_of("code_factory:make", folder, SourceKind.FACTORY)
    assert found == {"code_factory": digest(FACTORY), "code_helper": digest(HELPER)}


def test_a_helper_that_is_imported_when_the_model_is_called(folder):
    text = model("import code_late\n        return x * code_late.FACTOR", "[torch.randn(3)]")
    (folder / "work.py").write_text(text)
    (folder / "code_late.py").write_text("FACTOR = 2\n")
    found = code_of(str(folder / "work.py"), folder, SourceKind.FILE)
    assert found.pop("code_late") == digest("FACTOR = 2\n")
    assert list(found.values()) == [digest(text)]


def module_at(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x = 1\n")
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    return module


def test_what_was_installed_is_not_the_users_own(tmp_path):
    modules = {
        "mine": module_at(tmp_path / "mine.py"),
        "elsewhere": module_at(tmp_path.parent / f"{tmp_path.name}-other" / "elsewhere.py"),
        "guest": module_at(tmp_path / ".venv" / "lib" / "python3.11" / "site-packages" / "guest.py"),
        "gone": None,
        "built_in": sys,
        "odd": ModuleType("odd"),
    }
    modules["odd"].__file__ = str(tmp_path / "no such file.py")
    assert own_code([str(tmp_path)], modules) == (("mine", digest("x = 1\n")),)
    assert own_code([], modules) == ()


def test_pythons_library_strop_and_torch_are_not_the_users_own():
    roots = [sysconfig.get_path("stdlib"), str(Path(strop.__file__).parents[1]), str(Path(torch.__file__).parents[1])]
    names = [name.split(".")[0] for name, _ in own_code(roots)]
    assert not {"strop", "torch", "hashlib", "json"} & set(names)
