"""Values for the parameters of one step: all of them where they are few, else what Optuna's sampler asks for."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import optuna

from strop.records.opportunity import ParameterRange
from strop.records.recipe import Scalar, Step

TRIALS = 8
"""Other values that are tried for one step; a trial is a whole judgement, which takes seconds to minutes."""

_RANDOM_TRIALS = 3
_ASKS = 64


def with_values(step: Step, values: dict[str, Scalar]) -> Step:
    """The same step with some arguments replaced."""
    return Step(step.name, tuple((dict(step.arguments) | values).items()))


class Tuner:
    """Asks for steps and is told how fast they were. The same answers in the same order lead to the same steps."""

    def __init__(self, step: Step, parameters: Sequence[ParameterRange], seed: int) -> None:
        self.step = step
        self._parameters = [each for each in parameters if len(each.choices) > 1]
        self._told: dict[Step, float | None] = {}
        self._asked: dict[Step, optuna.trial.Trial] = {}
        self._grid = self._all() if self._size() <= TRIALS + 1 else None
        self._study = self._new_study(seed) if self._grid is None else None

    def ask(self) -> Step | None:
        """The next step to try, or None when there are no more values or trials."""
        if not self._parameters or len(self._told) > TRIALS:
            return None
        if self._grid is not None:
            return next((step for step in self._grid if step not in self._told), None)
        return self._sampled()

    def tell(self, step: Step, speedup: float | None) -> None:
        """How fast a step was; None when it was not right or could not be timed."""
        self._told[step] = speedup
        if self._study is None:
            return
        if step in self._asked:
            self._answer(self._asked.pop(step), speedup)
            return
        self._study.enqueue_trial({each.name: step.argument(each.name, each.choices[0]) for each in self._parameters})
        self._answer(self._study.ask(self._distributions()), speedup)

    def _sampled(self) -> Step | None:
        assert self._study is not None  # noqa: S101 - a tuner has a grid or a study
        for _ in range(_ASKS):
            trial = self._study.ask(self._distributions())
            step = with_values(self.step, dict(trial.params))
            if step not in self._told:
                self._asked[step] = trial
                return step
            # The sampler came back to values that are known: tell it what they gave, so that it looks elsewhere.
            self._answer(trial, self._told[step])
        return None

    def _answer(self, trial: optuna.trial.Trial, speedup: float | None) -> None:
        assert self._study is not None  # noqa: S101 - only a study hands out trials
        failed = optuna.trial.TrialState.FAIL if speedup is None else None
        self._study.tell(trial, speedup, state=failed)

    def _all(self) -> list[Step]:
        """Every combination, those nearest to the defaults first."""
        names = [each.name for each in self._parameters]
        indices = itertools.product(*(range(len(each.choices)) for each in self._parameters))
        ordered = sorted(indices, key=lambda index: (sum(position > 0 for position in index), index))
        chosen = [[each.choices[i] for each, i in zip(self._parameters, index, strict=True)] for index in ordered]
        return [with_values(self.step, dict(zip(names, values, strict=True))) for values in chosen]

    def _size(self) -> int:
        size = 1
        for each in self._parameters:
            size *= len(each.choices)
        return size

    def _distributions(self) -> dict[str, optuna.distributions.BaseDistribution]:
        return {each.name: optuna.distributions.CategoricalDistribution(each.choices) for each in self._parameters}

    def _new_study(self, seed: int) -> optuna.Study:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=_RANDOM_TRIALS)
        return optuna.create_study(direction="maximize", sampler=sampler)
