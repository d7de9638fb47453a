"""Points from stages: 60 for a right answer, 20 for the technique, 20 for speed, unless the exercise says otherwise.

A stage that is not graded leaves the maximum, so that 80 of 80 on a machine without a GPU is a full score.
"""

from __future__ import annotations

from collections.abc import Sequence

from grader.verdict import StageResult

NEEDED = {"correct": ("runs", "correct"), "technique": ("technique",), "fast": ("fast",)}
"""The stages that must all have passed to earn the points of each: an answer right by the luck of a race earns none."""


def score(points: tuple[int, int, int], stages: Sequence[StageResult]) -> tuple[int, int]:
    """Return (score, maximum); ``points`` are those of `Exercise.points`: correct, technique, fast."""
    status = {stage.name: stage.status for stage in stages}
    graded = {name: worth for name, worth in zip(NEEDED, points, strict=True) if status[name] != "not_graded"}
    earned = (worth for name, worth in graded.items() if all(status[need] == "passed" for need in NEEDED[name]))
    return sum(earned), sum(graded.values())
