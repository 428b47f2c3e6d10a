"""Questions about the workload and about what is loaded, one file each, named like the request. A file is read when
its question is asked, because capture and compilers are slow to import.
"""

from strop.registry import Shelf
from strop.worker.questions._base import Question

SHELF = Shelf("strop.worker.questions", "question", Question)
