"""A process that appends to a ledger until it is done or killed, `... STORE RUN COUNT`, and prints what is durable."""

import sys

from strop.records.event import Noted
from strop.storage.ledger import open_ledger


def main(store: str, run: str, count: int) -> None:
    with open_ledger(store) as ledger:
        for number in range(1, count + 1):
            event = ledger.append(run, Noted(text=f"{run} {number} " + "x" * 500))
            print(event.sequence, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
