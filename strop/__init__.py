"""Strop makes PyTorch workloads faster than torch.compile leaves them, and proves that they are still right.

Every import of a room of this package runs this file first, so it imports nothing: the public names below are fetched
from `strop.api.live` when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strop.api.live import compare, load, optimize, verify

__version__ = "0.1.0"
__all__ = ["__version__", "compare", "load", "optimize", "verify"]


def __getattr__(name: str) -> Any:
    """Fetch a public name from `strop.api.live` on first use and remember it here."""
    if name.startswith("_") or name not in __all__:
        raise AttributeError(f"module 'strop' has no attribute {name!r}; it offers {', '.join(__all__)}")
    value = getattr(import_module("strop.api.live"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names without fetching them."""
    return sorted(set(globals()) | set(__all__))
