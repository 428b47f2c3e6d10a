"""Gather the wheels that Strop needs on a machine where nothing can be installed from outside.

``python tools/wheels.py`` downloads all that Strop, its tests and its examples depend on into ``wheels/``, in the
versions that this environment has, except what such a machine brings itself (torch and what came with it). There,
install them with
``python -m pip install --no-index --no-deps --target SOMEWHERE wheels/*.whl`` and put SOMEWHERE on PYTHONPATH;
``tools/carried.sh`` does both.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

BROUGHT = frozenset(
    {"torch", "numpy", "triton", "typing-extensions", "sympy", "networkx", "fsspec", "filelock", "mpmath", "setuptools"}
)
MODELS = ("transformers",)
TEST_TOOLS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "coverage", "pytest-cov")
PLATFORMS = (
    *(f"manylinux_2_{minor}_x86_64" for minor in (39, 35, 34, 31, 28, 27, 24, 17)),
    "manylinux2014_x86_64",
    "manylinux1_x86_64",
)
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def needed(roots: tuple[str, ...]) -> dict[str, str]:
    """Names and versions of ``roots`` and of everything that they require here; extras and other platforms' needs are
    left out.
    """
    found: dict[str, str] = {}
    queue = list(roots)
    while queue:
        name = queue.pop().lower().replace("_", "-")
        if name in found or name in BROUGHT:
            continue
        try:
            known = distribution(name)
        except PackageNotFoundError:
            continue
        found[name] = known.version
        for requirement in known.requires or ():
            if "extra ==" not in requirement and (match := _NAME.match(requirement)):
                queue.append(match.group())
    found.pop("strop", None)
    return found


def main() -> None:
    """Download; pip says what it cannot find."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default="3.12", help="the other machine's Python")
    parser.add_argument("--folder", type=Path, default=Path("wheels"))
    options = parser.parse_args()
    options.folder.mkdir(exist_ok=True)
    for old in options.folder.glob("*.whl"):
        old.unlink()
    pins = [f"{name}=={version}" for name, version in sorted(needed(("strop", *MODELS, *TEST_TOOLS)).items())]
    platforms = [part for platform in PLATFORMS for part in ("--platform", platform)]
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--only-binary=:all:",
        "--implementation",
        "cp",
    ]
    command += ["--python-version", options.python, *platforms, "-d", str(options.folder), *pins]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
