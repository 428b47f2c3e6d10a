"""The edge: every way to end has its exit code, and with ``--json`` standard output holds exactly one object."""

import errno
import json
import sys

import pytest
import typer
from typer.testing import CliRunner

from strop.cli.edge import Edge
from strop.cli.main import Front
from strop.errors import BrokenShelf, ChildFault, UnknownName, WorkloadInconclusive
from strop.records.evidence import CrashEvidence, CrashKind, Stage

CRASH = CrashEvidence(stage=Stage.BUILD, kind=CrashKind.SIGNAL, detail="killed by SIGSEGV")


def ended_by(error, *more, monkeypatch=None):
    """Run a program with one command that prints and then raises."""
    app = typer.Typer(cls=Front, pretty_exceptions_enable=False)

    @app.callback()
    def group() -> None:
        """A group, like the real one."""

    @app.command()
    def work(json: bool = False) -> None:
        print("chatter")
        raise error

    return CliRunner().invoke(app, ["work", *more])


ENDS = [
    (UnknownName("contract", "fp23", ["fp32"]), 2, "Did you mean 'fp32'?"),
    (WorkloadInconclusive("no baseline"), 3, "no baseline"),
    (KeyboardInterrupt(), 130, "Interrupted"),
    (OSError(errno.ENOSPC, "No space left on device", "/x/y"), 2, "The disk is full"),
    (PermissionError(errno.EACCES, "Permission denied", "/x/y"), 2, "You may not write or read '/x/y'"),
    (ZeroDivisionError("oops"), 4, "ZeroDivisionError: oops"),
    (BrokenShelf("strop/targets/x.py defines no ITEM."), 4, "defines no ITEM"),
    (ChildFault(CRASH), 4, "killed by SIGSEGV"),
    (OSError(errno.EIO, "broken"), 4, "broken"),
]


@pytest.mark.parametrize(("error", "code", "says"), ENDS, ids=lambda value: type(value).__name__)
def test_every_end_has_its_code_and_its_message(error, code, says):
    done = ended_by(error)
    assert done.exit_code == code
    assert says in done.stderr
    assert done.stdout == "chatter\n"


@pytest.mark.parametrize(("error", "code", "says"), ENDS, ids=lambda value: type(value).__name__)
def test_with_json_standard_output_is_one_object(error, code, says):
    done = ended_by(error, "--json")
    assert done.exit_code == code
    value = json.loads(done.stdout)
    assert value["error"]["exit_code"] == code
    assert "chatter" in done.stderr


def test_a_fault_leaves_a_report_with_traceback_and_versions(monkeypatch, tmp_path):
    monkeypatch.setenv("STROP_HOME", str(tmp_path))
    done = ended_by(ZeroDivisionError("oops"), "--json")
    (report,) = (tmp_path / "faults").iterdir()
    assert json.loads(done.stdout)["error"]["report"] == str(report)
    assert str(report) in done.stderr
    text = report.read_text()
    for part in ("ZeroDivisionError: oops", "in work", "python: 3.", "torch: ", "strop: ", "command: "):
        assert part in text


def test_a_fault_without_a_home_still_leaves_a_report(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STROP_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    done = ended_by(ZeroDivisionError("oops"))
    assert done.exit_code == 4
    assert len(list((tmp_path / "temporary" / "strop-faults").iterdir())) == 1


@pytest.mark.parametrize("error", [typer.Exit(7), SystemExit(7)])
def test_a_chosen_end_stays_what_it_is(error):
    assert ended_by(error).exit_code == 7


def test_a_reader_that_goes_away_is_no_fault(tmp_path, monkeypatch):
    monkeypatch.setenv("STROP_HOME", str(tmp_path))
    ended_by(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    assert not (tmp_path / "faults").exists()


def test_an_answer_is_written_to_the_real_output(capsys):
    with Edge(wants_json=True) as edge:
        print("chatter")
        edge.answer({"a": float("nan")})
    captured = capsys.readouterr()
    assert captured.out == '{"a": null}\n'
    assert captured.err == "chatter\n"
    assert sys.stdout is not None
