"""The keys that scripts rely on are there, and what is printed is strict JSON."""

import json

import pytest

from strop.records.verdict import Failed, Inconclusive, Passed, Scope, Skipped, Verdict
from strop.report import jsons
from strop.report.story import told
from strop.supervisor.result import summarise
from tests.unit.report import stories
from tests.unit.supervisor.makers import TARGET, WORKLOAD, candidate, comparison

OPTIMIZE_KEYS = {
    "schema",
    "run",
    "workload",
    "target",
    "contract",
    "baselines_ns",
    "baseline",
    "kept",
    "without_work_removed",
    "without_compiler",
    "proposed",
    "failed",
    "inconclusive",
    "not_faster",
    "device_seconds",
    "wall_seconds",
    "tokens",
}
KEPT_KEYS = {
    "candidate_id",
    "recipe",
    "origin",
    "legality",
    "speedup",
    "low",
    "high",
    "kernel_speedup",
    "error_ratio",
    "peak_memory_ratio",
    "chained_speedup",
}
VERDICT_KEYS = {
    "schema",
    "verdict",
    "isolation",
    "mode",
    "scope",
    "notes",
    "error_ratio",
    "checks",
    "failed_check",
    "contract",
    "target",
    "candidate_id",
    "comparison",
}
COMPARISON_KEYS = {
    "baseline",
    "baseline_ns",
    "candidate_ns",
    "speedup",
    "low",
    "high",
    "chained_speedup",
    "chained_low",
    "chained_high",
    "kernel_speedup",
    "peak_memory_ratio",
    "decision",
    "pairs",
}


def optimized(happenings):
    return jsons.optimize_json(summarise(stories.events(happenings)))


def test_optimize_has_every_key_and_the_confirmed_figures():
    value = optimized(stories.happy())
    assert set(value) >= OPTIMIZE_KEYS
    assert set(value["kept"]) >= KEPT_KEYS
    assert value["kept"]["speedup"] == 1.4
    assert value["kept"]["confirmed"] is True
    assert value["baselines_ns"] == {"eager": 2e6, "default": 1e6}
    assert value["failed"] == {"matches_reference": 1}
    assert (value["proposed"], value["not_faster"], value["inconclusive"]) == (4, 2, 0)
    assert (value["device_seconds"], value["wall_seconds"], value["tokens"]) == (40.0, 75.0, 0)
    assert json.loads(jsons.text(value)) == value


def test_nothing_kept_is_null_and_not_a_speedup_of_one():
    value = optimized(stories.beaten())
    assert value["kept"] is None
    assert value["baseline"] == "default"
    assert value["stopped"] == "nothing_left"


def test_a_run_that_found_nothing_out_has_no_baseline():
    value = optimized(stories.inadmissible())
    assert value["baseline"] is None
    assert value["baselines_ns"] == {}
    assert value["stopped"] == "inconclusive"


@pytest.mark.parametrize(
    ("findings", "outcome", "failed_check"),
    [
        ((Passed(check="a"), Skipped(check="b", because="no")), "passed", None),
        ((Passed(check="a"), Failed(check="b", because="wrong")), "failed", "b"),
        ((Inconclusive(check="a", because="blind"),), "inconclusive", None),
    ],
)
def test_verify_has_every_key(findings, outcome, failed_check):
    verdict = Verdict(candidate_id="c-1", findings=findings, isolation="B", scope=Scope(finite_inputs=True))
    value = jsons.verdict_json(verdict, WORKLOAD, TARGET, "fp32")
    assert set(value) >= VERDICT_KEYS
    assert (value["verdict"], value["failed_check"]) == (outcome, failed_check)
    assert value["checks"][0].keys() == {"name", "outcome", "because"}
    assert value["scope"] == {"shapes": "exact", "finite_inputs": True, "by_distribution": False, "variants": []}
    assert (value["mode"], value["comparison"], value["error_ratio"]) == ("train", None, None)


def test_compare_has_every_key():
    verdict = Verdict(candidate_id="c-1", findings=(Passed(check="a"),), isolation="B", error_ratio=0.5)
    value = jsons.verdict_json(verdict, WORKLOAD, TARGET, "fp32", comparison(1.3))
    assert set(value["comparison"]) >= COMPARISON_KEYS
    assert value["comparison"]["decision"] == "faster"
    assert value["error_ratio"] == 0.5


def test_what_is_not_finite_becomes_null_and_never_bad_json():
    assert jsons.text({"a": float("inf"), "b": [float("nan"), 1.5], "c": {"d": -float("inf")}}) == (
        '{"a": null, "b": [null, 1.5], "c": {"d": null}}'
    )


def test_profile_and_run_show_kernels_and_candidates():
    happened = stories.events(stories.happy())
    story, result = told(happened), summarise(happened)
    profile = jsons.profile_json(story)
    assert profile["kernels"][0]["headroom_ns"] == 450_000.0
    assert profile["proposals"] == [
        {"step": "fold{at=relu}", "nodes": ["relu", "add"], "legality": ["reassociated"], "gain_ns": 4e5}
    ]
    run = jsons.run_json(story, result)
    assert "source" not in run["kernels"][0], "the sources are with the profile and with the single kernel"
    assert [each["fate"] for each in run["candidates"]] == ["kept", "failed", "not faster", "not faster"]
    assert run["candidates"][1]["checks"] == [
        {"name": "matches_reference", "outcome": "failed", "because": "it differs"}
    ]
    json.loads(jsons.text(run))


def test_a_kernel_shows_what_the_compiler_made():
    made, called, _, unseen = (jsons.compiled_json(kernel) for kernel in stories.KERNELS)
    assert (made["name"], made["kind"], made["graph_id"]) == (stories.KERNEL.name, "generated", "g")
    assert (made["source"], made["launch"], made["arguments"]) == (stories.KERNEL.source, stories.KERNEL.launch, None)
    assert (called["kind"], called["arguments"]) == ("extern", "buf0, arg1_1, out=buf1")
    assert (called["source"], called["launch"]) == (None, None)
    assert [unseen[key] for key in ("calls", "time_ns", "share", "bound", "headroom_ns")] == [0, None, None, None, None]
    assert jsons.profile_json(told(stories.events(stories.happy())))["kernels"][0] == made


def test_a_kernel_shows_what_it_ran_on_a_device():
    shown = jsons.compiled_json(stories.ON_DEVICE)
    assert (shown["library"], shown["diagnosis"]) == ("cuBLAS", "counted: memory busy 80 %")
    product, fill = shown["launched"]
    assert (product["name"], product["calls"], product["library"]) == ("nvjet_tst_128", 1, "cuBLAS")
    assert product["resources"]["grid"] == (66, 1, 1) and product["resources"]["limited_by"] == "registers"
    assert product["counters"]["memory_ratio"] == 0.8 and product["counters"]["l2_hit_ratio"] is None
    assert (fill["resources"], fill["counters"]) == (None, None)
    json.loads(jsons.text(shown))
    host = jsons.compiled_json(stories.KERNEL)
    assert (host["launched"], host["library"], host["diagnosis"]) == ([], None, None)


def test_a_profile_names_the_ceilings_of_its_target():
    ceilings = TARGET.ceilings
    assert jsons.profile_json(told(stories.events(stories.happy())))["machine"] == {
        "name": "null",
        "device": TARGET.device,
        "card": None,
        "threads": TARGET.threads,
        "copy_bytes_per_s": ceilings.copy_bytes_per_s,
        "product_flop_per_s": {"float32": 1e11},
        "call_overhead_ns": 1000.0,
    }


def test_how_long_a_candidate_took_to_compile_is_said():
    verdict = Verdict(candidate_id="c-1", findings=(Passed(check="a"),), isolation="B", compile_s=2.5)
    assert jsons.verdict_json(verdict, WORKLOAD, TARGET, "fp32")["compile_s"] == 2.5
    unloaded = Verdict(candidate_id="c-1", findings=(Failed(check="builds", because="it raised"),), isolation="B")
    assert jsons.verdict_json(unloaded, WORKLOAD, TARGET, "fp32")["compile_s"] is None


def test_what_a_candidate_changes_in_generated_kernels_is_in_its_json():
    shown = {"kernel": stories.EDIT.kernel, "hash": "k-1", "diff": stories.EDIT.diff}
    happened = stories.events(stories.edited(stories.EDIT))
    run = jsons.run_json(told(happened), summarise(happened))
    assert run["candidates"][0]["edits"] == [shown]
    verdict = Verdict(candidate_id="c-1", findings=(Passed(check="a"),), isolation="B", edits=(stories.EDIT,))
    assert jsons.verdict_json(verdict, WORKLOAD, TARGET, "fp32")["edits"] == [shown]
    plain = stories.events([*stories.happy(), stories.Proposed(candidate=candidate("in_work"))])
    assert [each["edits"] for each in jsons.run_json(told(plain), summarise(plain))["candidates"]] == [[]] * 5


def test_an_error_names_its_kind_and_code():
    value = jsons.error_json("UnknownName", "There is no x", 2)
    assert value == {"schema": 1, "error": {"kind": "UnknownName", "message": "There is no x", "exit_code": 2}}
    assert jsons.error_json("F", "m", 4, "/tmp/x")["error"]["report"] == "/tmp/x"
