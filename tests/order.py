"""The order of files in a run of several processes."""

from __future__ import annotations

LONGEST = (
    "tests/test_course.py", "tests/backends/sim/hostfile/test_host_sessions.py",
    "tests/backends/gpu/hostfile/test_host_sessions.py", "tests/cli/test_watch.py",
    "tests/compile/test_hostile_texts.py", "tests/simt/test_corpus.py", "tests/backends/gpu/hostfile/test_cheats.py",
    "tests/cli/test_grading_end_to_end.py", "tests/compile/test_hostile_sources.py",
    "tests/grading/test_beginners_mistakes.py", "tests/dev/test_check.py", "tests/simt/test_async_copies.py",
    "tests/practice/test_moved.py", "tests/cli/test_habits.py", "tests/simt/test_barrier_objects.py",
    "tests/cli/test_deadline.py", "tests/kernels_ref/test_generator.py", "tests/cli/test_closed_streams.py",
    "tests/classroom/test_class_of_twelve.py",
)  # fmt: skip
"""The files that take longest. Several processes begin with them, so that none is left with one at the end."""

_PLACES = {file: place for place, file in enumerate(LONGEST)}


def place_of(test: str) -> int:
    """The place of a test's file: those that take longest first, all others after them."""
    return _PLACES.get(test.partition("::")[0], len(_PLACES))
