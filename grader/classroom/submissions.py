"""`submissions.json`: who submitted which file when, as `grade class collect` found it.

    {"schema": "warpgrade/submissions/1", "assignment": "week4", "submissions": [
        {"student": "ada", "exercise": "vector_add", "number": 1,
         "files": [{"path": "submissions/ada/vector_add/3f2a…/vector_add.cu", "sha256": "…"}],
         "submitted": "2026-12-06T21:04:00+00:00", "time_from": "lms", "origin": "w4.zip: …"}]}

Each entry is a `ClassSubmission`. ``path`` is relative to the class folder; ``submitted`` is null if nothing but the
file's own date says when. The file is replaced as a whole, so that a reader finds the old or the new one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from grader.classroom.records import ClassSubmission
from grader.errors import UsageError
from grader.reading import from_json

FILE = "submissions.json"
SCHEMA = "warpgrade/submissions/1"


def read_submissions(folder: Path) -> tuple[ClassSubmission, ...]:
    """The collected submissions of a class folder; none without the file. Raises UsageError if it is damaged."""
    path = folder / FILE
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise ValueError(f"its schema is not {SCHEMA}")
        return from_json(tuple[ClassSubmission, ...], document.get("submissions"))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", code="unreadable") from None
    except (ValueError, RecursionError) as error:
        hint = "`grade class collect` writes it: restore it from a backup, or delete it and collect again"
        raise UsageError(f"{path} is damaged: {error}", code="bad_submissions", hint=hint) from None


def write_submissions(folder: Path, assignment: str, submissions: Sequence[ClassSubmission]) -> None:
    """Replace the file; after a crash it is the old one or the new one."""
    entries = [_entry(submission) for submission in submissions]
    document = {"schema": SCHEMA, "assignment": assignment, "submissions": entries}
    replace_file(folder / FILE, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())


def replace_file(path: Path, content: bytes) -> None:
    """Write a file that is there as a whole or not at all, also after the machine has crashed."""
    written = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with written.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        written.replace(path)
    except OSError as error:
        written.unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {error.strerror}", code="cannot_write") from None


def _entry(submission: ClassSubmission) -> dict[str, Any]:
    return asdict(submission) | {"submitted": submission.submitted.isoformat() if submission.submitted else None}
