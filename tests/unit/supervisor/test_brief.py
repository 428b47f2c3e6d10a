"""What the search is told about the baseline: its time, and the steps without which nothing could beat it."""

import pytest

from strop.records.candidate import Origin
from strop.records.event import BaselinesMeasured, CatalogueAsked, Profiled
from strop.records.opportunity import Legality
from strop.records.profile import Profile
from strop.supervisor.brief import BASES, make_brief
from strop.transforms import SHELF
from tests.unit.supervisor.makers import WORKLOAD, proposal, started

GRAPH = proposal("cuda_graph", nodes=(), legality=(Legality.BIT_EXACT,), origin=Origin.COMPILER)
TUNED = proposal("inductor_options{set=max_autotune}", nodes=(), origin=Origin.COMPILER)
OTHER = proposal("fold")


def brief_of(best, *proposals, **asked):
    profile = Profile(workload_id=WORKLOAD.id, target="null", call_ns=1e6, overhead_ns=0.0, kernels=())
    return make_brief(
        started(**asked),
        BaselinesMeasured(call_ns=((best, 5e5),), failed=(), best=best),
        Profiled(profile=profile, opportunities=()),
        CatalogueAsked(proposals=proposals, declines=()),
    )


def base_of(*asked, **more):
    return [str(entry.proposal.step) for entry in brief_of(*asked, **more).base]


@pytest.mark.parametrize(
    ("best", "steps"),
    [
        ("eager", []),
        ("default", []),
        ("reduce-overhead", ["cuda_graph"]),
        ("max-autotune", ["inductor_options{set=max_autotune}", "cuda_graph"]),
        ("max-autotune-no-cudagraphs", ["inductor_options{set=max_autotune}"]),
    ],
)
def test_candidates_stand_on_what_the_best_mode_does(best, steps):
    assert base_of(best, OTHER, GRAPH, TUNED) == steps


def test_only_what_is_proposed_and_allowed():
    assert base_of("reduce-overhead", OTHER) == []
    assert base_of("max-autotune", OTHER, GRAPH, TUNED, forbid=("reassociated",)) == ["cuda_graph"]


def test_every_step_of_a_base_is_one_of_the_catalogues():
    for steps in BASES.values():
        for step in steps:
            name, _, rest = step.partition("{")
            item = SHELF.get(name)
            assert item.origin is Origin.COMPILER
            if rest:
                (parameter,) = item.parameters
                assert rest.removeprefix(f"{parameter.name}=").rstrip("}") in parameter.choices
