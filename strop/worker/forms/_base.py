"""What a form's file provides: how to build a runner from the record."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import torch

from strop.errors import BadCandidate
from strop.records.target import Target
from strop.registry import Shelved
from strop.worker.guard import foreign
from strop.worker.opened import Opened
from strop.worker.runner import Runner
from strop.worker.workloads import set_mode


class Builder(Shelved):
    """Builds one kind of form. A file on the shelf ends with ``ITEM = <subclass>()``."""

    @abstractmethod
    def build(self, opened: Opened, form: Any, target: Target) -> Runner:
        """Build what the form says; it is warmed up by the caller.

        Raises:
            BadCandidate: its text or recipe cannot be what it says.
            Blamed: foreign code raises.
        """


def call_once(opened: Opened, runner: Runner) -> Any:
    """Call a runner on the sample, before any judged input exists.

    Raises:
        Blamed: it raises.
    """
    call = opened.shape.build(opened.fresh_sample())
    with opened.calling(), foreign(runner.who, runner.doing):
        return runner.call(*call.args, **call.kwargs)


def runner_of_instance(opened: Opened, build: Callable[[], Any], *, live: bool = False) -> Runner:
    """Something that is called as it is. If it has a ``repack()``, that is called after each delivery of parameters.
    ``live`` as in :func:`set_mode`.

    Raises:
        BadCandidate: what was built cannot be called.
        Blamed: building it raises.
    """
    instance = build()
    with foreign("candidate", "Looking at what it built"):
        if not callable(instance):
            raise BadCandidate(f"It builds a {type(instance).__name__}, which cannot be called: build a module.")
        module = instance if isinstance(instance, torch.nn.Module) else None
        if module is not None:
            set_mode(module, opened.mode, live=live)
        repack = getattr(instance, "repack", None)

    def again() -> Runner:
        second = runner_of_instance(opened, build, live=live)
        call_once(opened, second)
        return second

    return Runner(
        call=instance,
        module=module,
        who="candidate",
        doing="The candidate's forward()",
        again=again,
        repack=repack if callable(repack) else None,  # type: ignore[arg-type]
    )
