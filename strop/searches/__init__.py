"""The shelf of searches: in which order candidates are tried, and what is combined with what."""

from strop.registry import Shelf
from strop.searches._base import Search

SHELF = Shelf("strop.searches", "search", Search)
