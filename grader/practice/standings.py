"""Where a person stands: the runs of each exercise summed up, as records, as `grade progress` prints them, and as other
tools read them: the document ``warpgrade/progress/1``, and the runs as CSV. Pure.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from io import StringIO
from itertools import groupby
from typing import Any, Literal

from grader.practice.progress import COLUMNS, Run
from grader.text import counted, percent, safe

State = Literal["passed", "tried", "new"]
_MEASURED = frozenset({"pass", "slow", "inconclusive"})  # verdicts whose measured fraction can be believed


@dataclass(frozen=True)
class PlacedExercise:
    """An exercise, as far as its standing goes."""

    course: str
    name: str
    number: int
    chapter: str


@dataclass(frozen=True)
class Standing:
    """What a person has reached in one exercise. ``best`` is the run with a pass, or else the most points."""

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
    """All exercises of the catalogue, and how many exercises of other courses have runs."""

    standings: tuple[Standing, ...]
    elsewhere: int

    def count(self, state: State) -> int:
        return sum(one.state == state for one in self.standings)

    @property
    def tries(self) -> int:
        return sum(one.tries for one in self.standings)


def summary(
    places: Sequence[PlacedExercise], runs: Sequence[Run], hints_seen: Mapping[tuple[str, str], int]
) -> ProgressSummary:
    """Sum up ``runs``, oldest first, for each of the exercises in ``places``."""
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
    """The largest fraction of peak that was reached on a GPU model, by course and name of the exercise."""
    best: dict[tuple[str, str], float] = {}
    for run in runs:
        if run.gpu == gpu and run.fraction_of_peak and run.verdict in _MEASURED:
            key = (run.course, run.exercise)
            best[key] = max(best.get(key, 0.0), run.fraction_of_peak)
    return best


# ------------------------------------------------------------------------------------------------------------ the table

MARKS: dict[State, str] = {"passed": "✔", "tried": "○", "new": " "}


def table_lines(found: ProgressSummary, *, title: Callable[[str], str], day: Callable[[str], str]) -> Iterator[str]:
    """Yield the lines. ``title`` makes a chapter's heading of its folder's name, ``day`` a date of a moment."""
    widest = max((len(one.place.name) for one in found.standings), default=0)
    for at, (chapter, members) in enumerate(groupby(found.standings, key=lambda one: one.place.chapter)):
        group = list(members)
        if at:
            yield ""
        passed = sum(one.state == "passed" for one in group)
        yield f"{title(chapter)}: {passed} of {len(group)} passed"
        yield from (_line(one, widest, day).rstrip() for one in group)
    words = f"{found.count('passed')} of {counted(len(found.standings), 'exercise')} passed"
    if tried := found.count("tried"):
        words += f", {tried} tried"
    words += f", {counted(found.tries, 'run')}"
    if found.elsewhere:
        more = counted(found.elsewhere, "exercise")
        words += f"; {more} of other courses: --course DIR shows them"
    yield ""
    yield words + "."


def _line(one: Standing, widest: int, day: Callable[[str], str]) -> str:
    when = day(one.passed_at) if one.passed_at else f"not yet, last tried {day(one.last_at)}" if one.last_at else ""
    tries = f"{one.tries} {'try' if one.tries == 1 else 'tries'}" if one.tries else ""
    points = f"{one.best.score} of {one.best.max_score}" if one.best is not None else ""
    fraction = one.fastest.fraction_of_peak if one.fastest is not None else None
    speed = f"{percent(fraction)} of peak" if fraction is not None else ""
    return (
        f"{MARKS[one.state]} {one.place.number:>4}  {one.place.name:<{widest}}  "
        f"{points:>10}  {speed:<13}  {tries:<8}  {when}"
    )


# ------------------------------------------------------------------------------------------------------ for other tools

PROGRESS_SCHEMA = "warpgrade/progress/1"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet computes a text that begins so


def progress_document(found: ProgressSummary, runs: Sequence[Run]) -> dict[str, Any]:
    """Return the whole progress: totals, a record for each exercise, and every run, oldest first."""
    return {
        "schema": PROGRESS_SCHEMA,
        "totals": {
            "exercises": len(found.standings), "passed": found.count("passed"), "tried": found.count("tried"),
            "tries": found.tries,
        },
        "exercises": [_record(one) for one in found.standings],
        "runs": [asdict(run) for run in runs],
    }  # fmt: skip


def _record(one: Standing) -> dict[str, Any]:
    best, fastest = one.best, one.fastest
    return {
        **asdict(one.place),
        "state": one.state,
        "tries": one.tries,
        "hints_seen": one.hints_seen,
        "best_score": best.score if best else None,
        "max_score": best.max_score if best else None,
        "best_fraction_of_peak": fastest.fraction_of_peak if fastest else None,
        "gpu": fastest.gpu if fastest else None,
        "passed_at": one.passed_at,
        "last_at": one.last_at,
    }


def runs_csv(runs: Sequence[Run]) -> str:
    """Return every run as a line of CSV, under a line of the columns' names."""
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for run in runs:
        writer.writerow(_cell(value) if isinstance(value, str) else value for value in astuple(run))
    return file.getvalue()


def _cell(text: str) -> str:
    shown = safe(text, lines=True)
    return f"'{shown}" if text.startswith(_FORMULA) else shown
