"""What `scripts/test --quick` chooses."""

from __future__ import annotations

import pytest

from tests.order import LONGEST, place_of
from tests.quick import CHEAP, ROOT, is_within, places

COURSE = "tests/test_course.py::test_stub_solution_and_wrong_answers_are_as_the_exercise_says"


@pytest.mark.parametrize(
    ("changed", "tested"),
    [
        ("grader/compare/mismatch.py", ["tests/compare"]),
        ("grader/backends/sim/child.py", ["tests/backends/sim"]),
        ("grader/api.py", ["tests/test_api.py"]),
        ("kernels_ref/reduction.py", ["tests/kernels_ref"]),
        ("tests/compare/test_compare.py", ["tests/compare/test_compare.py"]),
        ("tests/simt/kernels.py", ["tests/simt"]),
        ("exercises/04_reduction/reduce_v3/wrong/no_barrier.diff", [f"{COURSE}[reduce_v3]"]),
        ("solutions/09_host/zero_copy_host.py", [f"{COURSE}[zero_copy]"]),
        ("docs/index.md", []),
    ],
)
def test_what_has_changed_says_which_tests_come_first(changed: str, tested: list[str]) -> None:
    assert places(changed) == tested


def test_the_cheap_folders_and_files_exist() -> None:
    assert [place for place in CHEAP if not (ROOT / place).exists()] == []


def test_a_folder_holds_its_tests_and_not_those_of_a_similar_name() -> None:
    assert is_within("tests/tune/test_sweep.py::test_a[1]", ["tests/tune"])
    assert not is_within("tests/tuner/test_sweep.py::test_a", ["tests/tune"])


def test_the_files_that_several_processes_begin_with_exist() -> None:
    assert [file for file in LONGEST if not (ROOT / file).is_file()] == []
    assert [place_of(f"{LONGEST[0]}::test[a::b]"), place_of(LONGEST[1]), place_of("tests/test_api.py::test")] == [
        0, 1, len(LONGEST),
    ]  # fmt: skip
