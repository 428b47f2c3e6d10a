"""Who answers which request. Each handler takes the session and the request, and gives the reply."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from strop.errors import InternalFault
from strop.records.evidence import Circumstance, Stage
from strop.targets._arithmetic import set_math_modes
from strop.targets._devices import give_back_unused, synchronise
from strop.wire.launches import AskLaunches
from strop.wire.messages import (
    Accept,
    Accepted,
    AskCapture,
    AskCounters,
    AskMemory,
    AskProfile,
    AskProposals,
    ChildRole,
    Deliver,
    Delivered,
    Describe,
    DescribedReply,
    Done,
    DrawInputs,
    DrawParameters,
    Expect,
    Load,
    Loaded,
    Map,
    Open,
    Perturb,
    Ran,
    ReplyMessage,
    RequestMessage,
    Run,
    Vary,
)
from strop.wire.omission import Omit, Omitted
from strop.wire.regions import AskRegions
from strop.worker.accepting import accept
from strop.worker.draws import draw_inputs
from strop.worker.gold import write_answer
from strop.worker.guard import Who, contained
from strop.worker.loading import load
from strop.worker.omitting import omit
from strop.worker.opened import open_workload
from strop.worker.parameters import draw_parameters
from strop.worker.perturbing import perturb
from strop.worker.questions import SHELF
from strop.worker.runner import deliver
from strop.worker.running import run
from strop.worker.session import Session
from strop.worker.workloads import load_workload, mode_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """``stage`` is where a failure belongs; ``reference_only`` requests are refused elsewhere: they deal in secrets."""

    answer: Callable[[Session, Any], ReplyMessage]
    stage: Stage = Stage.BUILD
    reference_only: bool = False


def handle(session: Session, request: RequestMessage) -> ReplyMessage:
    """Answer one request; whatever goes wrong is an answer too."""
    handler = HANDLERS[type(request)]
    return contained(_stage(handler, request), lambda: _answer(session, handler, request), _owner(session))


def play(session: Session, calls: int, key: int) -> ReplyMessage:
    """Play one timed round, chained where there is a key; Done, or what was raised."""

    def work() -> ReplyMessage:
        session.round.play(calls, key)
        synchronise(session.opened.workload.device)
        session.has_run = True
        return _DONE

    return contained(Stage.TIME, work, _owner(session))


_DONE = Done()


def _owner(session: Session) -> Who:
    """Whose code the process runs."""
    return "candidate" if session.role.is_judged else "workload"


def _answer(session: Session, handler: Handler, request: RequestMessage) -> ReplyMessage:
    if handler.reference_only and session.role is not ChildRole.REFERENCE:
        raise InternalFault(
            f"A {session.role} child was asked to {request.ask}: only the reference may know such things."
        )
    return handler.answer(session, request)


def _stage(handler: Handler, request: RequestMessage) -> Stage:
    if isinstance(request, Run) and request.circumstance is not Circumstance.PLAIN:
        return Stage.STATE
    return handler.stage


def _open(session: Session, request: Open) -> Done:
    torch.set_num_threads(request.threads)
    set_math_modes(request.contract)
    brought = load_workload(request.workload, request.construct_seed)
    opened = open_workload(request.workload, request.contract, request.construct_seed, brought)
    session.open(opened)
    if session.role is ChildRole.REFERENCE:
        opened.module  # noqa: B018 - built now, so that a workload that cannot be built is refused here
    mode = mode_of(request.workload, brought)
    declared = () if mode is request.workload.mode else (f"The workload declares mode {mode}.",)
    return Done(notes=(*brought.notes, *declared))


def _describe(session: Session, request: Describe) -> DescribedReply:
    description = session.reference.description
    # What the first call had torch import may hold that call's frames, and so its tensors, in cycles.
    gc.collect()
    return DescribedReply(description=description)


def _vary(session: Session, request: Vary) -> Done:
    session.vary(request.variant)
    return _DONE


def _load(session: Session, request: Load) -> Loaded:
    runner = load(session.opened, request.form, request.target)
    session.load(runner)
    edits = runner.edits() if runner.edits is not None else ()
    return Loaded(resources=runner.resources, notes=runner.notes, edits=edits)


def _map(session: Session, request: Map) -> Done:
    session.map(request)
    # What building took is no longer needed, and whoever lends memory has to find some.
    if session.role is not ChildRole.REFERENCE:
        session.opened.let_go()
    give_back_unused(session.opened.workload.device)
    return _DONE


def _draw_parameters(session: Session, request: DrawParameters) -> Done:
    drawn = draw_parameters(session.opened, request.seed, request.draw)
    with torch.no_grad():
        for path, place in session.given.fixed.items():
            place.copy_(drawn[path])
    return _settled(session)


def _draw_inputs(session: Session, request: DrawInputs) -> Done:
    description = session.reference.description
    drawn = draw_inputs(session.opened, description.inputs, description.constants, request.seed, request.distribution)
    with torch.no_grad():
        for path, place in session.given.slot(request.slot).items():
            place.copy_(drawn[path])
    return _settled(session)


def _settled(session: Session) -> Done:
    """Done, when the device has done it too: the parent reads the arena next."""
    device = session.opened.workload.device
    synchronise(device)
    if session.role is ChildRole.REFERENCE:
        # Double precision takes twice the memory of everybody else, who shall find room beside it.
        give_back_unused(device)
    return _DONE


def _deliver(session: Session, request: Deliver) -> Delivered:
    if session.role is ChildRole.REFERENCE and not session.has_runner:
        # The reference reads parameters from the arena itself, each time that it answers.
        return Delivered(matched_by="name")
    done = deliver(session.opened, session.runner, session.given.fixed)
    synchronise(session.opened.workload.device)
    if session.is_mapped:
        session.round  # noqa: B018 - laid out now, because the next message may start the clock
    return Delivered(matched_by=done.matched_by, missing=done.missing, setup_s=done.setup_s)


def _expect(session: Session, request: Expect) -> Done:
    # No name for the answer: it is twice as large as anybody else's, and gone before its memory is given back.
    write_answer(
        session.oracle.answer(session.given.fixed, session.given.slot(request.slot), seed=request.seed),
        session.made.slot(request.slot),
    )
    return _settled(session)


def _perturb(session: Session, request: Perturb) -> Done:
    perturb(session, request)
    return _settled(session)


def _omit(session: Session, request: Omit) -> Omitted:
    omitted = omit(session, request)
    _settled(session)
    return omitted


def _run(session: Session, request: Run) -> Ran:
    ran = run(session, request)
    device = session.opened.workload.device
    synchronise(device)
    # Off the clock nobody sits on what others may need meanwhile.
    give_back_unused(device)
    session.has_run = True
    return ran


def _accept(session: Session, request: Accept) -> Accepted:
    return Accepted(accepted=accept(session, request.slot))


def _question(session: Session, request: RequestMessage) -> ReplyMessage:
    reply = SHELF.get(request.ask).answer(session, request)
    give_back_unused(session.opened.workload.device)
    return reply


HANDLERS: Mapping[type[Any], Handler] = {
    Open: Handler(answer=_open),
    Describe: Handler(answer=_describe, reference_only=True),
    Vary: Handler(answer=_vary, stage=Stage.SHAPES),
    Load: Handler(answer=_load),
    Map: Handler(answer=_map),
    DrawParameters: Handler(answer=_draw_parameters, stage=Stage.PARAMETERS, reference_only=True),
    DrawInputs: Handler(answer=_draw_inputs, stage=Stage.VALUES, reference_only=True),
    Deliver: Handler(answer=_deliver, stage=Stage.PARAMETERS),
    Expect: Handler(answer=_expect, stage=Stage.VALUES, reference_only=True),
    Perturb: Handler(answer=_perturb, stage=Stage.VALUES, reference_only=True),
    Omit: Handler(answer=_omit, stage=Stage.VALUES, reference_only=True),
    Run: Handler(answer=_run, stage=Stage.VALUES),
    Accept: Handler(answer=_accept, stage=Stage.VALUES, reference_only=True),
    AskCapture: Handler(answer=_question),
    AskProposals: Handler(answer=_question),
    AskRegions: Handler(answer=_question),
    AskLaunches: Handler(answer=_question, stage=Stage.TIME),
    AskMemory: Handler(answer=_question, stage=Stage.TIME),
    AskProfile: Handler(answer=_question, stage=Stage.TIME),
    AskCounters: Handler(answer=_question, stage=Stage.TIME),
}
