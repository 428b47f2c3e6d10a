"""The cascade: evidence is gathered cheapest first, every check on the shelf that concerns it is asked, and the first
failure ends it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import torch

from strop.checks import SHELF
from strop.checks._base import Check, Rules
from strop.errors import ChildFault
from strop.pipeline.cases import Plan
from strop.pipeline.court import SLOTS, Court, snapshot_of
from strop.pipeline.draws import collected, draws_errors
from strop.pipeline.gold import Gold, Runs
from strop.pipeline.inspection import inspect_conduct, inspect_interface
from strop.pipeline.layouts import made_leaves
from strop.pipeline.slots import rearranged
from strop.pipeline.values import errors_as_needed
from strop.ports import ChildPort
from strop.records.candidate import Candidate, SourceForm
from strop.records.evidence import (
    BuildEvidence,
    Case,
    Circumstance,
    CrashEvidence,
    CrashKind,
    Distribution,
    Evidence,
    InterfaceEvidence,
    LeafErrors,
    PolicyEvidence,
    Stage,
    ValuesEvidence,
)
from strop.records.graph import KernelEdit
from strop.records.opportunity import Legality
from strop.records.verdict import Failed, Finding, Inconclusive, Passed, Scope, Skipped, Verdict
from strop.stats.draws import RUNS
from strop.stats.errors import error_ratio
from strop.wire.messages import Accept, Accepted, Ran, Run
from strop.wire.tensors import Tensors

Found = TypeVar("Found")

_UNCOUNTED = (Distribution.SPECIAL, Distribution.CONSTANT_ROWS)
"""Not in the error ratio: on equal terms the error of a sum is the luck of its order, for anybody."""


@dataclass(slots=True, kw_only=True)
class Cascade:
    """Findings so far, one per check: its objection, else that it passed, else that it had nothing to look at."""

    rules: Rules
    findings: dict[str, Finding] = field(default_factory=dict[str, Finding])
    notes: list[str] = field(default_factory=list[str])
    counted: dict[Case, tuple[LeafErrors, ...]] = field(default_factory=dict[Case, tuple[LeafErrors, ...]])
    finite_inputs: bool = False
    by_distribution: bool = False
    variants: list[str] = field(default_factory=list[str])
    compile_s: float | None = None
    edits: tuple[KernelEdit, ...] = ()
    infrastructure: bool = False
    missing: tuple[str, ...] = ()
    """What of the workload's parameters and running statistics could not be handed in."""

    @property
    def passing(self) -> bool:
        """True when something was looked at and nobody objects."""
        return bool(self.findings) and not any(isinstance(f, Failed | Inconclusive) for f in self.findings.values())

    @property
    def factor(self) -> float:
        """Up to so many times the baseline's error nobody need ask what honest rounding explains."""
        return min(self.rules.error_factor, self.rules.max_error_ratio)

    @property
    def leaves(self) -> list[LeafErrors]:
        """What the error ratio is made of; not of what is drawn at random, which has no errors call by call."""
        return [leaf for leaves in self.counted.values() for leaf in leaves if not leaf.draws]

    @property
    def open(self) -> bool:
        """True while nothing failed."""
        return not any(isinstance(finding, Failed) for finding in self.findings.values())

    def hear(self, stage: Stage, evidence: Evidence, where: str = "") -> bool:
        """Ask every check that judges this evidence at this stage; True while nothing failed. ``where`` opens the
        sentence of an objection.
        """
        if isinstance(evidence, CrashEvidence) and evidence.kind is CrashKind.INFRASTRUCTURE:
            self.infrastructure = True
        if isinstance(evidence, ValuesEvidence) and any(leaf.draws for leaf in evidence.leaves):
            self.by_distribution = True
        for check in SHELF:
            if stage in check.stages and isinstance(evidence, check.judges):
                self._record(check, _placed(check.judge(evidence, self.rules), where))
        return self.open

    def _record(self, check: Check, finding: Finding) -> None:
        if check.only_notes:
            if finding.because:
                self.notes.append(f"{check.name}: {finding.because}")
            return
        before = self.findings.get(check.name)
        if before is None or isinstance(before, Skipped) or not isinstance(finding, Passed | Skipped):
            self.findings[check.name] = finding

    def object_inconclusive(self, check: str, because: str) -> None:
        """Note that something could not be looked at."""
        self.findings.setdefault(check, Inconclusive(check=check, because=because))

    def verdict(self, candidate: Candidate, isolation: str) -> Verdict:
        """All findings; checks that were not reached are listed as skipped."""
        objection = next((f.check for f in self.findings.values() if isinstance(f, Failed)), "")
        why = f"not reached: {objection} failed first" if objection else "nothing to look at for this candidate"
        skipped = [
            Skipped(check=check.name, because=why)
            for check in SHELF
            if check.name not in self.findings and not check.only_notes
        ]
        return Verdict(
            candidate_id=candidate.id,
            findings=(*self.findings.values(), *skipped),
            isolation=isolation,
            scope=Scope(
                shapes="declared" if self.variants else "exact",
                finite_inputs=self.finite_inputs,
                by_distribution=self.by_distribution,
                variants=tuple(self.variants),
            ),
            error_ratio=error_ratio(self.leaves) if self.leaves else None,
            notes=tuple(dict.fromkeys(self.notes)),
            compile_s=self.compile_s,
            edits=self.edits,
        )


def _placed(finding: Finding, where: str) -> Finding:
    if not where or not isinstance(finding, Failed | Inconclusive):
        return finding
    return replace(finding, because=f"{where}: {finding.because}")


def verify(court: Court, child: ChildPort, candidate: Candidate, rules: Rules, plan: Plan) -> Cascade:
    """Steps 1 to 6 of the cascade on one candidate in its own fresh child. The child stays usable for timing when
    nothing failed.
    """
    cascade = Cascade(rules=rules)
    if not (_policy(candidate, cascade) and _build(court, child, candidate, cascade)):
        return cascade
    with court.device():
        for stage in (_interface, _values, _parameters, _ratio, _state):
            if not stage(court, child, candidate, plan, cascade):
                break
    return cascade


def _policy(candidate: Candidate, cascade: Cascade) -> bool:
    form = candidate.form
    if isinstance(form, SourceForm):
        cascade.hear(Stage.POLICY, PolicyEvidence(text=form.text, language=form.language))
    return cascade.open


def _build(court: Court, child: ChildPort, candidate: Candidate, cascade: Cascade) -> bool:
    def load() -> Evidence:
        open_child(court, child)
        started_s = time.monotonic()
        loaded = court.load(child, candidate.form)
        took_s = time.monotonic() - started_s
        court.map(child, SLOTS)
        return BuildEvidence(seconds_s=took_s, resources=loaded.resources, notes=loaded.notes, edits=loaded.edits)

    evidence = contained(Stage.BUILD, load)
    if isinstance(evidence, BuildEvidence):
        cascade.notes.extend(evidence.notes)
        cascade.compile_s = evidence.seconds_s
        cascade.edits = evidence.edits
    return cascade.hear(Stage.BUILD, evidence) and isinstance(evidence, BuildEvidence)


def _interface(court: Court, child: ChildPort, candidate: Candidate, plan: Plan, cascade: Cascade) -> bool:
    gold = court.gold(plan.values[0])

    def look() -> Evidence:
        delivered = court.deliver(child, gold.case.parameters_draw)
        if delivered is not None and delivered.matched_by != "name":
            cascade.notes.append(f"parameters were matched by {delivered.matched_by}, not by name")
        cascade.missing = delivered.missing if delivered is not None else ()
        return inspect_interface(court, child, gold, cascade.missing)

    evidence = contained(Stage.INTERFACE, look)
    return cascade.hear(Stage.INTERFACE, evidence) and not isinstance(evidence, CrashEvidence)


def _values(court: Court, child: ChildPort, candidate: Candidate, plan: Plan, cascade: Cascade) -> bool:
    return _judge_cases(court, child, candidate, Stage.VALUES, plan.values, cascade)


def _parameters(court: Court, child: ChildPort, candidate: Candidate, plan: Plan, cascade: Cascade) -> bool:
    """What is missing can only have come from the constructor, so it stays as that made it. A constant shows nothing of
    the kind: whoever leaves out a scale of one has no counterpart of it either, and so it moves.
    """
    first = court.parameters(0)
    held = [name for name in cascade.missing if name in first and not _is_constant(first[name])]
    if all(leaf.path in held for leaf in court.description.parameters):
        return cascade.open
    cases = [replace(case, parameters_draw=court.holding(case.parameters_draw, held)) for case in plan.parameters]
    return _judge_cases(court, child, candidate, Stage.PARAMETERS, cases, cascade)


def _is_constant(tensor: torch.Tensor) -> bool:
    return not tensor.numel() or bool((tensor == tensor.reshape(-1)[0]).all())


def _state(court: Court, child: ChildPort, candidate: Candidate, plan: Plan, cascade: Cascade) -> bool:
    return _judge_cases(court, child, candidate, Stage.STATE, plan.state, cascade)


def _judge_cases(
    court: Court, child: ChildPort, candidate: Candidate, stage: Stage, cases: Iterable[Case], cascade: Cascade
) -> bool:
    for case in cases:
        # No name for the gold: a large one is let go before the next is made.
        found = contained(stage, partial(answer, court, child, court.gold(case), stage, cascade.factor))
        if isinstance(found, CrashEvidence):
            cascade.hear(stage, found)
            return False
        evidence, conduct = found
        if case.distribution is Distribution.SPECIAL:
            evidence = _narrow(evidence, candidate, cascade)
        elif stage is not Stage.STATE and case.distribution not in _UNCOUNTED:
            cascade.counted[case] = evidence.leaves
        if not (cascade.hear(stage, evidence) and cascade.hear(Stage.INTERFACE, conduct)):
            return False
    return cascade.open


def _ratio(court: Court, child: ChildPort, candidate: Candidate, plan: Plan, cascade: Cascade) -> bool:
    """The error ratio weighs cases against one another, so honest rounding is asked about in all of them or in none:
    where one needed it, the others are run again beside it.
    """
    if all(leaf.honest is None for leaf in cascade.leaves):
        return cascade.open
    alone = [case for case, leaves in cascade.counted.items() if any(leaf.honest is None for leaf in leaves)]
    for case in alone:
        found = contained(Stage.VALUES, partial(answer, court, child, court.gold(case), Stage.VALUES, None))
        if isinstance(found, CrashEvidence):
            cascade.hear(Stage.VALUES, found)
            return False
        evidence, conduct = found
        cascade.counted[case] = evidence.leaves
        if not (cascade.hear(Stage.VALUES, evidence) and cascade.hear(Stage.INTERFACE, conduct)):
            return False
    return cascade.open


def answer(
    court: Court, child: ChildPort, gold: Gold, stage: Stage, factor: float | None
) -> tuple[ValuesEvidence, InterfaceEvidence]:
    """Have the candidate's child run one case and turn what it left into error figures; see ``errors_as_needed``.
    Beside them, what it touched on the way. Where random numbers are drawn it runs as often as the reference did.
    """
    court.deliver(child, gold.case.parameters_draw)
    runs = gold.runs
    drawn = _runs(court, child, gold, runs) if runs is not None else {}
    ran, got = _run(court, child, gold)
    conduct = inspect_conduct(court, child, gold, ran)
    # It was written for the workload's own shapes, and is heard at one stage alone.
    is_asked = court.description.has_acceptance and stage is Stage.VALUES
    accepted = ask_user(court, gold, got) if is_asked else None
    if runs is None:
        leaves = errors_as_needed(court, gold, got, factor)
    else:
        leaves = draws_errors(court, gold, runs, drawn, factor, court.honest(gold))
    return ValuesEvidence(stage=stage, case=gold.case, leaves=leaves, accepted=accepted), conduct


def _run(court: Court, child: ChildPort, gold: Gold) -> tuple[Ran, Tensors]:
    child.given.write(0, gold.inputs)
    child.given.write(1, _other_contents(court, gold))
    child.made.poison([0, 1])
    ran = child.ask(Run(slot=0, circumstance=gold.case.circumstance), Ran, court.timeouts.run_s)
    return ran, snapshot_of(child, 0)


def _runs(court: Court, child: ChildPort, gold: Gold, runs: Runs) -> Tensors:
    answers = (_run(court, child, gold)[1] for _ in range(RUNS))
    return collected(made_leaves(court.description), runs.places, answers)


def _other_contents(court: Court, gold: Gold) -> Tensors:
    """What lies in the slot beside the one that is judged; at the same address it is the same elements in another
    order, which only a look at all of them can tell apart.
    """
    if gold.case.circumstance is Circumstance.SAME_ADDRESS:
        return rearranged(gold.inputs, court.description.inputs, court.other_inputs)
    return court.other_inputs


def ask_user(court: Court, gold: Gold, got: Tensors) -> bool:
    """Put the candidate's outputs before the user's acceptance function, in the reference child, beside the inputs
    they came from.
    """
    court.deliver(court.reference, gold.case.parameters_draw)
    court.reference.given.write(0, gold.inputs)
    court.reference.made.write(0, got)
    return court.reference.ask(Accept(slot=0), Accepted, court.timeouts.gold_s).accepted


def open_child(court: Court, child: ChildPort) -> None:
    """Load the workload's code, which the reference child could load: nothing of the candidate has run so far."""
    try:
        court.open(child)
    except ChildFault as fault:
        raise ChildFault(replace(fault.evidence, kind=CrashKind.INFRASTRUCTURE)) from fault


def contained(stage: Stage, gather: Callable[[], Found]) -> Found | CrashEvidence:
    """Evidence, or how the child ended while it was gathered."""
    try:
        return gather()
    except ChildFault as fault:
        return crash_at(stage, fault)


def crash_at(stage: Stage, fault: ChildFault) -> CrashEvidence:
    """The fault's evidence, filed under the stage at which it happened."""
    return replace(fault.evidence, stage=stage)


def _narrow(evidence: ValuesEvidence, candidate: Candidate, cascade: Cascade) -> ValuesEvidence:
    """NaN and Inf in inputs: a different spread narrows the claim to finite inputs unless the candidate promised the
    same bits.
    """
    spread = any(leaf.mask_mismatches > leaf.baseline_mask_mismatches for leaf in evidence.leaves)
    promised = Legality.BIT_EXACT in candidate.legality and len(candidate.legality) == 1
    if not spread or promised:
        return evidence
    cascade.finite_inputs = True
    cascade.notes.append("NaN or Inf in the inputs spread differently; the claim holds for finite inputs")
    if "finite_inputs" in cascade.rules.forbid:
        return evidence
    return replace(evidence, leaves=tuple(_unmasked(leaf) for leaf in evidence.leaves))


def _unmasked(leaf: LeafErrors) -> LeafErrors:
    return replace(leaf, mask_mismatches=0)
