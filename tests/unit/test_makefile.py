"""The environment that `make` keeps: which torch is in it follows from what was named, and a warm one is left alone."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAKE = """#!/bin/sh
case "$*" in
  *"pip install"*) echo "$*" >>log ;;
  -c*) echo "torch==0" ;;
esac
"""
"""Stands in for .venv's interpreter: notes what would be installed."""

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def place(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(FAKE)
    python.chmod(0o755)
    return tmp_path


def installed(place, *words):
    """What `make install` with these words installs, one command a line."""
    (place / "log").write_text("")
    done = subprocess.run(["make", "-s", "install", *words], cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return (place / "log").read_text().splitlines()


def torch_of(commands):
    return [command.split()[-1] for command in commands if command.split()[-1].startswith("torch")]


def test_a_new_environment_gets_the_default_or_what_is_named(place):
    assert torch_of(installed(place)) == ["torch==2.13.0"]
    assert installed(place) == []


def test_another_torch_is_exchanged_and_the_same_is_not(place):
    installed(place)
    assert installed(place, "TORCH=torch==2.13.0") == []
    commands = installed(place, "TORCH=torch==2.12.0")
    assert torch_of(commands) == ["torch==2.12.0"]
    assert any(".[dev" in command for command in commands[1:])
    assert installed(place, "TORCH=torch==2.12.0") == []


def test_what_was_named_once_is_kept_when_nothing_is_named(place):
    assert torch_of(installed(place, "TORCH=torch==2.12.0")) == ["torch==2.12.0"]
    assert installed(place) == []
    assert torch_of(installed(place, "TORCH=torch==2.13.0")) == ["torch==2.13.0"]


def test_an_environment_from_before_is_kept(place):
    installed(place)
    (place / ".venv" / ".torch-wanted").unlink()
    assert installed(place) == []
    assert torch_of(installed(place, "TORCH=torch==2.12.0")) == ["torch==2.12.0"]
