"""The product as a user meets it: commands in a folder, with a home and a temporary folder of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from strop.storage.ledger import open_ledger

ROOT = Path(__file__).parents[2]

TINY = """
import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = torch.nn.Linear(width, width)
        self.pool = torch.nn.AvgPool1d(7, 1, 3)

    def forward(self, x):
        return self.pool(torch.relu(self.layer(x)))


def get_init_inputs():
    return [64]


def get_inputs():
    return [torch.randn(32, 64)]
"""
"""A workload on which some transforms apply, small enough that a candidate costs seconds."""


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        """The one object on standard output."""
        return json.loads(self.out)


def searched(*folders):
    """Folders where Python looks first, before those where this process was told to look."""
    return os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])])


@dataclass(frozen=True)
class Place:
    """A folder to work in. Everything that Strop keeps is below ``home``, everything that it throws away below ``tmp``.

    ``source`` is the folder that holds the package.
    """

    folder: Path
    home: Path
    source: Path = ROOT

    @property
    def tmp(self):
        return self.folder / "tmp"

    @property
    def ledger(self):
        return self.home / "ledger.sqlite"

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def start(self, *words, **options):
        """A command in the background."""
        self.tmp.mkdir(exist_ok=True)
        more = {"STROP_HOME": str(self.home), "TMPDIR": str(self.tmp), "PYTHONPATH": searched(self.source)}
        return subprocess.Popen(
            [sys.executable, "-m", "strop", *words],
            cwd=self.folder,
            env=os.environ | more | options.pop("environment", {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

    def strop(self, *words, **options):
        """A command from its beginning to its end."""
        with self.start(*words, **options) as process:
            out, err = process.communicate()
        return Done(process.returncode, out, err)

    def events(self, run=None):
        """What the ledger holds about the newest run, or about ``run``."""
        if not self.ledger.is_file():
            return []
        with open_ledger(self.ledger) as book:
            runs = [run] if run else book.runs()[:1]
            return [event.what for each in runs for event in book.events(each)]

    def wait_for(self, process, count, kind, timeout_s=400.0):
        """Return when the newest run holds ``count`` events of this kind."""
        until = time.monotonic() + timeout_s
        while sum(isinstance(each, kind) for each in self.events()) < count:
            if process.poll() is not None or time.monotonic() > until:
                process.kill()
                pytest.fail(f"no {count} {kind.__name__}: {process.communicate()}")
            time.sleep(0.2)

    def left_behind(self, patience_s=20.0):
        """Processes that work in this place and scratch folders, once those that are ending had time to end."""
        until = time.monotonic() + patience_s
        while (left := [*self._processes(), *self.tmp.glob("strop-*")]) and time.monotonic() < until:
            time.sleep(0.1)
        return left

    def _processes(self):
        found = []
        for process in psutil.process_iter():
            try:
                said = [*process.cmdline(), *process.environ().values()]
                if any(str(self.tmp) in each for each in said) and process.status() != psutil.STATUS_ZOMBIE:
                    found.append((process.pid, process.cmdline()))
            except psutil.Error:
                continue
        return found
