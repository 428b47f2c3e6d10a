"""The options that several commands share, declared once."""

from __future__ import annotations

from typing import Annotated

import typer

Workload = Annotated[
    str,
    typer.Argument(
        help="file.py, file.py:Class, package.module:factory, model.pt2, or kernelbench:LEVEL/ID.",
        metavar="WORKLOAD",
        show_default=False,
    ),
]
CandidateText = Annotated[
    str,
    typer.Argument(
        help="A file that defines ModelNew (or Model), or a recipe in quotes.", metavar="CANDIDATE", show_default=False
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print exactly one JSON object on standard output; all else goes to stderr.")
]
TargetName = Annotated[
    str | None, typer.Option("--target", help="Kind of hardware; found by itself when left out.", metavar="NAME")
]
ContractName = Annotated[
    str | None,
    typer.Option("--contract", help="fp32 (the default), fp32-strict, tf32, bf16 or fp16.", metavar="NAME"),
]
Baselines = Annotated[
    str | None,
    typer.Option("--baseline", help="What must be beaten; eager,default,reduce-overhead by default.", metavar="LIST"),
]
ModeName = Annotated[
    str | None,
    typer.Option("--mode", help="train or eval; else what the file's MODE says, else train.", metavar="MODE"),
]
Suite = Annotated[
    str | None,
    typer.Option("--suite", help="KernelBench: a checkout or JSONL; else STROP_KERNELBENCH.", metavar="PATH"),
]
Store = Annotated[
    str | None,
    typer.Option("--store", help="Where the ledger lives: a folder, a file or a database URL.", metavar="PLACE"),
]
