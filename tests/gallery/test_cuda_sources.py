"""The galleries for CUDA as far as a machine without a GPU can try them.

Every file has a whole head, can be called where CUDA is stood in for, and compiles for sm_90. Those that are Triton
alone go before the referee on the CPU, run by Triton's interpreter; some that live on streams and graphs go there with
stand-ins for these, which work as late as they may.
"""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from strop.checks import SHELF
from strop.pipeline.court import Timeouts
from tests.gallery.bench import QUICK, TIGHT, open_bench
from tests.gallery.cards import cards
from tests.gallery.verdicts import ANY_SCOPE, BY_TIME, THE_CLOCK, assert_caught, assert_passed

ROOT = Path(__file__).parents[2]
LATE_DEVICE = Path(__file__).with_name("late_device.py")
LIARS, HONEST = cards("cuda_liars"), cards("cuda_honest")
EVERYTHING = bool(os.environ.get("STROP_WHOLE_GALLERY"))
TURNS = 3
TODAY = datetime.now(UTC).toordinal() % TURNS
SHARED_BYTES = 227 << 10
UNHURRIED = Timeouts(build_s=90.0, run_s=60.0)
"""The interpreter takes half a millisecond for each program of a kernel, and more on a busy machine."""
INTERPRET = 'import os\n\nos.environ["TRITON_INTERPRET"] = "1"\n{text}'
"""Read when a kernel is declared, and candidates see nothing of the environment here."""
STAND_IN = """
import types

late_device = types.ModuleType("late_device")
exec({late!r}, vars(late_device))
{text}
ModelNew.forward = late_device.as_seen(ModelNew.forward)
"""
LAUNCH = re.compile(r"^ +(\w+)\[.*\]\(", re.MULTILINE)
# What makes the cheat, in the compiler's own words: without it the file would be honest.
INSTRUCTIONS = {
    "atomics_in_sixteen_bits": "add.noftz.f16",
    "dot_as_it_comes": "f32.tf32.tf32",
    "eight_bit_dot": "f32.e4m3.e4m3",
    "half_precision_dot": "f32.f16.f16",
    "narrow_dot_accumulator": "f16.f16.f16",
    "rough_tangent": "tanh.approx.f32",
    "starts_before_it_is_due": "griddepcontrol.launch_dependents",
    "two_of_three_terms": "f32.bf16.bf16",
    "product_split_along_its_sums": "fma.rn.f32",
    "sums_by_atomics": "add.f32",
    "three_tf32_products": "f32.tf32.tf32",
}

# A process for each file, and each compiles: together half a minute of work, on a busy machine minutes.
TOGETHER = pytest.mark.xdist_group("triton without a GPU")
LONG = pytest.mark.timeout(600)


def named(card):
    return card.name


def tried_on_the_host(gallery):
    """Cards that can go before the referee without a GPU, a third of them each day; the dear ones are slow."""
    marks = {"yes": (), "slowly": (pytest.mark.slow,)}
    asked = [(card, how) for card in gallery if (how := card.get("interpreted") or card.get("stood-in"))]
    return [
        pytest.param(card, id=card.name, marks=[*marks[how], pytest.mark.xdist_group(card["workload"])])
        for number, (card, how) in enumerate(asked)
        if EVERYTHING or number % TURNS == TODAY
    ]


def has_kernels(card):
    return "@triton.jit" in card.path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    """By file what `stand_in` says of it."""
    pytest.importorskip("triton")
    command = [sys.executable, "-m", "tests.gallery.stand_in", *(str(card.path) for card in LIARS + HONEST)]
    caches = {name: str(tmp_path_factory.mktemp("cache")) for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")}
    environment = os.environ | caches | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=500, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {answer["name"]: answer for answer in answers}


@TOGETHER
@LONG
@pytest.mark.parametrize("card", LIARS + HONEST, ids=named)
def test_a_file_can_be_called_and_its_kernels_compile(tried, card):
    found = tried[card.name]
    assert "error" not in found, found["error"]
    assert found["alike"], "it returns another shape or type than its workload"
    text = card.path.read_text(encoding="utf-8")
    # What another kernel calls is compiled with it.
    assert set(found["compiled"]) == set(LAUNCH.findall(text))
    if has_kernels(card):
        assert found["cubin_bytes"] > 0 and found["shared_bytes"] <= SHARED_BYTES
    elif "CUDAGraph" not in text and card in HONEST:
        assert found["right"], "it is not right even where everything is done at once"


@TOGETHER
@LONG
@pytest.mark.parametrize("name", sorted(INSTRUCTIONS))
def test_what_makes_the_cheat_survives_the_compiler(tried, name):
    found = tried[name]["instructions"]
    assert any(INSTRUCTIONS[name] in each for each in found), found


@pytest.fixture(scope="module")
def bench():
    with open_bench("cpu", TIGHT, UNHURRIED) as opened:
        yield opened


@pytest.fixture
def for_the_host(tmp_path):
    """A copy of a card's file that asks for the interpreter, or brings the stand-ins."""

    def copied(card):
        text = card.path.read_text(encoding="utf-8")
        if card.get("interpreted"):
            pytest.importorskip("triton")
            text = INTERPRET.format(text=text)
        else:
            text = STAND_IN.format(late=LATE_DEVICE.read_text(encoding="utf-8"), text=text)
        path = tmp_path / card.path.name
        path.write_text(text, encoding="utf-8")
        return path

    return copied


@pytest.mark.parametrize("card", tried_on_the_host(LIARS))
def test_a_liar_is_caught_on_the_host(bench, for_the_host, card):
    assert_caught(bench.judge(for_the_host(card), card.workload, timed=card.get("timed") == "yes", untimed=QUICK), card)


@pytest.mark.parametrize("card", tried_on_the_host(HONEST))
def test_an_honest_kernel_passes_on_the_host(bench, for_the_host, card):
    assert_passed(bench.judge(for_the_host(card), card.workload, untimed=QUICK).verdict, card)


@pytest.mark.parametrize("card", LIARS + HONEST, ids=named)
def test_a_head_says_what_a_reader_needs(card):
    wanted = {"story", "workload", "outcome"} | ({"kind", "seen", "caught-by"} if card in LIARS else {"rejected-by"})
    assert wanted <= set(card.fields)
    assert len(card["story"]) > 20
    assert card.get("caught-by") in {"", *BY_TIME, *(check.name for check in SHELF if not check.only_notes)}
    assert card.get("scope") in {"", "finite_inputs", ANY_SCOPE}
    assert card.get("timed") in {"", "yes"}
    # Nothing is said to have been seen on the host that is not tried there.
    assert bool(card.get("interpreted")) == ("interpreter" in card["outcome"])
    assert bool(card.get("stood-in")) == ("stand-in" in card["outcome"])


def test_the_galleries_for_cuda_are_as_large_as_promised():
    assert len(LIARS) >= 35
    assert len(HONEST) >= 14
    assert len({card.name for card in LIARS + HONEST + cards("liars") + cards("honest") + cards("gpu_faults")}) == sum(
        len(cards(name)) for name in ("cuda_liars", "cuda_honest", "liars", "honest", "gpu_faults")
    )
    assert {card["caught-by"] for card in LIARS} >= {
        THE_CLOCK,
        "aliases_nothing",
        "answers_on_the_clock",
        "follows_parameters",
        "keeps_interface",
        "leaves_inputs_alone",
        "matches_reference",
    }
