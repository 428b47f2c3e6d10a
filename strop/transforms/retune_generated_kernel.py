"""Another launch, or another form of reduction, for one kernel that the compiler generated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import torch

from strop.errors import BadCandidate
from strop.records.graph import Region
from strop.records.opportunity import Legality, ParameterRange, Proposal
from strop.records.profile import KernelProfile
from strop.records.recipe import Scalar, Step
from strop.records.target import Target
from strop.transforms._base import LOOPED as LOOPED_FORM
from strop.transforms._base import PERSISTENT as PERSISTENT_FORM
from strop.transforms._base import Example, GeneratedKernel, KernelTransform
from strop.transforms._kernel_text import (
    LOOPED,
    PERSISTENT,
    POINTWISE,
    STAGES,
    WARPS,
    KernelText,
    eviction_hints,
    read_kernel,
    with_eviction,
    with_launch,
    with_name,
    with_stages,
    with_swizzle,
)
from strop.transforms._launches import (
    MAX_BLOCK,
    MAX_STAGES,
    MAX_WARPS,
    Launch,
    Shape,
    estimate,
    launches,
    powers,
    why_no_swizzle,
    why_not_legal,
    why_not_tunable,
)

FORM = "form"
EVICT = "evict"
SWIZZLE = "swizzle"
KEPT = "kept"
BLOCKS = {"xblock": "XBLOCK", "yblock": "YBLOCK", "zblock": "ZBLOCK", "rblock": "R0_BLOCK"}

MOST_KERNELS = 6
LEAST_SHARE = 0.02
"""A kernel that takes less of a call cannot make the call faster by what is told from noise."""
LONGEST_ROW = 16384
"""A persistent reduction over a longer row does not fit in a program instance's registers."""

_WINNABLE_SHARE = {POINTWISE: 0.25, LOOPED: 0.5, PERSISTENT: 0.5}
"""Of the time above the floor, what another launch may hope for: the compiler tries several launches for a pointwise
kernel, and mostly one for a reduction."""
_KINDS = {PERSISTENT_FORM: PERSISTENT, LOOPED_FORM: LOOPED}
_REPEATED_BYTES = 4 << 20
"""What is read again and again and is smaller stays in a cache whatever the order."""


def _example() -> tuple[torch.nn.Module, Sequence[Any]]:
    return torch.nn.Sequential(torch.nn.LayerNorm(1000), torch.nn.Softmax(-1)), (torch.randn(64, 1000),)


class RetuneGeneratedKernel(KernelTransform):
    """See the class variables."""

    name: ClassVar[str] = "retune_generated_kernel"
    summary: ClassVar[str] = "launches one kernel that the compiler generated in another way"
    legality: ClassVar[tuple[Legality, ...]] = (Legality.BIT_EXACT, Legality.REASSOCIATED)
    devices: ClassVar[tuple[str, ...]] = ("cuda",)
    applies_when: ClassVar[str] = (
        "the profile shows a Triton kernel of Inductor's own, pointwise or reduction, that takes a fiftieth of a call"
    )
    valid_because: ClassVar[str] = (
        "Inductor's kernels are written for every block size up to its own limits (TRITON_MAX_BLOCK in "
        "torch/_inductor/runtime/hints.py), with masks for what is left over. Another form of a reduction is the "
        "compiler's own text of the same computation. Elements of a pointwise kernel do not depend on the launch; "
        "reductions add in another order. A swizzle is a permutation of program instances, which are independent; it "
        "is offered for the periods with which the kernel reads something smaller again, and 0 is none. How many "
        "bytes a thread loads at once (at most 16) follows from blocks and warps: Triton makes loads as wide as what "
        "one thread has side by side."
    )
    pays_when: ClassVar[str] = (
        "a reduction goes over its rows several times or has another shape than the compiler's rules have in mind; "
        "registers spill, too few bytes are in flight, or something large is read from memory again and again"
    )
    parameters: ClassVar[tuple[ParameterRange, ...]] = (
        ParameterRange(name=FORM, choices=(KEPT, PERSISTENT_FORM, LOOPED_FORM)),
        *(ParameterRange(name=name, choices=powers(1, MAX_BLOCK[block])) for name, block in BLOCKS.items()),
        ParameterRange(name=WARPS, choices=powers(1, MAX_WARPS)),
        ParameterRange(name=STAGES, choices=tuple(range(1, MAX_STAGES + 1))),
        ParameterRange(name=EVICT, choices=(KEPT, "none", "evict_first", "evict_last")),
        ParameterRange(name=SWIZZLE, choices=(0,)),
    )
    example: ClassVar[Example] = Example(build=_example, says="A normalisation and a softmax over rows of 1000.")

    def proposals(self, kernels: Sequence[KernelProfile], target: Target) -> Iterator[Proposal]:
        """The heaviest kernels, each in the form that it has and in another one that promises more."""
        heaviest = sorted(_by_hash(kernels), key=lambda each: -each[0].time_ns * len(each))
        for launched in heaviest[:MOST_KERNELS]:
            text = read_kernel(launched[0].source)
            if text is None or why_not_tunable(text) or sum(each.share for each in launched) < LEAST_SHARE:
                continue
            for form, shaped in _forms(text):
                yield _proposal(self.name, launched, text, form, shaped)

    def forms(self, arguments: Mapping[str, Scalar]) -> tuple[str, ...]:
        """The one that is named."""
        form = str(arguments.get(FORM, KEPT))
        return (form,) if form in (PERSISTENT_FORM, LOOPED_FORM) else ()

    def edited(self, kernel: GeneratedKernel, arguments: Mapping[str, Scalar]) -> str:
        """The kernel in the wanted form with the wanted launch; what is not named takes the estimate's best."""
        mine = read_kernel(kernel.source) if kernel.language == "triton" else None
        if mine is None:
            raise BadCandidate(f"{kernel.name} is {kernel.language} code, whose launch cannot be chosen.")
        _refuse_unknown(self, arguments)
        form = str(arguments.get(FORM, KEPT))
        text = mine if form == KEPT else read_kernel(kernel.in_form(form))
        reason = "it is not Inductor's own" if text is None else why_not_tunable(text)
        if text is None or reason:
            raise BadCandidate(f"{kernel.name} cannot be retuned: {reason}.")
        if text.kind != _KINDS.get(form, text.kind):
            raise BadCandidate(f"The compiler writes no {form} form of {kernel.name}.")
        launch = _launch(text, arguments)
        source = _ordered(text, launch, _whole(SWIZZLE, arguments.get(SWIZZLE, 0)))
        if launch.stages > 1:
            source = with_stages(source, launch.stages)
        policy = str(arguments.get(EVICT, KEPT))
        if policy != KEPT:
            source = with_eviction(source, "" if policy == "none" else policy)
        return with_name(source, mine.name)


def _ordered(text: KernelText, launch: Launch, period: int) -> str:
    """With this launch, and its program instances in the wanted order."""
    if not period:
        return with_launch(text, launch.values())
    reason = why_no_swizzle(text, launch, period)
    if reason:
        raise BadCandidate(f"{text.name} cannot be launched in another order: {reason}.")
    swizzled = read_kernel(with_swizzle(text, period))
    assert swizzled is not None  # noqa: S101 - one expression of a kernel was exchanged
    return with_launch(swizzled, launch.values())


def _refuse_unknown(transform: RetuneGeneratedKernel, arguments: Mapping[str, Scalar]) -> None:
    known = [each.name for each in transform.parameters]
    unknown = sorted(set(arguments) - {"hash", "kernel", *known})
    if unknown:
        raise BadCandidate(f"{transform.name} does not know {', '.join(unknown)}; it takes {', '.join(known)}.")


def _by_hash(kernels: Iterable[KernelProfile]) -> list[list[KernelProfile]]:
    """Generated Triton kernels with a time, all launches of one kernel together."""
    groups: dict[str, list[KernelProfile]] = {}
    for each in kernels:
        if each.language == "triton" and each.hash and each.calls:
            groups.setdefault(each.hash, []).append(each)
    return list(groups.values())


def _forms(text: KernelText) -> list[tuple[str, KernelText]]:
    """The form that a kernel has, and another one where the estimate does not speak against it. What the compiler
    would write then is not there yet: the estimate takes the kernel as it is with the other form's block sizes.
    """
    forms = [(KEPT, text)]
    row = max((size for prefix, size in text.size_hints.items() if prefix.startswith("r")), default=0)
    if text.kind == LOOPED and row <= LONGEST_ROW:
        blocks = tuple(each for each in text.blocks if not each.startswith("R"))
        forms.insert(0, (PERSISTENT_FORM, replace(text, kind=PERSISTENT, blocks=blocks)))
    elif text.kind == PERSISTENT:
        forms.append((LOOPED_FORM, replace(text, kind=LOOPED, blocks=(*text.blocks, "R0_BLOCK"))))
    scores = {form: _best_score(shaped) for form, shaped in forms}
    return [(form, shaped) for form, shaped in forms if form == KEPT or scores[form] > scores[KEPT]]


def _best_score(text: KernelText) -> float:
    found = launches(text)
    return estimate(Shape(text), found[0]) if found else 0.0


def _proposal(
    name: str, launched: Sequence[KernelProfile], text: KernelText, form: str, shaped: KernelText
) -> Proposal:
    first = launched[0]
    parameters = _ranges(text, shaped)
    fixed: dict[str, Scalar] = {"kernel": first.name, "hash": first.hash, FORM: form}
    chosen: dict[str, Scalar] = {each.name: each.choices[0] for each in parameters}
    exact = text.kind == POINTWISE and not text.has_atomics
    return Proposal(
        step=Step(name, tuple((fixed | chosen).items())),
        region=Region(
            graph_id=first.graph_id, nodes=tuple(dict.fromkeys(node for each in launched for node in each.nodes))
        ),
        legality=(Legality.BIT_EXACT if exact else Legality.REASSOCIATED,),
        gain_ns=_WINNABLE_SHARE[text.kind] * sum(each.headroom_ns for each in launched),
        parameters=parameters,
    )


def _ranges(text: KernelText, shaped: KernelText) -> tuple[ParameterRange, ...]:
    """Values that occur in the launches that the estimate does not rule out, its first choice first."""
    liked = [_arguments(each) for each in launches(shaped)]
    ranges = [
        ParameterRange(name=name, choices=tuple(dict.fromkeys(each[name] for each in liked))) for name in liked[0]
    ]
    large = [each for each in text.periods if _is_worth_ordering(text, each, liked)]
    if large:
        ranges.append(ParameterRange(name=SWIZZLE, choices=(0, *large)))
    if eviction_hints(text):
        ranges.append(ParameterRange(name=EVICT, choices=(KEPT, "none", "evict_first")))
    return tuple(ranges)


def _is_worth_ordering(text: KernelText, period: int, liked: Sequence[Mapping[str, int]]) -> bool:
    """Whether what repeats is large, rows included, and some launch would divide the period."""
    shape = Shape(text)
    row = math.prod(size for prefix, size in shape.numels.items() if prefix.startswith("r"))
    divides = any(period % each.get("xblock", 1) == 0 for each in liked)
    return divides and period * row * shape.element_bytes >= _REPEATED_BYTES


def _arguments(launch: Launch) -> dict[str, int]:
    """A launch as a step's arguments."""
    names = {block: name for name, block in BLOCKS.items()}
    return {names[block]: size for block, size in launch.blocks} | {WARPS: launch.warps, STAGES: launch.stages}


def _launch(text: KernelText, arguments: Mapping[str, Scalar]) -> Launch:
    """The launch that the arguments name, completed by the best that agrees with them."""
    wanted = {name: _whole(name, value) for name, value in arguments.items() if name in (*BLOCKS, WARPS, STAGES)}
    useless = [name for name, size in wanted.items() if BLOCKS.get(name, "") not in ("", *text.blocks) and size != 1]
    if useless:
        raise BadCandidate(f"{text.name} has no {', '.join(BLOCKS[name] for name in useless)} in this form.")
    wanted = {name: value for name, value in wanted.items() if BLOCKS.get(name, "") in ("", *text.blocks)}
    liked = [_arguments(each) for each in launches(text)]
    agreeing = [each for each in liked if all(each[name] == value for name, value in wanted.items())]
    base = (agreeing or liked or [{}])[0]
    full = {**base, **wanted}
    missing = [block for name, block in BLOCKS.items() if block in text.blocks and name not in full]
    if missing:
        raise BadCandidate(f"{text.name} needs {', '.join(missing)}: no launch can be guessed for its sizes.")
    blocks = tuple((block, full[name]) for name, block in BLOCKS.items() if block in text.blocks)
    launch = Launch(blocks, full.get(WARPS, 4), full.get(STAGES, 1))
    reason = why_not_legal(Shape(text), launch)
    if reason:
        raise BadCandidate(f"{text.name} cannot be launched so: {reason}.")
    return launch


def _whole(name: str, value: Scalar) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadCandidate(f"{name} is {value!r}; it has to be a whole number.")
    return value


ITEM = RetuneGeneratedKernel()
