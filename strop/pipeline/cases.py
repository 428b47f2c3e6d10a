"""Which cases a candidate has to answer: distributions, parameter draws and circumstances."""

from __future__ import annotations

from dataclasses import dataclass

from strop.pipeline.claims import claimed_variants
from strop.records.evidence import FEW_CHANGED, Case, Circumstance, Distribution
from strop.records.workload import Description, DomainKind, Variant

SEEDS = 5
_MIXTURE = (
    Distribution.NORMAL,
    Distribution.UNIFORM,
    Distribution.SCALED,
    Distribution.NEGATED,
    Distribution.OUTLIER_CHANNELS,
    Distribution.LOG_NORMAL,
    Distribution.HALF_ZEROS,
    Distribution.CONSTANT_ROWS,
    Distribution.ROW_OFFSETS,
    Distribution.TIES,
    Distribution.SMALL_INTEGERS,
)
_SCREENING = (Distribution.NORMAL, Distribution.SCALED, Distribution.OUTLIER_CHANNELS, Distribution.ROW_OFFSETS)
_CIRCUMSTANCES = tuple(circumstance for circumstance in Circumstance if circumstance is not Circumstance.PLAIN)
_UNSEEN = 700
_SCREENING_CIRCUMSTANCES = (Circumstance.SAME_ADDRESS, Circumstance.SECOND_INSTANCE, Circumstance.REPEATED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Cases of the three stages that judge values, and other inputs with cases of their own. Every case has its own
    secret seed.
    """

    values: tuple[Case, ...]
    parameters: tuple[Case, ...]
    state: tuple[Case, ...]
    variants: tuple[Variant, ...] = ()


def full_plan(description: Description) -> Plan:
    """Everything: for `strop verify`, and for what would be kept. Where random numbers are drawn every case is many
    runs, so kinds of inputs that are there to show rounding are left out, and so is what narrows a claim.
    """
    random = bool(description.random_ops)
    special = (Distribution.SPECIAL,) if _has_real_inputs(description) and not random else ()
    values = _values(description, _SCREENING if random else _MIXTURE) + tuple(
        Case(index=900, distribution=distribution) for distribution in special
    )
    return Plan(
        values=values,
        parameters=_redrawn(FEW_CHANGED),
        state=_state(_CIRCUMSTANCES),
        variants=claimed_variants(description),
    )


def screening_plan(description: Description) -> Plan:
    """Enough to drop what is wrong before it costs device time; nothing is kept on it."""
    return Plan(values=_values(description, _SCREENING), parameters=_redrawn(1), state=_state(_SCREENING_CIRCUMSTANCES))


def variant_cases(description: Description, variant: Variant) -> tuple[Case, ...]:
    """Inputs of the workload's own generator, made to fit, and normal ones; ``description`` is that of the variant.
    Rows that sum to one no longer do when they were cut.
    """
    chosen = [Distribution.OWN, *([Distribution.NORMAL] if _has_real_inputs(description) else [])]
    if any(leaf.domain and leaf.domain.kind is DomainKind.DISTRIBUTION for leaf in description.inputs):
        chosen.remove(Distribution.OWN)
    return tuple(Case(index=i, distribution=each, variant=variant) for i, each in enumerate(chosen))


def _values(description: Description, mixture: tuple[Distribution, ...]) -> tuple[Case, ...]:
    """The workload's own distribution first; the mixture where real inputs allow it; never fewer than ``SEEDS``
    seeds.
    """
    chosen = [Distribution.OWN]
    if _has_real_inputs(description):
        chosen += mixture
        if description.constants:
            chosen.append(Distribution.BEYOND_CONSTANTS)
    chosen += [Distribution.OWN] * max(0, SEEDS - len(chosen))
    return tuple(Case(index=10 * i, distribution=distribution) for i, distribution in enumerate(chosen))


def _redrawn(draws: int) -> tuple[Case, ...]:
    """The first re-draw meets the inputs of the first case again: whoever remembers answers by inputs is wrong."""
    return tuple(
        Case(index=500 * (draw - 1), distribution=Distribution.OWN, parameters_draw=draw)
        for draw in range(1, draws + 1)
    )


def _state(circumstances: tuple[Circumstance, ...]) -> tuple[Case, ...]:
    """Other contents at one address are contents that were never seen before: an answer that was right once would hide
    that it was remembered.
    """
    return tuple(
        Case(
            index=_UNSEEN if circumstance is Circumstance.SAME_ADDRESS else 0,
            distribution=Distribution.OWN,
            circumstance=circumstance,
        )
        for circumstance in circumstances
    )


def _has_real_inputs(description: Description) -> bool:
    """Inputs that may take any real value; those with a narrower meaning are only ever drawn by the workload's own
    generator.
    """
    return any(
        leaf.tensor.dtype.is_floating and (leaf.domain is None or leaf.domain.kind is not DomainKind.FIXED)
        for leaf in description.inputs
    )
