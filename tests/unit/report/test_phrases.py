"""Numbers in words."""

from dataclasses import replace

import pytest

from strop.records.measurement import OPEN_SPEEDUP, Chained
from strop.report import phrases
from tests.unit.supervisor.makers import comparison


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [(0.5, "0.5 ns"), (12.0, "12 ns"), (1500.0, "1.5 µs"), (2.5e6, "2.5 ms"), (9.99e8, "999 ms"), (5e12, "5000 s")],
)
def test_times(time_ns, text):
    assert phrases.time_text(time_ns) == text


def test_what_noise_leaves_open_in_chained_rounds_is_said():
    chained = Chained(
        speedup=1.5,
        low=1.2,
        high=OPEN_SPEEDUP,
        lost_ratio=0.0,
        least_lost_ratio=-0.5,
        shift_ratio=0.1,
        glue_ratio=2.0,
        pairs=5,
    )
    text = phrases.chained_text(replace(comparison(1.5), chained=chained))
    assert text == "1.500× (95 % interval 1.200 to open)"
    unknown = replace(chained, speedup=OPEN_SPEEDUP)
    assert phrases.chained_text(replace(comparison(1.5), chained=unknown)).startswith("not known (")


def test_numbers():
    assert phrases.amount_text(19.6e9, "B/s") == "19.6 GB/s"
    assert phrases.amount_text(0.0, "B") == "0 B"
    assert phrases.ratio_text(None) == "not measured"
    assert phrases.ratio_text(123.4) == "123×"
    assert [phrases.seconds_text(each) for each in (-1, 59.4, 61, 3700)] == ["0 s", "59 s", "1 min 01 s", "1 h 01 min"]
    assert phrases.short("a  b\nc" + "d" * 200, 8) == "a b cdd…"
    assert phrases.listed(["a", "b", "c"]) == "a, b and c"
