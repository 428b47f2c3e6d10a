"""On a GPU: every cheat that exists on CUDA alone is caught by the check its head names, every honest kernel passes."""

import pytest

from tests.gallery.bench import HASTY, QUICK, ROOMY, open_bench
from tests.gallery.cards import cards
from tests.gallery.verdicts import assert_caught, assert_passed

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def bench():
    with open_bench(None, ROOMY, HASTY) as opened:
        yield opened


@pytest.mark.parametrize("card", cards("cuda_liars"), ids=lambda card: card.name)
def test_a_liar_is_caught_by_the_check_that_its_head_names(bench, card):
    assert_caught(bench.judge(card.path, card.workload, timed=card.get("timed") == "yes", untimed=QUICK), card)


@pytest.mark.parametrize("card", cards("cuda_honest"), ids=lambda card: card.name)
def test_an_honest_kernel_passes(bench, card):
    assert_passed(bench.judge(card.path, card.workload).verdict, card)
