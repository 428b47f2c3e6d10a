"""Places to work in; the ceilings of this machine are measured once for all of them."""

import shutil

import pytest

from tests.walk.commands import Place


@pytest.fixture(scope="session")
def measured(tmp_path_factory, strop_home):
    """A home in which this machine's ceilings are known and nothing else is."""
    folder = tmp_path_factory.mktemp("measured")
    place = Place(folder, folder / "home")
    done = place.strop("doctor", "--json")
    assert done.code in (0, 1), done.err
    return place.home / "calibration"


@pytest.fixture
def place(tmp_path, measured):
    """An empty folder with a home of its own."""
    shutil.copytree(measured, tmp_path / "home" / "calibration")
    return Place(tmp_path, tmp_path / "home")
