"""What is told of building a candidate: how long it took by the judge's own clock, and what it changed."""

import time

import pytest

from strop.records.evidence import CrashKind
from strop.records.graph import KernelEdit
from strop.records.verdict import Verdict
from strop.wire import messages as m
from strop.wire.codec import decode, encode
from tests.unit.pipeline.scripted import Script, ScriptedChild, ScriptedWall, crash
from tests.unit.pipeline.test_line import run


def test_compile_time_is_taken_by_the_judges_clock_and_told():
    load = ScriptedChild._load

    def compiles(child, request):
        time.sleep(0.05 if child.role.is_judged else 0.0)
        return load(child, request)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScriptedChild, "_load", compiles)
        verdict = run(ScriptedWall()).verdict
    assert 0.05 <= verdict.compile_s < 5.0
    broken = run(ScriptedWall(candidate=Script(faults={m.Load: crash(CrashKind.RAISED, "no")}))).verdict
    assert broken.compile_s is None


def test_what_was_changed_in_generated_kernels_is_told_with_the_verdict():
    edit = KernelEdit(kernel="k_0", hash="k-1", diff="--- before/k_0\n+++ after/k_0\n@@ -1 +1 @@\n-a\n+b")

    def tells(child, request):
        return m.Loaded(edits=(edit,) if child.role.is_judged else ())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScriptedChild, "_load", tells)
        verdict = run(ScriptedWall()).verdict
    assert verdict.edits == (edit,)
    assert decode(Verdict, encode(verdict)) == verdict
    assert run(ScriptedWall()).verdict.edits == ()
