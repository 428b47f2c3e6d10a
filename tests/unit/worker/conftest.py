"""Children that tests share end with the session."""

import pytest

from tests.unit.worker.client import end_kept


@pytest.fixture(scope="session", autouse=True)
def _kept():
    yield
    end_kept()
