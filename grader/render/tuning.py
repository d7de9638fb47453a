"""What `grade tune` found: the table, the sentences below it, Markdown, and `warpgrade/tuned/1`. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.text import cut, duration, percent, safe
from grader.tune.settings import Place, changed_lines, in_words, is_now
from grader.tune.sweep import NOT_MEASURED, RIGHT, Sweep

if TYPE_CHECKING:
    from rich.table import Table

    from grader.tune.build import Needs, Variant
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
    places: Mapping[str, Place]
    settings: Sequence[Setting]
    device: str
    arch: str
    measured: bool
    size: Mapping[str, int]
    work: float
    peak: float | None
    sweep: Sweep

    def fraction(self, one: Variant) -> float | None:
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


def in_order(sweep: Sweep) -> tuple[Variant, ...]:
    """The measured ones, the fastest first; then those that could run; then the others."""
    rest = [one for one in sweep.results if one.summary is None]
    return (*sweep.ranked, *sorted(rest, key=lambda one: one.program is None))


# --------------------------------------------------------------------------------------------------------------- table


def headings(tuned: Tuned) -> list[str]:
    names = [setting.name for setting in tuned.settings]
    spill = ["spilled"] if _any_spill(tuned) else []
    timed = ["median", "±", "of peak"] if tuned.measured else []
    return [*names, "", "threads", "registers", *spill, "shared", "blocks", "warps", *timed, "verdict"]


def _any_spill(tuned: Tuned) -> bool:
    return any(one.needs is not None and one.needs.spill_bytes for one in tuned.sweep.results)


def cells(tuned: Tuned, one: Variant) -> list[str]:
    """One combination's row."""
    values = [str(value) for _, value in one.choice]
    timed = _timed(tuned, one) if tuned.measured else []
    now = "now" if one.now else ""
    return [*values, now, *_needed(one.needs, spill=_any_spill(tuned)), *timed, WORDS.get(one.word, one.word)]


def _needed(needs: Needs | None, *, spill: bool) -> list[str]:
    if needs is None:
        return ["–"] * (6 if spill else 5)
    spilled = [f"{needs.spill_bytes} B"] if spill else []
    resident = ["–", "–"]
    if needs.resident is not None:
        resident = [str(needs.resident.blocks), percent(needs.resident.fraction)]
    return [str(needs.threads), str(needs.registers), *spilled, f"{needs.shared_bytes} B", *resident]


def _timed(tuned: Tuned, one: Variant) -> list[str]:
    if one.summary is None:
        return ["–", "–", "–"]
    fraction = tuned.fraction(one)
    low, high = one.summary.interval_s
    around = percent((high - low) / 2 / one.summary.median_s)
    return [duration(one.summary.median_s), around, "–" if fraction is None else percent(fraction)]


def to_table(tuned: Tuned) -> Table:
    """The table of rich: one row for each combination, the fastest first."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings(tuned):
        table.add_column(heading, no_wrap=True, justify="left" if heading in ("", "verdict") else "right")
    for one in in_order(tuned.sweep):
        table.add_row(*(safe(cell) for cell in cells(tuned, one)))
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
    yield f"The fastest is {in_words(best.choice)}: {duration(best.summary.median_s)}{of_peak}{_gain(sweep)}."
    if sweep.ties:
        told = _listed([in_words(one.choice) for one in sweep.ties])
        yield f"As fast, as far as this run can tell (the 95 % intervals overlap): {told}."
    yield from _to_write(tuned)


def _gain(sweep: Sweep) -> str:
    """How much faster than the file as it is, where that was measured and is another combination."""
    now = next((one for one in sweep.ranked if one.now), None)
    best = sweep.best
    if now is None or best is None or now is best or now.summary is None or best.summary is None:
        return ""
    return f", {now.summary.median_s / best.summary.median_s:.2f} times as fast as now"


def _to_write(tuned: Tuned) -> Iterator[str]:
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
    names = [heading or "file" for heading in headings(tuned)]
    rows = [names, ["---"] * len(names), *(cells(tuned, one) for one in in_order(tuned.sweep))]
    table = ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    return "\n".join([*before_lines(tuned), "", *table, "", *after_lines(tuned)]) + "\n"


def _cell(text: str) -> str:
    """A text inside a table of Markdown."""
    return " ".join(safe(text).split()).replace("|", "\\|")


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


def _row(tuned: Tuned, one: Variant) -> dict[str, Any]:
    needs, summary = one.needs, one.summary
    resident = needs.resident if needs is not None else None
    return {
        "settings": dict(one.choice),
        "now": is_now(tuned.places, one.choice),
        "verdict": one.word or None,
        "reason": one.reason,
        "kernel": needs.kernel if needs else None,
        "threads": needs.threads if needs else None,
        "registers": needs.registers if needs else None,
        "spill_bytes": needs.spill_bytes if needs else None,
        "shared_bytes": needs.shared_bytes if needs else None,
        "blocks": resident.blocks if resident else None,
        "occupancy": resident.fraction if resident else None,
        "limiters": list(resident.limiters) if resident else [],
        "median_s": summary.median_s if summary else None,
        "interval_s": list(summary.interval_s) if summary else None,
        "samples": summary.samples if summary else 0,
        "fraction_of_peak": tuned.fraction(one),
        "final": one.final,
    }
