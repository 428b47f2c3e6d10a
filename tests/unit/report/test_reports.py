"""Reports for people: the result first, every candidate with its reason, and the command that repeats it."""

import html
import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from strop.records.candidate import Candidate, Origin, SourceForm
from strop.records.measurement import TimeDecision
from strop.records.result import Kept
from strop.records.verdict import Failed, Inconclusive, Passed, Scope, Verdict
from strop.records.workload import Mode
from strop.report import sentences
from strop.report.live import LiveView, line_of, stage_text
from strop.report.pages import html_page, markdown_page
from strop.report.story import Story, told
from strop.report.terminal import (
    bar,
    candidate_report,
    kernel_report,
    profile_report,
    run_report,
    runs_report,
    verdict_report,
)
from strop.supervisor.result import summarise
from tests.unit.report import stories
from tests.unit.supervisor.makers import TARGET, WORKLOAD, comparison, keep, request, started, verdict


def printed(renderable, width=200):
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(renderable)
    return console.file.getvalue()


def both(happenings):
    happened = stories.events(happenings)
    return told(happened), summarise(happened)


def test_the_run_report_answers_the_questions_in_order():
    text = printed(run_report(*both(stories.happy())))
    wanted = [
        "examples/mlp.py · null · fp32 · train mode",
        "Kept: 1.400× (95 % interval 1.393 to 1.407) over torch.compile.",
        "the one to beat",
        "no such mode",
        "cpp_fused_<relu>|add_0",
        "75.0 %",
        "1.000× that of the baseline",
        "matches_reference: it differs",
        "the machine was busy",
        "1 min 15 s, 40 s of them holding the device; it stopped because everything that applies was tried",
        "strop compare examples/mlp.py fold",
        "strop optimize examples/mlp.py --budget 300s",
    ]
    places = [text.find(each) for each in wanted]
    assert -1 not in places, [each for each, place in zip(wanted, places, strict=True) if place < 0]
    assert places == sorted(places)


def test_when_the_compiler_wins_the_report_says_so():
    text = printed(run_report(*both(stories.beaten())))
    assert "Nothing beat the compiler: torch.compile stays; 1 candidate tried." in text
    assert "strop compare" not in text


def test_a_budget_that_ran_out_is_not_the_compilers_victory():
    happened = [*stories.beaten()[:-1], stories.ended(stories.StopReason.BUDGET, "the budget of 300 s is used up")]
    assert sentences.headline(both(happened)[1]).startswith("Nothing beat the compiler within the budget: ")


def test_an_inadmissible_workload_is_inconclusive():
    assert sentences.headline(both(stories.inadmissible())[1]) == "Inconclusive: A trivial answer would pass: zeros"


def test_an_unconfirmed_keep_is_called_so():
    happened = [*stories.survey(), *stories.tried("fold", 1.5)]
    assert "not yet confirmed" in sentences.headline(both(happened)[1])


def test_a_run_that_did_not_end_says_how_to_go_on():
    assert sentences.headline(both(stories.survey())[1]) == (
        "Run r-1 has not ended; strop optimize with --resume r-1 goes on with it."
    )


def test_an_interrupted_run_without_a_result():
    happened = [*stories.survey(), stories.ended(stories.StopReason.INTERRUPTED, "it was interrupted")]
    assert sentences.headline(both(happened)[1]) == ("Nothing was tried, so torch.compile stays: it was interrupted.")
    assert sentences.headline(both([*happened[:-1], *stories.tried("idle", 1.0), happened[-1]])[1]) == (
        "Stopped before anything beat torch.compile, which stays; 1 candidate tried: it was interrupted."
    )


def test_classes_that_are_scored_apart_are_shown_where_they_differ():
    _, result = both(stories.happy())
    assert sentences.other_classes(result) == []
    slower = Kept(keep=keep("plain", 1.1), confirmed=True)
    apart = replace(result, without_work_removed=slower, without_compiler=None)
    shown = dict(sentences.other_classes(apart))
    assert sentences.other_text(shown["without work_removed"]).startswith("1.100×")
    assert sentences.other_text(shown["without compiler options"]) == "nothing beat the compiler"


def test_the_repeating_command_holds_every_option_that_was_not_the_default():
    asked = request(
        budget_s=90.0,
        baselines=("eager",),
        forbid=("work_removed", "emulated"),
        max_memory_ratio=1.5,
        max_error_ratio=1.0,
        seed=7,
    )
    story = Story(started=started(request=asked, workload=replace(WORKLOAD, name="my file.py", mode=Mode.EVAL)))
    assert sentences.repeat_run(story) == (
        "strop optimize 'my file.py' --mode eval --budget 90s --baseline eager --max-memory-ratio 1.5 "
        "--max-error-ratio 1 --forbid work_removed,emulated --seed 7"
    )


def test_the_html_page_is_self_contained_and_escapes():
    page = html_page([both(stories.happy()), both(stories.beaten())])
    assert page.count("<article>") == 2
    assert "http" not in re.sub(r"<!doctype html>", "", page)
    assert "prefers-color-scheme: dark" in page
    assert "cpp_fused_&lt;relu&gt;|add_0" in page
    assert "<relu>" not in page
    text = html.unescape(re.sub(r"<[^>]+>", " ", page))
    assert text.index("Kept: 1.400×") < text.index("Repeat it") < text.index("Baselines")
    assert "there is no <pooling> here" in text


def test_html_and_markdown_of_every_kind_of_run():
    for happened in (stories.happy(), stories.beaten(), stories.inadmissible(), stories.survey(), [started()]):
        story, result = both(happened)
        for page in (html_page([(story, result)]), markdown_page(story, result)):
            assert html.unescape(page).count(sentences.headline(result)) == 1


def test_every_report_shows_what_the_kept_recipe_changes_in_generated_kernels():
    run = both(stories.edited(stories.EDIT))
    candidate = next(iter(run[0].candidates.values()))
    pages = {
        "terminal": printed(run_report(*run)),
        "candidate": printed(candidate_report(candidate)),
        "markdown": markdown_page(*run),
        "html": html.unescape(re.sub(r"</?(?:span|p|code|pre)[^>]*>", "", html_page([run]))),
    }
    for name, page in pages.items():
        assert sentences.EDITS_TITLE in page, name
        for wanted in (stories.EDIT.kernel, "k-1", "-old ```<b>", "+new ```<b>"):
            assert wanted in page, (name, wanted)
    for name in ("terminal", "markdown", "html"):
        before, after = pages[name].split("strop profile examples/mlp.py", 1)
        assert sentences.EDITS_MEASURED[:40] in before and "strop profile examples/mlp.py --candidate fold" in after
    assert "strop profile WORKLOAD --candidate RECIPE" in pages["candidate"]
    assert f"\n````diff\n{stories.EDIT.diff}\n````\n" in pages["markdown"]
    assert '<span class="more">+new ```&lt;b&gt;</span>' in html_page([run])


def test_nothing_is_said_of_edits_where_there_are_none():
    run = both(stories.happy())
    candidate = next(iter(run[0].candidates.values()))
    for page in (printed(run_report(*run)), printed(candidate_report(candidate)), markdown_page(*run)):
        assert sentences.EDITS_TITLE not in page and "strop profile" not in page
    assert sentences.EDITS_TITLE not in html.unescape(html_page([run]))


def test_an_edit_that_changes_no_line_is_said_to_and_text_moves_no_cursor():
    run = both(stories.edited(replace(stories.EDIT, diff=""), replace(stories.EDIT, diff="+a\x1b[2J\n+b\n\n+c")))
    text = printed(run_report(*run))
    assert sentences.NO_LINE in text and sentences.NO_LINE in markdown_page(*run)
    assert sentences.NO_LINE in html_page([run])
    assert "\x1b" not in text and "+a\ufffd[2J" in text and "+c" in text


def test_markdown_tables_cannot_be_broken_by_names():
    page = markdown_page(*both(stories.happy()))
    (row,) = [line for line in page.splitlines() if "<relu>" in line]
    assert row == "| `cpp_fused_<relu>\\|add_0` | 75.0 % | 750 µs | memory | 300 µs |"
    assert "| `cpp_fused_tanh_1` |  | not seen |  |" in page
    assert "\n| failed | `lie` | not timed | `matches_reference`: it differs |\n" in page


@pytest.mark.parametrize(
    ("finding", "compared", "says"),
    [
        (Passed(check="a"), None, "Passed: no check found anything wrong; error 0.500× that of the baseline."),
        (Failed(check="survives", because="It raised."), None, "Failed (survives): It raised."),
        (Inconclusive(check="power", because="Zeros pass."), None, "Inconclusive (power: Zeros pass.)"),
        (Passed(check="a"), comparison(1.5), "Faster than torch.compile: 1.500×"),
        (Passed(check="a"), comparison(0.5, TimeDecision.SLOWER), "Not faster than torch.compile"),
        (Passed(check="a"), comparison(1.0), "Undecided against torch.compile"),
    ],
)
def test_the_verdict_report_begins_with_the_answer(finding, compared, says):
    found = Verdict(candidate_id="c-1", findings=(finding,), isolation="C", error_ratio=0.5, notes=("mind the gap",))
    text = printed(verdict_report(found, compared))
    assert says in text.splitlines()[0] + text.splitlines()[1]
    assert "mind the gap" in text
    assert "these exact shapes" in text


def test_the_verdict_report_lists_other_inputs():
    scope = Scope(shapes="declared", finite_inputs=True, by_distribution=True, variants=("x of 1 x 4", "x of 65 x 4"))
    found = Verdict(candidate_id="c-1", findings=(Passed(check="a"),), isolation="C", scope=scope)
    text = printed(verdict_report(found, None))
    assert "its own shapes and 2 others that it claims, finite inputs only, by distribution" in text
    assert "error compared by distribution" in text
    assert "x of 1 x 4" in text and "x of 65 x 4" in text


def test_a_verdict_on_which_no_check_could_look():
    empty = Verdict(candidate_id="c-1", findings=(), isolation="C")
    assert sentences.verdict_headline(empty, None) == "Inconclusive (no check could look at it.)"


def test_profile_kernel_candidate_and_list_reports():
    story, result = both(stories.happy())
    text = printed(profile_report(story))
    assert "fold{at=relu}" in text
    assert "there is no <pooling> here" in text
    assert "1 graph (0 nodes), no graph break" in text
    assert "moves       4 MB" in printed(kernel_report(stories.KERNEL))
    lie = list(story.candidates.values())[1]
    assert "matches_reference: it differs" in printed(candidate_report(lie))
    assert "Kept: 1.400×" in printed(runs_report([result]))
    assert "no run yet" in printed(runs_report([]))
    not_admitted, _ = both(stories.inadmissible())
    assert "Not admissible: A trivial answer" in printed(profile_report(not_admitted))


def test_the_profile_shows_ceilings_amounts_kinds_and_origins_at_100_columns():
    story, _ = both(stories.happy())
    lines = printed(profile_report(story), width=100).splitlines()
    assert "Floors are at the ceilings measured on this machine: copies 10 GB/s; products float32" in "\n".join(lines)
    first = next(i for i, line in enumerate(lines) if "cpp_fused_<relu>|add_0" in line)
    assert re.search(r"generated cpp +750 µs +4 MB +300 µs$", lines[first].rstrip())
    assert re.search(r"^ +relu, add +memory +75\.0 % +1 Mflop +450 µs$", lines[first + 1].rstrip())
    again = next(line for line in lines if "extern_kernels.mm#2" in line)
    assert "extern call" in again
    unseen = next(line for line in lines if "cpp_fused_tanh_1" in line)
    assert "not seen" in unseen


def test_a_kernel_is_shown_with_its_source_loops_and_arguments():
    text = printed(kernel_report(stories.KERNEL), width=100)
    for line in (*stories.KERNEL.source.splitlines(), *stories.KERNEL.launch.splitlines(), "relu, add", "Loops"):
        assert line in text
    called = printed(kernel_report(stories.PRODUCT, 2), width=100)
    assert "Arguments\n  buf0, arg1_1, out=buf1" in called
    assert "Source" not in called
    assert "2 kernels have this name" in called
    assert "left no range" in printed(kernel_report(stories.UNSEEN))


def test_a_kernel_is_shown_with_what_it_ran_on_a_device():
    text = printed(kernel_report(stories.ON_DEVICE))
    for part in (
        "extern call, cuBLAS",
        "compute: counted: memory busy 80 %",
        "nvjet_tst_128    90 µs in 1 launch; cuBLAS; 66 blocks of 128 threads, 168 registers, 4.1 kB shared,",
        "no spills, 3 stages, occupancy 18.8 % limited by registers",
        "Memset (Device)  10 µs in 2 launches; the driver",
        "memory        80.0 %",
        "memory moves  4 MB",
        "advice        Use fewer registers.",
    ):
        assert part in text
    assert sentences.kind_text(replace(stories.ON_DEVICE, kind=None, language="device")) == "device kernel"


def test_plain_lines_tell_what_is_tried_and_why_it_is_dropped():
    console = Console(file=io.StringIO(), width=200, color_system=None)
    with LiveView(console, clock_s=lambda: 5.0) as view:
        for event in stories.events(stories.happy()):
            view.heard(event)
    text = console.file.getvalue()
    for part in (
        "started: examples/mlp.py on null, contract fp32, budget 5 min 00 s",
        "to beat: torch.compile; reduce-overhead failed: no such mode",
        "most time in cpp_fused_<relu>|add_0",
        "trying fold",
        "faster, to be confirmed: 1.500×",
        "kept: 1.400×",
        "failed (matches_reference): it differs",
        "not faster: it is not",
        "best so far: 1.400× with fold",
        "note: the machine was busy",
        "ended after 1 min 15 s: everything that applies was tried",
    ):
        assert part in text


def test_the_live_picture_shows_time_left_and_what_is_done():
    now = [100.0]
    console = Console(file=io.StringIO(), width=160, color_system=None, force_terminal=False)
    view = LiveView(console, clock_s=lambda: now[0])
    assert "starting" in printed(view.picture())
    happened = stories.events(stories.happy())
    for event in happened[:8]:
        view.heard(event)
    now[0] = 160.0
    text = printed(view.picture())
    assert "4 min 00 s left" in text
    assert "judging fold" in text
    for event in happened[8:]:
        view.heard(event)
    text = printed(view.picture())
    assert "best so far: 1.400× with fold" in text
    assert "done" in text


def test_a_terminal_gets_a_live_picture_that_leaves_nothing_behind():
    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    with LiveView(console) as view:
        for event in stories.events(stories.happy()):
            view.heard(event)
    assert "\x1b[" in console.file.getvalue()
    assert not console._live_stack


def test_a_resumed_run_counts_only_the_time_that_is_left():
    console = Console(file=io.StringIO(), width=120)
    view = LiveView(console, clock_s=lambda: 0.0)
    for event in stories.events([*stories.beaten(), started(resumed=True)]):
        view.heard(event)
    assert "3 min 45 s left" in printed(view.picture())


def test_stages_follow_the_walk():
    seen = []
    story = Story()
    for event in stories.events(stories.survey()):
        story.hear(event)
        seen.append(stage_text(story))
    assert seen == [
        "loading the workload behind the wall",
        "checking that a wrong answer would be noticed",
        "capturing the graph",
        "timing the baselines",
        "profiling the compiler's version",
        "asking the catalogue",
        "searching",
    ]


def test_every_event_has_a_line_or_is_deliberately_silent():
    for event in stories.events([*stories.happy(), *stories.inadmissible()]):
        assert isinstance(line_of(event.what), str)


def test_source_text_is_shown_by_its_idea():
    form = SourceForm(text="class ModelNew: ...")
    what = Candidate(workload_id=WORKLOAD.id, form=form, origin=Origin.HUMAN, idea="mine.py")
    kept = Kept(keep=replace(keep(), candidate=what, verdict=verdict(what)), confirmed=True)
    assert ("idea", "mine.py") in sentences.kept_facts(kept)


def test_bars():
    assert bar(2.0, 4) == "████"
    assert bar(-1.0, 4) == "····"


def test_the_card_is_named_where_machines_have_several():
    for card in ("", "card-1"):
        begun = started(target=replace(TARGET, identity=card))
        facts = dict(sentences.conditions_facts(told(stories.events([begun]))))
        assert facts.get("card", "") == card and facts["machine"] == begun.conditions.machine
