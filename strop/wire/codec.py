"""Records to bytes and back. Unknown keys, wrong types and oversized texts are refused; nothing is ever unpickled."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, TypeVar, get_args

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

T = TypeVar("T")


class CodecError(ValueError):
    """The bytes are not the record that was expected."""


_TAGS = ("ask", "reply", "event", "evidence", "form", "decision", "outcome")


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Members of a union of records are told apart by the tag that they all carry, so that errors name one member."""
    members = get_args(kind)
    tags = [tag for tag in _TAGS if members and all(tag in getattr(m, "__dataclass_fields__", {}) for m in members)]
    told_apart: Any = Annotated[kind, Field(discriminator=tags[0])] if tags else kind
    return TypeAdapter(told_apart)


@cache
def _writer(kind: Any) -> TypeAdapter[Any]:
    """Writes infinities and NaN as what they are.

    Pydantic looks for that wish on the outermost schema alone, and where that is a record nobody but the record may set
    it; a union with None is no record, and changes nothing else about what is written.
    """
    maybe: Any = kind | None
    return TypeAdapter(maybe, config=ConfigDict(ser_json_inf_nan="constants"))


def encode(record: object, kind: Any = None) -> bytes:
    """JSON of a record; pass the union as ``kind`` where the record is one of several."""
    return _writer(kind or type(record)).dump_json(record)


def decode(kind: type[T], data: bytes | str) -> T:
    """Read one record of type ``kind`` (a record type or a union of them).

    Raises:
        CodecError: with the first thing that is wrong, in words.
    """
    try:
        return _adapter(kind).validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise CodecError(f"{place or 'message'}: {first['msg']}") from None
