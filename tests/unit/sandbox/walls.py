"""A wall whose children run the scripted worker, for tests and their fixtures."""

import sys
from pathlib import Path

from strop.records.candidate import SourceForm
from strop.records.target import Ceilings, Target
from strop.sandbox.limits import MIB, Limits
from strop.sandbox.wall import LocalWall
from strop.settings import Settings
from strop.wire.messages import Load

WORKER = Path(__file__).with_name("fake_worker.py")
LIMITS = Limits(memory_bytes=256 * MIB, output_bytes=2 * MIB, disk_bytes=24 * MIB, processes=24)
TARGET = Target(
    name="null",
    device="null",
    summary="nothing",
    languages=(),
    memory=(),
    ceilings=Ceilings(copy_bytes_per_s=1.0, product_flop_per_s=(("float32", 1.0),), call_overhead_ns=1.0),
)


def fake_command(read, write, given, made, role):
    numbers = {"read": read, "write": write, "given": given, "made": made, "role": role}
    return [sys.executable, str(WORKER), *(f"--{name}={value}" for name, value in numbers.items())]


def load(deed):
    """The request that makes the scripted worker do `deed`."""
    return Load(form=SourceForm(text=deed), target=TARGET)


def make_wall(folder, limits=LIMITS, command=fake_command, **more):
    return LocalWall(Settings(home=folder / "home"), limits, ahead=more.pop("ahead", {}), command=command, **more)
