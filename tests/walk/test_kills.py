"""kill -9 of any process at any moment of a run: named, asked once more where it was Strop's own, and nothing left."""

import json
import random
import time

import psutil
import pytest

from tests.walk.commands import TINY

pytestmark = pytest.mark.timeout(600)

NEW = TINY.replace("class Model(", "class ModelNew(")
OWN = ("strop-reference", "strop-baseline", "strop-keeper")


def kill_one(process, name, after_s):
    """Kill the first process of that name that is seen after so many seconds of its own life."""
    while process.poll() is None:
        for each in psutil.Process(process.pid).children(recursive=True):
            try:
                if each.name() == name and time.time() - each.create_time() >= after_s:
                    each.kill()
                    return True
            except psutil.Error:
                continue
        time.sleep(0.005)
    return False


def ended(place, process):
    out, err = process.communicate()
    assert place.left_behind() == []
    return process.returncode, json.loads(out), err


@pytest.mark.parametrize("name", OWN)
def test_a_verdict_is_the_same_when_a_process_of_strops_own_is_killed(place, name):
    words = ("verify", place.write("work.py", TINY), place.write("new.py", NEW), "--json")
    process = place.start(*words)
    assert kill_one(process, name, random.Random(name).uniform(0, 0.2))
    code, said, err = ended(place, process)
    assert code == 0 and said["verdict"] == "passed", err


def test_a_candidate_that_is_killed_has_failed_unless_it_had_not_begun(place):
    words = ("verify", place.write("work.py", TINY), place.write("new.py", NEW), "--json")
    process = place.start(*words)
    assert kill_one(process, "strop-candidate", 0.0)
    code, said, _ = ended(place, process)
    assert (code, said["verdict"]) in ((0, "passed"), (1, "failed"))
    assert code == 0 or "SIGKILL" in json.dumps(said["checks"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_run_ends_well_whatever_is_killed_on_the_way(place, seed):
    chance = random.Random(seed)
    process = place.start("optimize", place.write("work.py", TINY), "--json", "--budget", "40s")
    assert kill_one(process, chance.choice((*OWN, "strop-recipe")), chance.uniform(0, 3))
    code, said, err = ended(place, process)
    assert code == 0, (said, err)
