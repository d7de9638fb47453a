"""Technique: what the exercise expects of the simulator's counters, at the simulated size.

    evaluate(expect, launches, size, host_counters) -> Miss | None        pure

A counter of the whole submission is the sum over its launches; a ratio is the ratio of the sums, which is the average
weighted by its own denominator (`WEIGHTS`). What a host file did is counted once, for the whole run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.errors import GraderFault
from grader.exercise import Expect, Size
from grader.findings.kinds import kind_of
from grader.findings.record import Finding
from grader.host_counters import HOST_COUNTERS, amount, is_host_counter, told
from grader.verdict import Diagnostic, LaunchRecord

WEIGHTS: Mapping[str, str] = {
    "sector_efficiency": "sectors",
    "sectors_per_request": "global_requests",
    "active_lanes": "instructions",
    "overlap": "fetching_instructions",
}
"""Ratio counter -> the counter that it is a ratio over."""

ZERO_WHERE_ABSENT = frozenset({"overlap"})
"""Ratio counters that are zero where there is nothing that they could be a ratio over; the others say nothing there."""

LARGEST = frozenset({"bytes_per_lane", "shared_memory_bytes", "registers", "spill_bytes", "grid_growth"})
"""Counters of which the largest launch counts: they are a property of each launch, not an amount of work."""

LEAST = frozenset({"occupancy"})
"""Counters of which the least launch counts."""

_KINDS = ("load", "store", "atomic")
AMOUNTS = frozenset(
    {"launches", "instructions", "thread_instructions", "branches", "divergent_branches", "barriers", "shuffles"}
    | {"threads", "wmma_instructions", "global_requests", "sectors", "shared_requests", "shared_bytes", "wavefronts"}
    | {"excess_wavefronts", "shared_load_excess_wavefronts", "overlapped_instructions", "fetching_instructions"}
    | {f"global_{kind}_{what}" for kind in _KINDS for what in ("requests", "bytes", "sectors")}
    | {f"shared_{kind}_{what}" for kind in _KINDS for what in ("requests", "bytes", "wavefronts")}
    | {f"async_copy_{what}" for what in ("requests", "bytes", "wavefronts")}
)
"""Counters that are sums. The simulator leaves out those that are zero."""

KNOWN = AMOUNTS | LARGEST | LEAST | frozenset(WEIGHTS) | frozenset(HOST_COUNTERS)
"""Every counter that an exercise may expect something of."""


@dataclass(frozen=True)
class Miss:
    """An expectation that was not met: what was found, and the source line that did the most harm.

    ``found`` is what was counted ÷ ``per``, the value of ``expect.per`` at ``size``.
    """

    expect: Expect
    found: float
    line: int | None
    line_found: float | None
    kernel: str | None
    size: Size = field(default_factory=dict)
    per: float = 1.0


def evaluate(
    expect: Expect, launches: Sequence[LaunchRecord], size: Size, host: Mapping[str, float] | None = None
) -> Miss | None:
    """Return None where what was counted meets ``expect``. Raises GraderFault for a counter that nobody counts.

    ``host`` is what the host file did; None where there is none.
    """
    per = _per(expect, size)
    found = total(expect.counter, launches, host) / per
    if _meets(expect, found):
        return None
    if is_host_counter(expect.counter):
        return Miss(expect, found, None, None, None, size, per)
    kernel, line, line_found = _worst_line(expect, launches)
    return Miss(expect, found, line, line_found, kernel, size, per)


def total(counter: str, launches: Sequence[LaunchRecord], host: Mapping[str, float] | None = None) -> float:
    """Return one counter of the whole submission."""
    if is_host_counter(counter):
        if host is None:
            raise GraderFault(f"the exercise expects something of {counter!r}, and has no host file")
        return float(host.get(counter, 0.0))
    if counter == "launches":
        return float(len(launches))
    counted = [launch for launch in launches if counter in launch.counters]
    if counter in WEIGHTS:
        ratio = _weighted(counter, WEIGHTS[counter], counted)
        return 0.0 if math.isnan(ratio) and counter in ZERO_WHERE_ABSENT else ratio
    if counter in LARGEST:
        return max((float(launch.counters[counter]) for launch in counted), default=0.0)
    if counter in LEAST:
        return min((float(launch.counters[counter]) for launch in counted), default=math.nan)
    if not counted and counter not in AMOUNTS:
        raise GraderFault(f"the exercise expects something of {counter!r}, which the simulator does not count")
    return math.fsum(launch.counters[counter] for launch in counted)


def _weighted(counter: str, weight: str, launches: Sequence[LaunchRecord]) -> float:
    """The ratio of the sums; launches without the denominator (no such access at all) say nothing about the ratio."""
    pairs = [(launch.counters[counter], launch.counters.get(weight, 0.0)) for launch in launches]
    known = [(ratio, amount) for ratio, amount in pairs if amount and math.isfinite(ratio)]
    amount = math.fsum(amount for _, amount in known)
    return math.fsum(ratio * amount for ratio, amount in known) / amount if amount else math.nan


def _per(expect: Expect, size: Size) -> float:
    from grader.expressions import evaluate as value_of

    return float(value_of(expect.per, dict(size))) if expect.per else 1.0


def _meets(expect: Expect, found: float) -> bool:
    """A ratio over nothing (NaN) meets everything: where there is no access there is no waste."""
    if math.isnan(found):
        return True
    enough = expect.at_least is None or found >= expect.at_least * (1 - 1e-9)
    return enough and (expect.at_most is None or found <= expect.at_most * (1 + 1e-9))


def _worst_line(expect: Expect, launches: Sequence[LaunchRecord]) -> tuple[str | None, int | None, float | None]:
    """Kernel, line and value: of the lowest line where more is wanted, else of the highest."""
    lines = [
        (line.counters[expect.counter], line.line, launch.kernel)
        for launch in launches
        for line in launch.lines
        if line.line > 0 and math.isfinite(line.counters.get(expect.counter, math.nan))
    ]
    if not lines:
        return launches[0].kernel if launches else None, None, None
    pick = min if expect.at_least is not None else max
    value, line, kernel = pick(lines, key=lambda found: found[0])
    return kernel, line, value


def in_words(value: float) -> str:
    """Return whole numbers in full, others with four significant digits."""
    return f"{value:.0f}" if value.is_integer() else f"{value:.4g}"


def counted(counter: str, launches: Sequence[LaunchRecord], host: Mapping[str, float] | None = None) -> str:
    """Return one counter of the whole submission in words: ``sector efficiency 0.99``, ``2 launch calls``."""
    value = total(counter, launches, host)
    return told(counter, value) if is_host_counter(counter) else f"{counter.replace('_', ' ')} {in_words(value)}"


def _found(miss: Miss) -> str:
    """The counter and its value; of what a host file did the amount, with the size that it belongs to."""
    expect = miss.expect
    if is_host_counter(expect.counter):
        where = ", ".join(f"{name}={value}" for name, value in miss.size.items()) if expect.per else ""
        return told(expect.counter, miss.found * miss.per) + (f" at {where}" if where else "")
    unit = f" per {expect.per}" if expect.per else ""
    return f"{expect.counter.replace('_', ' ')}{unit} is {in_words(miss.found)}"


def _asked(miss: Miss) -> str:
    """``at most 4``; of what a host file does the amount at this size: ``at most 128 (0.125*frames)``, or ``none``."""
    expect = miss.expect
    limit = expect.at_least if expect.at_least is not None else expect.at_most
    assert limit is not None
    if not is_host_counter(expect.counter):
        words = f"{limit:g}"
    elif limit == 0:
        return "none"
    else:
        rule = "" if not expect.per else f" ({expect.per})" if limit == 1 else f" ({limit:g}*{expect.per})"
        words = amount(expect.counter, limit * miss.per) + rule
    return f"at {'most' if expect.at_least is None else 'least'} {words}"


def finding(miss: Miss, file: str, note: Diagnostic | None = None, question: str = "") -> Finding:
    """What was counted, what the step asks for, why, and the worst line of ``file``.

    ``note`` says what stands in the way; ``question`` is the command that shows what limits the resident warps.
    """
    expect = miss.expect
    facts: dict[str, Any] = {"found": _found(miss), "asked": _asked(miss), "why": expect.why, "hint": expect.hint}
    if miss.line is not None and miss.line_found is not None:
        facts |= {"worst": in_words(miss.line_found), "worst_line": miss.line}
    if expect.counter == "occupancy":
        facts["question"] = question
    line = miss.line
    if note is not None:
        facts["note_hint"] = note.hint
        if not kind_of(note.kind).beside:  # it is shown in these words alone
            facts["note"], line = note.message, note.line
    return Finding("technique", "missed", file=file, line=line, kernel=miss.kernel, counter=expect.counter, facts=facts)
