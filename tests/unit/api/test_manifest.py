"""Many candidates from a file: what is refused, what is judged once, what goes on, and several workloads at a time."""

import json
import time
from types import SimpleNamespace

import pytest

from strop.api import manifest
from strop.api.asking import Asked
from strop.api.judging import Ruling
from strop.api.manifest import Verified, read_manifest, verify_manifest
from strop.errors import BadWorkload, UsageError, WorkloadInconclusive
from strop.records.verdict import Failed, Passed, Verdict
from strop.records.workload import Mode

WORK = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x + {number}
def get_inputs():
    return [torch.ones(2)]
def get_init_inputs():
    return []
"""
RIGHT = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x + {number}\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Two workloads, two candidates, and a referee that finds the second wrong; ``judged`` says what it heard."""
    monkeypatch.setenv("STROP_HOME", str(tmp_path / "home"))
    for number in (1, 2):
        (tmp_path / f"work{number}.py").write_text(WORK.format(number=number))
        (tmp_path / f"new{number}.py").write_text(RIGHT.format(number=number))
    judged = []

    def rulings(home, workload, candidates, target, asked, say):
        for candidate in candidates:
            judged.append((workload.name, candidate.idea.rpartition("/")[2], asked.contract))
            wrong = candidate.idea.endswith("new2.py")
            finding = Failed(check="matches_reference", because="Wrong.") if wrong else Passed(check="builds")
            verdict = Verdict(candidate_id=candidate.id, findings=(finding,), isolation="A")
            yield Ruling(
                workload=workload,
                target=target,
                contract=asked.contract or "fp32",
                mode=Mode.TRAIN,
                candidate=candidate,
                verdict=verdict,
            )

    monkeypatch.setattr(manifest, "rulings", rulings)
    monkeypatch.setattr(manifest, "calibrated", lambda kind, settings, say: SimpleNamespace(name="cpu"))
    return SimpleNamespace(folder=tmp_path, judged=judged, out=tmp_path / "rows.jsonl")


def written(place, *entries):
    path = place.folder / "list.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


def entry(work=1, new=1, **more):
    return {"workload": f"work{work}.py", "candidate": f"new{new}.py"} | more


def verdicts(found):
    return [row["verdict"] for row in found.rows]


def test_every_entry_has_a_row_in_its_place(place):
    path = written(place, entry(name="good"), entry(new=2), entry(new=9), entry(work=2, new=1, contract="bf16"))
    found = verify_manifest(path, Asked(), jobs=1)
    assert verdicts(found) == ["passed", "failed", "refused", "passed"]
    assert [row["name"] for row in found.rows] == ["good", "line 2", "line 3", "line 4"]
    assert "There is no file" in found.rows[2]["because"] and found.rows[3]["contract"] == "bf16"
    assert [each[1:] for each in place.judged] == [("new1.py", None), ("new2.py", None), ("new1.py", "bf16")]
    assert found.exit_code == 2 and found.known == 0


def test_said_again_it_goes_on(place):
    path = written(place, entry(), entry(new=2))
    first = verify_manifest(path, Asked(), jobs=1, out=place.out)
    with place.out.open("a") as file:
        file.write('{"name": "cut o')
    again = verify_manifest(
        written(place, entry(name="other"), entry(new=2), entry(work=2)), Asked(), jobs=1, out=place.out
    )
    assert len(place.judged) == 3 and again.known == 2
    assert verdicts(again) == ["passed", "failed", "passed"] and again.rows[0]["name"] == "other"
    assert first.exit_code == 1


def test_other_contents_or_another_promise_are_judged_anew(place):
    path = written(place, entry())
    verify_manifest(path, Asked(), jobs=1, out=place.out)
    verify_manifest(path, Asked(contract="fp16"), jobs=1, out=place.out)
    (place.folder / "new1.py").write_text(RIGHT.format(number=7))
    verify_manifest(path, Asked(), jobs=1, out=place.out)
    assert len(place.judged) == 3


@pytest.mark.parametrize(
    ("error", "verdict"),
    [(BadWorkload("It does not load."), "refused"), (WorkloadInconclusive("Out of memory."), "inconclusive")],
)
def test_what_ends_a_workload_is_said_of_all_that_are_left(place, monkeypatch, error, verdict):
    def ends(*_):
        raise error
        yield

    path = written(place, entry(), entry(new=2))
    real = manifest.rulings
    monkeypatch.setattr(manifest, "rulings", ends)
    found = verify_manifest(path, Asked(), jobs=1, out=place.out)
    assert verdicts(found) == [verdict] * 2 and found.rows[0]["because"] == str(error)
    assert found.exit_code == {"refused": 2, "inconclusive": 3}[verdict]
    monkeypatch.setattr(manifest, "rulings", real)
    again = verify_manifest(path, Asked(), jobs=1, out=place.out)
    assert again.known == (2 if verdict == "inconclusive" else 0), "what was refused is tried again"


def test_several_workloads_are_judged_by_processes_of_their_own(place, monkeypatch):
    asked = []

    def run(command, **_):
        options = dict(
            word.removeprefix("--").split("=", 1) for word in command if word.startswith("--") and "=" in word
        )
        asked.append(options)
        assert command[3] == "verify" and "--json" in command
        verify_manifest(
            manifest.Path(options["manifest"]), Asked(contract=options.get("contract")), jobs=1, out=place.out
        )
        return SimpleNamespace(returncode=1, stderr="")

    monkeypatch.setattr(manifest.subprocess, "run", run)
    monkeypatch.chdir(place.folder)
    path = written(place, entry(), entry(new=2), entry(work=2), entry(work=2, contract="tf32", name="fast"))
    found = verify_manifest(path.relative_to(place.folder), Asked(), jobs=2, out=place.out)
    assert verdicts(found) == ["passed", "failed", "passed", "passed"] and found.rows[3]["name"] == "fast"
    assert sorted(each.get("contract", "") for each in asked) == ["", "", "tf32"]
    assert {each["jobs"] for each in asked} == {"1"}


def test_a_process_that_breaks_off_is_said(place, monkeypatch):
    for status in (-9, 1, 2):
        ended = SimpleNamespace(returncode=status, stderr="killed")
        monkeypatch.setattr(manifest.subprocess, "run", lambda *_, ended=ended, **__: ended)
        found = verify_manifest(written(place, entry(), entry(work=2)), Asked(), jobs=2, out=place.out)
        assert verdicts(found) == ["refused"] * 2 and f"with status {status}: killed" in found.rows[1]["because"]
        assert found.known == 0 and found.exit_code == 2


def test_what_is_listed_twice_is_judged_once(place):
    path = written(place, entry(name="one"), entry(work=2), entry(name="two"), entry(contract="fp32"))
    found = verify_manifest(path, Asked(), jobs=1, out=place.out)
    assert [row["name"] for row in found.rows] == ["one", "line 2", "two", "line 4"]
    assert verdicts(found) == ["passed"] * 4 and len(place.judged) == 2


def test_an_interruption_begins_no_other_workload(place, monkeypatch):
    begun = []

    def run(command, **_):
        begun.append(command)
        raise KeyboardInterrupt

    monkeypatch.setattr(manifest.subprocess, "run", run)
    real = manifest.ThreadPoolExecutor
    monkeypatch.setattr(manifest, "ThreadPoolExecutor", lambda max_workers: real(max_workers=1))
    monkeypatch.setattr(manifest.Path, "write_text", slowly(manifest.Path.write_text))
    path = place.folder / "list.jsonl"
    path.write_text("".join(json.dumps(entry(contract=each)) + "\n" for each in ("fp32", "tf32", "bf16", "fp16")))
    with pytest.raises(KeyboardInterrupt):
        verify_manifest(path, Asked(), jobs=2, out=place.out)
    assert len(begun) < 4


def slowly(function):
    def slow(*given, **named):
        time.sleep(0.2)
        return function(*given, **named)

    return slow


def test_rows_that_cannot_be_written_are_said_before_anything_is_judged(place):
    with pytest.raises(UsageError, match=r"No rows can be written to .* \(No such file"):
        verify_manifest(written(place, entry()), Asked(), jobs=1, out=place.folder / "absent" / "rows.jsonl")
    assert place.judged == []


def test_a_recipe_longer_than_the_name_of_a_file_is_no_path(tmp_path):
    path = tmp_path / "list.jsonl"
    path.write_text(json.dumps({"workload": "a.py", "candidate": "x" * 5000 + "\u2028"}, ensure_ascii=False) + "\n")
    (found,) = read_manifest(path)
    assert found.candidate == "x" * 5000 + "\u2028"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "names nothing to judge"),
        ("{", "Line 1 of .* is no JSON"),
        ("\n[1]", "Line 2 of .* is no object of texts"),
        ('{"workload": "a", "candidate": 3}', "is no object of texts"),
        ('{"workload": "a"}', "does not say which candidate"),
        ('{"workload": "a", "candidate": "b", "contarct": "fp32"}', "unknown key 'contarct'"),
    ],
)
def test_a_line_that_is_not_what_it_should_be_is_named(tmp_path, text, says):
    path = tmp_path / "list.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError, match=says):
        read_manifest(path)


def test_paths_count_from_the_manifest_and_other_words_stay(tmp_path):
    (tmp_path / "a.py").write_text("")
    path = tmp_path / "list.jsonl"
    path.write_text(json.dumps({"workload": "a.py:Net", "candidate": "channels_last"}) + "\n")
    (found,) = read_manifest(path)
    assert (found.workload, found.candidate) == (f"{tmp_path / 'a.py'}:Net", "channels_last")


def test_what_cannot_be_is_refused_before_anything_is_judged(place):
    path = written(place, entry())
    with pytest.raises(UsageError, match="--jobs is 0"):
        verify_manifest(path, Asked(), jobs=0)
    place.out.write_text('{"something": "else"}\n')
    with pytest.raises(UsageError, match="holds something else than rows"):
        verify_manifest(path, Asked(), jobs=1, out=place.out)
    assert place.judged == []


def test_all_right_is_zero():
    assert Verified(rows=(), counts={"passed": 3}).exit_code == 0
