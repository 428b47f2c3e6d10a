"""Law 2: files and functions that fit in a head, and modules that say what they are."""

import pytest

from tests.architecture import laws
from tests.architecture.tree import PACKAGE, ROOT


@pytest.mark.parametrize("folder", ["strop", "tests", "tools", "examples"])
def test_files_are_short(folder):
    assert laws.long_files(ROOT / folder) == []


def test_functions_are_short():
    assert laws.long_functions(PACKAGE) == []


def test_modules_say_what_they_are():
    assert laws.missing_docstrings(PACKAGE) == []
