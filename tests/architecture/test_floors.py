"""Law 1: imports only go down, nothing is imported late to dodge that, and there are no cycles."""

import subprocess
import sys
from pathlib import Path

from tests.architecture import laws
from tests.architecture.tree import PACKAGE, ROOT

LINT = "from importlinter.cli import lint_imports_command as run; run()"


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the contracts of the pyproject.toml in `folder` over the package beside it."""
    command = [sys.executable, "-c", LINT, "--no-cache", "--no-logo"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_imports_only_go_down():
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_import_hides_in_a_function():
    assert laws.hidden_imports(PACKAGE) == []


def test_nobody_enters_through_the_front_door():
    assert laws.front_door(PACKAGE) == []


def test_no_cycles():
    assert laws.cycles(PACKAGE) == []
