"""The head of every file in the galleries, as data: tests and the page about cheats read it."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
WORKLOADS = HERE / "workloads"
CUDA_WORKLOADS = HERE / "cuda_workloads"
"""Of the galleries for CUDA alone: sizes at which a GPU shows what is wrong, too slow for the trials of a CPU."""
KEYS = (
    "story",
    "kind",
    "seen",
    "workload",
    "when",
    "caught-by",
    "timed",
    "rejected-by",
    "scope",
    "notes",
    "ends-as",
    "says",
    "leaves",
    "interpreted",
    "stood-in",
    "outcome",
)
_KEY = re.compile(rf"({'|'.join(KEYS)}): ")

DRAWN = ("dropped_attention", "dropped_features", "noisy_rows")
"""Workloads that draw random numbers. They are judged by the distribution of their answers, in which the fault of a few
elements, or of a last bit, cannot show.
"""


class BadCard(ValueError):
    """The author of a gallery file must mend its head."""


@dataclass(frozen=True)
class Card:
    """One file: its title, and the fields of its docstring."""

    path: Path
    title: str
    fields: dict[str, str]

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def workload(self) -> Path:
        name = f"{self.fields['workload']}.py"
        return CUDA_WORKLOADS / name if (CUDA_WORKLOADS / name).is_file() else WORKLOADS / name

    def __getitem__(self, key: str) -> str:
        return self.fields[key]

    def get(self, key: str) -> str:
        return self.fields.get(key, "")


def read_card(path: Path) -> Card:
    """The card of one file.

    Raises:
        BadCard: no docstring, a missing field, or a workload that is not there.
    """
    head = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    title, _, body = head.partition("\n\n")
    fields: dict[str, str] = {}
    key = ""
    for line in body.splitlines():
        if found := _KEY.match(line):
            key = found.group(1)
            fields[key] = line[found.end() :].strip()
        elif key:
            fields[key] += " " + line.strip()
    card = Card(path, title.strip().rstrip("."), fields)
    if not title or not {"story", "workload"} <= set(fields) or not card.workload.is_file():
        raise BadCard(f"{path}: open it with a title, and name story and workload (a file of {WORKLOADS.name}/)")
    return card


def cards(gallery: str) -> list[Card]:
    """All cards of a folder such as ``liars``, ``honest``, ``gpu_faults`` or ``cuda_liars``, by workload and name."""
    found = [read_card(path) for path in (HERE / gallery).glob("*.py")]
    return sorted(found, key=lambda card: (card["workload"], card.name))
