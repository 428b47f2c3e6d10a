"""The other side of the wall: a program, started as `python -m strop.worker`, in which alone foreign code runs."""
