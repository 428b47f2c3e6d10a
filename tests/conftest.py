"""What every test shares: a home of its own for what Strop writes, and property tests that no busy machine can fail."""

import gc
import signal

import pytest

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would every program that they start and
# interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

try:
    from hypothesis import settings
except ImportError:  # a machine that only runs the accelerator's tests need not have it
    pass
else:
    settings.register_profile("strop", deadline=None, derandomize=True, print_blob=True)
    settings.load_profile("strop")


def pytest_collection_modifyitems(items):
    """The longest first, so that no process is left alone with them at the end; a group stays together, because its
    tests share what the first of them had built.
    """
    order = ("walk", "gallery")

    def place(item):
        groups = [mark.args[0] for mark in item.iter_markers("xdist_group")]
        return next((at for at, part in enumerate(order) if part in item.path.parts), len(order)), *groups

    items.sort(key=place)


# What is imported stays: the garbage collector need not look through it, neither now nor during the tests.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def strop_home(tmp_path_factory):
    """Keep ledgers, kernels and calibration of the tests out of the user's cache, and ignore the user's settings."""
    home = tmp_path_factory.mktemp("strop-home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STROP_HOME", str(home))
        for name in ("STROP_DISABLE", "STROP_LOGS", "STROP_THREADS", "STROP_KERNELBENCH", "STROP_ISOLATION"):
            patch.delenv(name, raising=False)
        yield home
