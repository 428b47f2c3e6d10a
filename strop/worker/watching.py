"""Dispatch modes that do not load the compiler only to keep it out.

torch wraps the ``__torch_dispatch__`` of every mode so that Dynamo stays out of it, and the wrapper's first call
imports Dynamo: seconds, in a process that compiles nothing. Where it is not loaded it need not be kept out.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from torch._compile import _disable_dynamo
from torch.utils._python_dispatch import TorchDispatchMode

DYNAMO = "torch._dynamo"


class WatchingMode(TorchDispatchMode):
    """Base of the modes of this room."""

    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Asked by torch before it wraps; the wrapper here stands in for its own."""
        return False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        plain = cls.__dict__.get("__torch_dispatch__")
        if plain is None:
            return
        without_dynamo = _disable_dynamo(plain)

        @functools.wraps(plain)
        def dispatch(*args: Any, **named: Any) -> Any:
            return (without_dynamo if DYNAMO in sys.modules else plain)(*args, **named)

        cls.__torch_dispatch__ = dispatch
