"""What every record has in common: it refuses unknown fields wherever it is read from bytes."""

from __future__ import annotations

from typing import ClassVar


class Record:
    """Base of all records; wires read it to learn that unknown keys are an error, never dropped."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid", "ser_json_inf_nan": "constants"}
