"""Once more, with fresh processes: what a trusted child's sudden death interrupted is nobody's fault."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from strop.errors import ChildLost

LOG = logging.getLogger(__name__)
P = ParamSpec("P")
Answer = TypeVar("Answer")


class Closable(Protocol):
    """Opens what it needs when it needs it, and can end all of it."""

    def close(self) -> None:
        """End every child."""
        ...


Owner = TypeVar("Owner", bound=Closable)


def once_more(station: Callable[Concatenate[Owner, P], Answer]) -> Callable[Concatenate[Owner, P], Answer]:
    """A station that is walked a second time where a trusted child was lost; a second loss is told."""

    @wraps(station)
    def walked(owner: Owner, *args: P.args, **named: P.kwargs) -> Answer:
        try:
            return station(owner, *args, **named)
        except ChildLost as loss:
            LOG.warning("once more with fresh processes: %s", loss)
            owner.close()
            return station(owner, *args, **named)

    return walked
