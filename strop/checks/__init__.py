"""The shelf of checks: each looks at one kind of evidence and says what it found. No check ever runs candidate code."""

from strop.checks._base import Check
from strop.registry import Shelf

SHELF = Shelf("strop.checks", "check", Check)
