"""Liveness: what could a candidate leave out of the workload and still pass?

Each part is left out in every way that a candidate could try without computing it, and the answer of the reference,
otherwise exact, is judged as a candidate's values are. An operator hands back something that it was given, or one
number, the mean of its result on other inputs. A parameter or buffer has other values. What nobody notices under the
workload's own inputs is tried in the other cases of a full judgement, until it is noticed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from strop.checks._base import Rules
from strop.checks._bound import breach
from strop.errors import ChildFault
from strop.pipeline.blame import blame, trusted
from strop.pipeline.cases import full_plan
from strop.pipeline.court import Court
from strop.pipeline.gold import Gold, within_memory
from strop.pipeline.values import case_errors
from strop.records.event import Admitted
from strop.records.evidence import Case, CrashKind, Distribution, LeafErrors
from strop.records.liveness import Liveness, Part, PartKind
from strop.records.workload import Description
from strop.targets._devices import give_back_unused
from strop.wire.messages import Done, Expect
from strop.wire.omission import Omit, Omitted
from strop.wire.tensors import Tensors, real

FAILED = "The parts of the workload could not be looked at"
_TELLING = (
    Distribution.BEYOND_CONSTANTS,
    Distribution.NORMAL,
    Distribution.OUTLIER_CHANNELS,
    Distribution.ROW_OFFSETS,
)
STRIDE = 16
"""The parts that are left out one after the other stand so far apart."""
Way = Callable[[Gold], None]
"""One way to do without a part; the answer to the gold's inputs then lies in the reference's arena."""


@within_memory()
def liveness(
    court: Court, limit_s: float, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
) -> Liveness:
    """Leave out one part after the other, as many as the time allows.

    Raises:
        BadWorkload, WorkloadInconclusive: the reference failed otherwise than for want of a part.
    """
    until_s = clock() + limit_s
    own, *others = _cases(court.description)
    hearing = _hearing(court, own)
    parts = list(_parts(court))
    suspects: dict[Part, list[Way]] = {}
    looked_at = 0
    # Time that runs out leaves a sample of the whole call, and not its beginning.
    for part, ways in (each for start in range(STRIDE) for each in parts[start::STRIDE]):
        if clock() > until_s:
            break
        say(f"leaving out part {looked_at + 1} of {len(parts)}: {part.name}")
        looked_at += 1
        if unnoticed := hearing.unnoticed(ways):
            suspects[part] = unnoticed
    left, settled = _tried_further(court, suspects, others, say, lambda: clock() > until_s)
    dead = tuple(part for part, _ in parts if part in left)
    return Liveness(
        dead=dead if settled else (),
        own_only=tuple(part for part, _ in parts if part in suspects.keys() - left),
        unsettled=() if settled else dead,
        parts=len(parts),
        looked_at=looked_at,
        because="" if settled and looked_at == len(parts) else f"the {limit_s:.0f} s for it were over",
    )


def _tried_further(
    court: Court,
    suspects: Mapping[Part, list[Way]],
    cases: Sequence[Case],
    say: Callable[[str], None],
    is_late: Callable[[], bool],
) -> tuple[set[Part], bool]:
    """Those that no further case shows either, and whether all cases were heard."""
    left: dict[Part, list[Way]] = dict(suspects)
    for number, case in enumerate(cases, 1):
        if not left:
            break
        say(f"trying {len(left)} of them on other inputs: case {number} of {len(cases)}")
        hearing = None
        for part, ways in tuple(left.items()):
            if is_late():
                return set(left), False
            hearing = hearing or _hearing(court, case)
            left[part] = hearing.unnoticed(ways)
            if not left[part]:
                del left[part]
    return set(left), True


def _cases(description: Description) -> list[Case]:
    """The cases of a full judgement, the own inputs first and then what is likeliest to tell. Without those on NaN and
    Inf: a difference there only narrows what is claimed.
    """
    plan = full_plan(description)
    first, *rest = [case for case in plan.values if case.distribution is not Distribution.SPECIAL]
    rest.sort(key=lambda case: case.distribution not in _TELLING)
    return [first, *(plan.parameters if description.parameters else ()), *rest]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hearing:
    """One case, and how far any answer to it may lie from the exact one."""

    court: Court
    gold: Gold
    known: Mapping[str, LeafErrors]
    factor: float

    def unnoticed(self, ways: Sequence[Way]) -> list[Way]:
        """The ways that the referee would let pass."""
        return [way for way in ways if not self._notices(way)]

    def _notices(self, way: Way) -> bool:
        try:
            way(self.gold)
        except ChildFault as fault:
            # The code does not even run without it.
            if fault.evidence.kind is CrashKind.RAISED:
                return True
            raise blame(FAILED, fault.evidence) from fault
        got = self.court.reference.made.views(0)
        return any(
            breach(self._beside(leaf), self.factor, self.gold.case.distribution)
            for leaf in case_errors(self.court.description, self.gold, got)
        )

    def _beside(self, leaf: LeafErrors) -> LeafErrors:
        known = self.known[leaf.path]
        return replace(leaf, honest=known.honest, honest_exact_mismatches=known.honest_exact_mismatches)


def _hearing(court: Court, case: Case) -> _Hearing:
    """What honest rounding explains is asked once for a case, and not for each part that is left out of it."""
    gold = court.gold(case)
    rows = case_errors(court.description, gold, gold.baseline, court.honest(gold))
    factor = Rules(contract=court.contract).error_factor
    return _Hearing(court=court, gold=gold, known={row.path: row for row in rows}, factor=factor)


def _parts(court: Court) -> Iterator[tuple[Part, list[Way]]]:
    """Everything that could be left out, with the ways to do so."""
    court.reference.given.write(0, court.other_inputs)
    with trusted(FAILED):
        court.deliver(court.reference, 0)
        reply = court.reference.ask(Omit(slot=0), Omitted, court.timeouts.gold_s)
    for number, operator in enumerate(reply.operators):
        if not operator.numbers:
            continue
        part = Part(kind=PartKind.OPERATOR, name=operator.name, place=operator.place)
        choices = [*range(operator.operands), None]
        omissions = [Omit(slot=0, operator=number, operand=each, numbers=operator.numbers) for each in choices]
        yield part, [_without(court, each) for each in omissions]
    owned = ((PartKind.PARAMETER, court.description.parameters), (PartKind.BUFFER, court.description.buffers))
    for kind, leaves in owned:
        for leaf in leaves:
            # Whole numbers count or point to something; nobody computes with them.
            if leaf.tensor.dtype.is_floating and leaf.tensor.elements:
                yield Part(kind=kind, name=leaf.path), [_with_other_values(court, leaf.path)]


def _without(court: Court, omission: Omit) -> Way:
    """The call without an operator."""

    def answer(gold: Gold) -> None:
        court.deliver(court.reference, gold.case.parameters_draw)
        _ask(court, gold.inputs, omission, Omitted)

    return answer


def _with_other_values(court: Court, path: str) -> Way:
    """The call with other values in a parameter or buffer."""

    def answer(gold: Gold) -> None:
        draw = gold.case.parameters_draw
        values = court.parameters(draw)[path]
        court.deliver(court.reference, draw)
        place = court.reference.given.views(None)[path]
        try:
            place.copy_(other_values(values))
            _ask(court, gold.inputs, Expect(slot=0), Done)
        finally:
            place.copy_(values)

    return answer


def _ask(court: Court, inputs: Tensors, request: Omit | Expect, answer: type[Omitted] | type[Done]) -> None:
    # Double precision takes twice the memory of everybody else: what this side no longer needs is for it.
    give_back_unused(court.workload.device)
    court.reference.given.write(0, inputs)
    court.reference.ask(request, answer, court.timeouts.gold_s)


def other_values(values: torch.Tensor) -> torch.Tensor:
    """Values that are others everywhere, even where all were equal; positive ones stay positive."""
    size = math.sqrt(float(real(values).double().square().mean()))
    moved = 3 * values.flip(tuple(range(values.dim()))) + (size or 1.0)
    return moved.to(values.dtype)


def with_notes(admitted: Admitted, found: Liveness) -> Admitted:
    """The same, saying what no verdict on this workload covers."""
    if not found.dead:
        return admitted
    names = ", ".join(f"{part.name} ({part.place})" if part.place else part.name for part in found.dead)
    note = "no case of a judgement shows whether each of these is there, so a candidate may leave it out and pass"
    return replace(admitted, notes=(*admitted.notes, f"{note}: {names}"))
