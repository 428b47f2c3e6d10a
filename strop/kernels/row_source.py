"""From a program to C++: one function that walks the rows and makes as few passes over each as its reductions need.

A pass computes everything that the next reductions need, element by element in vector code. Results of costly steps
that a later pass needs again are kept in a buffer of one row. Sums are vector sums over pieces of a row, added up in
double precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from strop.kernels.program import (
    COMPARE,
    COSTLY,
    ELEMENTS,
    INFIX,
    REDUCE,
    Instruction,
    Program,
)

PIECE = 1024
"""Elements whose sum is taken in one go: short enough for its rounding, long enough for vectors."""

TASK = 16384
"""Elements that one thread takes at a time when there are no rows."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What the code depends on besides the program: loops within a row, and the innermost step of each tensor (0, 1
    or 2: any).
    """

    loops: int
    steps: tuple[int, ...]


def source_of(program: Program, layout: Layout) -> str:
    """C++ with one entry point, ``run(const int64_t* numbers, void* const* tensors)``.

    ``numbers``: threads, number of outer dimensions, their sizes, sizes of the row's dimensions, then per tensor
    (operands, then results) its strides in elements over the outer and the row's dimensions.
    """
    return _Writer(program, layout).text()


def _constant(value: float) -> str:
    if math.isnan(value):
        return "std::numeric_limits<A>::quiet_NaN()"
    if math.isinf(value):
        return f"({'-' if value < 0 else ''}std::numeric_limits<A>::infinity())"
    return f"A({value!r})"


class _Writer:
    """Writes one program's source; ``kept`` are values with a buffer, filled in the pass that computes them first."""

    def __init__(self, program: Program, layout: Layout) -> None:
        self.program, self.layout = program, layout
        self.count = len(program.operands)
        self.passes = max([program.depths[value] for value, _ in program.results], default=0) + 1
        self.kept: dict[int, int] = {}
        self.bodies = [self._needed(depth) for depth in range(self.passes)]

    # --- which values each pass computes ---

    def _reductions(self, depth: int) -> list[int]:
        return [
            value
            for value in range(self.count, len(self.program.depths))
            if self._operation(value) in REDUCE and self.program.depths[value] == depth + 1
        ]

    def _stores(self, depth: int) -> list[int]:
        results = enumerate(self.program.results)
        full = [(place, value) for place, (value, _) in results if not self.program.row_values[value]]
        return [place for place, value in full if self.program.depths[value] == depth]

    def _operation(self, value: int) -> str:
        step = self.program.step_of(value)
        return step.operation if step else "operand"

    def _needed(self, depth: int) -> list[int]:
        """Values per element that pass ``depth`` has to have, in order."""
        goals = [self.program.results[place][0] for place in self._stores(depth)]
        for reduction in self._reductions(depth):
            step = self.program.step_of(reduction)
            goals += step.values if step else ()
        needed: set[int] = set()
        while goals:
            value = goals.pop()
            if value in needed or self.program.row_values[value]:
                continue
            needed.add(value)
            if not self._buffered(value, depth):
                step = self.program.step_of(value)
                goals += step.values if step else ()
        return sorted(needed)

    def _buffered(self, value: int, depth: int) -> bool:
        """Whether an earlier pass left this value behind; if it could have, it now does."""
        if value in self.kept:
            return self.kept[value] < depth
        earlier = [place for place, body in enumerate(self.bodies_so_far(depth)) if value in body]
        if earlier and self._operation(value) in COSTLY:
            self.kept[value] = earlier[0]
            return True
        return False

    def bodies_so_far(self, depth: int) -> list[list[int]]:
        """The passes that are already laid out."""
        if not hasattr(self, "_laid_out"):
            self._laid_out: list[list[int]] = []
        while len(self._laid_out) < depth:
            self._laid_out.append(self._needed(len(self._laid_out)))
        return self._laid_out

    # --- the text ---

    def text(self) -> str:
        wide = any(element == "float64" for element in self._elements())
        lines = [
            '#include <vector>\n#include <algorithm>\n#include "vector_math.hpp"',
            f"using A = {'double' if wide else 'float'};",
            'extern "C" void run(const int64_t* numbers, void* const* tensors) {',
            *self._geometry(),
            *self._walk(),
            "}",
        ]
        return "\n".join(lines) + "\n"

    def _elements(self) -> list[str]:
        return [each.element for each in self.program.operands] + [element for _, element in self.program.results]

    def _geometry(self) -> list[str]:
        loops = self.layout.loops
        lines = [
            "const int64_t threads = numbers[0], outer_dims = numbers[1];",
            "const int64_t *outer_sizes = numbers + 2, *row_sizes = outer_sizes + outer_dims;",
            f"const int64_t *strides = row_sizes + {loops}, width = outer_dims + {loops};",
            "int64_t outer = 1;",
            "for (int64_t d = 0; d < outer_dims; d++) outer *= outer_sizes[d];",
        ]
        lines += [f"const int64_t n{loop} = row_sizes[{loop}];" for loop in range(loops)]
        lines.append("const int64_t row = " + " * ".join(f"n{loop}" for loop in range(loops)) + ";")
        for place in range(len(self.layout.steps)):
            lines += [
                f"const int64_t d{place}_{loop} = strides[{place} * width + outer_dims + {loop}];"
                for loop in range(loops)
            ]
        return lines

    def _walk(self) -> list[str]:
        inner = f"n{self.layout.loops - 1}"
        split = f"(outer_dims + {self.layout.loops} > 0 ? ({inner} + {TASK - 1}) / {TASK} : 1)"
        pieces = split if self.program.rows == 0 else "1"
        buffers = [f"std::vector<A> k{value}(row);" for value in sorted(self.kept)]
        return [
            f"const int64_t pieces = {pieces}, tasks = outer * pieces;",
            "#pragma omp parallel num_threads(int(threads)) if (threads > 1)",
            "{",
            *buffers,
            "#pragma omp for schedule(static)",
            "for (int64_t task = 0; task < tasks; task++) {",
            f"const int64_t piece = task % pieces, first = piece * {TASK};",
            f"const int64_t last = pieces == 1 ? {inner} : std::min<int64_t>(first + {TASK}, {inner});",
            *self._pointers(),
            *self._row_operands(),
            *self._row_steps(0),
            *[line for depth in range(self.passes) for line in self._pass(depth)],
            *self._row_results(),
            "}",
            "}",
        ]

    def _pointers(self) -> list[str]:
        count = len(self.layout.steps)
        lines = [f"int64_t o{place} = 0;" for place in range(count)]
        moves = " ".join(f"o{place} += at * strides[{place} * width + d];" for place in range(count))
        lines.append("for (int64_t d = outer_dims - 1, left = task / pieces; d >= 0; d--) {")
        lines.append(f"const int64_t at = left % outer_sizes[d]; left /= outer_sizes[d]; {moves} }}")
        for place, element in enumerate(self._elements()):
            const = "const " if place < self.count else ""
            kind = ELEMENTS[element]
            lines.append(f"{const}{kind}* const p{place} = static_cast<{const}{kind}*>(tensors[{place}]) + o{place};")
        return lines

    def _row_operands(self) -> list[str]:
        rows = [place for place, each in enumerate(self.program.operands) if each.row]
        return [f"const A v{place} = {self._load(place, '0')};" for place in rows]

    def _load(self, place: int, index: str) -> str:
        element = self.program.operands[place].element
        return f"A(p{place}[{index}])" if element == "bool" else f"widen(p{place}[{index}])"

    def _row_steps(self, depth: int) -> list[str]:
        """Steps on values of the row that are ready once the reductions of depth ``depth`` are."""
        return [
            f"const A v{value} = {self._expression(self.program.steps[value - self.count])};"
            for value in range(self.count, len(self.program.depths))
            if self.program.row_values[value]
            and self.program.depths[value] == depth
            and self._operation(value) not in REDUCE
        ]

    def _pass(self, depth: int) -> list[str]:
        reductions, stores = self._reductions(depth), self._stores(depth)
        if not reductions and not stores:
            return self._row_steps(depth + 1)
        lines = [line for value in reductions for line in self._begin(value)]
        lines += self._loops(depth, reductions, stores)
        lines += [line for value in reductions for line in self._end(value)]
        return lines + self._row_steps(depth + 1)

    def _loops(self, depth: int, reductions: list[int], stores: list[int]) -> list[str]:
        inner = self.layout.loops - 1
        lines = [f"for (int64_t i{loop} = 0; i{loop} < n{loop}; i{loop}++)" for loop in range(inner)]
        lines.append("{")
        places = self._tensors_of(depth, stores)
        for place in places:
            offset = " + ".join([f"i{loop} * d{place}_{loop}" for loop in range(inner)] or ["0"])
            lines.append(f"const auto q{place} = p{place} + {offset};")
            if self.layout.steps[place] == 0 and place < self.count:
                lines.append(f"const A v{place} = {self._load(place, '0').replace('p', 'q', 1)};")
        along = "0"
        for loop in range(inner):
            along = f"({along} * n{loop} + i{loop})"
        kept = [value for value in self.bodies[depth] if value in self.kept]
        lines += [f"A* const b{value} = k{value}.data() + {along} * n{inner};" for value in kept]
        lines.append(f"for (int64_t from = first; from < last; from += {PIECE}) {{" if reductions else "{")
        lines.append(
            f"const int64_t to = std::min<int64_t>(from + {PIECE}, last);"
            if reductions
            else "const int64_t from = first, to = last;"
        )
        lines += [line for value in reductions for line in self._begin_piece(value)]
        lines.append("#pragma omp simd" + "".join(self._clause(value) for value in reductions))
        lines.append("for (int64_t i = from; i < to; i++) {")
        lines += self._element(depth, reductions, stores)
        lines.append("}")
        lines += [self._join_piece(value) for value in reductions]
        lines += ["}", "}"]
        return lines

    def _tensors_of(self, depth: int, stores: list[int]) -> list[int]:
        loads = [value for value in self.bodies[depth] if value < self.count]
        return loads + [self.count + place for place in stores]

    def _element(self, depth: int, reductions: list[int], stores: list[int]) -> list[str]:
        lines = []
        for value in self.bodies[depth]:
            if value < self.count:
                if self.layout.steps[value] != 0:
                    load = self._load(value, self._index(value)).replace("p", "q", 1)
                    lines.append(f"const A v{value} = {load};")
            elif self.kept.get(value, depth) < depth:
                lines.append(f"const A v{value} = b{value}[i];")
            else:
                lines.append(f"const A v{value} = {self._expression(self.program.steps[value - self.count])};")
                if value in self.kept:
                    lines.append(f"b{value}[i] = v{value};")
        lines += [self._accumulate(value) for value in reductions]
        for place in stores:
            value, element = self.program.results[place]
            lines.append(f"q{self.count + place}[{self._index(self.count + place)}] = {_stored(value, element)};")
        return lines

    def _index(self, place: int) -> str:
        return "i" if self.layout.steps[place] == 1 else f"i * d{place}_{self.layout.loops - 1}"

    def _expression(self, step: Instruction) -> str:
        names = [f"v{each}" if isinstance(each, int) else _constant(each) for each in step.arguments]
        if step.operation in INFIX:
            return f"({names[0]} {INFIX[step.operation]} {names[1]})"
        if step.operation in COMPARE:
            return f"({names[0]} {COMPARE[step.operation]} {names[1]} ? A(1) : A(0))"
        return f"{step.operation}_({', '.join(names)})"

    # --- reductions ---

    def _begin(self, value: int) -> list[str]:
        if self._operation(value) in ("sum", "mean"):
            return [f"double t{value} = 0;"]
        sign = "-" if self._operation(value) == "amax" else ""
        return [f"A t{value} = {sign}std::numeric_limits<A>::infinity();", f"int lost{value} = 0;"]

    def _begin_piece(self, value: int) -> list[str]:
        return [f"A c{value} = {'0' if self._operation(value) in ('sum', 'mean') else f't{value}'};"]

    def _clause(self, value: int) -> str:
        if self._operation(value) in ("sum", "mean"):
            return f" reduction(+ : c{value})"
        kind = "max" if self._operation(value) == "amax" else "min"
        return f" reduction({kind} : c{value}) reduction(| : lost{value})"

    def _accumulate(self, value: int) -> str:
        (source,) = self.program.steps[value - self.count].values
        if self._operation(value) in ("sum", "mean"):
            return f"c{value} += v{source};"
        sign = ">" if self._operation(value) == "amax" else "<"
        return f"c{value} = v{source} {sign} c{value} ? v{source} : c{value}; lost{value} |= (v{source} != v{source});"

    def _join_piece(self, value: int) -> str:
        sums = self._operation(value) in ("sum", "mean")
        return f"t{value} += c{value};" if sums else f"t{value} = c{value};"

    def _end(self, value: int) -> list[str]:
        operation = self._operation(value)
        if operation in ("sum", "mean"):
            return [f"const A v{value} = A(t{value}{' / double(row)' if operation == 'mean' else ''});"]
        return [f"const A v{value} = lost{value} ? std::numeric_limits<A>::quiet_NaN() : t{value};"]

    def _row_results(self) -> list[str]:
        return [
            f"p{self.count + place}[0] = {_stored(value, element)};"
            for place, (value, element) in enumerate(self.program.results)
            if self.program.row_values[value]
        ]


def _stored(value: int, element: str) -> str:
    return f"v{value} != A(0)" if element == "bool" else f"narrow<{ELEMENTS[element]}>(v{value})"
