"""One new file is one new transform, check or target: written into a copy of the package, nothing else touched."""

import shutil
from pathlib import Path

import pytest

from strop.records.event import CatalogueAsked
from tests.walk.commands import ROOT, Place

pytestmark = pytest.mark.timeout(600)

WORK = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return -(-torch.tanh(x))


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(32, 64)]
"""

TRANSFORM = '''
"""Two changes of sign are none."""

from functools import partial
from typing import ClassVar

import torch

from strop.records.opportunity import Legality
from strop.transforms._base import Example, Rewrite, Transform
from strop.transforms._graph import at, aten, calls, replace, step


class TwiceNegative(Transform):
    """See the class variables."""

    name: ClassVar = "twice_negative"
    summary: ClassVar = "leaves out two changes of sign in a row"
    legality: ClassVar = (Legality.BIT_EXACT,)
    applies_when: ClassVar = "the result of neg goes into neg"
    valid_because: ClassVar = "A change of sign flips one bit, and flipping it twice restores it (IEEE 754)."
    pays_when: ClassVar = "always"
    example: ClassVar = Example(build=lambda: (torch.nn.Identity(), (torch.ones(1),)), says="None is worked out here.")

    def applications(self, graph, target, arguments):
        """Every pair."""
        for node in calls(graph, aten.neg.default):
            if at(node, arguments) and node.args[0] in set(calls(graph, aten.neg.default)):
                apply = partial(replace, node, node.args[0].args[0])
                yield Rewrite(step=step(self.name, node), nodes=(node.name,), gain_ns=1e9, apply=apply)

    def why_not(self, graph, target):
        """What is missing."""
        return "Nothing is negated twice."


ITEM = TwiceNegative()
'''

CHECK = '''
"""How many tensors does it return?"""

from strop.checks._base import Check
from strop.records.evidence import InterfaceEvidence, Stage
from strop.records.verdict import Failed, Passed


class ReturnsFew(Check):
    """At most one."""

    name = "returns_few"
    summary = "One tensor is enough for anybody."
    stages = (Stage.INTERFACE,)
    judges = InterfaceEvidence
    examples = ()

    def judge(self, evidence, rules):
        """Count."""
        if len(evidence.got) > 1:
            return Failed(check=self.name, because="It returns more than one.")
        return Passed(check=self.name, because=f"counted {len(evidence.got)}")


ITEM = ReturnsFew()
'''

TARGET = '''
"""The processor again, with ceilings that somebody made up and without a taste for C++."""

from strop.records.target import Ceilings
from strop.targets.cpu import Cpu


class MadeUp(Cpu):
    """For this test alone."""

    name = "made_up"
    summary = "a processor out of thin air"
    languages = ("python",)
    source = "thin air"

    def measure_ceilings(self, threads):
        """Nothing is measured."""
        return Ceilings(copy_bytes_per_s=4e10, product_flop_per_s=(("float32", 4e12),), call_overhead_ns=777.0)


ITEM = MadeUp()
'''
SHELVES = {
    "catalogue": ("transforms", "twice_negative", TRANSFORM),
    "checks": ("checks", "returns_few", CHECK),
    "targets": ("targets", "made_up", TARGET),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the package with one file more on each of three shelves, and a workload beside it."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "strop", folder / "strop", ignore=shutil.ignore_patterns("__pycache__"))
    for shelf, name, text in SHELVES.values():
        (folder / "strop" / shelf / f"{name}.py").write_text(text.lstrip())
    place = Place(folder, folder / "home", source=folder)
    place.write("work.py", WORK)
    return place


@pytest.mark.parametrize("command", SHELVES)
def test_it_is_listed_and_described(copy, command):
    shelf, name, _ = SHELVES[command]
    entries = copy.strop(command, "--json").json[{"catalogue": "transforms"}.get(command, command)]
    (entry,) = [each for each in entries if each["name"] == name]
    assert Path(copy.folder / entry["file"]).read_text() == SHELVES[command][2].lstrip()
    assert len(entries) == len(list((ROOT / "strop" / shelf).glob("[a-z]*.py"))) + 1


def test_a_run_proposes_the_transform_asks_the_check_and_takes_the_target(copy):
    words = ("--target", "made_up", "--baseline", "eager", "--budget", "1s", "--max-error-ratio", "1e-9")
    done = copy.strop("optimize", "work.py", *words, "--json")
    assert done.code == 0, done.err
    assert (done.json["target"], done.json["inconclusive"]) == ("made_up", 0)
    told = copy.strop("show", done.json["run"], "--json").json
    first = told["candidates"][0]
    assert first["recipe"].startswith("twice_negative{at=neg")
    assert first["reason"] in ("less_accurate", "not_faster")
    verdict = {each["name"]: (each["outcome"], each["because"]) for each in first["checks"]}
    assert verdict["returns_few"] == ("passed", "counted 1")
    assert verdict["matches_reference"][0] == "passed"
    (asked,) = [each for each in copy.events() if isinstance(each, CatalogueAsked)]
    declined = {each.transform: each.because for each in asked.declines}
    assert "which made_up does not take" in declined["fused_elementwise"]


def test_a_misspelt_name_is_answered_with_the_new_one(copy):
    done = copy.strop("verify", "work.py", "twice_negativ")
    assert done.code == 2
    assert "Did you mean 'twice_negative'" in done.err
