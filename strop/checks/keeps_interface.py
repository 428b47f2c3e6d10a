"""Does the candidate return what the workload returns: number, names, shapes, types, places; written in full?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from strop.checks._base import Check, Example, Rules
from strop.checks._examples import GOOD_INTERFACE, output
from strop.records.evidence import InterfaceEvidence, Stage
from strop.records.tensor import DType
from strop.records.verdict import Failed, Finding, Passed
from strop.records.workload import Leaf

_KEY = "['"
"""How the path of what lies under a key goes on."""


class KeepsInterface(Check):
    """Strides are no part of it: a caller reads the same values in any layout."""

    name = "keeps_interface"
    summary = "Number, shape, element type and device of the outputs are the workload's, and all of it was written."
    stages = (Stage.INTERFACE,)
    judges = InterfaceEvidence
    examples = (
        Example(says="Equal outputs.", evidence=GOOD_INTERFACE, outcome="passed"),
        Example(
            says="Equal values in another layout.",
            evidence=replace(
                GOOD_INTERFACE,
                got=(replace(output(), tensor=replace(output().tensor, stride=(1, 8))),),
            ),
            outcome="passed",
        ),
        Example(
            says="One of two outputs is missing.",
            evidence=replace(GOOD_INTERFACE, expected=(output("output[0]"), output("output[1]"))),
            outcome="failed",
        ),
        Example(
            says="The keys of a dictionary in another order.",
            evidence=replace(
                GOOD_INTERFACE,
                expected=(output("out['mean']"), output("out['spread']")),
                got=(output("out['spread']"), output("out['mean']")),
            ),
            outcome="passed",
        ),
        Example(
            says="The fields of a named tuple in another order: whoever takes it apart mixes them up.",
            evidence=replace(
                GOOD_INTERFACE,
                expected=(output("out.mean"), output("out.spread")),
                got=(output("out.spread"), output("out.mean")),
            ),
            outcome="failed",
        ),
        Example(
            says="A narrower type halves the traffic and not only that.",
            evidence=replace(GOOD_INTERFACE, got=(output(dtype=DType.FLOAT16),)),
            outcome="failed",
        ),
        Example(
            says="One row instead of eight.",
            evidence=replace(GOOD_INTERFACE, got=(output(shape=(1, 16)),)),
            outcome="failed",
        ),
        Example(
            says="The answer lies on another device.",
            evidence=replace(GOOD_INTERFACE, got=(replace(output(), tensor=replace(output().tensor, device="meta")),)),
            outcome="failed",
        ),
        Example(
            says="The tail was never written.",
            evidence=replace(GOOD_INTERFACE, unwritten=(("output", 16),)),
            outcome="failed",
        ),
        Example(
            says="A bias that a norm behind it cancels was left out: whether it mattered is judged by values.",
            evidence=replace(GOOD_INTERFACE, missing_parameters=("conv.bias",)),
            outcome="passed",
        ),
    )

    def judge(self, evidence: InterfaceEvidence, rules: Rules) -> Finding:
        """The first difference is the reason."""
        problem = next(_problems(evidence), "")
        if problem:
            return Failed(check=self.name, because=problem)
        because = "all outputs as the workload returns them"
        if evidence.missing_parameters:
            names = ", ".join(evidence.missing_parameters)
            because += f"; it has no counterpart of {names} and was judged with what its constructor made"
        return Passed(check=self.name, because=because)


def _problems(evidence: InterfaceEvidence) -> Iterator[str]:
    if len(evidence.got) != len(evidence.expected):
        paths = ", ".join(leaf.path for leaf in evidence.expected) or "nothing"
        yield f"It returns {len(evidence.got)} tensor(s); the workload returns {len(evidence.expected)}: {paths}."
    for want, got in zip(evidence.expected, _in_order(evidence), strict=False):
        if difference := _difference(want, got):
            yield difference
    for path, count in evidence.unwritten:
        yield f"{path}: {count} elements were never written. Write the whole output on every call."


def _in_order(evidence: InterfaceEvidence) -> tuple[Leaf, ...]:
    """What came, in the order in which it was expected where everything has a key: a dictionary has no order."""
    by_path = {leaf.path: leaf for leaf in evidence.got}
    wanted = [leaf.path for leaf in evidence.expected]
    if by_path.keys() != set(wanted) or not all(_KEY in path for path in wanted):
        return evidence.got
    return tuple(by_path[path] for path in wanted)


def _difference(want: Leaf, got: Leaf) -> str:
    if want.path != got.path:
        return f"It returns {got.path} where the workload returns {want.path}. Return the same structure."
    for name in ("shape", "dtype", "device"):
        wanted, given = getattr(want.tensor, name), getattr(got.tensor, name)
        if wanted != given:
            does = "returns" if want.path.startswith("out") else "leaves there"
            return f"{want.path}: {name} is {_shown(given)}; the workload {does} {_shown(wanted)}. Do the same."
    return ""


def _shown(value: object) -> str:
    return getattr(value, "value", None) or str(value)


ITEM = KeepsInterface()
