"""The tree of errors. Each says what is wrong, who must act, and what to do; ``exit_code`` is what the command line
returns.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import ClassVar

from strop.records.evidence import CrashEvidence


class StropError(Exception):
    """Base of everything that Strop raises on purpose."""

    exit_code: ClassVar[int] = 4


class UsageError(StropError):
    """You must change the request: the message says what and how."""

    exit_code: ClassVar[int] = 2


class UnknownName(UsageError):
    """A name that is on no shelf or in no list; the message offers the nearest ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        hint = (
            f"Did you mean {' or '.join(repr(n) for n in near)}?" if near else f"Known: {', '.join(names) or 'none'}."
        )
        super().__init__(f"There is no {kind} named '{name}'. {hint}")


class BadWorkload(UsageError):
    """You must change the workload file: the message names what is missing and the shortest fix."""


class BadCandidate(UsageError):
    """The candidate's author must change its text: it does not even name what is to be judged."""


class NotSupported(UsageError):
    """Strop cannot do this (yet); the message says what it can do instead."""


class StoreError(UsageError):
    """The ledger or store cannot be used as it is: newer schema, no permission, disk full. The message says what to
    free or upgrade.
    """


class NoLedger(StoreError):
    """There is no ledger where one was to be read: you must name another place, or begin with `strop optimize`."""


class BrokenShelf(StropError):
    """The author of a shelf file must mend it; the message names the file and the fix."""


class WorkloadInconclusive(StropError):
    """Nothing can be concluded on this workload on this machine; the message says what is missing."""

    exit_code: ClassVar[int] = 3


class ChildLost(WorkloadInconclusive):
    """A trusted process was killed from outside, or Strop itself failed in it; asked again, a fresh one may answer."""


class InternalFault(StropError):
    """Strop itself is at fault; please report it with the file that the message names."""


class ChildFault(StropError):
    """A child process ended without an answer, or its code raised; ``evidence`` says how. Callers turn it into a
    verdict.
    """

    def __init__(self, evidence: CrashEvidence) -> None:
        super().__init__(evidence.detail)
        self.evidence = evidence
