"""The program from outside: what it prints, to where, and with which exit code, for good and for bad requests."""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from strop import __version__
from strop.cli.benching import repeatable
from strop.cli.main import app
from strop.records.event import Noted, RunEnded
from strop.storage.ledger import open_ledger
from tests.unit.report import stories

ROOT = Path(__file__).parents[3]
GOOD = "class Model: ...\ndef get_inputs(): ...\n"


def run(*words):
    return CliRunner().invoke(app, list(words))


def strop(*words, **more):
    return subprocess.run(
        [sys.executable, "-m", "strop", *words], cwd=ROOT, capture_output=True, text=True, check=False, **more
    )


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work.py").write_text(GOOD)
    return tmp_path


@pytest.fixture
def ledger(tmp_path):
    """A store with three runs; the newest, r-3, has no end."""
    place = str(tmp_path / "store")
    with open_ledger(place) as book:
        for run_id, happened in (("r-1", stories.happy()), ("r-2", stories.beaten()), ("r-3", stories.survey())):
            for what in happened:
                book.append(run_id, what)
            time.sleep(0.01)
    return place


def test_help_is_quick_and_brings_no_torch():
    script = "import time, sys; import strop.cli.main; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
    took_s = []
    # One try is enough to show that it can be: others may have shared the processor's units with somebody.
    while len(took_s) < 12 and min(took_s, default=1.0) > 0.4:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert strop("--help").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        # Processor time: what it would take on a machine that does nothing else.
        took_s.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(took_s) <= 0.4


def test_help_lists_every_command():
    done = run("--help")
    for name in (
        "optimize",
        "bench",
        "verify",
        "compare",
        "profile",
        "show",
        "report",
        "import",
        "catalogue",
        "targets",
        "checks",
        "doctor",
    ):
        assert f" {name} " in done.stdout
        assert run(name, "--help").exit_code == 0


def test_version():
    assert run("--version").stdout == f"strop {__version__}\n"


def test_no_command_is_help_and_an_unknown_one_is_code_2():
    assert "Usage" in run().output
    done = run("optimise")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "optimize" in done.stderr


def test_an_unknown_option_is_code_2_and_scripts_get_an_object():
    done = run("optimize", "work.py", "--bugdet", "5m", "--json")
    assert done.exit_code == 2
    assert json.loads(done.stdout)["error"]["exit_code"] == 2


BAD = [
    (["optimize"], "Name a workload"),
    (["optimize", "work.py", "--contract", "fp23"], "Did you mean 'fp32'"),
    (["optimize", "work.py", "--baseline", "eager,defualt"], "no baseline named 'defualt'. Did you mean 'default'"),
    (["optimize", "work.py", "--baseline", ","], "At least one baseline is needed"),
    (["optimize", "work.py", "--forbid", "work_remove"], "Did you mean 'work_removed'"),
    (["optimize", "work.py", "--mode", "evaluate"], "no mode named 'evaluate'. Did you mean 'eval'"),
    (["optimize", "work.py", "--target", "cpux"], "no target named 'cpux'. Did you mean 'cpu'"),
    (["optimize", "work.py", "--budget", "300"], "Did you mean 300s or 300m?"),
    (["optimize", "work.py", "--budget", "soon"], "write it like 90s, 5m or 1h30m"),
    (["optimize", "work.py", "--budget", "0s"], "leaves no time"),
    (["optimize", "work.py", "--max-memory-ratio", "-1"], "--max-memory-ratio is -1: it must be a number above 0"),
    (["optimize", "work.py", "--max-error-ratio", "nan"], "must be a number above 0"),
    (["optimize", "work.py", "--agents", "some-model"], "no agents yet. Use --agents off"),
    (["optimize", "wrok.py"], "There is no file 'wrok.py'. Did you mean 'work.py'"),
    (["optimize", "kernelbench:1/1"], "needs a suite"),
    (["optimize", "--resume", "r-9", "--store", "nowhere"], "There is no ledger at"),
    (["bench", "nowhere"], "There is no suite at 'nowhere'"),
    (["bench", "kernelbench=tf32"], "set STROP_KERNELBENCH"),
    (["bench", "work.py", "--only", "wrok"], "no workload in the suite named 'wrok'. Did you mean 'work'"),
    (["bench", "work.py", "--levels", "one"], "write --levels 1,2"),
    (["bench", "work.py", "--mode", "evaluate"], "no mode named 'evaluate'. Did you mean 'eval'"),
    (["bench", "work.py", "--budget", "5m", "--time-limit", "4m"], "shorter than the budget of one workload"),
    (["bench", "work.py", "--contract", "fp23"], "Did you mean 'fp32'"),
    (["verify", "work.py", "nowhere.py"], "There is no file 'nowhere.py'"),
    (["verify", "work.py", "channels_lost"], "no transform named 'channels_lost'"),
    (["verify"], "Name a workload and a candidate"),
    (["verify", "work.py"], "or many with --manifest FILE"),
    (["verify", "work.py", "channels_last", "--jobs", "2"], "--jobs and --out are for --manifest"),
    (["verify", "work.py", "--manifest", "list.jsonl"], "name nothing beside it"),
    (["verify", "--manifest", "list.jsonl", "--explain"], "explains none"),
    (["verify", "--manifest", "list.jsonl"], "There is no file 'list.jsonl'"),
    (["compare", "work.py", "Fold!"], "neither a file nor a recipe"),
    (["compare", "work.py", "work.py", "--baseline", "fast"], "no baseline named 'fast'"),
    (["profile", "work.py", "--contract", "fp8"], "no contract named 'fp8'"),
    (["catalogue", "folding"], "no transform named 'folding'"),
    (["checks", "matches_refrence"], "Did you mean 'matches_reference'"),
    (["targets", "gpu9"], "no target named 'gpu9'"),
    (["show", "--store", "typo"], "There is no ledger at"),
    (["show", "r-1", "--store", "typo.sqlite"], "There is no ledger at"),
    (["report", "r-1", "--store", "typo"], "Run strop optimize first, or name another place with --store"),
    (["import", "typo"], "There is no ledger at"),
    (["import", "work.py"], "file of another kind"),
    (["show", "--store", "~nobody-here/x"], "'~nobody-here' is nobody's home here"),
    (["optimize", "work.py", "--store", "~nobody-here/x"], "--store is '~nobody-here/x'"),
    (["verify", "work.py", "channels_last", "--store", "x"], "No such option"),
    (["compare", "work.py", "channels_last", "--store", "x"], "No such option"),
    (["profile", "work.py", "--store", "x"], "No such option"),
    (["verify", "work.py", "channels_lost ; " * 50], "neither a file nor a recipe"),
    (["verify", "work.py", " ; ".join(["channels_lost"] * 50)], "no transform named 'channels_lost'"),
    (["optimize", ".".join(["p"] * 200) + ":f f"], "is not a workload"),
]


@pytest.mark.parametrize(("words", "says"), BAD, ids=[" ".join(words)[:60] for words, _ in BAD])
def test_a_bad_request_is_code_2_with_what_to_change(here, words, says):
    done = run(*words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr
    said = run(*words, "--json")
    assert said.exit_code == 2
    assert says in json.loads(said.stdout)["error"]["message"]


def test_the_command_that_repeats_a_campaign_names_no_place():
    typed = ["bench", "a b", "--out", "x.json", "--levels", "1", "--store=here", "--time-limit", "9m", "--json"]
    assert repeatable(typed) == ["bench", "a b", "--levels", "1"]
    assert repeatable(["bench", "suite=bf16", "--out"]) == ["bench", "suite=bf16"]


def test_nothing_is_calibrated_for_a_request_that_is_refused(here, monkeypatch):
    monkeypatch.setenv("STROP_HOME", str(here / "home"))
    assert run("optimize", "wrok.py").exit_code == 2
    assert not (here / "home" / "calibration").exists()


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("STROP_LOGS", "storag:DEBUG", "Did you mean 'storage'"),
        ("STROP_LOGS", "storage:LOUD", "use one of DEBUG"),
        ("STROP_THREADS", "many", "set it to a whole number"),
        ("STROP_THREADS", "\u00b2", "set it to a whole number"),
        ("STROP_THREADS", "0", "set it to a whole number"),
        ("STROP_THREADS", "9" * 5000, "set it to a whole number"),
        ("STROP_HOME", "~nobody-here/x", "STROP_HOME is '~nobody-here/x', and '~nobody-here' is nobody's home here"),
        ("STROP_DISABLE", "maybe", "set it to 1 or 0"),
        ("STROP_DISABLE", "1", "STROP_DISABLE is set"),
    ],
)
def test_a_bad_environment_is_code_2(here, monkeypatch, name, value, says):
    monkeypatch.setenv(name, value)
    done = run("optimize", "work.py")
    assert done.exit_code == 2
    assert says in done.stderr


@pytest.mark.parametrize("shelf", ["catalogue", "checks", "targets"])
def test_a_shelf_lists_every_entry_and_shows_one(shelf):
    key = {"catalogue": "transforms"}.get(shelf, shelf)
    entries = json.loads(run(shelf, "--json").stdout)[key]
    assert len(entries) >= 1
    listed = run(shelf)
    for entry in entries:
        assert entry["name"] in listed.stdout
        assert (ROOT / entry["file"]).is_file()
    (one,) = json.loads(run(shelf, entries[0]["name"], "--json").stdout)[key]
    assert one == entries[0]
    assert one["summary"] in run(shelf, one["name"]).stdout


def test_show_lists_runs_newest_first(ledger):
    runs = json.loads(run("show", "--store", ledger, "--json").stdout)["runs"]
    assert [each["run"] for each in runs] == ["r-3", "r-2", "r-1"]
    text = run("show", "--store", ledger).stdout
    assert "Kept: 1.400×" in text
    assert "Nothing beat the compiler" in text
    assert "has not ended" in text


def test_show_a_run_by_id_beginning_or_last(ledger):
    value = json.loads(run("show", "r-1", "--store", ledger, "--json").stdout)
    assert (value["run"], value["kept"]["speedup"], len(value["candidates"])) == ("r-1", 1.4, 4)
    assert json.loads(run("show", "last", "--store", ledger, "--json").stdout)["run"] == "r-3"
    assert "several" not in run("show", "r-1", "--store", ledger).stdout
    done = run("show", "r-", "--store", ledger)
    assert done.exit_code == 2
    assert "no single run named 'r-'" in done.stderr


def test_show_a_candidate_and_a_kernel(ledger):
    whole = json.loads(run("show", "r-1", "--store", ledger, "--json").stdout)
    lie = whole["candidates"][1]
    value = json.loads(run("show", lie["candidate_id"], "--store", ledger, "--json").stdout)
    assert (value["fate"], value["reason"], value["runs"]) == ("failed", "matches_reference", ["r-1"])
    assert "it differs" in run("show", lie["candidate_id"], "--store", ledger).stdout
    name = whole["kernels"][0]["name"]
    value = json.loads(run("show", f"r-1/{name}", "--store", ledger, "--json").stdout)
    assert (value["bound"], value["number"], value["of"]) == ("memory", 1, 1)
    assert value["source"].endswith("{\n}")
    assert "for x0 < 1000 step 16" in run("show", f"r-1/{name}", "--store", ledger).stdout
    second = json.loads(run("show", "r-1/extern_kernels.mm#2", "--store", ledger, "--json").stdout)
    assert (second["name"], second["number"], second["of"]) == ("extern_kernels.mm", 2, 2)
    assert second["arguments"] == "buf1, out=buf2"
    done = run("show", "r-1/cpp_fused", "--store", ledger)
    assert done.exit_code == 2
    assert "no kernel named 'cpp_fused'" in done.stderr


@pytest.mark.parametrize(("file", "begins"), [("r.html", "<!doctype html>"), ("r.md", "# examples/mlp.py")])
def test_report_writes_html_or_markdown(ledger, tmp_path, file, begins):
    done = run("report", "r-1", "--store", ledger, "--output", str(tmp_path / file), "--json")
    assert json.loads(done.stdout) == {"schema": 1, "run": "r-1", "runs": ["r-1"], "report": str(tmp_path / file)}
    text = (tmp_path / file).read_text()
    assert text.startswith(begins)
    assert "Kept: 1.400×" in text


def test_several_runs_make_one_page(ledger, tmp_path):
    for file in ("r.html", "r.md"):
        assert run("report", "r-1", "r-2", "--store", ledger, "-o", str(tmp_path / file)).exit_code == 0
        text = (tmp_path / file).read_text()
        assert text.index("Kept: 1.400×") < text.index("Nothing beat the compiler")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["show", "r-nothing"], "no run named 'r-nothing'"),
        (["show", "c-nothing"], "no candidate named 'c-nothing'"),
        (["report", "r-nothing"], "no run named 'r-nothing'"),
    ],
)
def test_a_name_that_the_ledger_does_not_know(ledger, words, says):
    done = run(*words, "--store", ledger)
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr


@pytest.mark.parametrize("words", [["show"], ["show", "r-1"], ["report", "r-1"]])
def test_reading_makes_no_ledger(here, words):
    assert run(*words, "--store", str(here / "typo")).exit_code == 2
    assert not (here / "typo").exists()


@pytest.mark.parametrize(
    "words", [["verify", "work.py", "no.py"], ["compare", "work.py", "no.py"], ["profile", "no.py"]]
)
def test_judging_needs_no_ledger_and_makes_none(here, monkeypatch, words):
    """One that could not be opened stands in nobody's way."""
    monkeypatch.setenv("STROP_HOME", str(here / "home"))
    done = run(*words)
    assert done.exit_code == 2 and "There is no file 'no.py'" in done.stderr
    assert not (here / "home").exists()
    (here / "home").mkdir()
    (here / "home" / "ledger.sqlite").write_text("hello, I am a text\n" * 100)
    assert "There is no file 'no.py'" in run(*words).stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--mode", "evaluate"], "no mode named 'evaluate'. Did you mean 'eval'"),
        (["--mode", "eval"], "Run r-2 was about train mode, and --mode eval was said"),
        (["work.py", "--mode", "eval"], "Run r-2 was about train mode, and --mode eval was said"),
        (["--suite", "somewhere"], "which is in no suite: leave --suite out"),
        (["--target", "cpux"], "no target named 'cpux'"),
    ],
)
def test_what_is_said_again_must_fit_the_run(ledger, here, words, says):
    done = run("optimize", *words, "--resume", "r-2", "--store", ledger)
    assert done.exit_code == 2
    assert says in done.stderr


def test_import_takes_over_what_is_lacking(ledger, tmp_path):
    words = ["import", ledger, "--store", str(tmp_path / "new")]
    first, again = (json.loads(run(*words, "--json").stdout) for _ in range(2))
    assert (first["runs_taken"], first["runs_held"], first["events_held"], first["refused"]) == (3, 0, 0, [])
    assert (again["runs_taken"], again["runs_held"], again["events_held"]) == (0, 3, first["events_taken"])
    assert (first["from"], first["into"]) == (f"{ledger}/ledger.sqlite", f"{tmp_path}/new/ledger.sqlite")
    there, here = (run("show", "--json", "--store", place).stdout for place in (ledger, words[-1]))
    assert there == here
    for place, text in ((ledger, "here"), (words[-1], "there")):
        with open_ledger(place) as book:
            book.append("r-3", Noted(text=text))
    done = run(*words)
    assert done.exit_code == 2
    assert "0 events of 0 runs" in done.stdout
    assert "Run r-3 was not taken: event" in done.stdout
    assert json.loads(run(*words, "--json").stdout)["refused"][0]["run"] == "r-3"


def test_report_into_a_folder_that_cannot_be_made(ledger, tmp_path):
    (tmp_path / "file").write_text("")
    done = run("report", "r-1", "--store", ledger, "--output", str(tmp_path / "file" / "r.html"))
    assert done.exit_code == 2
    assert "cannot be written" in done.stderr


def test_resuming_a_run_that_is_over_changes_nothing(ledger, here, monkeypatch):
    """The run was measured on a machine that is not this one, so going on with it is refused; what is there stays."""
    done = run("optimize", "--resume", "r-2", "--store", ledger)
    assert done.exit_code == 2
    with open_ledger(ledger) as book:
        assert isinstance(list(book.events("r-2"))[-1].what, RunEnded)


def test_a_store_that_is_no_ledger(here):
    (here / "not.sqlite").write_text("hello, I am a text\n" * 100)
    done = run("show", "--store", "not.sqlite")
    assert done.exit_code == 2
    assert "not.sqlite" in done.stderr
