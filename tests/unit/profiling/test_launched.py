"""Device kernels: whose they are, what they are called, what the compiler says about its own."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from strop.capture.compiler_output import compiler_output
from strop.profiling import profile
from strop.profiling.launched import GENERATED_MODULES, compiled_variants, device_kernels
from strop.profiling.profile import profile_calls
from strop.profiling.trace import Launch, calls_of
from strop.records.graph import KernelKind
from strop.records.profile import KernelResources
from strop.targets._kernel_names import library_of, plain_kernel_name
from tests.unit.profiling.test_trace import FULL, TRACE, kernel, launch, mark, span

DATA = Path(__file__).parents[1] / "capture" / "data"

TAKEN = KernelResources(grid=(8, 1, 1), block=(128, 1, 1), registers=40, shared_bytes=2048)

LIBRARIES = {
    "nvjet_tst_192x192_64x4_1x2_h_bz_coopB_TNT": "cuBLAS",
    "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_stage3_warpsize2x2x1_tensor16x8x8_kernel": "cuBLAS",
    "ampere_sgemm_128x64_tn": "cuBLAS",
    "void gemvNSP_kernel<float, float, float, float, 1, 32, 4, 1024>(int)": "cuBLAS",
    "void cublasLt::splitKreduce_kernel<32, 16, int, float>(cublasLt::cublasSplitKParams<float>)": "cuBLAS",
    "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64x32_warpgroupsize1x1x1": "cuDNN",
    "void cudnn::engines_precompiled::nchwToNhwcKernel<float, float, float, false>(float)": "cuDNN",
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x64x64_4x1x1": "cuDNN",
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>>(Flash_fwd_params)": "flash attention",
    "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>)": (
        "memory-efficient attention"
    ),
    "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4>(Params)": "cuBLAS",
    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<int> >(Params)": "CUTLASS",
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)": "PyTorch",
    "Memcpy DtoD (Device -> Device)": "the driver",
    "Memset (Device)": "the driver",
    "triton_poi_fused_add_relu_0": "",
    "my_own_kernel": "",
}


@pytest.mark.parametrize(("kernel", "library"), LIBRARIES.items())
def test_a_library_is_told_by_its_kernels_name(kernel, library):
    assert library_of(kernel) == library


PLAIN = {
    "triton_poi_fused_add_relu_0": "triton_poi_fused_add_relu_0",
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int, float)": (
        "vectorized_elementwise_kernel"
    ),
    "void at::native::(anonymous namespace)::CatArrayBatchedCopy<int, 2>(T1 *)": "CatArrayBatchedCopy",
    "void gemv2T_kernel_val<int, int, (int)128, cublasGemvParamsEx<int>>(T11, T4)": "gemv2T_kernel_val",
    "void f<(lambda at::native::x::operator()(int) const::{lambda(float)#1})>(int)": "f",
    "Memcpy DtoD (Device -> Device)": "Memcpy_DtoD",
    "": "",
}


@pytest.mark.parametrize(("kernel", "name"), PLAIN.items())
def test_a_kernel_has_a_name_without_types(kernel, name):
    assert plain_kernel_name(kernel) == name


def test_launches_of_one_name_are_one_kernel_of_a_median_call():
    calls = [[Launch("a", 10.0), Launch("b", 5.0, TAKEN), Launch("b", 7.0)], [Launch("b", 6.0), Launch("b", 8.0)]]
    heavy, light = device_kernels([*calls, calls[0]])
    assert (heavy.name, heavy.calls, heavy.time_ns) == ("b", 2, 12.0)
    assert (light.name, light.calls, light.time_ns) == ("a", 1, 10.0)
    assert device_kernels([[], []]) == ()


@pytest.fixture(name="loaded")
def _loaded(monkeypatch):
    def launcher(registers, shared, spills, stages=3):
        return SimpleNamespace(
            n_regs=registers, shared=shared, n_spills=spills, config=SimpleNamespace(num_stages=stages)
        )

    module = ModuleType("one")
    module.triton_red_fused_0 = SimpleNamespace(launchers=[launcher(40, 1024, 0), launcher(255, 1024, 12)])
    module.triton_strange = SimpleNamespace(launchers=[SimpleNamespace(n_regs=None)])
    monkeypatch.setitem(sys.modules, f"{GENERATED_MODULES}one", module)


@pytest.mark.usefixtures("loaded")
def test_the_compiler_knows_spills_and_stages_of_the_variant_that_ran():
    (first,) = device_kernels([[Launch("triton_red_fused_0", 5.0, TAKEN)]])
    assert (first.resources.spilled_registers, first.resources.stages) == (0, 3)
    heavy = KernelResources(grid=(8, 1, 1), block=(128, 1, 1), registers=255, shared_bytes=1024)
    (second,) = device_kernels([[Launch("triton_red_fused_0", 5.0, heavy)]])
    assert second.resources.spilled_registers == 12
    (other,) = device_kernels([[Launch("triton_red_fused_1", 5.0, TAKEN)]])
    assert other.resources == TAKEN
    assert list(compiled_variants("triton_strange")) == []


def test_every_kernel_of_a_trace_is_in_one_line_of_the_profile(monkeypatch):
    monkeypatch.setattr(profile, "trace_calls", lambda *_: calls_of(TRACE, "cuda"))
    monkeypatch.setattr(profile, "plain_call_ns", lambda *_: 5000.0)
    monkeypatch.setattr(profile, "launches_graphs", lambda *_: True)
    monkeypatch.setattr(profile, "metered", lambda _: [])
    reply = profile_calls(lambda: None, 2, device="cuda", timed=lambda: None, settle=lambda: None)
    by_name = {sample.name: sample for sample in reply.kernels}
    # Each line is in one of the two calls alone, and the median of two is their middle.
    assert {name: sample.time_ns for name, sample in by_name.items()} == {
        "aten::mm": 1505.0,
        "triton_poi_fused_relu_0": 500.0,
        "in_a_graph": 20.0,
        "from_elsewhere": 15.0,
        "nobody_recorded_its_launch": 20.0,
    }
    assert by_name["in_a_graph"].language == "device"
    assert any("CUDA graph" in note for note in reply.notes)


COPY = "triton_poi_fused_convolution_1"
REDUCTION = "triton_red_fused__native_batch_norm_legit_functional_convolution_copy__relu_2"
CONVOLUTION = "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x64x32"


def test_kernels_of_a_compiled_graph_are_those_that_its_ranges_launched(monkeypatch):
    output = compiler_output((DATA / "wrapper_cuda.txt").read_text())
    events = [
        mark(0, 1000),
        span("graph_14_inductor_wrapper_call", 10, 990, category="user_annotation"),
        span("aten::empty_strided", 20, 30),
        span(COPY, 100, 200),
        launch(1, 150),
        span("aten::convolution", 300, 400),
        span("aten::cudnn_convolution", 310, 390),
        launch(2, 320),
        launch(3, 330),
        span(REDUCTION, 500, 600),
        launch(4, 550),
        span("aten::addmm", 700, 800),
        launch(5, 750, name="cudaLaunchKernel", category="cuda_runtime"),
        # A kernel of the user's own, which no range of Inductor's is around.
        launch(6, 900),
        kernel(COPY, 1, 2000, 10, **FULL),
        kernel("void cudnn::nchwToNhwcKernel<float>(int)", 2, 3000, 5, **FULL),
        kernel(CONVOLUTION, 3, 4000, 100, **FULL),
        kernel(REDUCTION, 4, 5000, 20, **FULL),
        kernel("nvjet_tst_64x8", 5, 6000, 40, **FULL),
        kernel("void mine<(int)4>(float *)", 6, 7000, 7, **FULL),
    ]
    monkeypatch.setattr(profile, "trace_calls", lambda *_: calls_of(events, "cuda"))
    monkeypatch.setattr(profile, "plain_call_ns", lambda *_: 200.0)
    reply = profile_calls(lambda: None, 1, [output], {}, "cuda", settle=lambda: None)
    lines = {sample.name: sample for sample in reply.kernels}
    assert {name: sample.time_ns for name, sample in lines.items()} == {
        "extern_kernels.convolution": 105.0,
        "extern_kernels.addmm": 40.0,
        REDUCTION: 20.0,
        COPY: 10.0,
        "mine": 7.0,
    }
    assert [each.library for each in lines["extern_kernels.convolution"].launched] == ["cuDNN", "cuDNN"]
    assert lines["extern_kernels.addmm"].launched[0].library == "cuBLAS"
    assert (lines["mine"].kind, lines["mine"].language) == (None, "device")
    assert (lines[COPY].kind, lines[COPY].launched[0].resources.registers) == (KernelKind.GENERATED, 32)
    assert reply.notes == ()
