"""Modes that watch operators load no compiler, and keep it out where it is loaded."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
import torch
{first}
from strop.worker.spy import Spy
spy = Spy()
with torch.no_grad(), spy:
    torch.rand(3) + 1
print(list(spy.random_ops), "torch._dynamo" in sys.modules)
"""


@pytest.mark.parametrize(("first", "is_loaded"), [("", False), ("import torch._dynamo", True)])
def test_a_mode_loads_no_compiler(first, is_loaded):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(first=first)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("] ")[1].strip() == str(is_loaded)
    assert "rand" in done.stdout
