"""Values for the parameters of one step: all of them where they are few, else what Optuna's sampler asks for."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Mapping, Sequence

import optuna

from strop.records.opportunity import ParameterRange
from strop.records.recipe import Scalar, Step

TRIALS = 8
"""Other values that are tried for one step where a trial is a whole judgement, which takes seconds to minutes."""
STARTUP = 3

_ASKS = 64
"""So often a sampler may come back to values that are known before it counts as having no more."""


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
        self._left = trials
        self._told: dict[Step, float | None] = {}
        self._asked: dict[Step, optuna.trial.Trial] = {}
        self._nearest = self._by_distance(None if self._size() <= trials + 1 else startup)
        self._study = self._new_study(seed, startup) if self._size() > trials + 1 else None

    def ask(self, most: int = 1) -> list[Step]:
        """Up to ``most`` steps that were not asked for yet; none when there are no more values or trials."""
        asked: list[Step] = []
        while self._left > 0 and len(asked) < most:
            step = next((each for each in self._nearest if each not in self._known), None) or self._sampled()
            if step is None:
                break
            self._trial_of(step)
            asked.append(step)
            self._left -= 1
        return asked

    def tell(self, step: Step, speedup: float | None) -> None:
        """How fast a step was; None when it was not right or could not be timed."""
        self._told[step] = speedup
        self._answer(self._trial_of(step), speedup)
        self._asked.pop(step, None)

    @property
    def is_hopeless(self) -> bool:
        """Whether nothing that was told so far was right."""
        return bool(self._told) and all(speedup is None for speedup in self._told.values())

    @property
    def _known(self) -> set[Step]:
        return {*self._told, *self._asked}

    def _sampled(self) -> Step | None:
        for _ in range(_ASKS if self._study is not None else 0):
            assert self._study is not None  # noqa: S101 - the loop does not run without one
            trial = self._study.ask(self._distributions())
            step = with_values(self.step, self._values(trial.params))
            if step not in self._known:
                self._asked[step] = trial
                return step
            # The sampler came back to values that are known: tell it what they gave, so that it looks elsewhere.
            self._answer(trial, self._told.get(step))
        return None

    def _trial_of(self, step: Step) -> optuna.trial.Trial | None:
        """What the study knows the step as."""
        places = self._places(step)
        if self._study is not None and places is not None and step not in self._asked:
            self._study.enqueue_trial(places)
            self._asked[step] = self._study.ask(self._distributions())
        return self._asked.get(step)

    def _answer(self, trial: optuna.trial.Trial | None, speedup: float | None) -> None:
        if self._study is not None and trial is not None:
            failed = optuna.trial.TrialState.FAIL if speedup is None else None
            self._study.tell(trial, speedup, state=failed)

    def _by_distance(self, most: int | None) -> list[Step]:
        """Combinations, those nearest to the defaults first."""
        names = [each.name for each in self._parameters]
        places = itertools.product(*(range(len(each.choices)) for each in self._parameters))
        ordered = sorted(places, key=lambda place: (sum(position > 0 for position in place), sum(place), place))
        chosen = [[each.choices[at] for each, at in zip(self._parameters, place, strict=True)] for place in ordered]
        return [with_values(self.step, dict(zip(names, values, strict=True))) for values in chosen[:most]]

    def _size(self) -> int:
        size = 1
        for each in self._parameters:
            size *= len(each.choices)
        return size

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

    def _new_study(self, seed: int, startup: int) -> optuna.Study:
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
