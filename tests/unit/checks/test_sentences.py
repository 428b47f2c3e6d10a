"""What single checks say beyond their examples."""

from dataclasses import replace

import pytest

from strop.checks._base import Rules
from strop.checks._examples import GOOD_INTERFACE, crash, output
from strop.checks.builds import ITEM as BUILDS
from strop.checks.keeps_interface import ITEM as KEEPS
from strop.checks.static_policy import ITEM as POLICY
from strop.checks.static_policy import MOST_NOTES
from strop.checks.survives import ITEM as SURVIVES
from strop.records.contract import CONTRACTS
from strop.records.evidence import CrashKind, PolicyEvidence, Stage

RULES = Rules(contract=CONTRACTS["fp32"])


class TestCrashes:
    @pytest.mark.parametrize("kind", list(CrashKind))
    def test_every_end_has_one_clear_outcome(self, kind):
        finding = SURVIVES.judge(crash(Stage.VALUES, kind, "The candidate came to an end."), RULES)
        ours = kind is CrashKind.INFRASTRUCTURE
        assert finding.outcome == ("inconclusive" if ours else "failed")
        assert "The candidate came to an end." in finding.because

    @pytest.mark.parametrize("stage", list(Stage))
    def test_every_stage_has_words(self, stage):
        assert SURVIVES.judge(crash(stage, CrashKind.SIGNAL, "It died"), RULES).because.startswith("It ended ")

    def test_exit_status_zero_is_no_success(self):
        finding = BUILDS.judge(crash(Stage.BUILD, CrashKind.EXITED, "It ended its process with status 0."), RULES)
        assert finding.outcome == "failed"

    def test_the_last_line_that_was_printed_is_quoted_and_cut(self):
        evidence = replace(crash(Stage.BUILD, CrashKind.RAISED, "It raised"), log_tail="first\n" + "x" * 500 + "\n\n")
        said = BUILDS.judge(evidence, RULES).because
        assert "first" not in said
        assert "x" * 200 in said
        assert "x" * 201 not in said


class TestInterface:
    def test_the_structure_is_compared_by_name(self):
        evidence = replace(GOOD_INTERFACE, got=(output("logits"),))
        assert "returns logits where the workload returns output" in KEEPS.judge(evidence, RULES).because

    def test_nothing_returned_where_nothing_is_expected(self):
        assert KEEPS.judge(replace(GOOD_INTERFACE, expected=(), got=()), RULES).outcome == "passed"

    def test_something_returned_where_nothing_is_expected(self):
        assert "the workload returns 0: nothing" in KEEPS.judge(replace(GOOD_INTERFACE, expected=()), RULES).because


def noted(text):
    return POLICY.judge(PolicyEvidence(text=text, language="python"), RULES).because


class TestPolicy:
    @pytest.mark.parametrize(
        ("text", "note"),
        [
            ("import threading\n", "line 1: starts threads"),
            ("\nfrom subprocess import run\n", "line 2: starts programs"),
            ("import ctypes.util as u\n", "line 1: calls native code by address"),
            ("open('x')\n", "line 1: reads or writes files"),
            ("import sys\nsys._getframe()\n", "line 2: walks up the stack"),
            ("x.data_ptr()\n", "line 1: uses the address of a tensor"),
            (
                "import torch\ntorch.cuda.synchronize = None\n",
                "line 2: replaces something in a module that it imported",
            ),
            ("def f():\n    global memo\n", "line 2: keeps state in global names"),
            ("try:\n    f()\nexcept ValueError:\n    g()\n", "line 1: catches errors, perhaps to fall back"),
        ],
    )
    def test_what_is_noted_and_where(self, text, note):
        assert noted(text) == note

    @pytest.mark.parametrize(
        "text",
        [
            "class M:\n    def __init__(self):\n        self.weight = 1\n",
            "from torch import nn\nx = nn.Linear\nf().y = 1\n",
            "# import threading\ns = 'import subprocess'\n",
            "for i in range(3):\n    pass  # second pass\n",
        ],
    )
    def test_ordinary_text_is_not_noted(self, text):
        assert noted(text) == ""

    def test_a_construct_is_noted_once(self):
        assert noted("import time\nimport time\n") == "line 1: looks at the clock"

    def test_there_is_an_end_to_it(self):
        modules = [
            "inspect",
            "gc",
            "ctypes",
            "mmap",
            "threading",
            "asyncio",
            "subprocess",
            "signal",
            "socket",
            "pickle",
        ]
        modules += ["tempfile", "shutil", "time", "resource", "atexit"]
        said = noted("\n".join(f"import {name}" for name in modules))
        assert said.count("line ") == MOST_NOTES
        assert said.endswith(f"and {len(modules) - MOST_NOTES} more")

    def test_text_that_breaks_the_parser_is_no_reason_to_stop(self):
        for text in ("(" * 5000, "x" + " + x" * 200_000, "\0"):
            finding = POLICY.judge(PolicyEvidence(text=text, language="python"), RULES)
            assert finding.outcome in ("passed", "skipped")
