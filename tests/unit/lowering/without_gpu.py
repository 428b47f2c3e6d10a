"""CUDA code without a GPU: Inductor writes Triton for an H200 that is not there, and Triton compiles it for sm_90.

Everything up to the launch is real: the capture road, Inductor's code generation, the edit of the wrapper, its loading.
What would touch a device is replaced: the properties of the device, its driver, and the launch itself.
"""

import contextlib
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
import torch
from torch._inductor import async_compile
from torch._inductor.codecache import PyCodeCache
from torch._inductor.output_code import CompiledFxGraph
from torch._subclasses.fake_tensor import FakeTensorMode

from strop.capture.road import compile_through
from strop.lowering import LoweringOptions, lower, refresh_metadata, unchanged

SMS = 132
WARP = 32


class Reached(Exception):
    """The compiled graph was about to be launched."""


class H200:
    """What Inductor asks a device for."""

    name = "NVIDIA H200"
    major, minor, warp_size = 9, 0, WARP
    multi_processor_count = SMS
    max_threads_per_multi_processor, max_threads_per_block = 2048, 1024
    regs_per_multiprocessor = 65536
    total_memory, L2_cache_size = 141 << 30, 50 << 20
    shared_memory_per_block, shared_memory_per_block_optin = 48 << 10, 227 << 10
    shared_memory_per_multiprocessor = 228 << 10
    gcnArchName = ""


class Driver:
    """Triton's driver, as far as compiling needs it."""

    def get_current_target(self):
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, WARP)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=0):
        return 0

    def get_active_torch_device(self):
        return torch.device("cuda", 0)

    def get_device_capability(self, device=0):
        return (9, 0)


PATCHES = {
    "torch.cuda.is_available": lambda: True,
    "torch.cuda.device_count": lambda: 1,
    "torch.cuda.current_device": lambda: 0,
    "torch.cuda.synchronize": lambda device=None: None,
    "torch.cuda.set_device": lambda device: None,
    "torch.cuda.get_rng_state": lambda device=None: torch.zeros(16, dtype=torch.uint8),
    "torch.cuda.set_rng_state": lambda state, device=None: None,
    "torch.cuda._lazy_init": lambda: None,
    "torch.cuda._exchange_device": lambda device: 0,
    "torch.cuda._maybe_exchange_device": lambda device: 0,
    "torch.cuda._get_device_properties": lambda device=0: H200(),
    "torch.cuda.get_device_capability": lambda device=None: (9, 0),
    "torch._C._cuda_getCurrentRawStream": lambda device: 0,
    "torch._C._cuda_cudaCachingAllocator_is_enabled": lambda: True,
    "torch._inductor.scheduler.has_triton": lambda: True,
    "torch.utils._triton.has_triton": lambda: True,
    "torch._subclasses.fake_tensor.init_gpu_context": lambda device: None,
    "torch._inductor.runtime.triton_helpers.set_driver_to_gpu": lambda: None,
    # Patterns for attention are traced with real tensors of the device.
    "torch._inductor.fx_passes.joint_graph.lazy_init": lambda device=None: None,
}


def _refuse_to_launch(self, inputs):
    raise Reached


def _load_kernel(self, name, source, device_str="cuda"):
    """What Inductor does first: import the text and find the kernel, with the launches that it would try."""
    return getattr(PyCodeCache.load(source), name)


def _compile_kernel(self, name, source, device_str="cuda"):
    """What it does then, in this process."""
    kernel = _load_kernel(self, name, source)
    _assembled(kernel)
    return kernel


@contextlib.contextmanager
def pretend_h200(*, compiling=False):
    """An H200 for Inductor and Triton, on which everything can be done but to launch; kernels are compiled only when
    asked, since that takes half a second each.
    """
    pytest.importorskip("triton")
    from triton.runtime import driver

    with contextlib.ExitStack() as stack:
        for name, value in PATCHES.items():
            stack.enter_context(mock.patch(name, value, create=True))
        for place in ("_active", "_default"):
            stack.enter_context(mock.patch.object(driver, place, Driver(), create=True))
        make = _compile_kernel if compiling else _load_kernel
        stack.enter_context(mock.patch.object(async_compile.AsyncCompile, "triton", make))
        yield


def lowered(make, shapes, rewrite=unchanged, options=None, *, dtype=torch.float32, compiling=False):
    """Lower the module that ``make`` builds as if it and its inputs lay on the device; nothing is launched.

    Dynamo sees fake tensors of the CPU, because some of torch's own bindings ask for a device guard, which only CUDA
    builds have; the captured graph is moved to the device before it is lowered.
    """
    torch._dynamo.reset()
    launch = mock.patch.object(CompiledFxGraph, "__call__", _refuse_to_launch)
    with launch, FakeTensorMode(), torch.no_grad():
        module = make()
        inputs = [torch.empty(shape, dtype=dtype) for shape in shapes]
        found = lower(module, rewrite, options or LoweringOptions())
        compile_graph = found._compile

        def compile_there(graph, given):
            with pretend_h200(compiling=compiling):
                return compile_graph(_moved(graph), given)

        found._compiled = compile_through(module, compile_there)
        with contextlib.suppress(Reached):
            found(*inputs)
        found._edits.require_all()  # a call that returns ends with this
    return found


def _moved(graph):
    """The graph with everything on the device."""
    for node in graph.graph.nodes:
        value = node.meta.get("val")
        if node.op == "placeholder" and isinstance(value, torch.Tensor):
            with value.fake_mode:
                node.meta["val"] = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="cuda")
        if "device" in node.kwargs:
            node.update_kwarg("device", torch.device("cuda"))
    refresh_metadata(graph)
    return graph


@dataclass(frozen=True)
class Resources:
    """What one launch of a kernel takes: registers of a thread, bytes that it spills, shared memory of a block."""

    registers: int
    spilled_bytes: int
    shared_bytes: int


def loaded(source, name):
    """Inductor's object for a kernel's text, with the launches that it would try in ``configs``."""
    with pretend_h200():
        return getattr(PyCodeCache.load(source), name)


def assembled(source, name):
    """Compile a kernel's text for sm_90 with the first launch that it would try, and read what it takes."""
    made = _assembled(loaded(source, name))
    return Resources(*_usage(made.asm["cubin"]), shared_bytes=made.metadata.shared)


def _assembled(kernel):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    config = kernel.configs[0]
    what = ASTSource(
        fn=kernel.fn,
        signature=dict(kernel.triton_meta["signature"]),
        constexprs={**kernel.triton_meta["constants"], **config.kwargs},
        attrs=kernel.triton_meta["configs"][0],
    )
    options = {"num_warps": config.num_warps, "num_stages": config.num_stages}
    return triton.compile(what, target=GPUTarget("cuda", 90, WARP), options=options)


def _usage(cubin):
    """Registers and local memory, as the disassembler that comes with Triton reads them."""
    import triton

    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        Path(file.name).write_bytes(cubin)
        told = subprocess.run([tool, "-res-usage", file.name], capture_output=True, text=True, check=True).stdout
    return tuple(int(re.search(rf"{what}:(\d+)", told).group(1)) for what in ("REG", "LOCAL"))
