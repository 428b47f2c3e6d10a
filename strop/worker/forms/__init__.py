"""The forms that can be loaded, one file each. A file is read when its form is asked for, because compilers are slow
to import.
"""

from strop.registry import Shelf
from strop.worker.forms._base import Builder

SHELF = Shelf("strop.worker.forms", "form", Builder)
