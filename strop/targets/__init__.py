"""The shelf of targets: one file per kind of hardware."""

from strop.registry import Shelf
from strop.targets._base import TargetKind

SHELF = Shelf("strop.targets", "target", TargetKind)
