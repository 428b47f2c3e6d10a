"""Kernels, origins and layout over the machine are read from what Inductor wrote (samples: torch 2.11, H200)."""

from pathlib import Path

import pytest

from strop.capture.compiler_output import compiler_output
from strop.capture.kernel_source import cpp_loops
from strop.records.graph import KernelKind

DATA = Path(__file__).parent / "data"

CPP = """
extern "C"  void  kernel(const float* in_ptr0, float* out_ptr0)
{
    #pragma omp parallel num_threads(8)
    {
        #pragma omp for collapse(2)
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(2L); x0+=static_cast<int64_t>(1L))
        {
            for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(ks0); x1+=static_cast<int64_t>(16L))
            {
                for (long x1_inner = 0; x1_inner < static_cast<int64_t>(16); x1_inner++)
                {
                    out_ptr0[x1] = in_ptr0[x1];
                }
            }
            for(int64_t x2=static_cast<int64_t>(0L); x2<static_cast<int64_t>(9L); x2+=static_cast<int64_t>(1L))
            {
            }
        }
    }
    for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(64L); x0+=static_cast<int64_t>(16L))
    {
    }
}
"""

CPU_WRAPPER = """
async_compile = AsyncCompile()

cpp_fused_gelu_0 = async_compile.cpp_pybinding(['float*'], r'''
extern "C" void kernel(float* in_out_ptr0)
{
}
''')

def call(args):
    arg0_1, = args
    buf0 = empty_strided_cpu((4, 4), (4, 1), torch.float32)
    # Topologically Sorted Source Nodes: [permute, addmm], Original ATen: [aten.permute, aten.addmm]
    extern_kernels.addmm(arg0_1, arg0_1, out=buf0)
    cpp_fused_gelu_0(buf0)
    # Topologically Sorted Source Nodes: [mine], Original ATen: [strop.mine]
    buf1 = torch.ops.strop.mine.default(buf0)
    cpp_fused_gelu_0(buf1)
    return (buf1, )
"""


def test_loops_of_a_cpp_kernel():
    assert cpp_loops(CPP).splitlines() == [
        "omp parallel num_threads(8)",
        "omp for collapse(2)",
        "for x0 < 2 step 1",
        "  for x1 < ks0 step 16",
        "    for x1_inner < 16 step 1",
        "  for x2 < 9 step 1",
        "for x0 < 64 step 16",
    ]


def test_calls_in_order_with_what_the_comments_say():
    found = compiler_output(CPU_WRAPPER, graph_id="g-1")
    assert [kernel.name for kernel in found.kernels] == [
        "extern_kernels.addmm",
        "cpp_fused_gelu_0",
        "torch.ops.strop.mine.default",
        "cpp_fused_gelu_0",
    ]
    product, gelu, mine, _ = found.kernels
    assert product.nodes == ("permute", "addmm")
    assert product.launch == "arg0_1, arg0_1, out=buf0"
    assert gelu.nodes == ("gelu",)
    assert gelu.language == "cpp"
    assert "in_out_ptr0" in gelu.source
    assert mine.kind is KernelKind.EXTERN
    assert {kernel.graph_id for kernel in found.kernels} == {"g-1"}


def test_noted_origins_win_over_comments_and_are_named_as_in_the_captured_graph():
    wrapper = CPU_WRAPPER.replace(
        "    cpp_fused_gelu_0(buf0)", "    # [Provenance debug handles] cpp_fused_gelu_0:2\n    cpp_fused_gelu_0(buf0)"
    )
    origins = {"cpp_fused_gelu_0:2": ("mul_3", "erf", "made_later")}
    found = compiler_output(wrapper, origins=origins, names={"mul_3": "gelu_1", "erf": "gelu_1"})
    assert found.kernels[1].nodes == ("gelu_1",)


def test_triton_wrapper():
    found = compiler_output((DATA / "wrapper_cuda.txt").read_text()).kernels
    assert [kernel.name for kernel in found] == [
        "triton_poi_fused_convolution_1",
        "extern_kernels.convolution",
        "triton_red_fused__native_batch_norm_legit_functional_convolution_copy__relu_2",
        "extern_kernels.addmm",
    ]
    copy, _, reduction, _ = found
    assert copy.language == "triton"
    assert copy.launch.splitlines() == [
        "kind: pointwise",
        "size_hints: {'y': 32, 'x': 16}",
        "launch: ynumel=24, xnumel=9",
    ]
    assert "reduction_hint: ReductionHint.OUTER" in reduction.launch
    assert reduction.nodes[:2] == ("convolution", "native_batch_norm_legit_functional")


def test_a_wrapper_cut_into_partitions_for_cuda_graphs():
    found = compiler_output((DATA / "wrapper_cuda_graphs.txt").read_text()).kernels
    assert [kernel.name for kernel in found] == [
        "extern_kernels.addmm",
        "triton_per_fused__softmax_exp_prepare_softmax_online_sub_0",
    ]
    assert found[1].nodes == ("softmax",)


@pytest.mark.parametrize(("text", "note"), [("int main() {", "not Python"), ("x = 1", "No kernel")])
def test_what_cannot_be_read_is_said(text, note):
    found = compiler_output(text)
    assert not found.kernels
    assert note in found.notes[0]
