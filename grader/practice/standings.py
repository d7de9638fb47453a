"""Where a person stands: the runs of each exercise summed up, as records. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from grader.practice.progress import Run

State = Literal["passed", "tried", "new"]
_MEASURED = frozenset({"pass", "slow", "inconclusive"})  # verdicts whose measured fraction can be believed


@dataclass(frozen=True)
class Place:
    """An exercise, as far as its standing goes."""

    course: str
    name: str
    number: int
    chapter: str


@dataclass(frozen=True)
class Standing:
    """What a person has reached in one exercise. ``best`` is the run with a pass, or else the most points."""

    place: Place
    state: State
    tries: int
    hints_seen: int
    best: Run | None = None
    fastest: Run | None = None  # the run with the largest fraction of peak
    passed_at: str | None = None  # the first pass
    last_at: str | None = None


@dataclass(frozen=True)
class Summary:
    """All exercises of the catalogue, and how many exercises of other courses have runs."""

    standings: tuple[Standing, ...]
    elsewhere: int

    def count(self, state: State) -> int:
        return sum(one.state == state for one in self.standings)

    @property
    def tries(self) -> int:
        return sum(one.tries for one in self.standings)


def summary(places: Sequence[Place], runs: Sequence[Run], hints_seen: Mapping[tuple[str, str], int]) -> Summary:
    """Sum up ``runs``, oldest first, for each of the exercises in ``places``."""
    by_exercise: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        by_exercise.setdefault((run.course, run.exercise), []).append(run)
    keys = [(place.course, place.name) for place in places]
    standings = tuple(
        _standing(place, by_exercise.get(key, []), hints_seen.get(key, 0))
        for place, key in zip(places, keys, strict=True)
    )
    return Summary(standings, elsewhere=len(by_exercise.keys() - set(keys)))


def _standing(place: Place, runs: Sequence[Run], hints_seen: int) -> Standing:
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
