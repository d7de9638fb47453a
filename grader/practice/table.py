"""`grade progress` as people read it: chapter by chapter, what is passed, how well and when. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

from grader.practice.progress import Run
from grader.practice.standings import Standing, State, Summary

MARKS: dict[State, str] = {"passed": "✔", "tried": "○", "new": " "}


def table_lines(found: Summary, *, title: Callable[[str], str], day: Callable[[str], str]) -> Iterator[str]:
    """Yield the lines. ``title`` makes a chapter's heading of its folder's name, ``day`` a date of a kept moment."""
    widest = max((len(one.place.name) for one in found.standings), default=0)
    for at, (chapter, members) in enumerate(groupby(found.standings, key=lambda one: one.place.chapter)):
        group = list(members)
        if at:
            yield ""
        passed = sum(one.state == "passed" for one in group)
        yield f"{title(chapter)}: {passed} of {len(group)} passed"
        yield from (_line(one, widest, day).rstrip() for one in group)
    yield ""
    yield _total(found)


def _line(one: Standing, widest: int, day: Callable[[str], str]) -> str:
    when = day(one.passed_at) if one.passed_at else f"not yet, last tried {day(one.last_at)}" if one.last_at else ""
    tries = _plural(one.tries, "try", "tries") if one.tries else ""
    return (
        f"{MARKS[one.state]} {one.place.number:>4}  {one.place.name:<{widest}}  "
        f"{_points(one.best):>10}  {_speed(one.fastest):<13}  {tries:<8}  {when}"
    )


def _points(best: Run | None) -> str:
    return f"{best.score} of {best.max_score}" if best is not None else ""


def _speed(fastest: Run | None) -> str:
    if fastest is None or fastest.fraction_of_peak is None:
        return ""
    return f"{100 * fastest.fraction_of_peak:.1f} % of peak"


def _total(found: Summary) -> str:
    count = len(found.standings)
    words = f"{found.count('passed')} of {_plural(count, 'exercise', 'exercises')} passed"
    if tried := found.count("tried"):
        words += f", {tried} tried"
    words += f", {_plural(found.tries, 'run', 'runs')}"
    if found.elsewhere:
        more = _plural(found.elsewhere, "exercise", "exercises")
        words += f"; {more} of other courses: --course DIR shows them"
    return words + "."


def _plural(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
