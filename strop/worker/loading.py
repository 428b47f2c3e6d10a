"""Load: build what is to be run, compile it and warm it up, before any judged input or parameter exists."""

from __future__ import annotations

import gc

from strop.records.candidate import CompiledForm, Form
from strop.records.target import Target
from strop.targets._devices import synchronise
from strop.worker.forms import SHELF
from strop.worker.forms._base import call_once
from strop.worker.guard import foreign
from strop.worker.modes import seeded
from strop.worker.opened import Opened
from strop.worker.runner import Runner

WARM_UP_CALLS = 2
_EAGER = "eager"
_SEED = 13


def load(opened: Opened, form: Form, target: Target) -> Runner:
    """Build, compile and warm up a form.

    Raises:
        BadCandidate: its text or recipe cannot be what it says.
        UsageError: an unknown mode, transform or option.
        Blamed: its code raises.
    """
    eager = isinstance(form, CompiledForm) and form.mode == _EAGER
    runner = SHELF.get(_EAGER if eager else form.form).build(opened, form, target)
    with seeded(_SEED):
        for _ in range(WARM_UP_CALLS):
            runner.last_result = call_once(opened, runner)
            with foreign(runner.who, runner.doing):
                synchronise(opened.workload.device)
    if runner.again is None:
        runner.again = lambda: load(opened, form, target)
    gc.collect()
    return runner
