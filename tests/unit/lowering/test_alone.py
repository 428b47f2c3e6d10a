"""Launches of one kernel, to be timed alone: what is tried, and what is noted. The device itself is not there."""

from types import SimpleNamespace

import pytest
import torch

from strop.lowering import LoweringOptions, torch_shims
from strop.lowering.torch_shims import kernel_timings, own_launches
from tests.unit.lowering.generated import Pointwise, Softmax, generated, kernel_of, retune
from tests.unit.lowering.without_gpu import loaded, lowered, pretend_h200

pytest.importorskip("triton")


def launch_of(config):
    return {**config.kwargs, "num_warps": config.num_warps, "num_stages": config.num_stages}


@pytest.fixture(scope="module")
def kernel():
    return kernel_of(lowered(Softmax, [(4096, 3000)]), "reduction")


def test_the_compilers_own_launches_are_those_that_it_would_try(kernel):
    with pretend_h200():
        own = own_launches(kernel.source)
    assert own == [launch_of(config) for config in loaded(kernel.source, kernel.name).configs]
    assert own and all(each.keys() == {"XBLOCK", "R0_BLOCK", "num_warps", "num_stages"} for each in own)
    assert own_launches("int f() { }") == []


@pytest.mark.parametrize("form", ["kept", "persistent"])
def test_a_trial_loads_with_all_its_launches(kernel, form):
    step = retune(kernel, form=form, tries=7)
    (edited,) = generated(lowered(Softmax, [(4096, 3000)], options=LoweringOptions(edits=(step,))))
    found = [launch_of(config) for config in loaded(edited.source, edited.name).configs]
    with pretend_h200():
        own = own_launches(kernel.source)
    assert len(found) == 7 + (len(own) if form == "kept" else 0)
    assert all(each in found for each in own) == (form == "kept")
    assert all(("R0_BLOCK" in each) == (form == "kept") for each in found)


def test_what_was_timed_is_noted_by_kernel(monkeypatch):
    source = kernel_of(lowered(Pointwise, [(4096, 512)]), "pointwise")
    made = loaded(source.source, source.name)
    launchers = [SimpleNamespace(config=config) for config in made.configs]
    took_ms = dict(zip(map(id, launchers), (0.002, float("inf")), strict=False))

    def timings(self, *args, **kwargs):
        return SimpleNamespace(items=lambda: [(each, took_ms.get(id(each), 1.0)) for each in launchers])

    monkeypatch.setattr(type(made), "benchmark_all_configs", timings)
    with kernel_timings() as found:
        made.benchmark_all_configs()
    (launch, time_ns) = found[source.name][0]
    assert (launch, time_ns) == (launch_of(made.configs[0]), pytest.approx(2000.0))
    assert len(found[source.name]) == len(launchers) - 1
    assert type(made).benchmark_all_configs is timings


def test_a_torch_that_was_not_tried_times_nothing(monkeypatch, kernel):
    monkeypatch.setattr(torch_shims, "_closed", set())
    monkeypatch.setattr(torch_shims, "torch_version", lambda: (9, 0))
    assert own_launches(kernel.source) == []
    with kernel_timings() as found:
        assert found == {}
    assert any("time launches" in each for each in torch_shims.closed_doors())
    assert not torch.cuda.is_available()
