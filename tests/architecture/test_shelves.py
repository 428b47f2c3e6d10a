"""Law 3: a file on a shelf is one thing, and the thing is called like the file."""

from tests.architecture import laws
from tests.architecture.tree import PACKAGE


def test_every_shelf_file_defines_its_item():
    assert laws.broken_shelves(PACKAGE) == []
