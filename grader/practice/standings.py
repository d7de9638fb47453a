"""The user's standing in each exercise: as records, as the table of `grade progress`, and for other tools as the
document ``warpgrade/progress/1`` and as CSV. Pure functions.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple
from io import StringIO
from itertools import groupby
from typing import Any, Literal

from grader.frozen import dataclass
from grader.practice.progress import COLUMNS, Key, Predicted, Run
from grader.render.evidence import prediction_words
from grader.text import counted, listed, percent, safe
from grader.verdict import Prediction

State = Literal["passed", "tried", "new"]
_MEASURED = frozenset({"pass", "slow", "inconclusive"})  # verdicts whose measured fraction is valid


@dataclass(frozen=True)
class PlacedExercise:
    """An exercise with what a standing needs of it."""

    keys: tuple[Key, ...]  # the current one, then those of older versions of the course
    number: int
    chapter: str

    @property
    def name(self) -> str:
        return self.keys[0][1]


@dataclass(frozen=True)
class Standing:
    """The user's standing in one exercise. ``best`` is the run with a pass, or else with the most points."""

    place: PlacedExercise
    state: State
    tries: int  # up to the first pass
    hints_seen: int
    best: Run | None = None
    fastest: Run | None = None  # the run with the largest fraction of peak
    passed_at: str | None = None  # the first pass
    last_at: str | None = None
    moved: Run | None = None  # a pass under an older name, if there is none under the current one


@dataclass(frozen=True)
class ProgressSummary:
    """All exercises of the catalogue, and the number of exercises of other courses that have runs.

    ``gone`` has a pass of each exercise that was passed and is no longer in its course.
    """

    standings: tuple[Standing, ...]
    elsewhere: int
    gone: tuple[Run, ...] = ()

    def names(self) -> dict[Key, str]:
        """The current name of each exercise of these courses, by all its keys."""
        return {key: standing.place.name for standing in self.standings for key in standing.place.keys}

    def count(self, state: State) -> int:
        return sum(standing.state == state for standing in self.standings)

    @property
    def tries(self) -> int:
        return sum(standing.tries for standing in self.standings)


def summary(
    places: Sequence[PlacedExercise],
    runs: Sequence[Run],
    hints_seen: Mapping[Key, int],
    *,
    gone: Collection[Key] = (),
) -> ProgressSummary:
    """Summarise ``runs``, oldest first, for each of the exercises in ``places``."""
    owner = {key: place for place in places for key in place.keys}
    by_place: dict[Key, list[Run]] = {place.keys[0]: [] for place in places}
    for run in runs:
        if run.key in owner:
            by_place[owner[run.key].keys[0]].append(run)
    standings = tuple(
        _standing(place, by_place[place.keys[0]], max(hints_seen.get(key, 0) for key in place.keys)) for place in places
    )
    newest = {course: version for place in places for course, _, version in place.keys[:1]}
    others = {
        (run.course, run.exercise)
        for run in runs
        if run.key not in owner and run.key not in gone and run.course_version <= newest.get(run.course, sys.maxsize)
    }  # not those of a later version of these courses
    passed_and_gone = {run.key: run for run in runs if run.key in gone and run.passed}
    return ProgressSummary(standings, len(others), tuple(passed_and_gone.values()))


def _standing(place: PlacedExercise, runs: Sequence[Run], hints_seen: int) -> Standing:
    tries = [run for run in runs if run.counts]
    passes = [run for run in tries if run.passed]
    return Standing(
        place,
        state="passed" if passes else "tried" if tries else "new",
        tries=tries.index(passes[0]) + 1 if passes else len(tries),
        hints_seen=hints_seen,
        best=max(tries, key=lambda run: (run.passed, run.score), default=None),
        fastest=max(
            (run for run in tries if run.verdict in _MEASURED and run.fraction_of_peak is not None),
            key=lambda run: run.fraction_of_peak or 0.0,
            default=None,
        ),
        passed_at=passes[0].at if passes else None,
        last_at=tries[-1].at if tries else None,
        moved=passes[0] if passes and all(run.exercise != place.name for run in passes) else None,
    )


def best_fractions(runs: Sequence[Run], gpu: str) -> dict[Key, float]:
    """The largest fraction of peak on a GPU model, by exercise."""
    best: dict[Key, float] = {}
    for run in runs:
        if run.gpu == gpu and run.fraction_of_peak and run.verdict in _MEASURED:
            best[run.key] = max(best.get(run.key, 0.0), run.fraction_of_peak)
    return best


# ------------------------------------------------------------------------------------------------------------ the table

MARKS: dict[State, str] = {"passed": "✔", "tried": "○", "new": " "}


def path_lines(
    overview: ProgressSummary, heading: str, names: Sequence[str], *, day: Callable[[str], str]
) -> Iterator[str]:
    """Yield the lines of a path's exercises, in its order, then of others that were tried, and the total."""
    widest = max((len(standing.place.name) for standing in overview.standings), default=0)
    by_name = {standing.place.name: standing for standing in overview.standings}
    yield heading
    yield from (_line(by_name[name], widest, day).rstrip() for name in names)
    others = [one for one in overview.standings if one.state != "new" and one.place.name not in names]
    if others:
        yield ""
        yield "Beside the path"
        yield from (_line(standing, widest, day).rstrip() for standing in others)
    yield ""
    yield _total(overview)


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
    yield ""
    yield _total(overview)


def _total(overview: ProgressSummary) -> str:
    total = f"{overview.count('passed')} of {counted(len(overview.standings), 'exercise')} passed"
    if tried := overview.count("tried"):
        total += f", {tried} tried"
    total += f", {overview.tries} {'try' if overview.tries == 1 else 'tries'}"
    if overview.elsewhere:
        more = counted(overview.elsewhere, "exercise")
        total += f"; {more} of other courses: --course DIR shows them"
    return f"{total}."


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


def named_in(run: Run) -> str:
    """``version 1's reduce_v9``: the exercise of a run by the name that it had then."""
    return f"version {run.course_version}'s {run.exercise}"


def moved_sentences(overview: ProgressSummary) -> Iterator[str]:
    """Yield a sentence for each version whose passes count under other names, and one for passes of what is gone."""
    moved = [(standing.place.name, standing.moved) for standing in overview.standings if standing.moved is not None]
    for version in sorted({run.course_version for _, run in moved}):
        of_it = [(name, run) for name, run in moved if run.course_version == version]
        if len(of_it) == 1:
            yield f"Your pass of {named_in(of_it[0][1])} counts for {of_it[0][0]}: the step has that name now."
        else:
            pairs = listed(f"{run.exercise} for {name}" for name, run in of_it)
            yield f"Your passes of version {version} count under the current names: {pairs}."
    if overview.gone:
        yield f"The course no longer has {listed(map(named_in, overview.gone))}, which you passed."


PREDICTIONS_SHOWN = 5


def prediction_lines(
    predictions: Sequence[Predicted], names: Mapping[Key, str], *, day: Callable[[str], str]
) -> Iterator[str]:
    """Yield how many predictions were right, and the newest; ``names`` are the current names of the exercises."""
    if not predictions:
        return
    right = sum(row.was_right for row in predictions)
    newest = predictions[-PREDICTIONS_SHOWN:]
    not_all = "; the newest" if len(newest) < len(predictions) else ""
    yield f"{right} of {counted(len(predictions), 'prediction')} right{not_all}:"
    widest = max(len(names.get(row.key, row.exercise)) for row in newest)
    for row in newest:
        words = prediction_words(Prediction(row.counter, row.per, row.predicted, row.counted, row.was_right))
        yield f"  {day(row.at)}  {safe(names.get(row.key, row.exercise)):<{widest}}  {safe(words)}"


# ------------------------------------------------------------------------------------------------------ for other tools

PROGRESS_SCHEMA = "warpgrade/progress/1"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would evaluate a text that begins with one of these


def progress_document(
    overview: ProgressSummary, runs: Sequence[Run], predictions: Sequence[Predicted] = ()
) -> dict[str, Any]:
    """Return the whole progress: totals, a record for each exercise, every run and every prediction, oldest first."""
    names = overview.names()
    return {
        "schema": PROGRESS_SCHEMA,
        "totals": {
            "exercises": len(overview.standings), "passed": overview.count("passed"),
            "tried": overview.count("tried"), "tries": overview.tries,
        },
        "exercises": [_record(standing) for standing in overview.standings],
        "runs": [asdict(run) | {"exercise_now": names.get(run.key)} for run in runs],
        "predictions": [asdict(row) | {"exercise_now": names.get(row.key)} for row in predictions],
    }  # fmt: skip


def _record(standing: Standing) -> dict[str, Any]:
    best, fastest, moved = standing.best, standing.fastest, standing.moved
    return {
        "course": standing.place.keys[0][0],
        "name": standing.place.name,
        "number": standing.place.number,
        "chapter": standing.place.chapter,
        "state": standing.state,
        "tries": standing.tries,
        "hints_seen": standing.hints_seen,
        "best_score": best.score if best else None,
        "max_score": best.max_score if best else None,
        "best_fraction_of_peak": fastest.fraction_of_peak if fastest else None,
        "gpu": fastest.gpu if fastest else None,
        "passed_at": standing.passed_at,
        "last_at": standing.last_at,
        "passed_as": {"name": moved.exercise, "version": moved.course_version} if moved else None,
    }


def runs_csv(overview: ProgressSummary, runs: Sequence[Run]) -> str:
    """Return every run as a line of CSV, after a header line."""
    file, names = StringIO(), overview.names()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow((*COLUMNS, "exercise_now"))
    for run in runs:
        writer.writerow(
            _cell(value) if isinstance(value, str) else value for value in (*astuple(run), names.get(run.key))
        )
    return file.getvalue()


def _cell(text: str) -> str:
    shown = safe(text, lines=True)
    return f"'{shown}" if text.startswith(_FORMULA) else shown
