"""The example models are what they say: modules of transformers that compute in bfloat16, at any size."""

import importlib.util
from pathlib import Path

import pytest
import torch

pytest.importorskip("transformers")

FOLDER = Path(__file__).parents[2] / "examples" / "bf16"
SMALL = {"encoder_block": (64, 4), "decoder_block": (64, 4, 2)}


@pytest.fixture(params=SMALL)
def block(request):
    spec = importlib.util.spec_from_file_location(request.param, FOLDER / f"{request.param}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, module.Model(*SMALL[request.param]).eval()


def test_a_block_computes_in_bfloat16(block):
    _, model = block
    assert {each.dtype for each in model.parameters()} == {torch.bfloat16}
    states = torch.randn(2, 16, 64).bfloat16()
    with torch.no_grad():
        result = model(states)
    assert (result.dtype, result.shape) == (torch.bfloat16, states.shape)
    assert bool(torch.isfinite(result).all())


def test_only_the_decoder_is_causal(block):
    module, model = block
    states = torch.randn(2, 16, 64).bfloat16()
    other = states.clone()
    other[:, -1] += 1
    with torch.no_grad():
        same = torch.equal(model(states)[:, :-1], model(other)[:, :-1])
    assert same is (module.__name__ == "decoder_block")


def test_its_own_sizes_fit_together(block):
    module, _ = block
    with torch.device("meta"), torch.no_grad():
        inputs = module.get_inputs()
        assert module.Model(*module.get_init_inputs()).eval()(*inputs).shape == inputs[0].shape
