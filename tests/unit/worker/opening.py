"""Opens workloads in the test's own process, where no wall is needed to look at one part of the worker."""

from pathlib import Path

from strop.records.contract import CONTRACTS
from strop.records.workload import SourceKind
from strop.worker.opened import open_workload
from strop.worker.workloads import load_workload
from tests.unit.worker.client import workload_of

FILES = Path(__file__).parent / "files"
SEED = 5


def opened(where, *, kind=SourceKind.FILE, mode=None, contract="fp32", **options):
    path = FILES / f"{where}.py" if kind is SourceKind.FILE and not str(where).endswith(".py") else where
    workload = workload_of(path, kind=kind, mode=mode, **options)
    return open_workload(workload, CONTRACTS[contract].on_device("cpu"), SEED, load_workload(workload, SEED))


def opened_text(folder, text, **options):
    path = folder / "workload.py"
    path.write_text(text, encoding="utf-8")
    return opened(str(path), **options)


def model(forward, inputs, *, init="", arguments="self, x", head=""):
    """A workload file around one line of forward()."""
    return f"""
import torch
from torch import nn
import torch.nn.functional as F
{head}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init or "pass"}

    def forward({arguments}):
        {forward}


def get_init_inputs():
    return []


def get_inputs():
    return {inputs}
"""
