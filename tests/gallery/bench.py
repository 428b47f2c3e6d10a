"""A judge's bench for the galleries: one court per workload, so that its reference answers once for all candidates.

Every court holds two processes, so only the last one stays open; tests come sorted by workload.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from strop.api.workloads import workload_named
from strop.checks._base import Rules
from strop.pipeline.cases import screening_plan
from strop.pipeline.court import Court, Timeouts
from strop.pipeline.judge import VERIFICATION, Depth, Floor, judge
from strop.records.candidate import Candidate
from strop.records.contract import CONTRACTS
from strop.records.decision import Judgement
from strop.records.target import Target
from strop.sandbox.limits import GIB, MIB, Limits
from strop.sandbox.wall import LocalWall
from strop.sources.candidate import human_candidate, read_candidate
from strop.stats.sequential import Plan
from strop.wiring import House, calibrated, conditions_of, find_kind, open_house, open_wall

CONTRACT = CONTRACTS["fp32"]
TIMED = Depth(plan=screening_plan, processes=1, looks=Plan((8,)), chained=True)
NOTHING = Floor(minimal_bytes=0, product_flop=0)
# Small enough that a fault ends in seconds and does no harm to the machine that runs the tests.
TIGHT = Limits(memory_bytes=int(1.25 * GIB), output_bytes=1 * MIB, disk_bytes=64 * MIB, processes=64)
PATIENCE = Timeouts(build_s=30.0, run_s=8.0)
# For an accelerator: its driver alone holds gigabytes on the host, and a kernel without an end is waited for.
ROOMY = Limits(memory_bytes=24 * GIB, disk_bytes=1 * GIB)
HASTY = Timeouts(build_s=90.0, run_s=10.0)
QUICK = Depth(plan=screening_plan, processes=0, looks=None)


class Bench:
    """Judges files against workloads of the gallery."""

    def __init__(self, house: House, target: Target, wall: LocalWall, timeouts: Timeouts = PATIENCE) -> None:
        self._house = house
        self._target = target
        self._wall = wall
        self._timeouts = timeouts
        self._open: tuple[Path, Court] | None = None
        self._stack = ExitStack()

    def judge(
        self, candidate: Path, workload: Path, *, timed: bool = False, untimed: Depth = VERIFICATION
    ) -> Judgement:
        """The verdict, and the comparison where it was timed and got so far."""
        court = self._court(workload)
        conditions = conditions_of(self._target, CONTRACT.name)
        depth = TIMED if timed else untimed
        return judge(court, self._read(candidate, court), Rules(contract=CONTRACT), conditions, NOTHING, depth)

    def _read(self, candidate: Path, court: Court) -> Candidate:
        return human_candidate(read_candidate(str(candidate), ()), court.workload, idea=candidate.stem)

    def _court(self, path: Path) -> Court:
        if self._open is None or self._open[0] != path:
            self.close()
            workload = workload_named(str(path), self._house, self._target.device, None, None)
            court = Court(
                wall=self._wall, workload=workload, contract=CONTRACT, target=self._target, timeouts=self._timeouts
            )
            self._open = path, self._stack.enter_context(court)
        return self._open[1]

    def close(self) -> None:
        """End the open court's children."""
        self._open = None
        self._stack.close()


@contextmanager
def open_bench(kind: str | None = "cpu", limits: Limits = TIGHT, timeouts: Timeouts = PATIENCE) -> Iterator[Bench]:
    """A bench on this machine's CPU, or on what is found where no kind is named; leaving ends every child."""
    with ExitStack() as stack:
        house = stack.enter_context(open_house())
        target = calibrated(find_kind(kind), house.settings)
        wall = stack.enter_context(open_wall(house.settings, target, limits=limits))
        bench = Bench(house, target, wall, timeouts)
        stack.callback(bench.close)
        yield bench
