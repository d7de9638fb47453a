"""`similar.json`: what `grade class similar` found, for the class's report.

    {"schema": "warpgrade/similar/1", "exercises": [
        {"exercise": "saxpy_grid_stride", "students": 31, "submissions": 40, "too_small": [key…], "pairs": [
            {"exercise": …, "first": key, "second": key, "similarity": 0.97, "by": "tokens",
             "shared": [{"first": [9, 20], …}]}], "identical": [[key, key, key]]}]}

A key is `ClassSubmission.key`; lines are those of the .cu, of a host exercise those of its Python file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from grader.classroom.records import ComparedExercise
from grader.errors import UsageError
from grader.reading import from_json

FILE = "similar.json"
SCHEMA = "warpgrade/similar/1"


def read_compared(folder: Path) -> tuple[ComparedExercise, ...]:
    """The comparisons of a class folder; none without the file. Raises UsageError if it is damaged."""
    path = folder / FILE
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise ValueError(f"its schema is {document['schema']!r}, and not {SCHEMA!r}")
        return from_json(tuple[ComparedExercise, ...], document["exercises"])
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", code="unreadable") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        hint = "delete it, and run `grade class similar` again"
        raise UsageError(f"{path} is damaged: {error}", code="bad_similar", hint=hint) from None


def document(compared: Iterable[ComparedExercise]) -> Mapping[str, Any]:
    """The content of the file, and of ``--json``."""
    return {"schema": SCHEMA, "exercises": [asdict(one) for one in compared]}
