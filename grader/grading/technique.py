"""Technique: the exercise's expectations on the simulator's counters, at the simulated size.

    with_shape(submission, launches) -> launches      adds counters of a launch's shape, which need no run
    launches_in_code(submission) -> launches          with the counters of the kernels' code alone, for a GPU
    evaluate(expect, launches, size, host_counters) -> Miss | None        pure

A counter of the whole submission is combined from its launches as `grader.counters` says. Counters of a host file are
for the whole run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from grader.compile import assembly
from grader.compile.inspect import code_of_kernels
from grader.counters import HOST_COUNTERS, IN_CODE, KERNEL_COUNTERS, amount
from grader.counters import in_words as host_counter_in_words
from grader.errors import GraderFault, SubmissionError
from grader.exercise import Exercise, Expect, Size
from grader.findings.kinds import kind_of
from grader.findings.record import Finding
from grader.frozen import dataclass
from grader.launch import DeviceLimits, resolve_launches
from grader.simt.occupancy import SIMULATED, occupancy
from grader.verdict import Diagnostic, LaunchRecord

if TYPE_CHECKING:
    from grader.compile.ptxas import Resources
    from grader.grading.needed import Unneeded
    from grader.grading.records import CompiledSubmission

# --------------------------------------------------------------------------------------------- the shape of a launch

GROWTH = 4
"""`grid_growth` compares grids whose sizes differ by this factor in each number."""


@dataclass(frozen=True)
class Shaped:
    """A submission at one size on one device: the data for counters of a launch's shape."""

    exercise: Exercise
    compiled: CompiledSubmission
    size: Size
    limits: DeviceLimits


def with_shape(what: Shaped, launches: Sequence[LaunchRecord]) -> tuple[LaunchRecord, ...]:
    """The launches with the counters of their shape added; docs/counters.md names them.

    `threads` and `shared_memory_bytes` are in every launch; `occupancy` (with `registers` and `spill_bytes`) and
    `grid_growth`, which take time, only if the exercise has an expectation on them. Raises Unsupported if `occupancy`
    is needed and there is no ptxas.
    """
    expected = {expect.counter for expect in what.exercise.technique}
    static = {entry.name: entry.static_shared_bytes for entry in what.compiled.program.entries}
    growth = _growth(what) if "grid_growth" in expected else ()
    code = in_code(what.compiled.program.ptx)
    resources = assembly(what.compiled.program, SIMULATED).resources if "occupancy" in expected else {}
    shaped = []
    for at, launch in enumerate(launches):
        shared = static.get(launch.kernel, 0) + launch.shared_bytes
        counters = {"threads": float(math.prod(launch.grid) * math.prod(launch.block))}
        counters |= {"shared_memory_bytes": float(shared)} if shared else {}
        counters |= {"grid_growth": growth[at]} if at < len(growth) else {}
        counters |= code.get(launch.kernel, {})
        if launch.kernel in resources:
            counters |= _residency(launch, resources[launch.kernel], shared)
        shaped.append(replace(launch, counters={**launch.counters, **counters}))
    return tuple(shaped)


def launches_in_code(what: Shaped) -> tuple[LaunchRecord, ...]:
    """The launches with the counters `grader.counters.IN_CODE`; none if they cannot be resolved at this size."""
    code = in_code(what.compiled.program.ptx)
    try:
        plan = resolve_launches(what.compiled.script, what.exercise, what.size, what.limits, what.compiled.program)
    except SubmissionError:
        return ()
    return tuple(
        LaunchRecord(launch.kernel, launch.grid, launch.block, launch.shared_bytes, code.get(launch.kernel, {}))
        for launch in plan.launches
    )


def in_code(ptx: str) -> Mapping[str, Mapping[str, float]]:
    """By kernel the counters `grader.counters.IN_CODE` that are not 0; code that no kernel reaches does not count."""
    opcodes = {name: re.compile(rf"(?<![\w.$%]){opcode}") for name, opcode in IN_CODE.items()}
    if not any(opcode.search(ptx) for opcode in opcodes.values()):  # nearly every program
        return {}
    found = {}
    for kernel, code in code_of_kernels(ptx).items():
        counts = {name: float(len(opcode.findall(code))) for name, opcode in opcodes.items()}
        found[kernel] = {name: count for name, count in counts.items() if count}
    return found


def is_in_code(expect: Expect) -> bool:
    """Whether an expectation needs no run, and so no simulator."""
    return expect.counter in IN_CODE


def _growth(what: Shaped) -> tuple[float, ...]:
    """How each launch's grid grows up to the timed size and beyond it, the larger factor for `GROWTH` times the size.

    Beyond that size a cap has its effect; but a cap at the grid that this very size needs leaves each thread its one
    element. A size that cannot be launched (it is too large for an int or a grid) is left out.
    """
    size = what.exercise.timed or what.size
    smaller = {name: max(1, n // GROWTH) for name, n in size.items()}
    grids = [_blocks(what, one) for one in (smaller, size, {name: GROWTH * n for name, n in size.items()})]
    growths = [[new / old for old, new in zip(*pair, strict=False)] for pair in pairwise(grids) if all(pair)]
    return tuple(max(factors) for factors in zip(*growths, strict=False))


def _blocks(what: Shaped, size: Size) -> tuple[int, ...]:
    """Blocks of each launch; () if a grid of this size cannot be launched."""
    try:
        plan = resolve_launches(what.compiled.script, what.exercise, size, what.limits, what.compiled.program)
    except SubmissionError:
        return ()
    return tuple(math.prod(launch.grid) for launch in plan.launches)


def _residency(launch: LaunchRecord, needs: Resources, shared_bytes: int) -> Mapping[str, float]:
    """The occupancy on the simulated device, with registers and spills."""
    registers, threads = max(needs.registers, 1), math.prod(launch.block)
    found = occupancy(SIMULATED, threads=threads, registers=registers, shared_bytes=shared_bytes)
    spilled = needs.spill_store_bytes + needs.spill_load_bytes
    counters = {"registers": float(registers), "occupancy": found.fraction}
    return counters | ({"spill_bytes": float(spilled)} if spilled else {})


def question_of(launches: Sequence[LaunchRecord]) -> str:
    """The command that explains the launch with the lowest occupancy: its limits by each resource."""
    least = min(launches, key=lambda launch: launch.counters.get("occupancy", math.inf))
    counters = least.counters
    words = f"--block {math.prod(least.block)} --registers {counters.get('registers', 1):.0f}"
    return f"`grade device --arch sm_80 {words} --shared {counters.get('shared_memory_bytes', 0):.0f}`"


# ------------------------------------------------------------------------------------------------------ expectations


@dataclass(frozen=True)
class Miss:
    """An expectation that is not met: the counter, and the worst source line.

    ``found`` is the counter ÷ ``per``, which is the value of ``expect.per`` at ``size``.
    """

    expect: Expect
    found: float
    line: int | None
    line_found: float | None
    kernel: str | None
    size: Size = field(default_factory=dict)
    per: float = 1.0
    lines: tuple[int, ...] = ()  # all that have as much as the worst line


def evaluate(
    expect: Expect, launches: Sequence[LaunchRecord], size: Size, host: Mapping[str, float] | None = None
) -> Miss | None:
    """None if the counters meet ``expect``. Raises GraderFault for an unknown counter.

    ``host`` are the counters of the host file; None if there is none.
    """
    divisor = per(expect, size)
    found = total(expect.counter, launches, host) / divisor
    if meets(expect, found):
        return None
    if expect.counter in HOST_COUNTERS:
        return Miss(expect, found, None, None, None, size, divisor)
    kernel, lines, line_found = _worst_lines(expect, launches)
    return Miss(expect, found, lines[0] if lines else None, line_found, kernel, size, divisor, lines)


SLACK = 1.4
"""What tails and shorter loops may cost at another size, as a factor."""


def evaluate_elsewhere(
    expect: Expect,
    launches: Sequence[LaunchRecord],
    size: Size,
    simulated: Sequence[LaunchRecord],
    simulated_size: Size,
    *,
    tails: bool = True,
) -> tuple[Miss, Miss] | None:
    """Return None where the counters of another, smaller size confirm those of the simulated one.

    Else what was counted there, and at the simulated size, which meets ``expect``. With ``tails`` sums with an upper
    limit may be as large as there, because a tile that is not full costs as much as a full one; without, the other size
    must meet ``expect`` itself.
    """
    missed = evaluate(expect, launches, size)
    if missed is None:
        return None
    there = total(expect.counter, simulated) / per(expect, simulated_size)
    if not tails:
        fine = False
    elif expect.at_least is not None:
        fine = missed.found * SLACK >= expect.at_least
    elif expect.counter in KERNEL_COUNTERS and KERNEL_COUNTERS[expect.counter].total == "sum":
        fine = missed.found * missed.per <= total(expect.counter, simulated)
    else:
        fine = expect.at_most is None or missed.found <= SLACK * expect.at_most
    return None if fine else (missed, Miss(expect, there, None, None, None, simulated_size))


_MOVED = ("global_load_bytes", "global_store_bytes")
FULL = 0.999


def without_consequences(misses: Sequence[Miss], launches: Sequence[LaunchRecord]) -> list[Miss]:
    """The misses without that of `sectors`, if all sectors are full: then another miss, of bytes, explains it."""
    of_bytes = any(miss.expect.counter in _MOVED for miss in misses)
    efficiency = total("sector_efficiency", launches) if of_bytes else 0.0
    return [miss for miss in misses if miss.expect.counter != "sectors" or not efficiency >= FULL]


def meets(expect: Expect, found: float) -> bool:
    """Whether a value is within the limits; NaN, from a ratio with the denominator 0, never is."""
    enough = expect.at_least is None or found >= expect.at_least * (1 - 1e-9)
    return enough and (expect.at_most is None or found <= expect.at_most * (1 + 1e-9))


def per(expect: Expect, size: Size) -> float:
    """The number by which the counter is divided."""
    from grader.expressions import evaluate as value_of

    return float(value_of(expect.per, dict(size))) if expect.per else 1.0


def total(counter: str, launches: Sequence[LaunchRecord], host: Mapping[str, float] | None = None) -> float:
    """One counter of the whole submission."""
    if counter in HOST_COUNTERS:
        if host is None:
            raise GraderFault(f"the exercise expects something of {counter!r}, and has no host file")
        return float(host.get(counter, 0.0))
    if counter == "launches":
        return float(len(launches))
    counted = [launch.counters for launch in launches if counter in launch.counters]
    if counter not in KERNEL_COUNTERS and not counted:
        raise GraderFault(f"the exercise expects something of {counter!r}, which the simulator does not count")
    return combined(counter, counted)


def combined(counter: str, counted: Sequence[Mapping[str, float]]) -> float:
    """One counter of several launches, or of several instructions, from those that have it."""
    values = [float(counters[counter]) for counters in counted]
    known = KERNEL_COUNTERS.get(counter)
    match known.total if known else "sum":
        case "largest":
            return max(values, default=0.0)
        case "least":
            return min(values, default=math.nan)
        case "ratio":
            assert known is not None
            weights = [counters.get(known.over, 0.0) for counters in counted]  # 0: no such access in this launch
            pairs = [(r, w) for r, w in zip(values, weights, strict=True) if w and math.isfinite(r)]
            weight = math.fsum(w for _, w in pairs)
            return math.fsum(r * w for r, w in pairs) / weight if weight else known.empty
    return math.fsum(values)


def _worst_lines(expect: Expect, launches: Sequence[LaunchRecord]) -> tuple[str | None, tuple[int, ...], float | None]:
    """Kernel, lines and value of the worst line: the one that is furthest from the limit, by all its accesses.

    All lines of the kernel are given that are as far from it.
    """
    known, limit = KERNEL_COUNTERS.get(expect.counter), expect.at_least
    lines = []
    for launch in launches:
        for line in launch.lines:
            value = line.counters.get(expect.counter, math.nan)
            if line.line > 0 and math.isfinite(value):
                accesses = line.counters.get(known.over, 0.0) if known else 0.0  # of a ratio, which is their mean
                lost = (value if limit is None else limit - value) * (accesses or 1.0)
                lines.append((lost, launch.kernel, line.line, value))
    if not lines:
        return launches[0].kernel if launches else None, (), None
    lost, kernel, _, value = max(lines, key=lambda found: found[0])
    equal = dict.fromkeys(line for other, of, line, its in lines if (other, of, its) == (lost, kernel, value))
    return kernel, tuple(equal), value


# ------------------------------------------------------------------------------------------------------------- words


def in_words(value: float) -> str:
    """Integers in full, other numbers with four significant digits."""
    return f"{value:.0f}" if value.is_integer() else f"{value:.4g}"


def strictest(expectations: Sequence[Expect]) -> list[Expect]:
    """The strictest expectation on each counter: a step of a ladder inherits expectations and may raise them."""
    kept: dict[tuple[str, str, bool], Expect] = {}
    for one in expectations:
        figure = (one.counter, one.per, one.at_most is None)
        kept[figure] = min(kept.get(figure, one), one, key=_asks)
    return list(kept.values())


def _asks(expect: Expect) -> float:
    """The smaller, the stricter."""
    return expect.at_most if expect.at_most is not None else -(expect.at_least or 0.0)


def graded(
    expect: Expect, launches: Sequence[LaunchRecord], size: Size, host: Mapping[str, float] | None = None
) -> str:
    """A counter and its limit: ``sector efficiency is 0.99 (at least 0.95)``."""
    divisor = per(expect, size)
    counted = Miss(expect, total(expect.counter, launches, host) / divisor, None, None, None, size, divisor)
    if math.isnan(counted.found):
        return f"{expect.counter.replace('_', ' ')}: no such access"
    return f"{_found(counted)} ({_limit(counted)})"


def _found(miss: Miss) -> str:
    """The counter and its value; for a counter of a host file the amount, with its size."""
    expect = miss.expect
    if expect.counter in HOST_COUNTERS:
        where = ", ".join(f"{name}={value}" for name, value in miss.size.items()) if expect.per else ""
        return host_counter_in_words(expect.counter, miss.found * miss.per) + (f" at {where}" if where else "")
    if math.isnan(miss.found):
        return f"{expect.counter.replace('_', ' ')} has no value, because nothing was done that it counts"
    unit = f" per {expect.per}" if expect.per else ""
    return f"{expect.counter.replace('_', ' ')}{unit} is {in_words(miss.found)}"


def _of_a_line(counter: str, value: float) -> str:
    """``16384 sectors``, or for a counter that is no sum ``a sector efficiency of 0.5``."""
    words, known = counter.replace("_", " "), KERNEL_COUNTERS.get(counter)
    if known is None or known.total == "sum":
        return f"{in_words(value)} {words}"
    if counter == "active_lanes":
        return f"{in_words(value)} active lane{'s' * (value != 1)}"
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words} of {in_words(value)}"


def _limit(miss: Miss) -> str:
    """``at most 4``; of a host counter the amount at this size: ``at most 128 (0.125*frames)``, or ``none``."""
    expect = miss.expect
    limit = expect.at_least if expect.at_least is not None else expect.at_most
    assert limit is not None
    if expect.counter not in HOST_COUNTERS:
        words = f"{limit:g}"
    elif limit == 0:
        return "none"
    else:
        rule = "" if not expect.per else f" ({expect.per})" if limit == 1 else f" ({limit:g}*{expect.per})"
        words = amount(expect.counter, limit * miss.per) + rule
    return f"at {'most' if expect.at_least is None else 'least'} {words}"


def finding_elsewhere(miss: tuple[Miss, Miss], file: str) -> Finding:
    """An expectation that the simulated size meets, and another size misses."""
    missed, met = miss
    facts = {
        "found": _found(missed), "asked": _limit(missed), "met": in_words(met.found), "size": dict(missed.size),
        "met_size": dict(met.size), "why": missed.expect.why,
    }  # fmt: skip
    return Finding("technique", "elsewhere", file=file, line=missed.line, kernel=missed.kernel,
                   counter=missed.expect.counter, facts=facts)  # fmt: skip


def padding(unneeded: Unneeded, file: str) -> Finding:
    """The finding on an expectation that is met only by instructions on which no output depends."""
    expect = unneeded.expect
    rest = Miss(expect, unneeded.found, None, None, None)
    facts = {
        "found": _found(rest), "asked": _limit(rest), "why": expect.why, "unneeded": unneeded.unneeded,
        "of": unneeded.of, "counter": expect.counter,
    }  # fmt: skip
    return Finding("technique", "padding", file=file, line=unneeded.line or None, kernel=unneeded.kernel,
                   counter=expect.counter, facts=facts)  # fmt: skip


def finding(miss: Miss, file: str, note: Diagnostic | None = None, question: str = "") -> Finding:
    """The finding on a missed expectation: the counter, the limit, the reason, and the worst line of ``file``.

    ``note`` is a finding on the cause; ``question`` is the command that shows what limits the resident warps.
    """
    expect = miss.expect
    facts: dict[str, Any] = {"found": _found(miss), "asked": _limit(miss), "why": expect.why, "hint": expect.hint}
    if miss.line is not None and miss.line_found is not None:
        facts |= {"worst": _of_a_line(expect.counter, miss.line_found), "worst_lines": miss.lines}
    if expect.counter == "occupancy":
        facts["question"] = question
    line = miss.line
    if note is not None:
        facts["note_hint"] = note.hint
        if not kind_of(note.kind).beside:  # it is shown only as a part of this finding
            facts["note"], line = note.message, note.line
    return Finding("technique", "missed", file=file, line=line, kernel=miss.kernel, counter=expect.counter, facts=facts)
