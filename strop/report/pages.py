"""A run as a page: HTML that needs nothing else (light and dark), or Markdown. Both from templates beside this file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from strop.records.measurement import Comparison
from strop.records.result import RunResult
from strop.report import phrases, sentences
from strop.report.story import Story

TEMPLATES = Path(__file__).parent / "templates"


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(["html.j2"], default=False),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = {
        "time": phrases.time_text,
        "ratio": phrases.ratio_text,
        "share": phrases.share_text,
        "interval": phrases.interval_text,
        "short": phrases.short,
        "baseline": sentences.baseline_text,
        "same": sentences.same_text,
        "cell": _cell,
        "fenced": _fenced,
        "ceilings": sentences.ceilings_text,
    }
    environment.filters.update(filters)
    return environment


def _cell(text: str) -> str:
    """Text that cannot break a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


def _fenced(text: str, language: str) -> str:
    """Text as a block of Markdown that nothing in it can end."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def _words(story: Story, result: RunResult) -> dict[str, object]:
    commands = (sentences.repeat_kept(story, result), sentences.repeat_run(story))
    profile = story.profiled.profile if story.profiled else None
    return {
        "story": story,
        "result": result,
        "headline": sentences.headline(result),
        "kept_facts": sentences.kept_facts(result.kept) if result.kept else [],
        "edits": result.kept.keep.verdict.edits if result.kept else (),
        "edits_title": sentences.EDITS_TITLE,
        "edits_measured": sentences.EDITS_MEASURED,
        "no_line": sentences.NO_LINE,
        "profiles": sentences.profile_kept(story, result),
        "others": [(name, sentences.other_text(kept)) for name, kept in sentences.other_classes(result)],
        "conditions": sentences.conditions_facts(story),
        "cost": sentences.cost_text(result),
        "commands": [command for command in commands if command],
        "profile": profile,
        "declines": story.catalogue.declines if story.catalogue else (),
        "marks": _interval_marks(result.kept.keep.comparison) if result.kept else None,
    }


def _interval_marks(comparison: Comparison) -> dict[str, float]:
    """Where interval and point lie on a line from 1 to a little beyond the upper end, in per cent."""
    end = 1.0 + 1.15 * (comparison.high - 1.0)

    def place(ratio: float) -> float:
        return round(100 * max(0.0, min(1.0, (ratio - 1.0) / (end - 1.0))), 2)

    low, high = place(comparison.low), place(comparison.high)
    return {"low": low, "width": round(high - low, 2), "point": place(comparison.speedup), "end": round(end, 3)}


def html_page(runs: Sequence[tuple[Story, RunResult]]) -> str:
    """One self-contained page; several runs stand one below the other."""
    template = _environment().get_template("run.html.j2")
    title = ", ".join(story.name for story, _ in runs)
    return template.render(runs=[_words(story, result) for story, result in runs], title=title)


def markdown_page(story: Story, result: RunResult) -> str:
    """The same as Markdown."""
    return _environment().get_template("run.md.j2").render(**_words(story, result))
