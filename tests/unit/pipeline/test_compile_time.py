"""How long a candidate takes to build and compile is the judge's own observation."""

import time

import pytest

from strop.records.evidence import CrashKind
from strop.wire import messages as m
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
