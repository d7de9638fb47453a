"""Files that were begun for an older version of a course, and files that were not."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from grader.catalog.courses import CourseExercise, built_in_course
from grader.catalog.exercises import Catalog, load_catalog
from grader.catalog.versions import Move, OldFile, hashed_lines, versions_at
from grader.dev.wrong import wrong_answers
from grader.errors import UsageError
from grader.practice import moved
from grader.practice.history import progress, recorder
from grader.practice.moved import old_here, old_step, refuse_old
from grader.verdict import Verdict
from tests.two_versions import first_version, host_file, kernel, move, second_version, write_step


@pytest.fixture(autouse=True)
def here(empty_folder):
    """An empty folder to work in, and nothing graded yet."""
    return empty_folder


@pytest.fixture
def course(tmp_path) -> Path:
    return second_version(first_version(tmp_path / "course"))


def found(course: Path, text: str, name: str = "sum_v3", file: str = "") -> tuple[str, int, str | None] | None:
    """What a file with this text is, if it is not of the current step of this name."""
    path = Path(file or f"{name}.cu")
    path.write_text(text)
    catalog = load_catalog([course])
    old = old_step(catalog, catalog.find(name), path)
    return None if old is None else (old.name, old.version, old.now)


def hint(course: Path, name: str, *files: str) -> str:
    catalog = load_catalog([course])
    with pytest.raises(UsageError) as caught:
        refuse_old(catalog, catalog.find(name), *(Path(file) for file in files or (f"{name}.cu",)))
    assert caught.value.code == "moved_exercise"
    return caught.value.hint


OLD = ("sum_v3", 1, "sum_v4")

# ------------------------------------------------------------------------------------------------- what is recognised


def test_old_stub_is_recognised_untouched_and_solved(course):
    assert found(course, kernel("a_warp", "sum_v3")) == OLD
    assert found(course, kernel("a_warp", "sum_v3", solved=True)) == OLD


def test_old_file_is_recognised_with_another_indentation_and_without_its_comments(course):
    text = kernel("a_warp", "sum_v3", solved=True)
    assert found(course, text.replace("    ", "\t").replace("\n", "\r\n")) == OLD
    assert found(course, "\n".join(line for line in text.splitlines() if not line.startswith("// sum_v3:"))) == OLD


def test_old_step_under_a_file_of_any_name_is_recognised(course):
    assert found(course, kernel("a_warp", "sum_v3"), file="second_try.cu") == OLD


def test_old_host_file_is_recognised_alone(tmp_path):
    course = second_version(first_version(tmp_path / "course", host=True), host=True)
    assert found(course, host_file("a_warp"), file="sum_v3_host.py") == OLD
    assert found(course, host_file("a_block"), file="sum_v3_host.py") is None
    assert found(course, host_file("a_block", solved=True), file="sum_v3_host.py") is None


def test_file_that_was_graded_under_the_old_name_is_known_by_its_bytes(tmp_path):
    course = first_version(tmp_path / "course")
    Path("sum_v2.cu").write_text("// all my own\n")
    entry = load_catalog([course]).find("sum_v2")
    recorder(entry, Path("sum_v2.cu"))(Verdict("sum_v2", "sim", "pass", 80, 80, 1, ()))
    second_version(course)
    assert found(course, "// all my own\n", "sum_v2") == ("sum_v2", 1, "sum_v3")
    assert found(course, "// all my own, and newer\n", "sum_v2") is None
    # Whoever has graded it as the current step since has decided.
    Path("sum_v2.cu").write_text("// all my own\n")
    recorder(load_catalog([course]).find("sum_v2"), Path("sum_v2.cu"))(Verdict("sum_v2", "sim", "race", 0, 80, 1, ()))
    assert found(course, "// all my own\n", "sum_v2") is None


def test_file_that_was_also_graded_as_the_step_of_todays_name_is_graded(tmp_path):
    """In a ladder people grade the file of one step as the next one: sum_v2.cu as sum_v3, before they write that."""
    course = first_version(tmp_path / "course")
    catalog = load_catalog([course])
    Path("sum_v3.cu").write_text("// all my own\n")
    for name in ("sum_v2", "sum_v3"):
        recorder(catalog.find(name), Path("sum_v3.cu"))(Verdict(name, "sim", "pass", 80, 80, 1, ()))
    second_version(course)
    assert found(course, "// all my own\n", "sum_v3") is None  # what was sum_v2 has this name now
    assert found(course, "// all my own\n", "sum_v2") == ("sum_v2", 1, "sum_v3")


def test_step_that_is_gone_and_one_that_moved_twice(tmp_path):
    course = second_version(first_version(tmp_path / "course"))
    move(course, "sum_v4", "sum_warp", 3)
    move(course, "sum_v2", None, 3)
    shutil.rmtree(course / "exercises" / "01_sums" / "sum_v2")
    write_step(course, "one_thread", "sum_v2", 9002)
    catalog = load_catalog([course])
    Path("sum_v3.cu").write_text(kernel("a_warp", "sum_v3"))
    assert old_step(catalog, catalog.find("sum_v3"), Path("sum_v3.cu")) == moved.OldStep("sum_v3", 1, "sum_warp", 3)
    Path("sum_v2.cu").write_text(kernel("two_sums", "sum_v2"))
    assert old_here(catalog, catalog.find("sum_v2")) == (
        "./sum_v2.cu is version 2's sum_v2, which version 3 no longer has: `grade reset sum_v2` keeps it as "
        "sum_v2.cu.bak, and writes the current stub of sum_v2."
    )


# ---------------------------------------------------------------------------------------------------- no false alarms


@pytest.mark.parametrize("solved", [False, True])
def test_file_of_the_current_stub_is_none_of_an_older_version(course, solved):
    for step, name in (("one_thread", "sum_v1"), ("two_sums", "sum_v2"), ("a_block", "sum_v3"), ("a_warp", "sum_v4")):
        assert found(course, kernel(step, name, solved=solved), name) is None


def test_file_begun_from_another_current_step_is_none_of_an_older_version(course):
    """Whoever begins with the file of the step after it has a file of the current course."""
    assert found(course, kernel("a_warp", "sum_v4"), "sum_v3") is None


@pytest.mark.parametrize("text", ["", "\0\xff", "// launch sum_v3(x, out, n): grid=1 block=32\n", "int main() {}\n"])
def test_file_written_from_nothing_is_none_of_an_older_version(course, text):
    assert found(course, text) is None


def test_missing_file_folder_and_course_without_moves_are_none_of_an_older_version(tmp_path, course):
    catalog = load_catalog([course])
    assert old_step(catalog, catalog.find("sum_v3"), Path("nowhere.cu")) is None
    assert old_step(catalog, catalog.find("sum_v3"), tmp_path) is None
    first = first_version(tmp_path / "first")
    assert found(first, kernel("a_warp", "sum_v3")) is None


catalog_of = cache(load_catalog)


def steps() -> list[tuple[CourseExercise, CourseExercise]]:
    """Neighbouring steps of every ladder of the built-in course."""
    entries = [entry for entry in catalog_of().exercises if entry.exercise.ladder]
    return [(before, step) for before, step in pairwise(entries) if before.exercise.ladder == step.exercise.ladder]


def renamed(text: str, ladder: tuple[CourseExercise, ...]) -> bytes:
    """The text with every step one further, as if the ladder had a new first step."""
    for step, following in reversed(list(zip(ladder, [*ladder[1:], None], strict=True))):
        text = re.sub(rf"\b{step.name}\b", following.name if following else "the_last", text)
    return text.encode()


@cache
def current_files(ladder: str) -> list[frozenset[str]]:
    """The lines of every file of a ladder, renamed."""
    steps = tuple(entry for entry in catalog_of().exercises if entry.exercise.ladder == ladder)
    return [hashed_lines(renamed(text, steps)) for entry in steps for text in texts(entry)]


def texts(entry: CourseExercise) -> Iterator[str]:
    """The stub, the solution and the wrong answers that are edits of it."""
    assert entry.solution is not None
    yield from (entry.stub.read_text(), entry.solution.read_text())
    for answer in wrong_answers(entry)[0]:
        if answer.path.suffix == ".diff":
            yield answer.texts[f"{answer.path.stem}.cu"]


@pytest.mark.parametrize(("before", "step"), steps(), ids=lambda entry: entry.name)
def test_if_real_ladders_had_a_new_first_step(before: CourseExercise, step: CourseExercise):
    """Then ``before`` has the name of ``step``: the old step's files are recognised, and no file of the new one is."""
    ladder = catalog_of().ladder(step)
    assert step.solution is not None
    assert before.solution is not None
    old = OldFile(hashed_lines(step.stub.read_bytes()), hashed_lines(step.solution.read_bytes()))
    current = OldFile(*(hashed_lines(renamed(path.read_text(), ladder)) for path in (before.stub, before.solution)))
    others = [OldFile(hashed_lines(renamed(entry.stub.read_text(), ladder))) for entry in ladder if entry is not before]

    def is_begun(lines: frozenset[str]) -> bool:
        return moved._is_begun_from(old, lines, current, others)

    assert is_begun(hashed_lines(step.stub.read_bytes()))
    assert not any(map(is_begun, current_files(step.exercise.ladder)))


def real_moves() -> list[Move]:
    """The moves of the built-in course after which another step has the old name."""
    names = {entry.name for entry in catalog_of().exercises}
    return [move for move in versions_at(built_in_course().exercises).moves if move.name in names]


@pytest.mark.parametrize("move", real_moves(), ids=lambda move: f"{move.version}-{move.name}")
def test_old_files_of_the_course_are_recognised_and_none_of_the_current_step_is(move: Move):
    entry = catalog_of().find(move.name)
    ladder = catalog_of().ladder(entry)
    old, current = move.files[".cu"], moved._current(entry, ".cu")
    others = [moved._current(step, ".cu") for step in ladder if step is not entry]

    def is_begun(lines: frozenset[str]) -> bool:
        return moved._is_begun_from(old, lines, current, others)

    assert is_begun(old.stub)
    assert is_begun(old.stub | old.solution)
    assert not any(is_begun(hashed_lines(text.encode())) for text in texts(entry))


# ------------------------------------------------------------------------------------------------------- what to type


def test_answer_renames_the_file(course):
    Path("sum_v3.cu").write_text(kernel("a_warp", "sum_v3"))
    assert hint(course, "sum_v3") == (
        "`mv sum_v3.cu sum_v4.cu` gives it its current name, and `grade sum_v4` grades it; then `grade start sum_v3` "
        "copies the current stub of sum_v3"
    )


def test_answer_renames_the_files_that_are_in_the_way_first(course):
    Path("sum_v2.cu").write_text(kernel("a_block", "sum_v2"))
    Path("sum_v3.cu").write_text(kernel("a_warp", "sum_v3"))
    assert hint(course, "sum_v2").startswith("`mv sum_v3.cu sum_v4.cu && mv sum_v2.cu sum_v3.cu` gives it the current")


def test_answer_never_overwrites_a_file(course):
    Path("sum_v3.cu").write_text(kernel("a_warp", "sum_v3"))
    Path("sum_v4.cu").write_text("// mine\n")
    assert hint(course, "sum_v3") == "`grade sum_v4 --file sum_v3.cu` grades it"


def test_answer_for_steps_that_took_each_others_names_ends(tmp_path):
    course = first_version(tmp_path / "course")
    for name, to in (("sum_v2", "sum_x"), ("sum_v3", "sum_v2"), ("sum_x", "sum_v3")):
        move(course, name, to, 2)
    Path("sum_v2.cu").write_text(kernel("a_block", "sum_v2"))
    Path("sum_v3.cu").write_text(kernel("a_warp", "sum_v3"))
    assert hint(course, "sum_v2") == "`grade sum_v3 --file sum_v2.cu` grades it"


def test_answer_for_a_file_elsewhere_grades_it_there(course):
    Path("old tries").mkdir()
    shutil.copy(course / "exercises" / "01_sums" / "sum_v4" / "sum_v4.cu", "x.cu")
    Path("old tries/warp.cu").write_text(kernel("a_warp", "sum_v3"))
    assert hint(course, "sum_v3", "old tries/warp.cu") == "`grade sum_v4 --file 'old tries/warp.cu'` grades it"


def test_answer_for_a_host_exercise_renames_both_files(tmp_path):
    course = second_version(first_version(tmp_path / "course", host=True), host=True)
    Path("sum_v3.cu").write_text(kernel("a_warp", "sum_v3"))
    Path("sum_v3_host.py").write_text(host_file("a_warp"))
    assert hint(course, "sum_v3").startswith("`mv sum_v3.cu sum_v4.cu && mv sum_v3_host.py sum_v4_host.py` gives")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sum_v3", None),
        ("sum_warp", "there is no exercise"),
    ],
)
def test_name_that_exists_or_never_existed_is_looked_up_as_ever(course, name, words):
    catalog: Catalog = load_catalog([course])
    if words is None:
        assert catalog.find(name).name == name
    else:
        with pytest.raises(UsageError, match=words):
            catalog.find(name)


def test_name_that_only_an_older_version_had_is_answered_with_the_current_one(course):
    move(course, "sum_v1", "sum_alone", 2)
    with pytest.raises(UsageError) as caught:
        load_catalog([course]).find("sum_v1")
    assert (caught.value.code, caught.value.message) == (
        "moved_exercise",
        "sum_v1 is version 1's sum_v1, which is sum_alone in version 2 of the course",
    )


def test_nothing_is_asked_of_the_progress_for_a_step_that_did_not_move(course, monkeypatch):
    monkeypatch.setattr("grader.practice.moved.progress", lambda: pytest.fail("asked"))
    assert found(course, kernel("one_thread", "sum_v1"), "sum_v1") is None
    assert progress().runs() == ()
