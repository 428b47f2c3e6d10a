"""A contract's arithmetic as torch's settings: what is set is found again, and what differs is named."""

import pytest
import torch

from strop.records.contract import CONTRACTS
from strop.targets._arithmetic import MathModes, autocasting, autocasts, set_math_modes

SETTINGS = [
    (torch.backends.cuda.matmul, torch.backends.cudnn.conv, torch.backends.cudnn.rnn),
    (torch.backends.mkldnn.matmul, torch.backends.mkldnn.conv, torch.backends.mkldnn.rnn),
]


@pytest.fixture(autouse=True)
def as_before():
    settings = [setting for each in SETTINGS for setting in each]
    before = [setting.fp32_precision for setting in settings]
    yield
    for setting, precision in zip(settings, before, strict=True):
        setting.fp32_precision = precision


@pytest.mark.parametrize("device", ["cpu", "cuda", "cuda:1"])
@pytest.mark.parametrize("name", CONTRACTS)
def test_what_is_set_is_found_again(name, device):
    set_math_modes(CONTRACTS[name])
    assert MathModes(CONTRACTS[name], device).difference() == ""


def test_pytorchs_defaults_are_the_default_contract():
    assert MathModes(CONTRACTS["fp32"], "cpu").difference() == ""
    assert MathModes(CONTRACTS["fp32"], "cuda").difference() == ""
    assert "cudnn.conv.fp32_precision is 'tf32', not 'ieee'" in MathModes(CONTRACTS["fp32-strict"], "cuda").difference()
    assert "cuda.matmul.fp32_precision is 'none', not 'tf32'" in MathModes(CONTRACTS["tf32"], "cuda").difference()
    assert MathModes(CONTRACTS["tf32"], "cpu").difference() == ""


def test_what_autocast_decides_is_not_asked_for():
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    assert MathModes(CONTRACTS["bf16"], "cuda").difference() == ""
    assert MathModes(CONTRACTS["fp32"], "cuda").difference() != ""


@pytest.mark.parametrize(("name", "dtype"), [("bf16", torch.bfloat16), ("fp16", torch.float16), ("tf32", None)])
def test_autocast_is_the_contracts(name, dtype):
    assert autocasts(CONTRACTS[name]) is (dtype is not None)
    with autocasting(CONTRACTS[name], "cpu"):
        assert torch.is_autocast_enabled("cpu") is (dtype is not None)
        assert dtype is None or torch.get_autocast_dtype("cpu") is dtype
    assert not torch.is_autocast_enabled("cpu")
