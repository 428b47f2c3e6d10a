"""A process that carries out a scripted run against a real ledger: `python -m ... STORE RUN DIARY SECONDS`."""

import sys
import time

from strop.searches import SHELF
from strop.storage.ledger import open_ledger
from strop.supervisor.loop import Job, optimize
from tests.unit.supervisor.makers import proposal, started
from tests.unit.supervisor.scripted import ScriptedStations

NAMES = ("fold", "fuse", "pack", "wrong", "slow")
SPEEDUPS = {"fold": 1.5, "fuse": 1.3, "pack": 1.2, "slow": 0.9}


class Products(dict):
    """Speedups multiply, so that every recipe has an outcome."""

    def get(self, recipe, default=None):
        total = 1.0
        for name in recipe.split(" ; "):
            if name not in SPEEDUPS:
                return "matches_reference"
            total *= SPEEDUPS[name]
        return total


def main(store: str, run: str, diary: str, pause_s: float) -> int:
    stations = ScriptedStations(
        outcomes=Products(),
        proposals=[proposal(name, 1e5 - i, nodes=(name,)) for i, name in enumerate(NAMES)],
        hook=lambda _: time.sleep(pause_s),
        diary=diary,
    )
    with open_ledger(store) as ledger:
        job = Job(run=run, started=started(), ledger=ledger, stations=stations, search=SHELF.get("greedy"))
        return optimize(job).exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])))
