"""WORKLOAD as people type it: every good form becomes a record, every bad one a message with the shortest fix."""

import hashlib
import os
import sys
import zipfile
from pathlib import Path

import pytest

from strop.errors import BadWorkload
from strop.records.workload import Mode, SourceKind
from strop.sources.workload import import_path, read_workload

GOOD = """
import torch

class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()

def get_init_inputs():
    return [4]

def get_inputs():
    return [torch.ones(4)]
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, text: str, name: str = "work.py") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return name


def test_a_file(here):
    workload = read_workload(write(here, GOOD))
    assert workload.name == "work.py"
    assert workload.source.kind is SourceKind.FILE
    assert workload.source.where == str(here / "work.py")
    assert workload.source.digest == hashlib.sha256(GOOD.encode()).hexdigest()
    assert (workload.source.entry, workload.mode, workload.grad, workload.device) == ("Model", Mode.TRAIN, False, "cpu")
    assert workload.source.import_path[0] == str(here)


def test_a_file_is_parsed_but_never_run(here):
    read_workload(write(here, GOOD + "\nraise SystemExit('it was run')\n"))


def test_a_class_in_a_file(here):
    workload = read_workload(write(here, GOOD + "\nclass Other(Model): ...\n") + ":Other")
    assert workload.source.entry == "Other"
    assert workload.name == "work.py:Other"


def test_where_the_file_lies_does_not_matter_but_its_text_does(here):
    (here / "sub").mkdir()
    first, second = read_workload(write(here, GOOD)), read_workload(write(here, GOOD, "sub/other.py"))
    assert first.id == second.id
    assert read_workload(write(here, GOOD + "#", "third.py")).id != first.id


@pytest.mark.parametrize(
    ("line", "asked", "mode"),
    [
        ("", None, Mode.TRAIN),
        ('MODE = "eval"', None, Mode.EVAL),
        ('MODE: str = "eval"', None, Mode.EVAL),
        ('if True:\n    MODE = "eval"', None, Mode.EVAL),
        ('MODE = "eval"', Mode.TRAIN, Mode.TRAIN),
        ('MODE = "train"', Mode.EVAL, Mode.EVAL),
        ('def f():\n    MODE = "eval"', None, Mode.TRAIN),
    ],
)
def test_the_mode_is_what_was_asked_for_else_what_the_file_says(here, line, asked, mode):
    assert read_workload(write(here, f"{GOOD}\n{line}\n"), mode=asked).mode is mode


@pytest.mark.parametrize("value", ['"evaluate"', "choose()", "None"])
def test_a_mode_that_is_none_is_refused(here, value):
    with pytest.raises(BadWorkload, match='write MODE = "train" or MODE = "eval"'):
        read_workload(write(here, f"{GOOD}\nMODE = {value}\n"))


@pytest.mark.parametrize(
    "text",
    [
        "from elsewhere import *\n",
        "from elsewhere import Model, get_inputs, get_init_inputs\n",
        "from a import b as Model\nfrom c import get_inputs, get_init_inputs\n",
        "try:\n    from a import Model\nexcept ImportError:\n    class Model: ...\nget_inputs = lambda: []\n",
        "if True:\n    class Model: ...\n(get_inputs, get_init_inputs) = make()\n",
        "import Model\nasync def get_inputs(): ...\ndef get_init_inputs(): ...\n",
        "class Model:\n    def __init__(self, width=4, *, deep=False): ...\ndef get_inputs(): ...\n",
        "class Model: ...\ndef get_samples(): ...\n",
    ],
)
def test_names_may_come_from_anywhere(here, text):
    assert read_workload(write(here, text)).source.entry == "Model"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", ["does not define Model and get_inputs", "define class Model(torch.nn.Module)", "add: def get_inputs()"]),
        (GOOD.replace("class Model", "class Net"), ["does not define Model", "or name another class: work.py:Net"]),
        (GOOD.replace("class Model", "class Modell"), ["work.py:Modell"]),
        (
            GOOD.replace("get_inputs", "get_imputs"),
            ["does not define get_inputs", "add: def get_inputs(): return [torch"],
        ),
        (
            GOOD.replace("get_init_inputs", "init"),
            ["does not define get_init_inputs", "def get_init_inputs(): return []"],
        ),
        (GOOD + "\nclass (:\n", ["work.py, line 14", "must mend the syntax"]),
        ("\0", ["work.py"]),
        ("x = " + "(" * 5000 + ")" * 5000, ["work.py"]),
    ],
)
def test_a_bad_file_is_told_what_is_missing_and_the_shortest_fix(here, text, says):
    with pytest.raises(BadWorkload) as caught:
        read_workload(write(here, text))
    for part in says:
        assert part in str(caught.value)


def test_a_file_that_is_not_there_offers_the_nearest(here):
    write(here, GOOD, "workload.py")
    with pytest.raises(BadWorkload, match=r"There is no file 'workloda.py'. Did you mean 'workload.py'\?"):
        read_workload("workloda.py")
    with pytest.raises(BadWorkload, match=r"There is no file 'nowhere/at/all\.py'"):
        read_workload("nowhere/at/all.py")


def test_a_folder_and_a_path_through_a_file(here):
    (here / "folder.py").mkdir()
    write(here, GOOD)
    with pytest.raises(BadWorkload, match="is a folder: name a file in it"):
        read_workload("folder.py")
    with pytest.raises(BadWorkload, match="part of the path is a file"):
        read_workload("work.py/inner.py")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(here):
    (here / write(here, GOOD)).chmod(0)
    with pytest.raises(BadWorkload, match="You may not read"):
        read_workload("work.py")


@pytest.mark.parametrize(
    "typed", ["", "work", "work.txt", "a b:c", "kernel:1/x", "1package:factory", "package:fac-tory"]
)
def test_what_is_no_workload_at_all_lists_the_forms(here, typed):
    write(here, "text", "work.txt")
    with pytest.raises(BadWorkload, match=r"WORKLOAD is path/to/file.py, file.py:Class, package.module:factory"):
        read_workload(typed)


def test_a_factory(here):
    workload = read_workload("package.module:factory", mode=Mode.EVAL)
    assert (workload.source.kind, workload.source.where) == (SourceKind.FACTORY, "package.module:factory")
    assert workload.mode is Mode.EVAL
    assert workload.source.digest == hashlib.sha256(b"package.module:factory").hexdigest()
    assert workload.source.import_path[0] == str(here)
    assert read_workload("package.module:other", mode=Mode.EVAL).id != workload.id


def test_an_exported_program(here):
    with zipfile.ZipFile("model.pt2", "w") as archive:
        archive.writestr("data", "x")
    workload = read_workload("model.pt2")
    assert workload.source.kind is SourceKind.PROGRAM
    assert workload.source.where == str(here / "model.pt2")


def test_a_program_that_is_none(here):
    write(here, "hello", "model.pt2")
    with pytest.raises(BadWorkload, match=r"not a program that torch.export.save wrote"):
        read_workload("model.pt2")
    with pytest.raises(BadWorkload, match=r"There is no file 'modle.pt2'. Did you mean 'model.pt2'"):
        read_workload("modle.pt2")


def test_the_import_path_holds_what_the_user_added_and_not_the_interpreter(here, monkeypatch):
    (here / "mine").mkdir()
    monkeypatch.setattr(sys, "path", ["", str(here / "mine"), str(here / "gone"), sys.prefix, *sys.path])
    found = import_path(here)
    assert found[:2] == (str(here), str(here / "mine"))
    assert not any(entry.startswith(str(Path(sys.prefix).resolve())) for entry in found)


def test_a_factory_may_be_longer_than_a_file_name(here):
    typed = ".".join(["package"] * 100) + ":factory"
    assert read_workload(typed).source.kind is SourceKind.FACTORY


@pytest.mark.parametrize("typed", ["x\0y", "\0.py", "\0.pt2", "b" * 5000, "b" * 5000 + ".py", "a/" * 3000])
def test_what_can_be_no_path_is_no_workload(here, typed):
    with pytest.raises(BadWorkload):
        read_workload(typed)


def test_an_exported_program_is_in_eval_mode_unless_said(here):
    with zipfile.ZipFile(here / "m.pt2", "w") as archive:
        archive.writestr("x", "y")
    assert read_workload("m.pt2").mode is Mode.EVAL
    assert read_workload("m.pt2", mode=Mode.TRAIN).mode is Mode.TRAIN
