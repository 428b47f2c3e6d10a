"""Faults of the device and of memory: whose they are, and in which words; nothing here needs a device."""

import pytest
import torch

from strop.errors import BadCandidate
from strop.records.evidence import Stage
from strop.worker import guard
from strop.worker.guard import contained, foreign

ILLEGAL = """CUDA error: an illegal memory access was encountered
Search for `cudaErrorIllegalAddress' in the documentation for more information.
Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions."""
FULL = (
    "CUDA out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 139.81 GiB of which 1 GiB is free. "
    "Process 77 has 138 GiB memory in use. Of the allocated memory 136.00 GiB is allocated by PyTorch."
)
COMPILES_NOT = """at 2:9:
def relu(x, out, width, WIDTH: tl.constexpr):
    at = tl.arange(0, WIDTH)
         ^
arange's range must be a power of 2"""


class CompilationError(Exception):
    """As Triton's compiler raises it."""


class OutOfResources(Exception):
    """As Triton's launcher raises it."""


@pytest.fixture
def refused(monkeypatch):
    """The device refuses this process."""
    monkeypatch.setattr(guard, "is_refused", lambda: True)


def raised(error, *, inside=True, owner="candidate"):
    def work():
        if not inside:
            raise error
        with foreign("candidate", "The candidate's forward()"):
            raise error

    return contained(Stage.VALUES, work, owner)


def test_memory_of_the_device_that_ran_out_is_a_word_of_its_own():
    found = raised(torch.OutOfMemoryError(FULL))
    assert (found.who, found.kind) == ("candidate", "memory")
    assert found.detail == (
        "The candidate's forward() raised OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. "
        "It needs more memory than it may have: use smaller shapes."
    )


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("CUDA error: out of memory")])
def test_other_words_for_it_are_understood(error):
    assert raised(error).kind == "memory"


def test_memory_that_a_candidate_took_is_its_fault_where_we_miss_it():
    found = raised(torch.OutOfMemoryError(FULL), inside=False)
    assert (found.who, found.kind) == ("candidate", "memory")
    assert found.detail.startswith("Making room for its results raised OutOfMemoryError")
    assert raised(torch.OutOfMemoryError(FULL), inside=False, owner="workload").who == "strop"


def test_a_process_that_the_device_refuses(refused):
    found = raised(torch.AcceleratorError(ILLEGAL))
    assert (found.who, found.kind, found.error) == ("candidate", "device", "AcceleratorError")
    assert found.detail == (
        "The candidate's forward() raised AcceleratorError: CUDA error: an illegal memory access was encountered."
    )


@pytest.mark.parametrize("owner", ["candidate", "workload"])
def test_a_fault_that_shows_in_our_own_calls_is_whose_code_it_was(refused, owner):
    found = raised(torch.AcceleratorError(ILLEGAL), inside=False, owner=owner)
    assert (found.who, found.kind) == (owner, "device")
    assert found.detail == (
        "Waiting for the device raised AcceleratorError: CUDA error: an illegal memory access was encountered."
    )


def test_whoever_meets_a_refusing_device_is_not_to_blame_for_it(refused):
    def work():
        with foreign("workload", "The model's forward()"):
            raise torch.AcceleratorError(ILLEGAL)

    assert contained(Stage.VALUES, work, "candidate").who == "candidate"
    assert contained(Stage.VALUES, work, "workload").who == "workload"


def test_an_error_of_the_device_that_is_over_is_an_error_like_any_other():
    found = raised(torch.AcceleratorError("CUDA error: invalid argument"))
    assert (found.who, found.kind) == ("candidate", "raised")
    ours = raised(torch.AcceleratorError("CUDA error: invalid argument"), inside=False)
    assert (ours.who, ours.kind) == ("strop", "raised")
    assert "Please report it" in ours.detail


def test_a_refusal_of_ours_does_not_hide_the_devices(refused):
    found = contained(Stage.BUILD, lambda: (_ for _ in ()).throw(BadCandidate("It cannot be captured.")), "candidate")
    assert (found.who, found.kind, found.detail) == ("candidate", "device", "It cannot be captured.")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (CompilationError(COMPILES_NOT), "CompilationError: at 2:9: arange's range must be a power of 2."),
        (OutOfResources("out of resource: shared memory, Required: 262144, Hardware limit: 232448."), "shared memory"),
        (OverflowError("signed integer is greater than maximum"), "at most 2147483647 blocks along x"),
        (RuntimeError("Triton Error [CUDA]: invalid argument"), "at most 2147483647 blocks along x"),
        (torch.AcceleratorError("CUDA error: invalid configuration argument"), "1024 threads in a block"),
    ],
    ids=["compile", "shared", "grid", "launch", "configuration"],
)
def test_what_a_launch_refuses_is_said_in_one_sentence(error, says):
    found = raised(error)
    assert found.kind == "raised"
    assert says in found.detail
    assert "\n" not in found.detail


def test_without_a_device_nothing_is_refused():
    assert not torch.cuda.is_initialized()
    assert not guard.is_refused()


def test_the_device_itself_is_asked(monkeypatch):
    from strop.targets import _devices

    def gone():
        raise torch.AcceleratorError(ILLEGAL)

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(_devices, "_synchronize", gone)
    assert _devices.is_refused()
    monkeypatch.setattr(_devices, "_synchronize", lambda: None)
    assert not _devices.is_refused()
