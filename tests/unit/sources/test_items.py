"""The workloads of a suite: every form of KernelBench, folders of files, and what picks from them."""

import json

import pytest

from strop.errors import UnknownName, UsageError
from strop.sources.items import chosen, items_of
from strop.sources.suite import problems_of
from tests.unit.sources.test_suite import ROWS, suites

assert suites  # the fixture


@pytest.mark.parametrize("form", ["file", "folder", "checkout", "levels"])
def test_every_problem_in_order(suites, form):
    assert [(each.level, each.problem_id, each.text) for each in problems_of(str(suites[form]))] == [
        (row["level"], row["problem_id"], row["code"]) for row in ROWS
    ]
    items = items_of(str(suites[form]), "fp32")
    assert [(item.name, item.key) for item in items] == [(f"kernelbench:{key}", key) for key in ("1/1", "1/19", "2/1")]
    assert {(item.suite, item.where, item.contract) for item in items} == {("kernelbench", str(suites[form]), "fp32")}


def test_problems_are_ordered_by_number_not_by_text(tmp_path):
    rows = [{"level": 1, "problem_id": number, "name": f"{number}_x", "code": "x"} for number in (10, 9, 100)]
    (tmp_path / "x.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    assert [item.key for item in items_of(str(tmp_path / "x.jsonl"), "fp32")] == ["1/9", "1/10", "1/100"]


@pytest.fixture
def own(tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    for name in ("b.py", "a.py", "_shared.py", "level2_net.py", "notes.txt"):
        (folder / name).write_text("x")
    return folder


def test_a_folder_of_workload_files(own):
    items = items_of(str(own), "tf32")
    assert [(item.name, item.key, item.level) for item in items] == [
        (str(own / f"{name}.py"), name, None) for name in ("a", "b", "level2_net")
    ]
    assert {(item.suite, item.contract) for item in items} == {("models", "tf32")}


def test_one_file_is_a_suite_of_one(own):
    assert [(item.key, item.suite) for item in items_of(str(own / "a.py"), "fp32")] == [("a", "a")]


def test_a_suite_with_its_own_contract(own):
    assert {(item.contract, item.where) for item in items_of(f"{own}=bf16", "fp32")} == {("bf16", str(own))}
    with pytest.raises(UsageError, match="There is no suite at"):
        items_of(f"{own}=bf17", "fp32")


def test_the_configured_suite_goes_by_its_word(suites, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    items = items_of("kernelbench=tf32", "fp32", str(suites["folder"]))
    assert {(item.where, item.contract) for item in items} == {(str(suites["folder"]), "tf32")}
    with pytest.raises(UsageError, match="No KernelBench is configured"):
        items_of("kernelbench", "fp32")


def test_what_is_no_suite(tmp_path):
    with pytest.raises(UsageError, match="There is no suite at"):
        items_of(str(tmp_path / "gone"), "fp32")
    with pytest.raises(UsageError, match="holds no workload"):
        items_of(str(tmp_path), "fp32")
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(UsageError, match="holds no workload"):
        items_of(str(tmp_path / "empty.jsonl"), "fp32")


def test_only_and_levels(suites, own):
    items = [*items_of(str(suites["file"]), "fp32"), *items_of(str(own), "bf16")]
    assert [item.key for item in chosen(items, ["2/1", "1/1", "a"], None)] == ["1/1", "2/1", "a"]
    assert [item.key for item in chosen(items, None, [2])] == ["2/1", "a", "b", "level2_net"]
    assert [item.key for item in chosen([*items, *items], None, None)] == [item.key for item in items]
    with pytest.raises(UnknownName, match=r"no workload in the suite named '1/91'.* or '1/19'"):
        chosen(items, ["1/91"], None)
    with pytest.raises(UsageError, match="leave no workload"):
        chosen(items, ["1/1"], [2])
