"""The chained clock: pairs of rounds in which each call's inputs follow from the results of the call before it.

The parent draws a key per round and what inputs are made of (`slots.Supply`), and lends the draws in the slots behind
the last call's. The child hears the key with "go", and makes each call's inputs by `wire.chain` before it. Rounds of
both sides, and of the null worker, become `Block`s; `stats.chain` holds them against those of the published clock,
which gives the `Chained` of the `Comparison`. The parent's own copies of a secret call's results and of those before
them become inputs once more, and the reference's answer to these makes the `ValuesEvidence` of one link. Both together
are the `ChainEvidence` that the check `chain_agrees` judges.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from strop.pipeline.blame import owned
from strop.pipeline.court import Court, run_once
from strop.pipeline.lanes import ORDER, Lane, judged
from strop.pipeline.slots import Contents, Supply
from strop.records.evidence import ValuesEvidence
from strop.records.measurement import BASELINE, CANDIDATE, Block, Chained
from strop.records.tensor import HOST
from strop.stats.chain import agreement
from strop.wire.chain import Chain
from strop.wire.tensors import Tensors

DRAWS = 2
LEAST_CALLS = 2
JUDGED_SHARE = 0.5
"""So likely is each candidate's round to be judged by value, whatever came before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """What call ``index`` of a round left, and the call before it (nothing, where there is none)."""

    key: int
    draws: Contents
    index: int
    before: Tensors
    got: Tensors


@dataclass(slots=True, kw_only=True)
class ChainedClock:
    """Chained pairs beside those of the published clock, on the same lanes."""

    court: Court
    factor: float
    blocks: list[Block] = field(default_factory=list[Block])
    links: list[ValuesEvidence] = field(default_factory=list[ValuesEvidence])

    def time_pair(
        self, lanes: Mapping[str, Lane], null: Lane, source: Supply, pair: int, process: int, *, is_last: bool
    ) -> None:
        """Time one pair beside pair number ``pair``, where calls can be chained, and judge links of it by lot; one at
        least by the last pair.
        """
        calls = null.slots - DRAWS
        if self.court.target.device != HOST or calls < LEAST_CALLS:
            return
        timeout_s, found = self.court.timeouts.run_s, list[Link]()
        if not self.blocks:
            for warmed in (*lanes.values(), null):
                warmed.chained(source.round(DRAWS), _key(), timeout_s, [0])
        null_ns, _ = null.chained(source.round(DRAWS), _key(), timeout_s, [0])
        for side in ORDER:
            index, key, draws = _secret(calls), _key(), source.round(DRAWS)
            elapsed_ns, seen = lanes[side].chained(draws, key, timeout_s, _looked_at(index))
            self.blocks.append(
                Block(side=side, pair=pair, process=process, calls=calls, elapsed_ns=elapsed_ns, null_ns=null_ns)
            )
            if side == CANDIDATE:
                before = seen[0] if index else {}
                found.append(Link(key=key, draws=draws, index=index, before=before, got=seen[-1]))
        for link in found:
            if random.SystemRandom().random() < JUDGED_SHARE or (is_last and not self.links):
                self._judge(lanes[BASELINE], link)

    def beside(self, blocks: Sequence[Block]) -> Chained | None:
        """What all pairs say beside those of the published clock; None where calls could not be chained."""
        if not self.blocks:
            return None
        process = self.blocks[0].process
        return agreement([block for block in blocks if block.process == process], self.blocks)

    def _judge(self, baseline: Lane, link: Link) -> None:
        """The inputs once more, from our own copies alone; the baseline answers them off the clock."""
        outputs = {leaf.path: link.before[leaf.path] for leaf in self.court.description.outputs if link.before}
        chain = Chain(link.key, self.court.description.inputs, list(link.draws))
        inputs = chain.inputs(link.index, outputs)
        with owned(baseline.child):
            beside = run_once(self.court, baseline.child, inputs, 0)
        self.links.append(judged(self.court, inputs, beside, link.got, self.factor))


def _key() -> int:
    """Of 64 bits, and never 0: that stands for no chain."""
    return 1 + secrets.randbelow((1 << 64) - 1)


def _secret(calls: int) -> int:
    """The call of a round that is judged; all are equally likely."""
    return secrets.randbelow(calls)


def _looked_at(index: int) -> Sequence[int]:
    return [index - 1, index] if index else [0]
