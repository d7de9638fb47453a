"""The progress as other tools read it: the document ``warpgrade/progress/1``, and its runs as CSV. Pure."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, astuple
from io import StringIO
from typing import Any

from grader.practice.progress import COLUMNS, Run
from grader.practice.standings import Standing, Summary

PROGRESS_SCHEMA = "warpgrade/progress/1"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet computes a text that begins so


def progress_document(found: Summary, runs: Sequence[Run]) -> dict[str, Any]:
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
        "course": one.place.course,
        "name": one.place.name,
        "number": one.place.number,
        "chapter": one.place.chapter,
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
    writer.writerows([_cell(value) for value in astuple(run)] for run in runs)
    return file.getvalue()


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
