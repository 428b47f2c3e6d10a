"""Rewrite the generated parts of the documentation: the words from the records, the errors from their tree, checks and
transforms from their shelves.

A page marks its generated part with `<!-- generated: NAME -->` and `<!-- end -->`; the rest is written by hand.
`python tools/pages.py --check` changes nothing and fails when a page is stale.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
RECORDS = ROOT / "strop" / "records"
ERRORS = ROOT / "strop" / "errors.py"


def classes(path: Path) -> Iterator[ast.ClassDef]:
    """The public classes of one file, in the order in which they stand."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node


def cell(text: str) -> str:
    """Docstring text as one cell of a Markdown table."""
    return re.sub(r"\s+", " ", text).replace("``", "`").replace("|", "\\|").strip()


def words() -> str:
    """One table per file of records."""
    blocks = []
    for path in sorted(RECORDS.glob("*.py")):
        rows = [f"| `{node.name}` | {cell(ast.get_docstring(node) or '')} |" for node in classes(path)]
        if rows:
            title = path.stem.strip("_").capitalize()
            blocks.append("\n".join([f"### {title}", "", "| record | means |", "|---|---|", *rows]))
    return "\n\n".join(blocks)


def errors() -> str:
    """The tree of errors, each with the exit code that the command line returns for it."""
    found = list(classes(ERRORS))
    code = {"Exception": "", "ValueError": ""}
    rows = ["| error | is a | exit code | says |", "|---|---|---|---|"]
    for node in found:
        base = next((ast.unparse(each) for each in node.bases), "object")
        code[node.name] = own_exit_code(node) or code.get(base, "")
        text = cell(ast.get_docstring(node) or "")
        rows.append(f"| `{node.name}` | `{base}` | {code[node.name]} | {text} |")
    return "\n".join(rows)


def own_exit_code(node: ast.ClassDef) -> str:
    """The exit code that the class itself sets, or an empty text where it inherits one."""
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and each.target.id == "exit_code":
            return ast.unparse(each.value) if each.value else ""
    return ""


def checks() -> str:
    """One row per check on the shelf."""
    from strop.api.shelves import check_entries

    rows = ["| check | asked at | says yes when |", "|---|---|---|"]
    for entry in check_entries():
        only = " Only notes, never fails." if entry["only_notes"] else ""
        rows.append(f"| `{entry['name']}` | {', '.join(entry['stages'])} | {cell(entry['summary'])}{only} |")
    return "\n".join(rows)


def catalogue() -> str:
    """One section per transform on the shelf."""
    from strop.api.shelves import transform_entries

    return "\n\n".join(_transform(entry) for entry in transform_entries())


def _transform(entry: dict[str, Any]) -> str:
    parameters = "; ".join(
        f"`{each['name']}`: {', '.join(f'`{choice}`' for choice in each['choices'])}" for each in entry["parameters"]
    )
    facts = {
        "legality": ", ".join(f"`{each}`" for each in entry["legality"]),
        "devices": ", ".join(entry["devices"]),
        "origin": f"`{entry['origin']}`",
        "applies when": entry["applies_when"],
        "valid because": entry["valid_because"],
        "pays when": entry["pays_when"],
        "parameters": parameters or "none",
        "example": entry["example"],
        "file": f"`{entry['file']}`",
    }
    rows = [f"| {name} | {cell(text)} |" for name, text in facts.items()]
    summary = entry["summary"][:1].upper() + entry["summary"][1:]
    return "\n".join([f"## {entry['name']}", "", f"{cell(summary)}.", "", "| | |", "|---|---|", *rows])


def cheats() -> str:
    """The galleries: one row per file, by kind for what must be caught; those for CUDA alone with what came of them."""
    sys.path.insert(0, str(ROOT))
    from tests.gallery.cards import Card, cards

    def caught(card: Card) -> str:
        return card.get("caught-by") or card["ends-as"]

    def what(card: Card) -> list[str]:
        return [f"`{card.name}`: {card.title}", card["story"]]

    blocks = []
    found = [*cards("liars"), *cards("faults"), *cards("gpu_faults")]
    for kind in sorted({card["kind"] for card in found}):
        of_kind = sorted((each for each in found if each["kind"] == kind), key=lambda card: card.title)
        head = f"### {kind[:1].upper()}{kind[1:]} ({len(of_kind)})"
        rows = [[*what(card), card["seen"], caught(card)] for card in of_kind]
        blocks.append(table(head, ("what", "story", "seen", "caught by"), rows))
    on_cuda = sorted(cards("cuda_liars"), key=lambda card: (card["kind"], card.title))
    head = f"## What exists on CUDA alone ({len(on_cuda)})"
    rows = [[*what(card), f"{card['kind']}; {card['seen']}", caught(card), card["outcome"]] for card in on_cuda]
    blocks.append(table(head, ("what", "story", "kind, and where it was seen", "has to be caught by", "outcome"), rows))
    honest = cards("honest")
    head = f"## Honest kernels that must pass ({len(honest)})"
    rows = [[*what(card), card["rejected-by"]] for card in honest]
    blocks.append(table(head, ("what", "story", "rejected by"), rows))
    honest = sorted(cards("cuda_honest"), key=lambda card: card.title)
    head = f"## Honest kernels on CUDA that must pass ({len(honest)})"
    rows = [[*what(card), card["rejected-by"], card["outcome"]] for card in honest]
    blocks.append(table(head, ("what", "story", "rejected by", "outcome"), rows))
    return "\n\n".join(blocks)


def table(head: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A heading and a table below it."""
    lines = [f"| {' | '.join(cell(each) for each in row)} |" for row in rows]
    return "\n".join([head, "", f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}", *lines])


PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "words": ("words.md", words),
    "errors": ("errors.md", errors),
    "checks": ("referee.md", checks),
    "catalogue": ("catalogue.md", catalogue),
    "cheats": ("cheats.md", cheats),
}


def rewritten(page: str, name: str, text: str) -> str:
    """The page with its generated part replaced."""
    pattern = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"the page for {name} has no line <!-- generated: {name} --> with <!-- end --> after it")
    return pattern.sub(lambda match: f"{match.group(1)}\n{text}\n\n{match.group(2)}", page)


def main() -> int:
    """Rewrite or check every page; the exit code is 1 when a checked page is stale."""
    check = sys.argv[1:] == ["--check"]
    stale = []
    for name, (file, make) in PARTS.items():
        path = DOCS / file
        page = path.read_text(encoding="utf-8")
        fresh = rewritten(page, name, make())
        if fresh != page:
            stale.append(file)
            if not check:
                path.write_text(fresh, encoding="utf-8")
    if stale:
        print(f"stale: {', '.join(stale)}; run `make pages`" if check else f"rewritten: {', '.join(stale)}")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
