from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from grader.catalog.exercises import load_catalog
from grader.classroom.folder import init_class
from grader.classroom.records import AssignedExercise, Assignment
from grader.cli import main

catalog = cache(load_catalog)
"""The exercises, read once for all tests of a file."""

ASSIGNMENT = Assignment("week4", "Week 4", (AssignedExercise("vector_add"), AssignedExercise("pinned_copy", 50)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A new class of two exercises, one of them a host exercise."""
    init_class(tmp_path / "week4", ASSIGNMENT)
    return tmp_path / "week4"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Calls the command: its exit code, standard output and standard error."""

    def call(*words: object) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        out = capsys.readouterr()
        return code, out.out, out.err

    return call
