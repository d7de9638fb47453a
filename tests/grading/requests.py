"""Requests of tests: their parts by the names of their fields."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from grader.exercise import Exercise
from grader.grading.records import Request, Services, Submission


def request_of(exercise: Exercise, path: Path, *, oracle: Any = lambda: None, simulator: Any = None, **more: Any):
    """A request with seed 1; ``more`` are fields of the submission, of its services or of the request."""
    return changed(Request(Submission(exercise, path), Services(oracle, simulator), 1), **more)


def changed(request: Request, **more: Any) -> Request:
    """The request with other values of some fields, wherever they are."""

    def of(part: type) -> dict[str, Any]:
        return {field.name: more.pop(field.name) for field in fields(part) if field.name in more}

    submission = replace(request.submission, **of(Submission))
    services = replace(request.services, **of(Services))
    return replace(request, submission=submission, services=services, **more)
