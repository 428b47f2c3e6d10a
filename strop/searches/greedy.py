"""Greedy: try every proposal alone where the most can be won, join those that were kept, then tune their parameters."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field

from strop.records.candidate import Candidate, Origin, RecipeForm
from strop.records.decision import Decision, Drop, Keep, Repair
from strop.records.ids import content_id
from strop.records.opportunity import Legality
from strop.records.recipe import Recipe, Step
from strop.searches._base import Brief, Entry, Search
from strop.searches._headroom import expected_gain_ns, floor_holds, headroom_ns
from strop.searches._tuning import Tuner

NEAR_SPEEDUP = 0.9
"""A first try at default parameters that is right but no slower than this is worth tuning."""

Walk = Generator[Candidate, Decision, None]


@dataclass(slots=True, eq=False)
class _Option:
    """One proposal and what was learned: ``step`` has the best parameters so far, ``keep`` what it won alone."""

    entry: Entry
    expected_ns: float
    floor_holds: bool
    step: Step
    answer: Decision | None = None
    keep: Keep | None = None


@dataclass(frozen=True, slots=True)
class _Chain:
    """A kept recipe and the options whose steps it is made of, in order."""

    options: tuple[_Option, ...]
    keep: Keep

    @property
    def recipe(self) -> Recipe:
        form = self.keep.candidate.form
        return form.recipe if isinstance(form, RecipeForm) else Recipe()


class Greedy(Search):
    """Most headroom first.

    Order: proposals whose expected gain can be told from noise, alone, by expected gain; then the kept ones joined one
    by one, fastest first; then parameters. Proposals that expect less than noise or a loss ("does not pay here") are
    tried after all that, because their estimates are models and not measurements; the kept ones are joined as well.
    """

    name = "greedy"
    summary = "tries proposals alone by measured headroom, joins what was kept, tunes parameters last"

    def candidates(self, brief: Brief) -> Walk:
        """Yield candidates until none is left that could win more than ``brief.worth_ns``."""
        walk = _Walk(brief)
        options = _ranked(brief)
        promising = [option for option in options if option.expected_ns >= brief.worth_ns]
        doubtful = [option for option in options if option.expected_ns < brief.worth_ns]
        for group in (promising, doubtful):
            if group:
                yield from walk.alone(group)
                yield from walk.joined(options)
                yield from walk.tuned(group)
                yield from walk.joined(options)


ITEM = Greedy()


def _ranked(brief: Brief) -> list[_Option]:
    """Allowed proposals, each step once, by expected gain, then by the step's text: the order never varies. What the
    baseline does anyway is no proposal.
    """
    options: dict[Step, _Option] = {}
    base = {entry.proposal.step for entry in brief.base}
    for entry in brief.entries:
        proposal = entry.proposal
        if proposal.step not in base and not brief.forbid & set(proposal.legality):
            gain_ns, holds = expected_gain_ns(proposal, brief), floor_holds(proposal, brief)
            options.setdefault(proposal.step, _Option(entry, gain_ns, holds, proposal.step))
    return sorted(options.values(), key=lambda option: (-option.expected_ns, str(option.step)))


@dataclass(slots=True)
class _Walk:
    """The state of one search: what was tried, the most that was won, and the most where the floors hold."""

    brief: Brief
    tried: dict[str, Decision] = field(default_factory=dict)
    won_ns: float = 0.0
    won_above_floors_ns: float = 0.0

    def alone(self, options: Iterable[_Option]) -> Walk:
        """Each option by itself."""
        for option in options:
            if self.worth_trying([option]):
                idea = f"{option.step.name}: expected to win {option.expected_ns / 1e3:.3g} us a call"
                answer = yield from self.tried_one([option], Recipe((option.step,)), (), idea)
                option.answer = answer
                option.keep = answer if isinstance(answer, Keep) else None

    def joined(self, options: Iterable[_Option]) -> Walk:
        """Recipes of several kept options: of all of them, and of those that each class reported apart admits."""
        kept = [option for option in options if option.keep is not None]
        for admits in (_any, _without_work_removed, _without_compiler):
            pool = sorted((option for option in kept if admits(option)), key=self.slowness)
            best: _Chain | None = None
            while pool and (best is None or self.could_beat(pool, best)):
                chain = yield from self.chained(pool)
                if best is None or chain.keep.comparison.speedup > best.keep.comparison.speedup:
                    best = chain
                # What this chain could not take in gets a chain of its own: together it may be better still.
                pool = [option for option in pool if option not in chain.options]

    def chained(self, pool: list[_Option]) -> Generator[Candidate, Decision, _Chain]:
        """Start from the fastest option and take in the others one by one, where that wins more than noise."""
        first = pool[0]
        assert first.keep is not None  # noqa: S101 - the pool holds kept options
        chain = _Chain((first,), first.keep)
        for option in pool[1:]:
            together = [*chain.options, option]
            if not self.worth_trying(together):
                continue
            longer = yield from self.lengthened(chain, option)
            if isinstance(longer, Keep) and self.faster(longer, chain.keep):
                chain = _Chain(tuple(together), longer)
        return chain

    def lengthened(self, chain: _Chain, option: _Option) -> Generator[Candidate, Decision, Decision]:
        """The chain with one more step. A step whose place is gone by then is tried first instead of last."""
        together = [*chain.options, option]
        lineage = (chain.keep.candidate.id, *((option.keep.candidate.id,) if option.keep else ()))
        idea = f"{option.step.name} joins {' and '.join(each.step.name for each in chain.options)}"
        step = Recipe((option.step,))
        answer = yield from self.tried_one(together, chain.recipe.then(step), lineage, idea)
        if isinstance(answer, Repair) or (isinstance(answer, Drop) and answer.comparison is None):
            answer = yield from self.tried_one(together, step.then(chain.recipe), lineage, f"{idea}, applied first")
        return answer

    def tuned(self, options: Iterable[_Option]) -> Walk:
        """Other parameters for what was kept or came near; a step keeps the values with which it was fastest alone."""
        for option in options:
            parameters = option.entry.proposal.parameters
            if option.answer is None or not parameters or not _near(option.answer):
                continue
            step = option.entry.proposal.step
            tuner = Tuner(step, parameters, self.seed_for(step))
            tuner.tell(step, _measured(option.answer))
            while (asked := tuner.ask()) and self.worth_trying([option]):
                other = asked[0]
                idea = f"{step.name} with other parameters"
                answer = yield from self.tried_one([option], Recipe((other,)), (option.answer.candidate.id,), idea)
                tuner.tell(other, _measured(answer))
                if isinstance(answer, Keep) and (option.keep is None or self.faster(answer, option.keep)):
                    option.step, option.keep = other, answer

    def tried_one(
        self, options: list[_Option], recipe: Recipe, lineage: tuple[str, ...], idea: str
    ) -> Generator[Candidate, Decision, Decision]:
        """Yield a candidate and return its decision; one that is known is not yielded again."""
        base = self.brief.base
        candidate = Candidate(
            workload_id=self.brief.workload_id,
            form=RecipeForm(recipe=_upon(base, recipe)),
            origin=_origin(options),
            legality=_legality([*(option.entry for option in options), *base]),
            lineage=lineage,
            idea=idea,
        )
        if candidate.id not in self.tried:
            answer = yield candidate
            self.tried[candidate.id] = answer
            if isinstance(answer, Keep):
                won_ns = self.gain_ns(answer)
                self.won_ns = max(self.won_ns, won_ns)
                if all(option.floor_holds for option in options):
                    self.won_above_floors_ns = max(self.won_above_floors_ns, won_ns)
        return self.tried[candidate.id]

    def worth_trying(self, options: list[_Option]) -> bool:
        """False near the ceiling: what is left above the floors cannot be told from noise.

        Options that move the floors are held against the whole call instead.
        """
        if all(option.floor_holds for option in options):
            return headroom_ns(self.brief) - self.won_above_floors_ns >= self.brief.worth_ns
        return self.brief.baseline_ns - self.won_ns >= self.brief.worth_ns

    def could_beat(self, pool: list[_Option], best: _Chain) -> bool:
        """True when several options, their gains simply added, would be faster than the best chain so far."""
        if len(pool) < 2:
            return False
        hoped_ns = sum(self.gain_ns(option.keep) for option in pool if option.keep)
        return hoped_ns >= self.gain_ns(best.keep) + self.brief.worth_ns

    def faster(self, one: Keep, other: Keep) -> bool:
        """True when ``one`` wins more than ``other`` by what can be told from noise."""
        return self.gain_ns(one) - self.gain_ns(other) >= self.brief.worth_ns

    def slowness(self, option: _Option) -> float:
        """Sorts kept options, the one that won most first."""
        return -self.gain_ns(option.keep) if option.keep else 0.0

    def gain_ns(self, keep: Keep) -> float:
        """Nanoseconds won per call, by the ratio within pairs, so that a slow moment of the machine cancels out."""
        return self.brief.baseline_ns * (1 - 1 / keep.comparison.speedup)

    def seed_for(self, step: Step) -> int:
        """A seed of its own for each step, the same in every process."""
        return int(content_id("t", self.brief.seed, str(step))[2:10], 16)


def _any(option: _Option) -> bool:
    return True


def _without_work_removed(option: _Option) -> bool:
    return Legality.WORK_REMOVED not in option.entry.proposal.legality


def _without_compiler(option: _Option) -> bool:
    return option.entry.origin is not Origin.COMPILER


def _near(answer: Decision) -> bool:
    """True for what was kept, or was right and about as fast as the baseline."""
    speedup = _measured(answer)
    return speedup is not None and speedup >= NEAR_SPEEDUP


def _measured(answer: Decision) -> float | None:
    """Measured speedup of a candidate that is right; None for one that is not, or that was not timed."""
    if isinstance(answer, Keep) or (isinstance(answer, Drop) and answer.reason == "not_faster"):
        return answer.comparison.speedup if answer.comparison else None
    return None


def _origin(options: Iterable[_Option]) -> Origin:
    """``compiler`` only if every step is the compiler's; ``catalogue`` where it has a part; else whoever proposed."""
    origins = [option.entry.origin for option in options]
    for origin in (Origin.CATALOGUE, Origin.AGENT, Origin.HUMAN):
        if origin in origins:
            return origin
    return Origin.COMPILER


def _upon(base: Iterable[Entry], recipe: Recipe) -> Recipe:
    """The recipe with the steps of the base behind its own."""
    last = tuple(entry.proposal.step for entry in base)
    return Recipe((*(step for step in recipe.steps if step not in last), *last))


def _legality(entries: Iterable[Entry]) -> tuple[Legality, ...]:
    """All classes of all steps, each once, in the order of their definition."""
    classes = {legality for entry in entries for legality in entry.proposal.legality}
    return tuple(legality for legality in Legality if legality in classes)
