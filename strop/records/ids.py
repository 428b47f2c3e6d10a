"""Content ids: the same content has the same id on every machine and in every process."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
from collections.abc import Mapping, Sequence, Set
from typing import cast


def plain(value: object) -> object:
    """Turn records, enums, tuples and mappings into what JSON can hold, with the record's type name kept."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"record": type(value).__name__, **fields}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in cast("Sequence[object]", value)]
    if isinstance(value, set | frozenset):
        return sorted(json.dumps(plain(item), sort_keys=True) for item in cast("Set[object]", value))
    return value


def content_id(prefix: str, *parts: object) -> str:
    """Return ``prefix-`` and 16 hex digits of the SHA-256 over the canonical JSON of ``parts``."""
    text = json.dumps([plain(part) for part in parts], sort_keys=True, separators=(",", ":"))
    return f"{prefix}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
