"""The explanation as a table, a plot and JSON."""

import io
import math

import pytest
from rich.console import Console

from strop.records.evidence import Distribution, ErrorQuantiles
from strop.records.explanation import ErrorRow, Explanation
from strop.report.explained import PLOT_WIDTH, explanation_json, explanation_report, used_share


def quantiles(size):
    return ErrorQuantiles(p50=size, p99=2 * size, p999=3 * size, max=4 * size)


def row(candidate=1e-3, distribution=Distribution.NORMAL, draw=0, allowed=4e-7):
    return ErrorRow(
        distribution=distribution,
        parameters_draw=draw,
        path="out",
        candidate=quantiles(candidate),
        baseline=quantiles(1e-7),
        honest=quantiles(2e-7),
        allowed=quantiles(allowed),
    )


def printed(explanation):
    console = Console(file=io.StringIO(), width=140)
    console.print(explanation_report(explanation, "fp32"))
    return console.file.getvalue()


def test_a_downgrade_is_the_first_thing_that_is_said():
    text = printed(Explanation(rows=(row(), row(draw=1)), looks_like=("tf32", "fp16")))
    assert text.startswith("Hidden precision downgrade: under the contract fp32 its errors look like tf32 or fp16.")
    assert "normal, parameters 1" in text and "250000.0 %" in text


def test_marks_stand_in_the_order_of_their_errors():
    text = printed(Explanation(rows=(row(), row(1e-7), row(0.0))))
    first, equal, nothing = (line for line in text.splitlines() if "·" in line)
    places = [first.index(mark) for mark in "bh|c"]
    assert places == sorted(places) and len(set(places)) == 4
    assert "*" in equal and nothing.split()[-1][0] in "c*"
    assert len(first.split()[-1]) == PLOT_WIDTH
    assert "Hidden" not in text


@pytest.mark.parametrize("rows", [(row(0.0, allowed=0.0),), (row(math.inf),), (row(math.nan),)])
def test_figures_that_have_no_place_break_nothing(rows):
    assert "normal" in printed(Explanation(rows=rows))


def test_what_ended_early_says_so():
    text = printed(Explanation(because="It raised."))
    assert text.startswith("Not all inputs were tried: It raised.") and "inputs " in text


def test_the_share_of_what_is_allowed_is_that_of_the_worst_quantile():
    assert used_share(row(2e-7)) == pytest.approx(0.5)
    assert used_share(row(0.0, allowed=0.0)) == 0.0
    assert used_share(row(1e-9, allowed=0.0)) == math.inf


def test_the_json_holds_everything():
    found = explanation_json(Explanation(rows=(row(draw=2),), looks_like=("bf16",), because="why"))
    assert found["looks_like"] == ["bf16"] and found["because"] == "why"
    (only,) = found["rows"]
    assert only["inputs"] == "normal" and only["parameters_draw"] == 2 and only["output"] == "out"
    assert only["candidate"] == {"p50": 1e-3, "p99": 2e-3, "p999": 3e-3, "max": 4e-3}
    assert set(only) >= {"baseline", "honest", "allowed"}
