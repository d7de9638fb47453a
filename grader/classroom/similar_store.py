"""`similar.json`: what `grade class similar` found, for the class's report.

    {"schema": "warpgrade/similar/1", "exercises": [
        {"exercise": "saxpy_grid_stride", "students": 31, "submissions": 40, "too_small": [key…], "pairs": [
            {"first": key, "second": key, "similarity": 0.97, "by": "tokens", "shared": [{"first": [9, 20], …}]}]}]}

A key is `ClassSubmission.key`; lines are those of the .cu, of a host exercise those of its Python file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from grader.classroom.records import ComparedExercise, SharedLines, SimilarPair
from grader.errors import UsageError

FILE = "similar.json"
SCHEMA = "warpgrade/similar/1"


def read_compared(folder: Path) -> tuple[ComparedExercise, ...]:
    """The comparisons of a class folder; none without the file. Raises UsageError if it is damaged."""
    path = folder / FILE
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise ValueError(f"its schema is {document['schema']!r}, and not {SCHEMA!r}")
        return tuple(_compared(entry) for entry in document["exercises"])
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", code="unreadable") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        hint = "delete it, and run `grade class similar` again"
        raise UsageError(f"{path} is damaged: {error}", code="bad_similar", hint=hint) from None


def document(compared: Iterable[ComparedExercise]) -> Mapping[str, Any]:
    """The content of the file, and of ``--json``."""
    exercises = [
        {
            "exercise": one.exercise,
            "students": one.students,
            "submissions": one.submissions,
            "too_small": list(one.too_small),
            "pairs": [_pair(pair) for pair in one.pairs],
        }
        for one in compared
    ]
    return {"schema": SCHEMA, "exercises": exercises}


def _pair(pair: SimilarPair) -> Mapping[str, Any]:
    return {
        "first": pair.first,
        "second": pair.second,
        "similarity": pair.similarity,
        "by": pair.by,
        "shared": [{"first": list(one.first), "second": list(one.second)} for one in pair.shared],
    }


def _compared(entry: Mapping[str, Any]) -> ComparedExercise:
    name = str(entry["exercise"])
    pairs = tuple(
        SimilarPair(
            name,
            str(pair["first"]),
            str(pair["second"]),
            float(pair["similarity"]),
            tuple(SharedLines(_range(one["first"]), _range(one["second"])) for one in pair["shared"]),
            "ptx" if pair["by"] == "ptx" else "tokens",
        )
        for pair in entry["pairs"]
    )
    too_small = tuple(map(str, entry["too_small"]))
    return ComparedExercise(name, int(entry["students"]), int(entry["submissions"]), too_small, pairs)


def _range(lines: list[int]) -> tuple[int, int]:
    first, last = map(int, lines)
    return first, last
