"""The demo: optimise the example workloads on this machine; leaves `build/demo.json` and `build/demo.html`.

One example is a model that the catalogue can make faster; on the other nothing beats the compiler, and Strop says so.
Each gets a budget of its own, so the whole takes twice the budget and at most two minutes more.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build"
EXAMPLES = ROOT / "examples"
WORKLOADS = ("image_similarity.py", "projection.py")
BUDGET = "2m"


def environment() -> dict[str, str]:
    """A home below ``build``, so that the demo neither reads nor fills the user's own ledger."""
    return {**os.environ, "STROP_HOME": os.environ.get("STROP_HOME", str(BUILD / "demo"))}


def strop(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the program; its progress goes to this terminal, its answer comes back."""
    command = [sys.executable, "-m", "strop", *words, "--json"]
    return subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True, check=False)


def optimize(workload: Path, budget: str) -> dict[str, object]:
    """One run's answer.

    Raises:
        SystemExit: the program failed; it has said why.
    """
    name = os.path.relpath(workload, ROOT)
    print(f"\nstrop optimize {name} --budget {budget}", flush=True)
    done = strop("optimize", name, "--budget", budget)
    if done.returncode != 0:
        raise SystemExit(done.returncode)
    return json.loads(done.stdout)


def sentence(answer: dict[str, object]) -> str:
    """The result of one run in one line."""
    kept = answer["kept"]
    if not isinstance(kept, dict):
        return f"{answer['workload']}: nothing beat the compiler ({answer['baseline']}), which stays"
    figures = f"{kept['speedup']:.3f}x [{kept['low']:.3f}, {kept['high']:.3f}]"
    return f"{answer['workload']}: {figures} over {answer['baseline']} with {kept['recipe']}"


def main() -> int:
    """Run all examples, then write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", default=BUDGET, help="for each workload, such as 90s or 5m")
    parser.add_argument("workloads", nargs="*", type=Path, help="other workload files than the examples")
    asked = parser.parse_args()
    began_s = time.monotonic()
    BUILD.mkdir(exist_ok=True)
    files = [each.resolve() for each in asked.workloads] or [EXAMPLES / name for name in WORKLOADS]
    answers = [optimize(each, asked.budget) for each in files]
    (BUILD / "demo.json").write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    names = [str(answer["run"]) for answer in answers]
    if strop("report", *names, "--output", str(BUILD / "demo.html")).returncode != 0:
        return 4
    print(f"\nDone in {time.monotonic() - began_s:.0f} s.")
    for answer in answers:
        print(sentence(answer))
    print("The answers are in build/demo.json, the report is build/demo.html.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
