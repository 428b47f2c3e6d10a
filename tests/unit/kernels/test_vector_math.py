"""The elementary functions of the kernels against float64: how far off they are, and what they do at the edges."""

import pytest
import torch

from strop.kernels.rows import ROWS

F = torch.nn.functional

# Largest error in units of the last place, and the interval in which it is held to.
BOUNDS = {
    "exp": (torch.exp, 1.0, -87.0, 88.7),
    "expm1": (torch.expm1, 2.0, -20.0, 88.0),
    "log": (torch.log, 1.0, 1e-30, 1e30),
    "log1p": (torch.log1p, 1.5, -0.99, 1e6),
    "tanh": (torch.tanh, 2.0, -9.0, 9.0),
    "erf": (torch.erf, 2.5, -4.0, 4.0),
    "sigmoid": (torch.sigmoid, 2.5, -80.0, 80.0),
    "silu": (F.silu, 3.0, -80.0, 80.0),
    "mish": (F.mish, 4.0, -80.0, 80.0),
    "log_sigmoid": (F.logsigmoid, 2.5, -80.0, 80.0),
    "softplus": (lambda x: F.softplus(x, 1.0, 1e9), 3.0, -80.0, 80.0),
    "gelu": (lambda x: 0.5 * x * torch.erfc(-x * 0.5**0.5), 8.0, -5.0, 20.0),
    "gelu_tanh": (lambda x: x * torch.sigmoid(2 * (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)), 32.0, -5.0, 20.0),
}
ARGUMENTS = {"softplus": " 1.0 1000000000.0"}


def run(name, value, element="float32"):
    return ROWS([value], f"rows 0; x0 {element}; v1 {name} x0{ARGUMENTS.get(name, '')}; out v1 {element}")[0]


def samples(low, high):
    """Dense near zero, near one and over the whole interval."""
    generator = torch.Generator().manual_seed(7)
    near = torch.randn(20_000, generator=generator, dtype=torch.float64)
    small = near * 10.0 ** torch.empty_like(near).uniform_(-20, 0, generator=generator)
    wide = torch.empty_like(near).uniform_(low, high, generator=generator)
    grid = torch.linspace(low, high, 20_001, dtype=torch.float64)
    return torch.cat([near, small, wide, grid, 1 + small]).clamp(low, high).float()


@pytest.mark.parametrize("name", BOUNDS)
def test_the_error_of_a_function_is_bounded(name):
    function, bound, low, high = BOUNDS[name]
    value = samples(low, high)
    expected = function(value.double())
    size = expected.abs().clamp_min(torch.finfo(torch.float32).tiny)
    ulp = 2.0 ** (torch.floor(torch.log2(size)) - 23)
    errors = (run(name, value).double() - expected).abs() / ulp
    worst = errors.argmax()
    assert errors.max() <= bound, f"{errors.max():.2f} ulp at {value[worst]}"


@pytest.mark.parametrize("name", BOUNDS)
def test_double_precision_is_the_library_s_own(name):
    function, _, low, high = BOUNDS[name]
    value = samples(low, high).double()
    torch.testing.assert_close(run(name, value, "float64"), function(value), rtol=1e-12, atol=1e-300)


EDGES = torch.tensor(
    [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-45, -1e-45, 3e38, -3e38, 89.0, -104.5, -88.0]
)


@pytest.mark.parametrize("name", [name for name in BOUNDS if name != "softplus"])
def test_edges_are_those_of_torch(name):
    function = {
        "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    }.get(name, BOUNDS[name][0])
    expected, found = function(EDGES.double()).float(), run(name, EDGES)
    assert torch.equal(found.isnan(), expected.isnan()), f"{found} instead of {expected}"
    assert torch.equal(found.isinf(), expected.isinf()), f"{found} instead of {expected}"
    finite = expected.isfinite()
    torch.testing.assert_close(found[finite], expected[finite], rtol=1e-5, atol=1e-37)


def test_nan_passes_through_selections():
    value = torch.tensor([float("nan"), 1.0, -1.0, float("inf")])
    other = torch.tensor([1.0, float("nan"), -2.0, float("-inf")])
    for name, function in {"maximum": torch.maximum, "minimum": torch.minimum}.items():
        found = ROWS([value, other], f"rows 0; x0 float32; x1 float32; v2 {name} x0 x1; out v2 float32")[0]
        torch.testing.assert_close(found, function(value, other), equal_nan=True)
    found = ROWS([value], "rows 0; x0 float32; v1 relu x0; v2 clamp_min v1 -1.0; v3 clamp_max v2 5.0; out v3 float32")[
        0
    ]
    torch.testing.assert_close(found, torch.clamp(torch.relu(value), -1, 5), equal_nan=True)
