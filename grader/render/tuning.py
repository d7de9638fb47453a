"""What `grade tune` found: the table, the sentences below it, Markdown, and `warpgrade/tuned/1`. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from grader.text import cut, duration, percent, safe
from grader.tune.settings import SettingPlace, changed_lines, in_words, is_now
from grader.tune.sweep import NOT_MEASURED, RIGHT, Sweep

if TYPE_CHECKING:
    from grader.tune.build import TunedVariant
    from grader.tune.settings import Setting

SCHEMA = "warpgrade/tuned/1"
WORDS: Mapping[str, str] = {
    "": "can run", RIGHT: "right", NOT_MEASURED: "not measured", "compile_error": "no compile", "invalid": "no launch",
    "does_not_fit": "does not fit",
}  # fmt: skip
"""The column `verdict`; a word of verdicts.md without a shorter one stands as it is."""
MOST_REASONS = 12


@dataclass(frozen=True)
class Tuned:
    """One run of the command. ``peak`` is in the unit of ``work`` per second; None where none is known."""

    exercise: str
    file: str
    source: str
    places: Mapping[str, SettingPlace]
    settings: Sequence[Setting]
    device: str
    arch: str
    measured: bool
    size: Mapping[str, int]
    work: float
    peak: float | None
    sweep: Sweep

    def fraction(self, one: TunedVariant) -> float | None:
        """Of the peak."""
        if one.summary is None or not self.peak:
            return None
        return self.work / one.summary.median_s / self.peak

    @property
    def new_lines(self) -> tuple[tuple[int, str], ...]:
        """The lines to write for the best combination; none where the file is as fast already."""
        best = self.sweep.best
        if best is None or any(one.now for one in (best, *self.sweep.ties)):
            return ()
        return changed_lines(self.source, self.places, best.choice)


def in_order(sweep: Sweep) -> tuple[TunedVariant, ...]:
    """The measured ones, the fastest first; then those that could run; then the others."""
    rest = [one for one in sweep.results if one.summary is None]
    return (*sweep.ranked, *sorted(rest, key=lambda one: one.program is None))


# --------------------------------------------------------------------------------------------------------------- table


def table_rows(tuned: Tuned) -> list[list[str]]:
    """Return the headings and a row for each combination, the fastest first; – where nothing is known."""
    results = in_order(tuned.sweep)
    spills = any(one.needs is not None and one.needs.spill_bytes for one in results)
    timed = ["median", "±", "of peak"] if tuned.measured else []
    columns = ["threads", "registers", *(["spilled"] if spills else []), "shared", "blocks", "warps", *timed]
    rows = [[*(setting.name for setting in tuned.settings), "", *columns, "verdict"]]
    for one in results:
        values = [str(value) for _, value in one.choice]
        found = _figures(tuned, one)
        now = "now" if one.now else ""
        rows.append([*values, now, *(found.get(name, "–") for name in columns), WORDS.get(one.word, one.word)])
    return rows


def _figures(tuned: Tuned, one: TunedVariant) -> dict[str, str]:
    """What is known of one combination, by heading."""
    needs, summary, fraction = one.needs, one.summary, tuned.fraction(one)
    found: dict[str, str] = {}
    if needs is not None:
        found |= {"threads": str(needs.threads), "registers": str(needs.registers)}
        found |= {"spilled": f"{needs.spill_bytes} B", "shared": f"{needs.shared_bytes} B"}
        if needs.resident is not None:
            found |= {"blocks": str(needs.resident.blocks), "warps": percent(needs.resident.fraction)}
    if summary is not None:
        low, high = summary.interval_s
        found |= {"median": duration(summary.median_s), "±": percent((high - low) / 2 / summary.median_s)}
    if fraction is not None:
        found["of peak"] = percent(fraction)
    return found


def to_table(tuned: Tuned) -> Table:
    """The table of rich: one row for each combination, the fastest first."""
    headings, *rows = table_rows(tuned)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, no_wrap=True, justify="left" if heading in ("", "verdict") else "right")
    for row in rows:
        table.add_row(*map(safe, row))
    return table


# --------------------------------------------------------------------------------------------------------------- words


def before_lines(tuned: Tuned) -> Iterator[str]:
    """Yield what is above the table."""
    size = ", ".join(f"{name} = {value}" for name, value in tuned.size.items())
    yield f"{tuned.exercise} at {size}, {tuned.file}, on {tuned.device} ({tuned.arch}):"


def after_lines(tuned: Tuned) -> Iterator[str]:
    """Yield what is below the table: why the others cannot run, the best, what to write."""
    yield "blocks, warps: resident on one multiprocessor at a time, and the warps as a part of the most that fit."
    if tuned.measured:
        yield "±: half the 95 % interval of the median."
    yield from _reasons(tuned.sweep)
    if any(one.now and one.reason for one in tuned.sweep.results):
        yield ""
        yield f"The file does not work as it is now: `grade {tuned.exercise}` says more."
    if tuned.sweep.interrupted:
        yield ""
        yield "Interrupted: this is what was measured until then."
    if tuned.measured:
        yield ""
        yield from _best(tuned)


def _reasons(sweep: Sweep) -> Iterator[str]:
    """Combinations with the same reason share a paragraph."""
    by_reason: dict[str, list[str]] = {}
    for one in sweep.results:
        if one.reason:
            by_reason.setdefault(one.reason, []).append(in_words(one.choice))
    for reason, choices in list(by_reason.items())[:MOST_REASONS]:
        yield ""
        yield f"{_listed(choices)}: {cut(safe(reason), 400)}"
    if len(by_reason) > MOST_REASONS:
        yield ""
        yield f"({len(by_reason) - MOST_REASONS} more reasons: --json has them all)"


def _listed(choices: Sequence[str], most: int = 6) -> str:
    more = f", and {len(choices) - most} more" if len(choices) > most else ""
    return ", ".join(choices[:most]) + more


def _best(tuned: Tuned) -> Iterator[str]:
    sweep, best = tuned.sweep, tuned.sweep.best
    if best is None or best.summary is None:
        yield "No combination gave a time."
        return
    fraction = tuned.fraction(best)
    of_peak = f", {percent(fraction)} of peak" if fraction is not None else ""
    now = next((one.summary for one in sweep.ranked if one.now and one is not best), None)
    gain = f", {now.median_s / best.summary.median_s:.2f} times as fast as now" if now is not None else ""
    yield f"The fastest is {in_words(best.choice)}: {duration(best.summary.median_s)}{of_peak}{gain}."
    if sweep.ties:
        ties = _listed([in_words(one.choice) for one in sweep.ties])
        yield f"As fast, as far as this run can tell (the 95 % intervals overlap): {ties}."
    lines = tuned.new_lines
    if not lines:
        yield "The file has it already, or what is as fast: nothing to change."
        return
    yield f"To write into {tuned.file} (`--write` does it):"
    width = len(str(lines[-1][0]))
    yield from (f"  {number:>{width}}  {safe(text)}" for number, text in lines)


# ------------------------------------------------------------------------------------------------------------ documents


def to_markdown(tuned: Tuned) -> str:
    """The table and the sentences as a page."""
    headings, *rows = table_rows(tuned)
    page = [[heading or "file" for heading in headings], ["---"] * len(headings), *rows]
    cells = ([" ".join(safe(text).split()).replace("|", "\\|") for text in row] for row in page)
    table = ["| " + " | ".join(row) + " |" for row in cells]
    return "\n".join([*before_lines(tuned), "", *table, "", *after_lines(tuned)]) + "\n"


def document(tuned: Tuned) -> dict[str, Any]:
    """The document ``warpgrade/tuned/1``."""
    best = tuned.sweep.best
    return {
        "schema": SCHEMA,
        "exercise": tuned.exercise,
        "file": tuned.file,
        "device": tuned.device,
        "arch": tuned.arch,
        "measured": tuned.measured,
        "interrupted": tuned.sweep.interrupted,
        "size": dict(tuned.size),
        "settings": {setting.name: list(setting.values) for setting in tuned.settings},
        "now": {name: place.value for name, place in tuned.places.items()},
        "best": dict(best.choice) if best is not None else None,
        "ties": [dict(one.choice) for one in tuned.sweep.ties],
        "lines": [{"line": number, "text": text} for number, text in tuned.new_lines],
        "rows": [_row(tuned, one) for one in in_order(tuned.sweep)],
    }


def _row(tuned: Tuned, one: TunedVariant) -> dict[str, Any]:
    needs, summary = one.needs, one.summary
    resident = needs.resident if needs is not None else None
    needed = ("kernel", "threads", "registers", "spill_bytes", "shared_bytes")
    return {
        "settings": dict(one.choice),
        "now": is_now(tuned.places, one.choice),
        "verdict": one.word or None,
        "reason": one.reason,
        **{name: getattr(needs, name, None) for name in needed},
        "blocks": resident.blocks if resident else None,
        "occupancy": resident.fraction if resident else None,
        "limiters": list(resident.limiters) if resident else [],
        "median_s": summary.median_s if summary else None,
        "interval_s": list(summary.interval_s) if summary else None,
        "samples": summary.samples if summary else 0,
        "fraction_of_peak": tuned.fraction(one),
        "final": one.final,
    }
