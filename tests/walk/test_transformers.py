"""Modules of transformers go in by name and come out judged, and nothing on the way knows who they are."""

import pytest

pytest.importorskip("transformers")
from strop.records.event import Captured, CatalogueAsked, Described, Profiled
from tests.walk.commands import ROOT

pytestmark = pytest.mark.timeout(1200)

MODELS = {
    "encoder": {"inputs": 2, "breaks": 0},
    "decoder": {"inputs": 8, "breaks": 0},
    "growing_decoder": {"inputs": 5, "breaks": 0},
    "vision": {"inputs": 1, "breaks": 0},
}

SUBCLASS = """
from transformers import {base}


class ModelNew({base}):
    def forward(self, {given}):
        {body}
"""
COPIES = "import copy; return super().forward(past_key_values=copy.deepcopy(past_key_values), **given)"
WRONG = {
    "the mask is ignored": (
        "encoder",
        ("BertModel", "input_ids, attention_mask", "return super().forward(input_ids=input_ids)"),
        "matches_reference",
        "out.last_hidden_state",
    ),
    "the static cache is not written": (
        "decoder",
        ("LlamaForCausalLM", "past_key_values, **given", COPIES),
        "updates_state",
        "state:inputs:kwargs['past_key_values'].layers[0].keys",
    ),
    "the growing cache does not grow": (
        "growing_decoder",
        ("LlamaForCausalLM", "past_key_values, **given", COPIES),
        "keeps_interface",
        "kwargs['past_key_values'].layers[0].keys: shape is (2, 2, 12, 16); the workload leaves there (2, 2, 13, 16)",
    ),
    "the image is mirrored": (
        "vision",
        ("ViTForImageClassification", "pixel_values", "return super().forward(pixel_values=pixel_values.flip(-1))"),
        "matches_reference",
        "out.logits",
    ),
}


@pytest.fixture
def place(place):
    """The user works where ``tests.walk.models`` can be imported from."""
    (place.folder / "tests").symlink_to(ROOT / "tests")
    return place


def named(model):
    return f"tests.walk.models:{model}"


@pytest.mark.parametrize(
    ("model", "text", "check", "says"),
    [
        pytest.param(*row, id=name, marks=[] if name == "the growing cache does not grow" else [pytest.mark.slow])
        for name, row in WRONG.items()
    ],
)
def test_what_is_wrong_is_caught(place, model, text, check, says):
    base, given, body = text
    place.write("new.py", SUBCLASS.format(base=base, given=given, body=body))
    done = place.strop("verify", named(model), "new.py", "--json")
    assert (done.code, done.json["failed_check"]) == (1, check), done.err
    assert says in done.json["because"]


@pytest.mark.slow
def test_the_same_passes(place):
    body = "return super().forward(input_ids=input_ids, attention_mask=attention_mask)"
    place.write("new.py", SUBCLASS.format(base="BertModel", given="input_ids, attention_mask", body=body))
    done = place.strop("verify", named("encoder"), "new.py", "--json")
    assert (done.code, done.json["verdict"], done.json["mode"]) == (0, "passed", "eval"), done.out + done.err


@pytest.mark.slow
@pytest.mark.parametrize(("model", "expected"), MODELS.items(), ids=MODELS)
def test_it_is_captured_profiled_optimised_and_judged(place, model, expected):
    done = place.strop("optimize", named(model), "--baseline", "eager,default", "--budget", "60s", "--json")
    assert done.code == 0, done.err
    value = done.json
    assert set(value["baselines_ns"]) == {"eager", "default"} and value["baselines_failed"] == {}
    assert value["proposed"] >= 1
    # Whatever the catalogue proposes here is right; none of it may be faster, which is the compiler's merit.
    assert (set(value["failed"]) - {"less_accurate", "more_memory"}, value["inconclusive"]) == (set(), 0)
    found = {type(each): each for each in place.events()}
    described, captured = found[Described].description, found[Captured].capture
    assert len(described.inputs) == expected["inputs"]
    assert len(captured.graphs) == 1 and len(captured.breaks) == expected["breaks"]
    assert found[Profiled].profile.kernels and found[Profiled].opportunities
    assert found[CatalogueAsked].proposals
    told = place.strop("show", value["run"], "--json").json
    verdicts = [{check["name"]: check["outcome"] for check in each["checks"]} for each in told["candidates"]]
    assert all(each["matches_reference"] == "passed" for each in verdicts)
    if value["kept"] is not None:
        assert value["kept"]["confirmed"] and value["kept"]["low"] > 1
    assert place.left_behind() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "recipe"),
    [
        ("encoder", "fused_elementwise"),
        ("decoder", "fused_elementwise"),
        ("growing_decoder", "fused_elementwise ; inductor_options{set=cpp_wrapper}"),
        ("vision", "channels_last ; fused_elementwise"),
    ],
)
def test_recipes_hold_on_them(place, model, recipe):
    done = place.strop("verify", named(model), recipe, "--json")
    assert (done.code, done.json["verdict"]) == (0, "passed"), done.out + done.err
