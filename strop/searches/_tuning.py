"""Values for the parameters of one step: all of them where they are few, else what Optuna's sampler asks for."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence

import optuna

from strop.records.opportunity import ParameterRange
from strop.records.recipe import Scalar, Step

TRIALS = 8
"""Other values that are tried for one step where a trial is a whole judgement, which takes seconds to minutes."""
STARTUP = 3

_ASKS = 8
"""So often a sampler may come back to values that are known before the nearest unknown ones are taken instead."""


def with_values(step: Step, values: dict[str, Scalar]) -> Step:
    """The same step with some arguments replaced."""
    return Step(step.name, tuple((dict(step.arguments) | values).items()))


class Tuner:
    """Asks for steps and is told how fast they were. The same answers in the same order lead to the same steps.

    The first ``startup`` steps are those nearest to the parameters' defaults; the others come from Optuna's sampler, a
    tree-structured Parzen estimator, for which numbers are places in their order (J. Bergstra et al., Algorithms for
    Hyper-Parameter Optimization, NeurIPS 2011). ``trials`` is how many steps it asks for at most.
    """

    def __init__(
        self, step: Step, parameters: Sequence[ParameterRange], seed: int, trials: int = TRIALS, startup: int = STARTUP
    ) -> None:
        self.step = step
        self._parameters = [each for each in parameters if len(each.choices) > 1]
        self._orders = {each.name: _order(each.choices) for each in self._parameters}
        self._left, self._startup = trials, startup
        self._told: dict[Step, float | None] = {}
        self._asked: dict[Step, optuna.trial.Trial | None] = {}
        self._nearest = iter(self._by_distance())
        self._study = _new_study(seed, startup)

    def ask(self, most: int = 1) -> list[Step]:
        """Up to ``most`` steps that were not asked for yet; none when there are no more values or trials."""
        asked: list[Step] = []
        while self._left > 0 and len(asked) < most and (step := self._next()) is not None:
            asked.append(step)
            self._left -= 1
        return asked

    def tell(self, step: Step, speedup: float | None) -> None:
        """How fast a step was; None when it was not right or could not be timed."""
        self._told[step] = speedup
        if step not in self._asked:
            self._asked[step] = self._trial_of(step)
        self._answer(self._asked[step], speedup)

    @property
    def is_hopeless(self) -> bool:
        """Whether nothing that was told so far was right."""
        return bool(self._told) and all(speedup is None for speedup in self._told.values())

    def _next(self) -> Step | None:
        """What the sampler asks for, once it has something to learn from, or else the nearest that was not tried."""
        step = self._sampled() if len(self._asked) >= self._startup else None
        if step is None:
            step = next((each for each in self._nearest if each not in self._asked), None)
            if step is not None:
                self._asked[step] = self._trial_of(step)
        return step

    def _sampled(self) -> Step | None:
        for _ in range(_ASKS if self._parameters else 0):
            trial = self._study.ask(self._distributions())
            step = with_values(self.step, self._values(trial.params))
            if step not in self._asked:
                self._asked[step] = trial
                return step
            # The sampler came back to values that are known: tell it what they gave, so that it looks elsewhere.
            self._answer(trial, self._told.get(step))
        return None

    def _trial_of(self, step: Step) -> optuna.trial.Trial | None:
        """What the study will know a step as that it did not ask for; None for values that are not for choice."""
        places = self._places(step)
        if not places:
            return None
        self._study.enqueue_trial(places)
        return self._study.ask(self._distributions())

    def _answer(self, trial: optuna.trial.Trial | None, speedup: float | None) -> None:
        if trial is not None:
            failed = optuna.trial.TrialState.FAIL if speedup is None else None
            self._study.tell(trial, speedup, state=failed)

    def _by_distance(self) -> Iterator[Step]:
        """Every combination, those nearest to the defaults first."""
        names = [each.name for each in self._parameters]
        places = itertools.product(*(range(len(each.choices)) for each in self._parameters))
        for place in sorted(places, key=lambda place: (sum(place), place)):
            values = [each.choices[at] for each, at in zip(self._parameters, place, strict=True)]
            yield with_values(self.step, dict(zip(names, values, strict=True)))

    def _distributions(self) -> dict[str, optuna.distributions.BaseDistribution]:
        return {name: _distribution(order) for name, order in self._orders.items()}

    def _values(self, places: Mapping[str, int]) -> dict[str, Scalar]:
        return {name: order[places[name]] for name, order in self._orders.items()}

    def _places(self, step: Step) -> dict[str, int] | None:
        """None for a step with values that are not among the choices."""
        values = {each.name: step.argument(each.name, each.choices[0]) for each in self._parameters}
        if any(values[name] not in order for name, order in self._orders.items()):
            return None
        return {name: order.index(values[name]) for name, order in self._orders.items()}


def _new_study(seed: int, startup: int) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        # Optuna 4 says that this way to ask for several trials at once may change, which concerns no user.
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=startup, constant_liar=True)
    return optuna.create_study(direction="maximize", sampler=sampler)


def _order(choices: Sequence[Scalar]) -> list[Scalar]:
    """Numbers by size; words as they are."""
    return sorted(choices) if all(_is_number(each) for each in choices) else list(choices)


def _is_number(value: Scalar) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _distribution(order: Sequence[Scalar]) -> optuna.distributions.BaseDistribution:
    """Over places in the order: near ones are alike where it means something."""
    if all(_is_number(each) for each in order):
        return optuna.distributions.IntDistribution(0, len(order) - 1)
    return optuna.distributions.CategoricalDistribution(tuple(range(len(order))))
