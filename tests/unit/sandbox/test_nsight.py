"""Nsight Compute's reports are read whatever stands around their table, and its refusals are told in words."""

import csv
import io
import json
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.records.profile import KernelCounters
from strop.sandbox import nsight

HEADER = [
    *("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size"),
    *("Device", "CC", "Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name", "Rule Type"),
    *("Rule Description", "Estimated Speedup Type", "Estimated Speedup"),
]
LOUD = "Command line profiler metrics"


def row(number, kernel, section="", metric="", unit="", value="", rule=(), grid="(40, 2, 1)", block="(128, 1, 1)"):
    about = [str(number), "77", "python3.12", "127.0.0.1", kernel, "1", "7", block, grid, "0", "9.0"]
    advice = list(rule) or ["", "", "", "", ""]
    return [*about, section, metric, unit, value, *advice]


def table(rows, header=HEADER):
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([header, *rows])
    return out.getvalue()


TALK = (
    "==PROF== Connected to process 77 (/usr/bin/python3.12)\n"
    '==PROF== Profiling "triton_poi_fused_relu_0" - 0: 0%....50%....100% - 21 passes\n'
    "==PROF== Disconnected from process 77\n"
)
RELU = "triton_poi_fused_relu_0"
ROWS = [
    row(0, RELU, "GPU Speed Of Light Throughput", "DRAM Frequency", "hz", "3,195,000,000.5"),
    row(0, RELU, "GPU Speed Of Light Throughput", "Memory Throughput", "%", "81.25"),
    row(0, RELU, "SpeedOfLight", rule=("SOLBottleneck", "INF", "It is well balanced.", "", "")),
    row(
        0, RELU, "Occupancy", rule=("Low", "OPT", "Raise @section:Occupancy:the occupancy@,\n please.", "local", "9.5")
    ),
    row(0, RELU, "Stalls", rule=("Stall", "OPT", "See @url:the guide:https://x/y@ on waits.", "global", "31.2")),
    row(0, RELU, "Stalls", rule=("Again", "WRN", "See @url:the guide:https://x/y@ on waits.", "", "")),
    row(0, RELU, LOUD, "gpu__time_duration.sum", "ns", "1,234,567"),
    row(0, RELU, LOUD, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "%", "81.25"),
    row(0, RELU, LOUD, "sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "12.5"),
    row(0, RELU, LOUD, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "%", "79"),
    row(0, RELU, LOUD, "dram__bytes.sum", "byte", "4,294,967,296"),
    row(0, RELU, LOUD, "lts__t_sector_hit_rate.pct", "%", "50.00"),
    row(0, RELU, LOUD, "sm__warps_active.avg.pct_of_peak_sustained_active", "%", "87.5"),
    row(0, RELU, LOUD, "sm__maximum_warps_per_active_cycle_pct", "%", "100"),
    row(0, RELU, LOUD, "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", "sector", "10"),
    row(0, RELU, LOUD, "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum", "sector", "5"),
    row(0, RELU, "Another", "gpu__time_duration.sum", "ns", "1,234,567"),
    row(1, "void f<float, (int)4>(T1 *, int)", LOUD, "gpu__time_duration.sum", "ms", "2", grid="(7,1,1)"),
    row(1, "void f<float, (int)4>(T1 *, int)", LOUD, "dram__bytes.sum", "Mbyte", "1.5"),
    row(1, "void f<float, (int)4>(T1 *, int)", LOUD, "lts__t_sector_hit_rate.pct", "%", "n/a"),
]


def test_a_report_is_read():
    first, second = nsight.read_report(TALK + table(ROWS) + "==PROF== Report: none\n").launches
    assert (first.name, first.grid, first.block) == (RELU, (40, 2, 1), (128, 1, 1))
    assert first.counters == KernelCounters(
        time_ns=1_234_567,
        memory_ratio=0.8125,
        compute_ratio=0.125,
        dram_ratio=0.79,
        dram_bytes=float(1 << 32),
        l2_hit_ratio=0.5,
        achieved_occupancy_ratio=0.875,
        occupancy_ratio=1.0,
        local_bytes=15 * 32,
        rules=("See the guide on waits.", "Raise the occupancy, please."),
    )
    assert (second.name, second.grid) == ("void f<float, (int)4>(T1 *, int)", (7, 1, 1))
    assert second.counters == KernelCounters(time_ns=2e6, dram_bytes=1.5e6)


def test_columns_may_come_and_go():
    keep = [HEADER.index(name) for name in ("ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value")]
    few = [[each[i] for i in keep] for each in ROWS[6:7]]
    (launch,) = nsight.read_report(table(few, [HEADER[i] for i in keep])).launches
    assert (launch.counters.time_ns, launch.grid) == (1_234_567, (1, 1, 1))


SAYINGS = {
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters\n": (
        "may not read the GPU's counters"
    ),
    "==PROF== Connected\n==ERROR== Failed to find metric foo\n==ERROR== more\n": (
        "Nsight Compute said: Failed to find metric foo"
    ),
    "==WARNING== No kernels were profiled.\n": "No kernels were profiled",
    "": "counted nothing",
}


@pytest.mark.parametrize(("report", "because"), SAYINGS.items())
def test_what_kept_it_from_counting_is_told(report, because):
    found = nsight.read_report(report)
    assert found.launches == () and because in found.because
    assert nsight.is_refusal(report) == ("ERR_NVGPUCTRPERM" in report)


texts = st.text(st.characters(blacklist_categories=("Cs", "Cc")) | st.sampled_from('",\n@:'), max_size=30)


@given(
    st.lists(st.tuples(st.integers(0, 5), texts, st.sampled_from(sorted(nsight.FIELDS)), st.floats(0, 1e12))),
    st.lists(texts.map(lambda text: "==PROF== " + text.replace("\n", " ").replace('"', "")), max_size=3),
)
def test_any_table_gives_back_its_figures(cells, talk):
    rows = [
        row(number, name, LOUD, metric, "%" if "pct" in metric else "byte", repr(value), ("R", "OPT", name, "", "1"))
        for number, name, metric, value in cells
    ]
    found = nsight.read_report("".join(f"{line}\n" for line in talk) + table(rows)).launches
    assert len(found) == len({number for number, *_ in cells})
    firsts = {number: name for number, name, *_ in reversed(cells)}
    assert [launch.name for launch in found] == [firsts[number] for number in dict.fromkeys(n for n, *_ in cells)]
    for launch in found:
        assert launch.counters.memory_ratio is None or launch.counters.memory_ratio >= 0
        assert len(launch.counters.rules) <= nsight.MAX_RULES


@given(st.text(max_size=200), st.integers(0, 400))
def test_a_torn_report_is_no_fault(noise, cut):
    whole = TALK + table(ROWS)
    for report in (noise, whole[:-cut] if cut else whole, whole + noise, '"ID",' + noise):
        assert isinstance(nsight.read_report(report).because, str)


def test_the_command_asks_for_these_kernels_alone():
    words = nsight.command("/x/ncu", "/r/report", ["triton_poi_fused_0", "nvjet_a"], 20)
    said = dict(pairwise(words))
    assert (said["--clock-control"], said["--profile-from-start"], said["--launch-count"]) == ("none", "off", "20")
    chosen = said["--kernel-name"].removeprefix("regex:")
    assert [bool(re.search(chosen, name)) for name in ("nvjet_a", "triton_poi_fused_0", "nvjet_a2")] == [1, 1, 0]
    assert set(said["--metrics"].split(",")) == set(nsight.FIELDS)
    assert json.dumps(words)


@pytest.mark.parametrize(
    ("parameters", "capabilities", "may"),
    [
        ("RmProfilingAdminOnly: 1\n", "CapEff:\t0000000000000000\n", False),
        ("RmProfilingAdminOnly: 1\n", "CapEff:\t000001ffffffffff\n", True),
        ("RmProfilingAdminOnly: 0\n", "CapEff:\t0000000000000000\n", True),
        ("Other: 1\n", "CapEff:\t0000000000000000\n", True),
        (None, "CapEff:\t0000000000000000\n", True),
    ],
)
def test_the_driver_says_beforehand_who_may(tmp_path, parameters, capabilities, may):
    files = tmp_path / "params", tmp_path / "status"
    if parameters is not None:
        files[0].write_text(parameters)
    files[1].write_text(capabilities)
    because = nsight.forbidden(*files)
    assert (because == "") == may and ("administrator" in because) != may


def test_a_program_on_the_path_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(nsight, "USUAL_PLACES", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    assert nsight.find_program() == ""
    program = tmp_path / "ncu"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert nsight.find_program() == str(program)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(nsight, "USUAL_PLACES", (str(tmp_path / "no"), str(program)))
    assert nsight.find_program() == str(program)
