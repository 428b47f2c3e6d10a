"""A recipe is a sequence of transforms with arguments; it prints as one line and parses back."""

from __future__ import annotations

import re
from dataclasses import dataclass

from strop.records._base import Record

Scalar = bool | int | float | str

CODE = "source"
"""The argument in which a step carries code of the candidate's own, whatever its transform."""

_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_STEP = re.compile(r"\s*([A-Za-z0-9_]+)\s*(?:\{(.*)\})?\s*\Z", re.DOTALL)
_BARE = re.compile(r"[^\s{};=\"]+\Z")


class RecipeSyntaxError(ValueError):
    """The text is not a recipe; the message says where and shows the form."""


@dataclass(frozen=True, slots=True)
class Step(Record):
    """One transform with its arguments, in the order of their names."""

    name: str
    arguments: tuple[tuple[str, Scalar], ...] = ()

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise RecipeSyntaxError(f"'{self.name}' is not a transform name: use lower case, digits and underscores.")
        object.__setattr__(self, "arguments", tuple(sorted(self.arguments, key=lambda pair: pair[0])))

    def __str__(self) -> str:
        if not self.arguments:
            return self.name
        inner = " ".join(f"{key}={_print_scalar(value)}" for key, value in self.arguments)
        return f"{self.name}{{{inner}}}"

    def argument(self, key: str, default: Scalar) -> Scalar:
        """Value of one argument."""
        return dict(self.arguments).get(key, default)


@dataclass(frozen=True, slots=True)
class Recipe(Record):
    """Steps in the order in which they are applied. The empty recipe is the compiler's own version."""

    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        return " ; ".join(str(step) for step in self.steps)

    @property
    def brings_code(self) -> bool:
        """Whether running it runs code that its author wrote: such a recipe is confined like any candidate's source."""
        return any(CODE in dict(step.arguments) for step in self.steps)

    def then(self, other: Recipe) -> Recipe:
        """This recipe followed by ``other``."""
        return Recipe(self.steps + other.steps)


def parse_recipe(text: str) -> Recipe:
    """Read ``name{key=value key=value} ; name``; an empty text is the empty recipe.

    Raises:
        RecipeSyntaxError: with the offending part and the expected form.
    """
    if not text.strip():
        return Recipe()
    return Recipe(tuple(_parse_step(part) for part in _split(text, ";")))


def _parse_step(text: str) -> Step:
    match = _STEP.match(text)
    if match is None:
        raise RecipeSyntaxError(f"'{text.strip()}' is not a step: write name or name{{key=value key=value}}.")
    pairs: list[tuple[str, Scalar]] = []
    for item in _split(match.group(2) or "", " "):
        key, equals, value = item.partition("=")
        if not equals or not _NAME.match(key):
            raise RecipeSyntaxError(f"'{item}' in '{text.strip()}' is not an argument: write key=value.")
        if key in dict(pairs):
            raise RecipeSyntaxError(f"'{key}' is given twice in '{text.strip()}'.")
        pairs.append((key, _parse_scalar(value)))
    return Step(match.group(1), tuple(pairs))


def _split(text: str, separator: str) -> list[str]:
    """Split at ``separator`` outside double quotes; blank separators may repeat, others may not leave a hole."""
    parts: list[str] = []
    current, quoted, escaped = "", False, False
    for char in text:
        if quoted and not escaped and char == "\\":
            escaped = True
            current += char
            continue
        if char == '"' and not escaped:
            quoted = not quoted
        if not quoted and (char == separator or (separator == " " and char.isspace())):
            parts.append(current)
            current = ""
        else:
            current += char
        escaped = False
    if quoted:
        raise RecipeSyntaxError(f"a double quote is not closed in '{text.strip()}'.")
    parts.append(current)
    if separator == " ":
        return [part for part in parts if part]
    if any(not part.strip() for part in parts):
        raise RecipeSyntaxError(f"a step is missing beside '{separator}' in '{text.strip()}'.")
    return parts


def _print_scalar(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        plain = _BARE.match(value) and isinstance(_parse_scalar(value), str)
        return value if plain else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


def _parse_scalar(text: str) -> Scalar:
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
