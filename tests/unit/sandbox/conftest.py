"""A wall whose children run the scripted worker, and one child behind it."""

import pytest

from strop.wire.messages import ChildRole
from tests.unit.sandbox.walls import make_wall


@pytest.fixture(name="wall")
def _wall(tmp_path):
    with make_wall(tmp_path) as wall:
        yield wall


@pytest.fixture(name="child")
def _child(wall):
    with wall.child(ChildRole.CANDIDATE) as child:
        yield child
