"""CUDA files called without CUDA: `python -m tests.gallery.stand_in FILE...` says of each what came of it, as JSON.

Tensors lie on the host. Streams, events and graphs are stood in for: what is put on a stream is done at once, a graph
that is replayed does nothing. A Triton kernel is compiled for sm_90 as its launch asks for, and not launched; what asks
for torch's own compiler is not compiled. Each file has a process of its own, because some of them exchange functions of
torch.
"""

import contextlib
import json
import os
import re
import runpy
import sys
import traceback
from pathlib import Path
from unittest import mock

import torch
import triton
from triton.runtime import driver
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

from tests.gallery.cards import read_card
from tests.unit.lowering.without_gpu import Driver

CALLS, TIMED_CALLS = 3, 64
"""Those that wait until they are timed have to be called more often than any check does."""
MOST_ROWS = 256
"""Of a larger input: a processor is slow in half precision."""
INSTRUCTION = re.compile(r"\b[a-z]\w*(?:\.\w+)+")


class Quiet:
    """A stream, event or graph on which everything may be asked for and nothing happens; also a context."""

    def __init__(self, *args, **kwargs):
        pass

    def _quiet(self, *args, **kwargs):
        return self

    wait_stream = wait_event = record_event = record = synchronize = replay = __enter__ = _quiet

    def __exit__(self, *error):
        return False


def not_compiled(function=None, **options):
    """In place of torch.compile."""
    return function or (lambda decorated: decorated)


PLACES = {
    "torch.compile": not_compiled,
    "torch.cuda.Stream": Quiet,
    "torch.cuda.Event": Quiet,
    "torch.cuda.CUDAGraph": Quiet,
    "torch.cuda.graph": Quiet,
    "torch.cuda.stream": Quiet,
    "torch.cuda.current_stream": Quiet,
    "torch.cuda.synchronize": lambda device=None: None,
    "torch.cuda.is_current_stream_capturing": lambda: True,
    "torch.cuda._sleep": lambda cycles: None,
    "torch.Tensor.pin_memory": lambda self: self,
    "torch.Tensor.record_stream": lambda self, stream: None,
}


@contextlib.contextmanager
def stood_in():
    """CUDA's names, and Triton's launches, which give the compiled kernels to the list that this yields."""
    made = []
    launch = JITFunction.run

    def compile_only(self, *args, grid, warmup=False, **kwargs):
        made.append(launch(self, *args, grid=grid, warmup=True, **kwargs))
        return made[-1]

    def compile_all(self, *args, grid, **kwargs):
        for config in self.configs:
            self.fn.run(*args, grid=grid, **{**kwargs, **config.all_kwargs()})

    with contextlib.ExitStack() as stack:
        for name, value in PLACES.items():
            stack.enter_context(mock.patch(name, value, create=True))
        for place in ("_active", "_default"):
            stack.enter_context(mock.patch.object(driver, place, Driver(), create=True))
        stack.enter_context(mock.patch.object(JITFunction, "run", compile_only))
        stack.enter_context(mock.patch.object(Autotuner, "run", compile_all))
        yield made


def tried(path):
    """What came of calling a file's model: its kernels, and the form of its result beside the workload's own; of an
    honest one without kernels the values as well.
    """
    card = read_card(path)
    workload = runpy.run_path(str(card.workload))
    torch.manual_seed(0)
    reference = workload["Model"](*workload["get_init_inputs"]())
    draws = [[each[:MOST_ROWS] for each in workload["get_inputs"]()] for _ in range(2)]
    with stood_in() as made, torch.no_grad():
        model = runpy.run_path(str(path))["ModelNew"](*workload["get_init_inputs"]())
        model.load_state_dict(reference.state_dict())
        # Two addresses that come again, as those of a round do; what a liar does to its inputs stays among copies.
        given = [[each.clone() for each in inputs] for inputs in draws]
        for call in range(TIMED_CALLS if card.get("timed") else CALLS):
            got, inputs = model(*given[call % 2]), draws[call % 2]
        is_right = made or "rejected-by" not in card.fields or torch.allclose(got, reference(*inputs), atol=1e-5)
        form = reference.to("meta")(*(each.to("meta") for each in inputs))
    return {
        "compiled": sorted({each.metadata.name for each in made}),
        "shared_bytes": max((each.metadata.shared for each in made), default=0),
        "cubin_bytes": min((len(each.asm["cubin"]) for each in made), default=0),
        "instructions": sorted({each for kernel in made for each in INSTRUCTION.findall(kernel.asm["ptx"])}),
        "alike": (got.shape, got.dtype) == (form.shape, form.dtype),
        "right": bool(is_right),
    }


def answer(path):
    """As `tried`, or with why it could not be called."""
    try:
        return tried(path)
    except BaseException:
        return {"error": traceback.format_exc()[-3000:]}


def main(paths):
    """One process and one line for each file."""
    torch.set_num_threads(1)
    for path in paths:
        child = os.fork()
        if child == 0:
            print(json.dumps({"name": path.stem, "triton": triton.__version__} | answer(path)), flush=True)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main([Path(each) for each in sys.argv[1:]])
