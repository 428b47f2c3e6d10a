"""`make demo`: a verified gain on one example, an honest "nothing" on the other, and no more time than was promised."""

import json
import os
import subprocess
import sys

import pytest

from tests.walk.commands import ROOT

BUDGET_S = 120
OVERRUN_S = 120

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_the_demo_keeps_its_promises(tmp_path):
    environment = {**os.environ, "STROP_HOME": str(tmp_path / "home")}
    command = [sys.executable, "tools/demo.py", "--budget", f"{BUDGET_S}s"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    similarity, projection = json.loads((ROOT / "build" / "demo.json").read_text(encoding="utf-8"))
    kept = similarity["kept"]
    assert kept["confirmed"] and kept["low"] > 1 and kept["origin"] == "catalogue"
    assert "work_removed" not in kept["legality"] and similarity["without_compiler"] == kept
    assert similarity["baseline"] == min(similarity["baselines_ns"], key=similarity["baselines_ns"].get)
    assert projection["kept"] is None and projection["proposed"] >= 1
    assert all(each["wall_seconds"] <= BUDGET_S + OVERRUN_S for each in (similarity, projection))
    assert "<html" in (ROOT / "build" / "demo.html").read_text(encoding="utf-8")
