"""Small worlds in which every recipe has a known outcome, so that a search can be held against the true optimum."""

from collections.abc import Callable
from dataclasses import dataclass, field

from strop.records.candidate import Candidate
from strop.records.decision import Decision, Drop
from strop.records.recipe import Step
from strop.searches._base import Brief, Entry, Search
from tests.unit.supervisor.makers import BASELINE_NS, WORKLOAD, decide, judgement, recipe_of

Rule = Callable[[tuple[Step, ...]], float | str]


@dataclass
class World:
    """``rule`` gives a recipe's speedup, or the name of the check that stops it; ``optimum`` is the best there is."""

    proposals: list
    opportunities: list
    rule: Rule
    optimum: float
    forbid: frozenset = frozenset()
    seed: int = 0
    worth_ns: float = BASELINE_NS * 0.01
    base: list = field(default_factory=list)
    judged: list[Candidate] = field(default_factory=list)

    def brief(self) -> Brief:
        return Brief(
            workload_id=WORKLOAD.id,
            baseline_ns=BASELINE_NS,
            entries=tuple(Entry(proposal=each, origin=each.origin) for each in self.proposals),
            opportunities=tuple(self.opportunities),
            forbid=self.forbid,
            worth_ns=self.worth_ns,
            seed=self.seed,
            base=tuple(Entry(proposal=each, origin=each.origin) for each in self.base),
        )

    def answer(self, what: Candidate) -> Decision:
        outcome = self.rule(recipe_of(what).steps)
        if outcome == "inconclusive":
            return Drop(candidate=what, reason="inconclusive", because="the machine was busy")
        return decide(what, judgement(what, outcome))


def explore(search: Search, world: World, limit: int = 10_000) -> list[tuple[Candidate, Decision]]:
    """Let a search walk through a world; what it tried and what it was told."""
    walk = search.candidates(world.brief())
    told: list[tuple[Candidate, Decision]] = []
    try:
        what = next(walk)
        while len(told) < limit:
            told.append((what, world.answer(what)))
            what = walk.send(told[-1][1])
    except StopIteration:
        pass
    return told


def product(factors: dict[str, float], clashes: tuple[frozenset[str], ...] = ()) -> Rule:
    """Speedups multiply; steps that clash do not build together."""

    def rule(steps: tuple[Step, ...]) -> float | str:
        names = [step.name for step in steps]
        if len(set(names)) < len(names) or any(clash <= set(names) for clash in clashes):
            return "builds"
        total = 1.0
        for name in names:
            total *= factors[name]
        return total

    return rule
