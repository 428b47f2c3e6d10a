"""The time of one call in a block: how much of a round may be put down to the hand-off."""

from __future__ import annotations

from strop.records.measurement import Block

# A round that is nearly all hand-off says little about calls: a speed-up must not rest on the difference of two nearly
# equal numbers, so no more than this share of a round is ever subtracted.
LARGEST_HAND_OFF_SHARE = 0.9


def raw_ns(block: Block) -> float:
    """Time of one call with nothing subtracted, at least one nanosecond."""
    return max(1.0, block.elapsed_ns / block.calls)


def call_ns(block: Block) -> float:
    """Time of one call, hand-off subtracted up to ``LARGEST_HAND_OFF_SHARE`` of the round."""
    return max(block.call_ns, (1 - LARGEST_HAND_OFF_SHARE) * raw_ns(block))
