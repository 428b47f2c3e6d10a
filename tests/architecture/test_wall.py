"""Law 5: candidate code runs in a worker process alone, and no judge runs there.

The contracts of `test_floors.py` hold the indirect side: what the worker reaches through other rooms.
"""

from tests.architecture import laws
from tests.architecture.tree import PACKAGE


def test_the_wall_has_no_door():
    assert laws.broken_wall(PACKAGE) == []


def test_kernels_stand_alone():
    assert laws.dependent_kernels(PACKAGE) == []
