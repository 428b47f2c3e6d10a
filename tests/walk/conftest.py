"""Places to work in; the ceilings of this machine are measured once for all of them."""

import shutil

import pytest

from tests.walk.commands import Place


@pytest.fixture(scope="session")
def measured(tmp_path_factory, strop_home):
    """What is known of this machine's ceilings, to everything that is tested in the same process."""
    done = Place(tmp_path_factory.mktemp("measured"), strop_home).strop("doctor", "--json")
    assert done.code in (0, 1), done.err
    return strop_home / "calibration"


@pytest.fixture
def place(tmp_path, measured):
    """An empty folder with a home of its own."""
    shutil.copytree(measured, tmp_path / "home" / "calibration")
    return Place(tmp_path, tmp_path / "home")
