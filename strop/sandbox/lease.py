"""Exclusive use of a device, across threads and processes, with the time for which it was held."""

from __future__ import annotations

import fcntl
import logging
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from strop.errors import StoreError

LOG = logging.getLogger(__name__)


class Lease:
    """One device's lock: a file that is locked with flock(2), so that it falls open when its holder dies.

    The same thread may take it again while it holds it; the time counts once.
    """

    def __init__(self, folder: Path, device: str) -> None:
        self._path = folder / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', device)}.lock"
        self._lock = threading.RLock()
        self._depth = 0
        self._held_s = 0.0
        self._since_s = 0.0

    @property
    def held_s(self) -> float:
        """Seconds for which this process has held the device so far, the running lease included."""
        running = time.monotonic() - self._since_s if self._depth else 0.0
        return self._held_s + running

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Wait until the device is free, and hold it.

        Raises:
            StoreError: the lock file cannot be made.
        """
        with self._lock:
            if self._depth:
                yield
                return
            descriptor = self._open()
            try:
                self._wait(descriptor)
                self._depth, self._since_s = 1, time.monotonic()
                yield
            finally:
                if self._depth:
                    self._held_s = self.held_s
                    self._depth = 0
                os.close(descriptor)

    def _wait(self, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            LOG.warning("waiting for another run to let go of %s", self._path)
            fcntl.flock(descriptor, fcntl.LOCK_EX)

    def _open(self) -> int:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise StoreError(
                f"The device lock {self._path} cannot be opened ({error.strerror}). "
                "Free the disk or the folder's permissions, or set STROP_HOME to a folder that you may write to."
            ) from error
