"""What a course says about the exercises of an assignment, for pages: the idea, and the sizes that it publishes."""

from __future__ import annotations

from collections.abc import Mapping

from grader.catalog.exercises import Catalog
from grader.classroom.records import Assignment
from grader.render.classroom.shown import ExerciseFacts


def facts_of(catalog: Catalog, assignment: Assignment) -> Mapping[str, ExerciseFacts]:
    """The facts by exercise. Raises UsageError for an exercise that the course does not have."""
    found = {}
    for assigned in assignment.exercises:
        exercise = catalog.find(assigned.name).exercise
        sizes = (*exercise.small, exercise.simulated, *((exercise.timed,) if exercise.timed else ()))
        found[assigned.name] = ExerciseFacts(exercise.idea, sizes)
    return found
