"""The rows under a finding: where it happened, which memory, both accesses of a race, counters, speed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from grader.counters import HOST_COUNTERS, in_words
from grader.render.host_lines import is_host_finding, marked_lines
from grader.text import duration, index_words, number, percent, rate, safe
from grader.verdict import Access, Diagnostic, LaunchRecord, Measurement, Verdict

if TYPE_CHECKING:
    from rich.console import RenderableType

Row = tuple[str, str]

COLUMNS: Mapping[str, str] = {
    "sector_efficiency": "sector eff.",
    "excess_wavefronts": "bank excess",
    "active_lanes": "lanes",
    "instructions": "instructions",
    "registers": "regs",
}
"""Counters that the table shows, with their headings, where a launch has them; docs/counters.md explains all."""

ROLES: Mapping[str, str] = {"exit": "not there", "barrier": "waits"}
"""What a thread does in a finding, where the kind of its access is no plain word for it."""

COUNTED = ("pass", "technique", "slow")
"""Verdicts on a right answer: the counters and the timeline tell more of it."""

LAUNCHES_SHOWN = 4
BAR = 40  # characters of the bar that stands for the whole peak


def evidence_rows(found: Diagnostic, case: str = "") -> list[Row]:
    """Return label and text of what is known; ``case`` says at which size it happened."""
    rows = [
        ("where", _thread_words(found)),
        ("launched", f"at {found.launch}" if found.launch else ""),
        ("memory", _memory_words(found) if found.kind != "wrong" else ""),  # the message begins with it
        *((_role(access), _access_words(access)) for access in found.accesses),
        ("seen", "more than once; this is the first" if found.count > 1 else ""),
        ("case", case),
    ]
    return [(label, text) for label, text in rows if text]


def marks_of(found: Diagnostic) -> dict[int, str]:
    """Return the lines to show, with a word beside each: the accesses of a race, else the line itself."""
    if not found.accesses and is_host_finding(found):
        return marked_lines(found)
    marks: dict[int, str] = {}
    for access in found.accesses:
        if access.line is not None:
            marks[access.line] = " and ".join(dict.fromkeys([*filter(None, [marks.get(access.line)]), _role(access)]))
    if found.line is not None:
        marks.setdefault(found.line, "")
    return marks


def _role(access: Access) -> str:
    return ROLES.get(access.kind, access.kind)


def _thread_words(found: Diagnostic) -> str:
    parts = [
        f"thread {index_words(found.thread)}" if found.thread and not found.accesses else "",
        f"block {index_words(found.block)}" if found.block and not found.accesses else "",
        f"kernel {found.kernel}" if found.kernel else "",
    ]
    return ", ".join(part for part in parts if part)


def _memory_words(found: Diagnostic) -> str:
    name = _element(found.array, found.index) if found.array else None
    known = " ".join(filter(None, [found.space, name]))
    if found.address is None:
        return known
    at = f"byte {found.address} of it" if found.array else f"address 0x{found.address & (2**64 - 1):x}"
    return f"{known}, {at}" if known else at


def _element(array: str, index: int | None) -> str:
    """``x[3]``; of memory that has no name, only words for it: ``memory allocated at line 24, element 3``."""
    if " " not in array:
        return f"{array}[{index}]" if index is not None else array
    return array.strip("()") + (f", element {index}" if index is not None else "")


def _access_words(access: Access) -> str:
    line = f", line {access.line}" if access.line is not None else ""
    return f"thread {index_words(access.thread)}, block {index_words(access.block)}{line}"


OVERLAP_GRADED = "The overlap is graded: this step asks for it (technique)."


def asks_for_overlap(verdict: Verdict) -> bool:
    """Whether too little overlap is what the verdict is about."""
    return any(found.counter == OVERLAP for found in verdict.diagnostics)


def telling_counters(verdict: Verdict) -> Mapping[str, float]:
    """What the host file did; the overlap only where there was something to overlap, or it was asked for."""
    counters = verdict.host_counters
    told_too = counters.get("streams", 0) > 1 or asks_for_overlap(verdict)
    return counters if told_too else {name: value for name, value in counters.items() if name != OVERLAP}


OVERLAP = "modelled_overlap"


def host_rows(counters: Mapping[str, float]) -> list[Row]:
    """Return what the host file did, in one row; nothing where it was not counted."""
    known = {name: in_words(name, counters[name]) for name in HOST_COUNTERS if counters.get(name)}
    if "copies" in known and "copied_bytes" in known:
        known["copies"] += f" ({known.pop('copied_bytes').removesuffix(' copied')})"
    return [("host file", ", ".join(known.values()))] if known else []


def counter_table(launches: Sequence[LaunchRecord]) -> Iterator[RenderableType]:
    """Yield a compact table, one row per launch, of the counters in `COLUMNS`."""
    from rich.table import Table
    from rich.text import Text

    shown = [launch for launch in launches if launch.counters]
    columns = [name for name in COLUMNS if any(name in launch.counters for launch in shown)]
    if not columns:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("  launch", no_wrap=True, max_width=36)
    for name in columns:
        table.add_column(COLUMNS[name], justify="right", no_wrap=True)
    rows = alike(shown, columns)
    for launch, cells, count in rows[:LAUNCHES_SHOWN]:
        table.add_row(Text(f"  {f'{count} × ' * (count > 1)}{_launch_words(launch)}"), *cells)
    yield ""
    yield table
    left_out = sum(count for *_, count in rows[LAUNCHES_SHOWN:])
    if left_out:
        yield Text(f"  … {left_out} more launch{'es' * (left_out > 1)} (all of them with --json)", style="dim")


def alike(launches: Iterable[LaunchRecord], columns: Sequence[str]) -> list[tuple[LaunchRecord, tuple[str, ...], int]]:
    """Launches with their cells, the first of those that look the same, with their number."""
    rows: dict[tuple[str, tuple[str, ...]], tuple[LaunchRecord, int]] = {}
    for launch in launches:
        looks = _launch_words(launch), tuple(number(launch.counters.get(name)) for name in columns)
        first, count = rows.get(looks, (launch, 0))
        rows[looks] = first, count + 1
    return [(launch, cells, count) for (_, cells), (launch, count) in rows.items()]


def _launch_words(launch: LaunchRecord) -> str:
    shape = "×".join(str(size) for size in launch.grid if size != 1) or "1"
    block = "×".join(str(size) for size in launch.block if size != 1) or "1"
    return f"{safe(launch.kernel)}<<<{shape}, {block}>>>"


def speed_rows(measured: Measurement) -> list[Row]:
    """Return time, rate, and the bar with the pass line in it."""
    low, high = (duration(bound) for bound in measured.interval_s)
    rows = [
        ("time", f"{duration(measured.median_s)} (95 % interval {low} – {high}, {measured.samples} samples)"),
        ("rate", _rate_words(measured)),
        ("", _bar(measured)),
        ("line", measured.line + (" (provisional: this GPU has no profile)" if measured.provisional else "")),
    ]
    return [(label, text) for label, text in rows if text]


def _rate_words(measured: Measurement) -> str:
    of = [
        f"{percent(fraction)} of the {name} {rate(limit, measured.unit)}"
        for name, limit, fraction in (
            ("peak", measured.peak, measured.fraction_of_peak),
            ("ceiling", measured.ceiling, measured.fraction_of_ceiling),
        )
        if limit is not None and fraction is not None
    ]
    return ", ".join([rate(measured.achieved, measured.unit), *of])


def _bar(measured: Measurement) -> str:
    """The fraction that the pass line is about, as a bar; ``┃`` stands where the line is."""
    of_ceiling = "ceiling" in measured.line
    fraction = measured.fraction_of_ceiling if of_ceiling else measured.fraction_of_peak
    if fraction is None:
        return ""
    filled = min(BAR, round(BAR * fraction))
    cells = ["█"] * filled + ["░"] * (BAR - filled)
    if measured.line_fraction is not None:
        cells[min(BAR - 1, round(BAR * measured.line_fraction))] = "┃"
    return "".join(cells) + f" {percent(fraction)}"
