"""Errors that help, shelves that find their files, settings that refuse what they do not understand."""

import sys
from pathlib import Path

import pytest

from strop.errors import BrokenShelf, StropError, UnknownName, UsageError
from strop.registry import Shelf
from strop.settings import read_settings


class Thing:
    def __init__(self, name, summary="one line"):
        self.name, self.summary = name, summary


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    package = tmp_path / "a_shelf"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "_tools.py").write_text("raise RuntimeError('tools are not items')")
    (package / "good.py").write_text(f"from {__name__} import Thing\nITEM = Thing('good')")
    (package / "empty.py").write_text("")
    (package / "wrong.py").write_text("ITEM = 3")
    (package / "renamed.py").write_text(f"from {__name__} import Thing\nITEM = Thing('other')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    yield Shelf("a_shelf", "thing", Thing)
    for name in [name for name in sys.modules if name.split(".")[0] == "a_shelf"]:
        del sys.modules[name]


def test_one_file_is_one_thing(shelf):
    assert shelf.names() == ("empty", "good", "renamed", "wrong")
    assert shelf.get("good").name == "good"


@pytest.mark.parametrize(
    ("name", "says"), [("empty", "defines no ITEM"), ("wrong", "make it a Thing"), ("renamed", "name it 'renamed'")]
)
def test_a_broken_file_is_named_with_its_fix(shelf, name, says):
    with pytest.raises(BrokenShelf, match=says):
        shelf.get(name)
    with pytest.raises(BrokenShelf):
        list(shelf)


def test_an_unknown_name_is_answered_with_the_nearest(shelf):
    with pytest.raises(UnknownName, match="Did you mean 'good'"):
        shelf.get("goood")
    with pytest.raises(UnknownName, match="Known: empty"):
        shelf.get("zzz")


def test_exit_codes_are_part_of_the_tree():
    assert issubclass(UnknownName, UsageError) and UsageError.exit_code == 2 and StropError.exit_code == 4


def test_settings_come_from_the_environment_alone():
    assert read_settings({"STROP_HOME": "/x"}).home == Path("/x")
    assert read_settings({"XDG_CACHE_HOME": "/c"}).home == Path("/c/strop")
    assert read_settings({"HOME": "/h"}).home == Path("/h/.cache/strop")
    assert read_settings({"STROP_DISABLE": "1"}).disabled and not read_settings({}).disabled
    assert read_settings({"STROP_ISOLATION": "b"}).isolation == "B" and read_settings({}).isolation == ""
    assert read_settings({"STROP_THREADS": "2", "STROP_LOGS": "wall", "STROP_KERNELBENCH": "k"}).threads == 2


@pytest.mark.parametrize(
    "bad",
    [{"STROP_DISABLE": "maybe"}, {"STROP_THREADS": "0"}, {"STROP_THREADS": "two"}, {"STROP_ISOLATION": "D"}],
)
def test_a_value_that_is_not_understood_is_refused(bad):
    with pytest.raises(UsageError, match=next(iter(bad))):
        read_settings(bad)
