"""Which exercise comes next: the first that is open behind the one passed last. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from grader.practice.progress import Run

Key = tuple[str, str]  # course and name


@dataclass(frozen=True)
class Following:
    """``at`` is the place of the next exercise in the course, None where all are passed.

    ``after`` is the pass that it follows, None where nothing is passed yet or the end of the course was reached and
    it starts over; ``open_before`` counts the exercises before it that are still open.
    """

    at: int | None
    after: Run | None = None
    open_before: int = 0


def following(keys: Sequence[Key], passes: Sequence[Run], can_be_graded: Callable[[int], bool]) -> Following:
    """Return what comes next among ``keys``, which are in the order of the course.

    ``passes`` are passes, oldest first; ``can_be_graded`` says whether this machine can grade the exercise
    at a place, and is asked only for those that matter.
    """
    known = [run for run in passes if _key(run) in keys]
    passed = {_key(run) for run in known}
    last = known[-1] if known else None
    behind = keys.index(_key(last)) + 1 if last is not None else 0
    at = _first_open(keys, passed, range(behind, len(keys)), can_be_graded)
    if at is None:
        return Following(_first_open(keys, passed, range(behind), can_be_graded))
    open_before = sum(keys[n] not in passed and can_be_graded(n) for n in range(at))
    return Following(at, last, open_before)


def _first_open(
    keys: Sequence[Key], passed: Collection[Key], places: range, can_be_graded: Callable[[int], bool]
) -> int | None:
    return next((at for at in places if keys[at] not in passed and can_be_graded(at)), None)


def _key(run: Run) -> Key:
    return run.course, run.exercise
