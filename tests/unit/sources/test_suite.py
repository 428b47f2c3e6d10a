"""``kernelbench:LEVEL/ID`` in every form that a suite comes in."""

import json

import pytest

from strop.errors import BadWorkload, UsageError
from strop.sources.suite import find_problem, names_problem

ROWS = [
    {"level": 1, "problem_id": 1, "name": "1_Square", "code": "one"},
    {"level": 1, "problem_id": 19, "name": "19_ReLU", "code": "nineteen"},
    {"level": 2, "problem_id": 1, "name": "1_Conv", "code": "two"},
]


@pytest.fixture
def suites(tmp_path):
    whole = tmp_path / "all.jsonl"
    whole.write_text("\n".join(json.dumps(row) for row in ROWS) + "\n\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    for level in (1, 2):
        rows = [json.dumps(row) for row in ROWS if row["level"] == level]
        (folder / f"level{level}.jsonl").write_text("\n".join(rows))
    checkout = tmp_path / "checkout"
    for row in ROWS:
        place = checkout / "KernelBench" / f"level{row['level']}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{row['name']}.py").write_text(row["code"])
    return {"file": whole, "folder": folder, "checkout": checkout, "levels": checkout / "KernelBench"}


@pytest.mark.parametrize("form", ["file", "folder", "checkout", "levels"])
@pytest.mark.parametrize(("typed", "code"), [("1/1", "one"), ("1/19", "nineteen"), ("2/1", "two")])
def test_a_problem_is_found(suites, form, typed, code):
    found = find_problem(f"kernelbench:{typed}", str(suites[form]))
    assert (found.text, f"{found.level}/{found.problem_id}") == (code, typed)


@pytest.mark.parametrize("form", ["file", "folder", "checkout"])
def test_a_problem_that_is_not_there(suites, form):
    with pytest.raises(BadWorkload, match="has no problem 9 on level 1"):
        find_problem("kernelbench:1/9", str(suites[form]))


@pytest.mark.parametrize("typed", ["kernelbench:1", "kernelbench:one/2", "kernelbench:1/2/3", "kernelbench:"])
def test_another_form_of_name(suites, typed):
    assert names_problem(typed)
    with pytest.raises(BadWorkload, match="write kernelbench:LEVEL/ID"):
        find_problem(typed, str(suites["file"]))


def test_no_suite_or_no_such_suite(tmp_path):
    with pytest.raises(UsageError, match=r"needs a suite.*--suite PATH or STROP_KERNELBENCH"):
        find_problem("kernelbench:1/1", "")
    with pytest.raises(UsageError, match="There is no suite at"):
        find_problem("kernelbench:1/1", str(tmp_path / "gone"))
    with pytest.raises(UsageError, match="There is no suite at"):
        find_problem("kernelbench:1/1", "s" * 5000)
    with pytest.raises(UsageError, match=r"'~nobody-here' is nobody's home"):
        find_problem("kernelbench:1/1", "~nobody-here/suite")
    with pytest.raises(UsageError, match="is no suite: it holds neither"):
        find_problem("kernelbench:1/1", str(tmp_path))


@pytest.mark.parametrize(
    ("line", "says"),
    [("{", "line 1 is not JSON"), ("[]", "lacks level"), ('{"level": 1}', "lacks problem_id, name, code")],
)
def test_a_broken_file(tmp_path, line, says):
    (tmp_path / "x.jsonl").write_text(line)
    with pytest.raises(UsageError, match=says):
        find_problem("kernelbench:1/1", str(tmp_path / "x.jsonl"))


def test_a_file_that_is_not_text(tmp_path):
    (tmp_path / "x.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not UTF-8"):
        find_problem("kernelbench:1/1", str(tmp_path / "x.jsonl"))
