"""The catalogue: one file per known transformation."""

from strop.registry import Shelf
from strop.transforms._base import Transform

SHELF = Shelf("strop.transforms", "transform", Transform)
