"""What a user types and gets, with real children: exit codes, JSON, and the drop-in of the Python interface."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from tests.walk.commands import ROOT, TINY, searched

pytestmark = pytest.mark.timeout(900)

WRONG = {
    "sigmoid.py": ("torch.relu(", "torch.sigmoid(", "matches_reference"),
    "leaves.py": ("return self.pool", "import os; os._exit(0); return self.pool", "builds"),
}


@pytest.fixture
def place(place):
    place.write("work.py", TINY)
    place.write("same.py", TINY.replace("class Model", "class ModelNew"))
    for name, (old, new, _) in WRONG.items():
        place.write(name, TINY.replace("class Model", "class ModelNew").replace(old, new))
    return place


@pytest.mark.slow
def test_what_a_recipe_replaces_is_judged_alone_as_well(place):
    done = place.strop("verify", "work.py", "avg_pool_as_conv", "--json")
    assert (done.code, done.json["verdict"]) == (0, "passed"), done.err
    assert "what avg_pool_as_conv{form=shifted} replaces passed alone as well" in done.json["notes"]


def test_a_profile_names_kernels_and_proposals(place):
    done = place.strop("profile", "work.py", "--baseline", "eager", "--json")
    assert done.code == 0, done.err
    assert any("avg_pool" in each["name"] for each in done.json["kernels"])
    assert any(each["step"].startswith("avg_pool_as_conv") for each in done.json["proposals"])
    assert done.json["opportunities"]


@pytest.mark.slow
def test_a_profile_of_compiled_code_names_its_kernels(place):
    done = place.strop("profile", "work.py", "--baseline", "default", "--json")
    assert done.code == 0, done.err
    assert done.json["machine"]["copy_bytes_per_s"] > 0
    assert done.json["kernels"]
    for kernel in done.json["kernels"]:
        assert kernel["source"] if kernel["kind"] == "generated" else kernel["arguments"]
        assert kernel["nodes"]


@pytest.mark.slow
def test_the_referee_passes_the_same_and_fails_the_wrong(place):
    done = place.strop("verify", "work.py", "same.py", "--json")
    assert (done.code, done.json["verdict"], done.json["failed_check"]) == (0, "passed", None), done.err
    for name, (_, _, check) in WRONG.items():
        done = place.strop("verify", "work.py", name, "--json")
        assert (done.code, done.json["verdict"], done.json["failed_check"]) == (1, "failed", check), done.err


@pytest.mark.slow
def test_a_recipe_is_compared_in_fresh_processes(place):
    done = place.strop("compare", "work.py", "avg_pool_as_conv", "--baseline", "eager", "--json")
    assert (done.code, done.json["verdict"]) == (0, "passed"), done.err
    comparison = done.json["comparison"]
    assert comparison["baseline"] == "eager"
    assert comparison["processes"] >= 3
    assert comparison["low"] <= comparison["speedup"] <= comparison["high"]


@pytest.mark.slow
def test_python_gives_a_drop_in(place):
    script = """
    import json, torch, strop
    from work import Model
    model = Model(64).eval()
    x = torch.randn(32, 64)
    same = strop.verify(model, Model(64).eval(), x)
    done = strop.optimize(model, x, budget="60s", baselines=["eager"])
    with torch.no_grad():
        close = torch.allclose(done.module(x), model(x), atol=1e-5)
        other = torch.allclose(done.module(x[:3]), model(x[:3]), atol=1e-5)
    again = strop.load(done.result.run, model, x)
    print(json.dumps({"close": close, "other": other, "verdict": same.verdict.outcome, "misses": done.module.misses,
                      "faster": done.faster, "again": again.faster, "json": done.json()["run"] == done.result.run}))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=place.folder,
        env=os.environ | {"STROP_HOME": str(place.home), "PYTHONPATH": searched(ROOT, place.folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert (value["close"], value["other"], value["json"]) == (True, True, True)
    assert value["verdict"] == "passed"
    assert value["again"] == value["faster"]
    assert value["misses"] == (1 if value["faster"] else 2)
