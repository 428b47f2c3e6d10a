"""Ranges of a trace and kernels of the compiler's output find each other by name and order."""

from strop.profiling.align import closeness, kernel_key, loose_operators, match_region, wrapper_regions
from strop.profiling.arguments import kernel_bytes
from strop.profiling.cost import Cost
from strop.profiling.eager import Operator, pair_operators
from strop.profiling.trace import Span
from strop.records.graph import CompiledKernel, KernelKind


def generated(name):
    return CompiledKernel(name=name, kind=KernelKind.GENERATED, language="cpp")


def extern(name):
    return CompiledKernel(name=name, kind=KernelKind.EXTERN, language="library")


def span(name, *children, ns=1.0):
    return Span(name, ns, tuple(children))


REGION = span(
    "graph_3_inductor_wrapper_call",
    span("graph_3_cpp_fused_relu_0"),
    span("aten::empty"),
    span("aten::addmm", span("aten::copy_")),
    span("mkldnn::_linear_pointwise"),
    span("graph_3_cpp_fused_relu_0"),
)


def test_names_lose_graph_and_name_space():
    names = ["extern_kernels.addmm", "extern_kernels.bias_addmm", "torch.ops.mkldnn._linear_pointwise.default"]
    assert [kernel_key(extern(name)) for name in names] == ["addmm", "addmm", "_linear_pointwise"]
    assert kernel_key(extern("torch.ops.aten.cumsum.default")) == "cumsum"
    assert kernel_key(extern("aten.index_put_")) == "index_put_"
    assert kernel_key(extern("torch.ops.mylib.thing")) == "thing"


def test_order_tells_calls_of_one_kernel_apart():
    kernels = [
        generated("cpp_fused_relu_0"),
        extern("extern_kernels.addmm"),
        extern("torch.ops.mkldnn._linear_pointwise.default"),
        generated("cpp_fused_relu_0"),
    ]
    matched, missing = match_region(REGION, kernels)
    assert missing == []
    assert [(one.position, one.span.name) for one in matched] == [
        (0, "graph_3_cpp_fused_relu_0"),
        (-1, "aten::empty"),
        (1, "aten::addmm"),
        (2, "mkldnn::_linear_pointwise"),
        (3, "graph_3_cpp_fused_relu_0"),
    ]
    assert closeness(REGION, kernels) == 0.75


def test_a_kernel_without_a_range_is_missing_and_disturbs_nobody():
    kernels = [generated("cpp_fused_relu_0"), extern("extern_kernels.convolution"), extern("extern_kernels.addmm")]
    matched, missing = match_region(REGION, kernels)
    assert [kernel.name for kernel in missing] == ["extern_kernels.convolution"]
    assert [one.position for one in matched] == [0, -1, 2, -1, -1]


def test_graphs_and_the_code_between_them_are_told_apart():
    call = span("strop::call", span("Torch-Compiled Region: 0/0", REGION), span("aten::add"), span("python"))
    assert wrapper_regions(call) == [REGION]
    assert [each.name for each in loose_operators(call)] == ["aten::add"]


def test_the_cpp_wrapper_numbers_no_graph():
    region = span("inductor_wrapper_call", span("cpp_fused_relu_0"), span("aten::addmm"))
    assert wrapper_regions(span("strop::call", region)) == [region]
    matched, missing = match_region(region, [generated("cpp_fused_relu_0"), extern("extern_kernels.addmm")])
    assert ([one.position for one in matched], missing) == ([0, 1], [])


def test_eager_ranges_take_the_operators_within_them():
    spans = [
        span("aten::conv2d", span("aten::convolution", span("aten::empty"))),
        span("aten::flatten", span("aten::view")),
        span("aten::linear", span("aten::t"), span("aten::addmm")),
        span("aten::softmax", span("aten::_softmax")),
    ]
    operators = [Operator(name, Cost(1, 1), "float32") for name in ("convolution", "hidden", "addmm", "_softmax")]
    paired = pair_operators(spans, operators)
    assert [[operator.name for operator in ran] for _, ran in paired] == [["convolution"], [], ["addmm"], ["_softmax"]]


WRAPPER = """
def call(args):
    arg0_1, arg1_1, arg2_1 = args
    assert_size_stride(arg0_1, (16, 3), (3, 1), 'input')
    assert_size_stride(arg1_1, (1, 3), (0, 1))
    assert_size_stride(arg2_1, (s0, 3), (3, 1))
    buf0 = empty_strided_cpu((16, 3), (3, 1), torch.float32)
    cpp_fused_0(arg0_1, arg1_1, buf0, 7)
    buf1 = buf0; del buf0  # reuse
    cpp_fused_1(buf1, reinterpret_tensor(arg0_1, (8, ), (1, ), 0))
    buf2 = reinterpret_tensor(buf1, (48, ), (1, ), 0); del buf1  # reuse
    cpp_fused_0(buf2, arg2_1, buf2, 7)
    return (buf2, )
"""
SOURCES = {
    "cpp_fused_0": """#include "x.h"
extern "C"  void  kernel(const float* in_ptr0,
                       const double* in_ptr1,
                       at::BFloat16* out_ptr0,
                       const int64_t ks0)
{ void helper(int a); }""",
    "cpp_fused_1": 'extern "C" void kernel(float* in_out_ptr0, const bool* in_ptr0) {}',
}


def test_arguments_say_what_a_kernel_touches():
    found = kernel_bytes(WRAPPER, SOURCES)
    assert found == {"cpp_fused_0": [16 * 3 * 4 + 3 * 8 + 48 * 2, None], "cpp_fused_1": [2 * 48 * 4 + 8]}


TRITON_WRAPPER = """
class Runner:
    def call(self, args):
        arg0_1, arg1_1 = args
        assert_size_stride(arg0_1, (16, 3), (3, 1))
        with torch.cuda._DeviceGuard(0):
            buf0 = empty_strided_cuda((16, 3), (3, 1), torch.bfloat16)
            stream0 = get_raw_stream(0)
            triton_poi_fused_0.run(arg0_1, buf0, 48, stream=stream0)
            buf1 = extern_kernels.convolution(buf0, arg1_1, stride=(1, 1))
            assert_size_stride(buf1, (8, ), (1, ))
            buf2 = buf1; del buf1  # reuse
            triton_red_fused_1.run(buf2, buf0, 8, 6, stream=stream0)
            triton_red_fused_1.run(buf2, unknown, 8, 6, stream=stream0)
            triton_other.run(buf2, 8, stream=stream0)
        return (buf2, )
"""
TRITON_SOURCES = {
    "triton_poi_fused_0": """
@triton_heuristics.pointwise(
    size_hints={'x': 64},
    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*bf16', 'xnumel': 'i32', 'XBLOCK': 'constexpr'},
                 'device': DeviceProperties(type='cuda', index=0), 'constants': {}},
)
@triton.jit
def triton_poi_fused_0(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = 48
""",
    "triton_red_fused_1": """
@triton_heuristics.reduction(triton_meta={'signature': {'in_out_ptr0': '*fp32', 'in_ptr0': '*bf16', 'xnumel': 'i32',
    'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}})
@triton.jit
def triton_red_fused_1(in_out_ptr0, in_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
    pass
""",
    "triton_other": "not python at all",
}


def test_arguments_of_triton_kernels_are_read_as_well():
    found = kernel_bytes(TRITON_WRAPPER, TRITON_SOURCES)
    assert found == {
        "triton_poi_fused_0": [16 * 3 * (4 + 2)],
        "triton_red_fused_1": [2 * 8 * 4 + 48 * 2, None],
        "triton_other": [None],
    }


def test_a_wrapper_that_is_not_python_says_nothing():
    assert kernel_bytes("int main() {}", SOURCES) == {}
