"""Live modules: ``strop.optimize``, ``strop.verify``, ``strop.compare`` and ``strop.load``.

Modules and inputs travel behind the wall as cloudpickle files, which are opened in children alone. What comes back into
the user's own process is a recipe, never foreign code: the drop-in is built here from the user's own module.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle
import torch
from torch.utils._pytree import tree_leaves

from strop.api.asking import Asked
from strop.api.drop_in import DropIn, Guard, rewritten
from strop.api.judging import Ruling, rule
from strop.api.reading import Done, read_run
from strop.api.running import carry_out
from strop.errors import NotSupported, UsageError
from strop.lowering import compile_mode, lasting_mode
from strop.ports import Listener
from strop.records.candidate import ModuleForm, RecipeForm
from strop.records.contract import Contract
from strop.records.measurement import Conditions
from strop.records.result import RunResult
from strop.records.target import Target
from strop.records.workload import Mode, SourceKind, Workload, WorkloadSource
from strop.report.jsons import Json, optimize_json
from strop.sources.candidate import human_candidate
from strop.sources.workload import import_path
from strop.storage.artefacts import Artefacts
from strop.wiring import calibrated, conditions_of, find_kind, home_of, open_house, set_up_logging

LOG = logging.getLogger("strop.api")
Call = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimized:
    """What ``strop.optimize`` and ``strop.load`` give.

    ``module`` is a drop-in that shares the original's parameters and computes under the contract's autocast, if it has
    one. ``result`` says what the run came to; it is None only when STROP_DISABLE switched Strop off, and ``module`` is
    then the original itself.
    """

    module: torch.nn.Module
    result: RunResult | None = None

    @property
    def faster(self) -> bool:
        """True when something was kept."""
        return self.result is not None and self.result.kept is not None

    @property
    def speedup(self) -> float | None:
        """Measured over the best baseline; None when the compiler's version stays."""
        return self.result.kept.keep.comparison.speedup if self.result and self.result.kept else None

    def json(self) -> Json:
        """The same object that ``strop optimize --json`` prints."""
        if self.result is None:
            raise UsageError("STROP_DISABLE was set, so there was no run.")
        return optimize_json(self.result)


def optimize(
    model: torch.nn.Module,
    example_inputs: Any,
    *,
    contract: str = "fp32",
    budget: str | float = "5m",
    baselines: Sequence[str] | None = None,
    max_memory_ratio: float = 2.0,
    max_error_ratio: float = 2.0,
    forbid: Sequence[str] = (),
    seed: int = 0,
    target: str | None = None,
    store: str | None = None,
    watch: Listener | None = None,
) -> Optimized:
    """Profile, propose, judge, keep: return a drop-in for ``model`` that is verified and at least as fast.

    An interrupt (Ctrl-C) ends the run, not the program: what was kept so far is returned, and ``result.interrupted`` is
    True.

    Args:
        model: in the modes (train or eval, its submodules' own included) and on the device in which it will be used,
            without gradients.
        example_inputs: one tensor, a sequence of arguments, a mapping of keyword arguments, or ``(args, kwargs)``. The
            verdict holds for calls like this one; other calls go to the compiler's version.
        contract: fp32, fp32-strict, tf32, bf16 or fp16. Under the last two the drop-in, its fallback included, runs
            under autocast to that type, as was measured.
        budget: such as ``"90s"`` or ``"5m"``, or a number of seconds.

    Raises:
        NotSupported: ``model`` or its inputs cannot be pickled, or lie on several devices.
        BadWorkload: ``model`` raises on its inputs, or makes NaN.
        UnknownName: a contract, baseline or legality class that does not exist.
    """
    asked = Asked(
        contract=contract,
        baselines=baselines,
        budget=budget,
        max_memory_ratio=max_memory_ratio,
        max_error_ratio=max_error_ratio,
        forbid=forbid,
        seed=seed,
        target=target,
        store=store,
    )
    return _optimize(model, example_inputs, asked, watch)


def _optimize(model: torch.nn.Module, example_inputs: Any, asked: Asked, watch: Listener | None) -> Optimized:
    request = asked.checked()
    with open_house(asked.store) as house:
        set_up_logging(house.settings)
        if house.settings.disabled:
            return Optimized(module=model)
        module, call = _plain(model), read_call(example_inputs)
        chosen = calibrated(find_kind(asked.target, device_of(module, call)), house.settings, LOG.info)
        workload = live_workload(module, call, chosen, house.artefacts)
        done = carry_out(house, house.ledger.new_run(), workload, chosen, request, [watch] if watch else [])
    return Optimized(module=_drop_in(module, call, done, chosen, request.contract), result=done.result)


def load(
    run: str,
    model: torch.nn.Module,
    example_inputs: Any,
    *,
    store: str | None = None,
) -> Optimized:
    """A drop-in for ``model`` from what an earlier run kept, without judging anything again.

    Another machine, number of threads or version (of torch, of the compiler) than the run's is warned about: what was
    judged is still the same computation, but it was neither compiled nor timed here.

    Raises:
        UnknownName: the ledger has no such run.
        UsageError: the run never started, or judged another mode or kind of device than the model's.
        NotSupported: this machine has no such device, or model and inputs lie on several.
    """
    with open_house(store, create=False) as house:
        set_up_logging(house.settings)
        if house.settings.disabled:
            return Optimized(module=model)
        done = read_run(house.ledger, run)
        module, call = _plain(model), read_call(example_inputs)
        started = done.story.started
        if started is None:
            raise UsageError(f"Run {done.story.run} never started, so it kept nothing: begin a new one.")
        if started.workload.mode is not _mode_of(module):
            mode = started.workload.mode
            raise UsageError(f"Run {done.story.run} judged the model in {mode} mode: call model.{mode}() first.")
        kind = find_kind(started.target.name, device_of(module, call))
        chosen = calibrated(kind, house.settings, LOG.info)
        contract = started.request.contract
        for difference in _differences(started.conditions, conditions_of(chosen, contract.name)):
            LOG.warning("run %s was measured under other conditions: %s", done.story.run, difference)
    return Optimized(module=_drop_in(module, call, done, chosen, contract), result=done.result)


def _differences(before: Conditions, now: Conditions) -> list[str]:
    """What differs, one by one: ``torch 2.12.0 there, 2.13.0 here``."""
    pairs = [("machine", before.machine, now.machine), ("threads", str(before.threads), str(now.threads))]
    there, here = dict(before.versions), dict(now.versions)
    pairs += [(name, there.get(name, "none"), here.get(name, "none")) for name in sorted(there.keys() | here.keys())]
    return [f"{name} {old} there, {new} here" for name, old, new in pairs if old != new]


def verify(
    reference: torch.nn.Module,
    candidate: torch.nn.Module,
    example_inputs: Any,
    *,
    contract: str = "fp32",
    target: str | None = None,
) -> Ruling:
    """The referee alone: is ``candidate`` a right replacement of ``reference``? See `optimize` for the arguments."""
    asked = Asked(contract=contract, target=target)
    return _judge(reference, candidate, example_inputs, asked, timed=False)


def compare(
    reference: torch.nn.Module,
    candidate: torch.nn.Module,
    example_inputs: Any,
    *,
    contract: str = "fp32",
    baselines: Sequence[str] | None = None,
    target: str | None = None,
) -> Ruling:
    """Verify, then paired timing against the best baseline in fresh processes. See `optimize` for the arguments."""
    asked = Asked(contract=contract, baselines=baselines, target=target)
    return _judge(reference, candidate, example_inputs, asked, timed=True)


def _judge(
    reference: torch.nn.Module,
    candidate: torch.nn.Module,
    example_inputs: Any,
    asked: Asked,
    *,
    timed: bool,
) -> Ruling:
    asked.checked()
    home = home_of()
    set_up_logging(home.settings)
    module, call = _plain(reference), read_call(example_inputs)
    chosen = calibrated(find_kind(asked.target, device_of(module, call)), home.settings, LOG.info)
    workload = live_workload(module, call, chosen, home.artefacts)
    digest = home.artefacts.put(pickled(candidate, "The candidate"))
    form = ModuleForm(where=str(home.artefacts.path(digest)), digest=digest)
    proposal = human_candidate(form, workload, idea=type(candidate).__name__)
    return rule(home, workload, proposal, chosen, asked, LOG.info, timed=timed)


def read_call(example_inputs: Any) -> Call:
    """Arguments and keyword arguments of one call."""
    if isinstance(example_inputs, torch.Tensor):
        return (example_inputs,), {}
    if isinstance(example_inputs, Mapping):
        return (), dict(example_inputs)
    if not isinstance(example_inputs, list | tuple):
        kind = type(example_inputs).__name__
        raise UsageError(f"example_inputs is a {kind}: give a tensor, arguments, or (args, kwargs).")
    if len(example_inputs) == 2:
        first, second = example_inputs
        if isinstance(first, list | tuple) and isinstance(second, Mapping) and all(isinstance(k, str) for k in second):
            return tuple(first), dict(second)
    return tuple(example_inputs), {}


def device_of(module: torch.nn.Module, call: Call) -> str:
    """The kind of device on which module and inputs lie.

    Raises:
        NotSupported: several kinds.
    """
    held = [*module.parameters(), *module.buffers()]
    given = [leaf for leaf in tree_leaves(call) if isinstance(leaf, torch.Tensor)]
    kinds = sorted({tensor.device.type for tensor in (*held, *given)})
    if len(kinds) > 1:
        raise NotSupported(f"Model and inputs lie on {' and '.join(kinds)}: move them to one device first.")
    return kinds[0] if kinds else "cpu"


def live_workload(module: torch.nn.Module, call: Call, target: Target, artefacts: Artefacts) -> Workload:
    """The record of a live module; module and inputs become an artefact that only children open."""
    args, kwargs = call
    digest = artefacts.put(pickled((module, args, kwargs), "The model or its inputs"))
    source = WorkloadSource(
        kind=SourceKind.LIVE,
        where=str(artefacts.path(digest)),
        digest=digest,
        entry=type(module).__name__,
        import_path=import_path(Path.cwd()),
    )
    return Workload(name=type(module).__name__, source=source, mode=_mode_of(module), device=target.device)


def pickled(value: object, what: str) -> bytes:
    """Bytes for a child to open.

    Raises:
        NotSupported: it cannot be pickled; a workload file can say the same.
    """
    try:
        return cloudpickle.dumps(value)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError, ValueError) as fault:
        raise NotSupported(
            f"{what} cannot be pickled ({fault}). Write a workload file with Model, get_init_inputs and get_inputs, "
            "and use strop optimize on it."
        ) from fault


def _mode_of(module: torch.nn.Module) -> Mode:
    return Mode.TRAIN if module.training else Mode.EVAL


def _plain(model: torch.nn.Module) -> torch.nn.Module:
    """The module itself where torch.compile or Strop wrapped it."""
    if not isinstance(model, torch.nn.Module):
        raise UsageError(f"model is a {type(model).__name__}: give a torch.nn.Module.")
    if isinstance(model, DropIn):
        return model.module
    return getattr(model, "_orig_mod", model)


def _drop_in(module: torch.nn.Module, call: Call, done: Done, target: Target, asked: Contract) -> DropIn:
    baseline, contract = done.result.baseline or "eager", asked.on_device(target.device)
    kept = done.result.kept
    fast = None
    if kept is not None and isinstance(kept.keep.candidate.form, RecipeForm):
        captured = done.story.captured
        graphs = frozenset(graph.id for graph in captured.capture.graphs) if captured else frozenset[str]()
        fast = rewritten(module, call, kept.keep.candidate.form.recipe, target, graphs, contract)
    fallback = compile_mode(module, lasting_mode(baseline))
    return DropIn(module, fast, fallback, Guard.around(*call), contract, target.device)
