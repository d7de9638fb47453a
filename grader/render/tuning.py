"""The results of `grade tune`: the table, the sentences below it, Markdown, and `warpgrade/tuned/1`. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from grader.frozen import dataclass
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
"""Texts of the column `verdict`; other verdicts are shown as they are."""
MOST_REASONS = 12


@dataclass(frozen=True)
class Tuned:
    """One run of the command. ``peak`` is in the unit of ``work`` per second; None if it is not known."""

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

    def fraction(self, variant: TunedVariant) -> float | None:
        """The fraction of the peak; None if it is not known."""
        if variant.summary is None or not self.peak:
            return None
        return self.work / variant.summary.median_s / self.peak

    @property
    def new_lines(self) -> tuple[tuple[int, str], ...]:
        """The lines to write for the best combination; empty if the file is as fast already."""
        best = self.sweep.best
        if best is None or any(variant.now for variant in (best, *self.sweep.ties)):
            return ()
        return changed_lines(self.source, self.places, best.choice)


def in_order(sweep: Sweep) -> tuple[TunedVariant, ...]:
    """The measured variants, fastest first; then those that could run; then the others."""
    unmeasured = [variant for variant in sweep.results if variant.summary is None]
    return (*sweep.ranked, *sorted(unmeasured, key=lambda variant: variant.program is None))


# --------------------------------------------------------------------------------------------------------------- table


def table_rows(tuned: Tuned) -> list[list[str]]:
    """Return the headings and a row for each combination, fastest first; – for unknown values."""
    results = in_order(tuned.sweep)
    spills = any(variant.needs is not None and variant.needs.spill_bytes for variant in results)
    timed = ["median", "±", "of peak"] if tuned.measured else []
    columns = ["threads", "registers", *(["spilled"] if spills else []), "shared", "blocks", "warps", *timed]
    rows = [[*(setting.name for setting in tuned.settings), "", *columns, "verdict"]]
    for variant in results:
        values = [str(value) for _, value in variant.choice]
        found = _figures(tuned, variant)
        now = "now" if variant.now else ""
        rows.append([*values, now, *(found.get(name, "–") for name in columns), WORDS.get(variant.word, variant.word)])
    return rows


def _figures(tuned: Tuned, variant: TunedVariant) -> dict[str, str]:
    """The known figures of one combination, by heading."""
    needs, summary, fraction = variant.needs, variant.summary, tuned.fraction(variant)
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
    """The table for the terminal: one row for each combination, fastest first."""
    headings, *rows = table_rows(tuned)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, no_wrap=True, justify="left" if heading in ("", "verdict") else "right")
    for row in rows:
        table.add_row(*map(safe, row))
    return table


# --------------------------------------------------------------------------------------------------------------- words


def before_lines(tuned: Tuned) -> Iterator[str]:
    """Yield the lines above the table."""
    size = ", ".join(f"{name} = {value}" for name, value in tuned.size.items())
    yield f"{tuned.exercise} at {size}, {tuned.file}, on {tuned.device} ({tuned.arch}):"


def after_lines(tuned: Tuned) -> Iterator[str]:
    """Yield the lines below the table: why combinations cannot run, the best one, and the lines to write."""
    yield "blocks, warps: resident on one multiprocessor at a time, the warps as a percentage of the maximum."
    if tuned.measured:
        yield "±: half the 95 % interval of the median."
    yield from _reasons(tuned.sweep)
    if any(variant.now and variant.reason for variant in tuned.sweep.results):
        yield ""
        yield f"The file does not work in its current state: `grade {tuned.exercise}` explains why."
    if tuned.sweep.interrupted:
        yield ""
        yield "Interrupted: these are the results until then."
    if tuned.measured:
        yield ""
        yield from _best(tuned)


def _reasons(sweep: Sweep) -> Iterator[str]:
    """Combinations with the same reason share a paragraph."""
    by_reason: dict[str, list[str]] = {}
    for variant in sweep.results:
        if variant.reason:
            by_reason.setdefault(variant.reason, []).append(in_words(variant.choice))
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
    now = next((variant.summary for variant in sweep.ranked if variant.now and variant is not best), None)
    gain = f", {now.median_s / best.summary.median_s:.2f} times as fast as now" if now is not None else ""
    yield f"The fastest is {in_words(best.choice)}: {duration(best.summary.median_s)}{of_peak}{gain}."
    if sweep.ties:
        ties = _listed([in_words(variant.choice) for variant in sweep.ties])
        yield f"Not measurably slower (the 95 % intervals overlap): {ties}."
    lines = tuned.new_lines
    if not lines:
        yield "The file has these values already, or values that are as fast: nothing to change."
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
        "ties": [dict(variant.choice) for variant in tuned.sweep.ties],
        "lines": [{"line": number, "text": text} for number, text in tuned.new_lines],
        "rows": [_row(tuned, variant) for variant in in_order(tuned.sweep)],
    }


def _row(tuned: Tuned, variant: TunedVariant) -> dict[str, Any]:
    needs, summary = variant.needs, variant.summary
    resident = needs.resident if needs is not None else None
    needed = ("kernel", "threads", "registers", "spill_bytes", "shared_bytes")
    return {
        "settings": dict(variant.choice),
        "now": is_now(tuned.places, variant.choice),
        "verdict": variant.word or None,
        "reason": variant.reason,
        **{name: getattr(needs, name, None) for name in needed},
        "blocks": resident.blocks if resident else None,
        "occupancy": resident.fraction if resident else None,
        "limiters": list(resident.limiters) if resident else [],
        "median_s": summary.median_s if summary else None,
        "interval_s": list(summary.interval_s) if summary else None,
        "samples": summary.samples if summary else 0,
        "fraction_of_peak": tuned.fraction(variant),
        "final": variant.final,
    }
