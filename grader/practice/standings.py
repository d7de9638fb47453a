"""The user's standing in each exercise: as records, as the table of `grade progress`, and for other tools as the
document ``warpgrade/progress/1`` and as CSV. Pure functions.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple
from io import StringIO
from itertools import groupby
from typing import Any, Literal

from grader.frozen import dataclass
from grader.practice.progress import COLUMNS, Run
from grader.text import counted, percent, safe

State = Literal["passed", "tried", "new"]
_MEASURED = frozenset({"pass", "slow", "inconclusive"})  # verdicts whose measured fraction is valid


@dataclass(frozen=True)
class PlacedExercise:
    """An exercise with what a standing needs of it."""

    course: str
    name: str
    number: int
    chapter: str


@dataclass(frozen=True)
class Standing:
    """The user's standing in one exercise. ``best`` is the run with a pass, or else with the most points."""

    place: PlacedExercise
    state: State
    tries: int
    hints_seen: int
    best: Run | None = None
    fastest: Run | None = None  # the run with the largest fraction of peak
    passed_at: str | None = None  # the first pass
    last_at: str | None = None


@dataclass(frozen=True)
class ProgressSummary:
    """All exercises of the catalogue, and the number of exercises of other courses that have runs."""

    standings: tuple[Standing, ...]
    elsewhere: int

    def count(self, state: State) -> int:
        return sum(standing.state == state for standing in self.standings)

    @property
    def tries(self) -> int:
        return sum(standing.tries for standing in self.standings)


def summary(
    places: Sequence[PlacedExercise], runs: Sequence[Run], hints_seen: Mapping[tuple[str, str], int]
) -> ProgressSummary:
    """Summarise ``runs``, oldest first, for each of the exercises in ``places``."""
    by_exercise: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        by_exercise.setdefault((run.course, run.exercise), []).append(run)
    keys = [(place.course, place.name) for place in places]
    standings = tuple(
        _standing(place, by_exercise.get(key, []), hints_seen.get(key, 0))
        for place, key in zip(places, keys, strict=True)
    )
    return ProgressSummary(standings, elsewhere=len(by_exercise.keys() - set(keys)))


def _standing(place: PlacedExercise, runs: Sequence[Run], hints_seen: int) -> Standing:
    tries = [run for run in runs if run.counts]
    passes = [run for run in tries if run.passed]
    return Standing(
        place,
        state="passed" if passes else "tried" if tries else "new",
        tries=len(tries),
        hints_seen=hints_seen,
        best=max(tries, key=lambda run: (run.passed, run.score), default=None),
        fastest=max(
            (run for run in tries if run.verdict in _MEASURED and run.fraction_of_peak is not None),
            key=lambda run: run.fraction_of_peak or 0.0,
            default=None,
        ),
        passed_at=passes[0].at if passes else None,
        last_at=tries[-1].at if tries else None,
    )


def best_fractions(runs: Sequence[Run], gpu: str) -> dict[tuple[str, str], float]:
    """The largest fraction of peak on a GPU model, by course and name of the exercise."""
    best: dict[tuple[str, str], float] = {}
    for run in runs:
        if run.gpu == gpu and run.fraction_of_peak and run.verdict in _MEASURED:
            key = (run.course, run.exercise)
            best[key] = max(best.get(key, 0.0), run.fraction_of_peak)
    return best


# ------------------------------------------------------------------------------------------------------------ the table

MARKS: dict[State, str] = {"passed": "✔", "tried": "○", "new": " "}


def table_lines(overview: ProgressSummary, *, title: Callable[[str], str], day: Callable[[str], str]) -> Iterator[str]:
    """Yield the lines. ``title`` makes a chapter's heading from its folder name, ``day`` a date from a time."""
    widest = max((len(standing.place.name) for standing in overview.standings), default=0)
    for at, (chapter, members) in enumerate(groupby(overview.standings, key=lambda standing: standing.place.chapter)):
        group = list(members)
        if at:
            yield ""
        passed = sum(standing.state == "passed" for standing in group)
        yield f"{title(chapter)}: {passed} of {len(group)} passed"
        yield from (_line(standing, widest, day).rstrip() for standing in group)
    total = f"{overview.count('passed')} of {counted(len(overview.standings), 'exercise')} passed"
    if tried := overview.count("tried"):
        total += f", {tried} tried"
    total += f", {counted(overview.tries, 'run')}"
    if overview.elsewhere:
        more = counted(overview.elsewhere, "exercise")
        total += f"; {more} of other courses: --course DIR shows them"
    yield ""
    yield total + "."


def _line(standing: Standing, widest: int, day: Callable[[str], str]) -> str:
    when = (
        day(standing.passed_at)
        if standing.passed_at
        else f"not yet, last tried {day(standing.last_at)}"
        if standing.last_at
        else ""
    )
    tries = f"{standing.tries} {'try' if standing.tries == 1 else 'tries'}" if standing.tries else ""
    points = f"{standing.best.score} of {standing.best.max_score}" if standing.best is not None else ""
    fraction = standing.fastest.fraction_of_peak if standing.fastest is not None else None
    speed = f"{percent(fraction)} of peak" if fraction is not None else ""
    return (
        f"{MARKS[standing.state]} {standing.place.number:>4}  {standing.place.name:<{widest}}  "
        f"{points:>10}  {speed:<13}  {tries:<8}  {when}"
    )


# ------------------------------------------------------------------------------------------------------ for other tools

PROGRESS_SCHEMA = "warpgrade/progress/1"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would evaluate a text that begins with one of these


def progress_document(overview: ProgressSummary, runs: Sequence[Run]) -> dict[str, Any]:
    """Return the whole progress: totals, a record for each exercise, and every run, oldest first."""
    return {
        "schema": PROGRESS_SCHEMA,
        "totals": {
            "exercises": len(overview.standings), "passed": overview.count("passed"),
            "tried": overview.count("tried"), "tries": overview.tries,
        },
        "exercises": [_record(standing) for standing in overview.standings],
        "runs": [asdict(run) for run in runs],
    }  # fmt: skip


def _record(standing: Standing) -> dict[str, Any]:
    best, fastest = standing.best, standing.fastest
    return {
        **asdict(standing.place),
        "state": standing.state,
        "tries": standing.tries,
        "hints_seen": standing.hints_seen,
        "best_score": best.score if best else None,
        "max_score": best.max_score if best else None,
        "best_fraction_of_peak": fastest.fraction_of_peak if fastest else None,
        "gpu": fastest.gpu if fastest else None,
        "passed_at": standing.passed_at,
        "last_at": standing.last_at,
    }


def runs_csv(runs: Sequence[Run]) -> str:
    """Return every run as a line of CSV, after a header line."""
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for run in runs:
        writer.writerow(_cell(value) if isinstance(value, str) else value for value in astuple(run))
    return file.getvalue()


def _cell(text: str) -> str:
    shown = safe(text, lines=True)
    return f"'{shown}" if text.startswith(_FORMULA) else shown
