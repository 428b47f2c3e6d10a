"""Step 3 of the cascade: a run, and everything about it but the values; and the same of every later run."""

from __future__ import annotations

from collections.abc import Mapping

from strop.pipeline.court import Court
from strop.pipeline.gold import Gold
from strop.ports import ChildPort
from strop.records.evidence import InterfaceEvidence
from strop.records.workload import Leaf
from strop.wire.messages import Ran, Run
from strop.wire.tensors import Tensors, same_bits, views


def inspect_interface(court: Court, child: ChildPort, gold: Gold, missing: tuple[str, ...]) -> InterfaceEvidence:
    """Run once on a case's inputs; compare what came back and what was touched with what the reference does."""
    description = court.description
    child.given.write(0, gold.inputs)
    child.given.write(1, court.other_inputs)
    child.made.poison([0, 1])
    # The other slot first: only a call that had a predecessor can be caught handing back the same memory again.
    child.ask(Run(slot=1), Ran, court.timeouts.run_s)
    ran = child.ask(Run(slot=0), Ran, court.timeouts.run_s)
    given, made = child.given.snapshot(), child.made.snapshot()
    return InterfaceEvidence(
        expected=description.outputs,
        got=ran.outputs,
        unwritten=unwritten(child.made.unwritten(0, of=made), description.outputs),
        guards_broken=tuple(
            name
            for name, arena, seen in (("inputs", child.given, given), ("outputs", child.made, made))
            if not arena.guards_intact(of=seen)
        ),
        wrong_inputs=changed_inputs(views(given, child.given.layout, 0), gold, description.mutates),
        changed_parameters=ran.changed_parameters,
        aliases=tuple(path for path in ran.aliases if path not in description.aliases),
        missing_parameters=missing,
    )


def inspect_conduct(court: Court, child: ChildPort, gold: Gold, ran: Ran) -> InterfaceEvidence:
    """What one further run touched and how its results lie: whoever behaves at first need not do so for ever."""
    description = court.description
    return InterfaceEvidence(
        expected=description.outputs,
        got=ran.outputs,
        guards_broken=tuple(
            name for name, arena in (("inputs", child.given), ("outputs", child.made)) if not arena.guards_intact()
        ),
        wrong_inputs=changed_inputs(child.given.views(0), gold, description.mutates),
        changed_parameters=ran.changed_parameters,
        aliases=tuple(path for path in ran.aliases if path not in description.aliases),
    )


def unwritten(poisoned: Mapping[str, int], outputs: tuple[Leaf, ...]) -> tuple[tuple[str, int], ...]:
    """Elements per output that still hold the poison. Narrow integers are left out: chance alone matches their random
    bits.
    """
    wide = {leaf.path for leaf in outputs if leaf.tensor.dtype.is_floating or leaf.tensor.dtype.item_bytes >= 4}
    return tuple((path, count) for path, count in poisoned.items() if count and path in wide)


def changed_inputs(left: Tensors, gold: Gold, mutates: tuple[str, ...]) -> tuple[str, ...]:
    """Inputs whose bits moved although the reference leaves them alone; those it mutates are judged by value, as
    state.
    """
    return tuple(path for path, each in left.items() if path not in mutates and not same_bits(each, gold.inputs[path]))
