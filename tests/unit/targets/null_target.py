"""A target that exists in tests alone: what works with it asks the target, and not for the name of its device."""

import ast
from pathlib import Path

from strop.records.target import Ceilings, MemoryLevel, Target
from strop.targets._base import TargetKind

NULL_CEILINGS = Ceilings(
    copy_bytes_per_s=10e9, product_flop_per_s=(("float32", 100e9), ("float64", 50e9)), call_overhead_ns=1000.0
)


class NullTarget(TargetKind):
    """Hardware that costs nothing to measure."""

    name = "null"
    summary = "nothing, for tests"
    device = "null"
    languages = ("python",)
    source = "invented"

    def __init__(self, *, is_present=True, model="one"):
        self.is_present = is_present
        self.model = model
        self.measured = 0

    def present(self):
        return self.is_present

    def measure_ceilings(self, threads):
        self.measured += 1
        return NULL_CEILINGS

    def describe(self, ceilings, threads):
        levels = (MemoryLevel(name="L1", size_bytes=1 << 20), MemoryLevel(name="memory", size_bytes=1 << 30))
        return Target(
            name=self.name,
            device=self.device,
            summary=self.summary,
            languages=self.languages,
            memory=levels,
            ceilings=ceilings,
            threads=threads,
        )

    def identity(self):
        return {"model": self.model}

    def synchronise(self):
        return None


def null_target(threads=1):
    """The record of a null target."""
    return NullTarget().describe(NULL_CEILINGS, threads)


DEVICE_WORDS = {"cuda", "cpu", "mps", "xpu", "hip"}


def decisions_on_device_words(package: Path) -> list[str]:
    """Places outside the shelf of targets that compare something with the name of a device, or look it up by one.

    A default such as ``device="cpu"`` decides nothing; ``if device == "cuda"`` does. Asking torch where a tensor lies
    (``tensor.device.type == "cpu"``) asks for no target.
    """
    return [
        f"{path.relative_to(package.parent)}:{node.lineno}: decides on the device's name; ask the target instead"
        for path in sorted(package.rglob("*.py"))
        if path.relative_to(package).parts[0] != "targets"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if _decides(node)
    ]


def _decides(node):
    match node:
        case ast.Compare(left=left, comparators=others):
            parts = [] if _asks_torch(left) else [left, *others]
        case ast.Call(func=ast.Attribute(attr="startswith" | "endswith"), args=parts):
            pass
        case ast.MatchValue(value=value):
            parts = [value]
        case ast.Dict(keys=keys):
            parts = keys
        case _:
            return False
    return any(_is_device_word(part) for part in parts)


def _asks_torch(node):
    match node:
        case ast.Attribute(attr="type", value=ast.Attribute(attr="device")):
            return True
    return False


def _is_device_word(node):
    match node:
        case ast.Constant(value=str(text)):
            return text.partition(":")[0] in DEVICE_WORDS
        case ast.Tuple(elts=parts) | ast.Set(elts=parts) | ast.List(elts=parts):
            return any(_is_device_word(part) for part in parts)
    return False
