"""Finding exercises: courses, names and numbers, broken folders, oracles by name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from grader.catalog.courses import (
    Course,
    CourseExercise,
    built_in_course,
    course_at,
    exercise_files,
    read_exercise,
    resolve_reference,
)
from grader.catalog.exercises import Catalog, load_catalog
from grader.errors import Unsupported, UsageError

COURSE = Path(__file__).parents[1] / "course"
FINE = """
from grader import Array, Exercise, Values
EXERCISE = Exercise(
    name="{name}", order={order}, idea="an idea",
    arrays=(Array("x", "float32", "n"), Array("y", "float32", "n", role="out")),
    oracle="mini:scale", small=({"n": 1},), simulated={"n": 4},
)
"""

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write one exercise folder of a plain course, and return the course's folder."""

    def write_one(name: str, text: str = FINE, *, order: int = 900, chapter: str = "") -> Path:
        folder = tmp_path / chapter / name
        folder.mkdir(parents=True)
        filled = text.replace("{name}", name).replace("{order}", str(order))
        (folder / "exercise.py").write_text(filled)
        return tmp_path

    return write_one


@pytest.fixture
def mini() -> Catalog:
    """The tests' own course alone."""
    course = course_at(COURSE)
    found = [read_exercise(path, course) for path in exercise_files(course.exercises)]
    return Catalog(tuple(one for one in found if isinstance(one, CourseExercise)))


def test_the_built_in_course_is_whole_and_in_order() -> None:
    catalog = load_catalog()
    assert catalog.broken == ()
    assert "vector_add" in [one.name for one in catalog.exercises]
    assert [one.number for one in catalog.exercises] == sorted(one.number for one in catalog.exercises)


def test_an_exercise_knows_where_its_files_are(mini: Catalog) -> None:
    scale = mini.find("scale")
    folder = COURSE.resolve() / "exercises" / "01_first" / "scale"
    assert (scale.folder, scale.chapter, scale.number) == (folder, "01_first", 101)
    assert all(path.is_file() for path in (scale.stub, scale.statement, scale.hints, scale.interview))
    assert scale.is_wrong_answer(folder / "wrong" / "copy.cu")
    assert not scale.is_wrong_answer(scale.stub)
    assert scale.solution == COURSE.resolve() / "solutions" / "01_first" / "scale.cu"
    assert scale.host_file is None


def test_a_host_exercise_has_its_host_file() -> None:
    zero_copy = load_catalog().find("zero_copy")
    assert zero_copy.host_file is not None
    assert zero_copy.host_file.name == "zero_copy_host.py"


@pytest.mark.parametrize("text", ["total", "102", " 102 ", "tot", "TOTAL", " total "])
def test_an_exercise_is_found_by_name_number_and_part(mini: Catalog, text: str) -> None:
    assert mini.find(text).name == "total"


def test_a_whole_name_wins_over_parts_of_others(write: Write) -> None:
    write("scan", order=901)
    catalog = load_catalog([write("scan_block", order=902)])
    assert catalog.find("scan").number == 901


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1", "1 is the chapter first: 101 scale, 102 total"),
        ("199", "1 is the chapter first: 101 scale, 102 total"),
        ("2", "`grade list` shows the numbers"),
        ("0", "`grade list` shows the numbers"),
    ],
)
def test_another_number_lists_what_is_in_its_chapter(mini: Catalog, text: str, hint: str) -> None:
    numbers = [one.number for one in mini.exercises]
    assert numbers == [101, 102]
    with pytest.raises(UsageError, match=f"there is no exercise {text}") as caught:
        mini.find(text)
    assert caught.value.hint == hint


def test_a_number_is_never_a_part_of_a_name() -> None:
    with pytest.raises(UsageError, match="there is no exercise 3"):
        load_catalog().find("3")  # reduce_v3 has one in it


def test_an_ambiguous_part_lists_the_candidates(mini: Catalog) -> None:
    with pytest.raises(UsageError, match="'al' may mean 2 exercises: scale, total") as caught:
        mini.find("al")
    assert caught.value.code == "ambiguous_exercise"


def test_a_number_that_two_courses_use_is_ambiguous() -> None:
    catalog = load_catalog([COURSE])
    number = str(load_catalog().find("vector_add").number)
    with pytest.raises(UsageError, match=r"total.*vector_add"):
        catalog.find(number)


def test_a_copy_of_a_file_is_known_by_the_beginning_of_its_name(mini: Catalog) -> None:
    assert mini.copied_in(Path("tries/total_2b old.cu")) == "total"
    assert mini.copied_in(Path("totals.cu")) == mini.copied_in(Path("total_2.py")) == ""


@pytest.mark.parametrize(
    ("text", "hint"),
    [("totl", "did you mean 'total'?"), ("qqq", "`grade list` shows all exercises"), ("99", ""), ("", ""), ("٢", "")],
)
def test_an_unknown_name_is_answered_with_the_nearest(mini: Catalog, text: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        mini.find(text)
    assert caught.value.code == "unknown_exercise"
    assert hint in caught.value.hint


# -------------------------------------------------------------------------------------------------------------- courses


@pytest.mark.parametrize("chapter", ["", "01_mine", "exercises/01_mine"])
def test_a_course_may_be_plain_or_have_chapters(write: Write, chapter: str) -> None:
    found = load_catalog([write("mine", chapter=chapter)]).find("mine")
    assert found.chapter == chapter.removeprefix("exercises").strip("/")
    assert found.solution is None


def test_the_folder_of_one_exercise_is_a_course_too(write: Write) -> None:
    assert load_catalog([write("mine") / "mine"]).find("mine").chapter == ""


def test_a_later_course_replaces_an_exercise_of_the_same_name(write: Write) -> None:
    folder = write("vector_add", order=777)
    catalog = load_catalog([folder])
    assert catalog.find("vector_add").number == 777
    assert [one.name for one in catalog.exercises].count("vector_add") == 1


def test_two_of_a_name_in_one_course_are_an_error_that_names_both(write: Write) -> None:
    write("twin", chapter="01_a")
    (broken,) = load_catalog([write("twin", chapter="02_b")]).broken
    assert "01_a" in broken.error.message
    assert "02_b" in broken.error.message


def test_a_course_that_is_none_is_a_wrong_command(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for path, words in ((tmp_path / "no", "does not exist"), (file, "is a file"), (tmp_path, "holds no exercise")):
        with pytest.raises(UsageError, match=words) as caught:
            load_catalog([path])
        assert caught.value.code == "bad_course"


# ----------------------------------------------------------------------------------------------------- broken exercises


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("from grader import Exercise\nEXERCISE = Exercise(", 2, "syntax error"),
        ("from grader import Exercise\n\nEXERCISE = Exercise(nmae='bad')", 3, "nmae"),
        ("from grader import Exercse", 1, "Exercse"),
        ("import numpy", 1, "imports only grader, not numpy"),
        ("1 / 0", 1, "ZeroDivisionError"),
        ("def f():\n    raise SystemExit(3)\nf()", 2, "SystemExit"),
        ("x = 1", None, "must define EXERCISE"),
        ("EXERCISE = 5", None, "not an Exercise"),
        (FINE.replace("{name}", "other"), None, "named 'other', its folder 'bad'"),
        (FINE.replace("{order}", "'1'"), None, "order must be an integer"),
        (FINE.replace('({"n": 1},)', '({"n": 1})'), None, "small must be a tuple"),
        (FINE.replace('{"n": 4}', '{"n": 0}'), None, "positive integers"),
        (FINE.replace('role="out"', 'role="in"'), None, "an output"),
        (FINE.replace('Array("y"', 'Array("x"'), None, "same name"),
        (FINE.replace("mini:scale", "scale"), None, "module:function"),
        (FINE.replace("oracle", "minutes=0, oracle"), None, "minutes must be a positive integer"),
        (FINE.replace("oracle", "after=('total'), oracle"), None, "after must be a tuple of names"),
        (FINE.replace('"n")', '"n", unusual=(Values(),) * 5)', 1), None, "unusual must be Values(...), or a tuple"),
        (FINE.replace('"n")', '"n", first=(1))', 1), None, "first must be a tuple"),
        (FINE.replace('"n")', '"n", unusual=[Values()])', 1), None, "unusual must be Values(...), or a tuple"),
        (
            FINE.replace('"n")', '"n", values=Values(shape="normal"))', 1).replace("oracle", "host=True, oracle", 1),
            None,
            "a host exercise has uniform values between two numbers",
        ),
        (FINE.replace("oracle", "paths=('',), oracle"), None, "paths must be a tuple of names"),
        (FINE.replace("oracle", "paths=('all',), oracle"), None, "no path can be called 'all'"),
        ("#" + "x" * 300_000, None, "at most"),
    ],
)
def test_a_broken_exercise_names_file_and_line_and_hides_no_other(
    write: Write, text: str, line: int | None, words: str
) -> None:
    write("fine")
    catalog = load_catalog([write("bad", text)])
    assert catalog.find("fine").name == "fine"
    (broken,) = catalog.broken
    assert (broken.name, broken.line) == ("bad", line)
    assert words in broken.error.message
    assert f"exercise.py:{line}" in broken.error.message or line is None
    with pytest.raises(UsageError, match=r"bad.exercise\.py") as caught:
        catalog.find("bad")
    assert caught.value.code == "bad_exercise"


def test_listing_imports_no_numpy() -> None:
    load = "from grader.catalog.exercises import load_catalog; load_catalog()"
    code = f"import sys; {load}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -------------------------------------------------------------------------------------------------------------- ladders

STEP = FINE.replace("from grader import Array, Exercise", "from grader import Array, Exercise, Expect").replace(
    "small=", 'ladder="climb", technique=(Expect("{name}", at_most=1.0),), small='
)


def expected_of(one: CourseExercise) -> list[str]:
    return [expect.counter for expect in one.graded.technique]


def test_a_step_is_graded_on_its_own_technique_then_on_the_earlier_steps_nearest_first(write: Write) -> None:
    write("climb_b", STEP, order=902)
    write("climb_a", STEP, order=901)
    write("climb_d", STEP.replace('technique=(Expect("{name}", at_most=1.0),), ', ""), order=904)
    catalog = load_catalog([write("climb_c", STEP, order=903)])
    graded = {name: expected_of(catalog.find(f"climb_{name}")) for name in "abcd"}
    assert graded == {
        "a": ["climb_a"],
        "b": ["climb_b", "climb_a"],
        "c": ["climb_c", "climb_b", "climb_a"],
        "d": ["climb_c", "climb_b", "climb_a"],
    }
    assert [expect.counter for expect in catalog.find("climb_c").exercise.technique] == ["climb_c"]


def test_a_ladder_has_its_steps_in_order_and_an_exercise_of_none_is_alone(write: Write) -> None:
    write("climb_b", STEP, order=902)
    write("plain", order=900)
    write("other_a", STEP.replace("climb", "other"), order=903)
    catalog = load_catalog([write("climb_a", STEP, order=901)])
    assert [one.name for one in catalog.ladder(catalog.find("climb_b"))] == ["climb_a", "climb_b"]
    assert [one.name for one in catalog.ladder(catalog.find("plain"))] == ["plain"]
    assert expected_of(catalog.find("other_a")) == ["other_a"]
    assert expected_of(catalog.find("plain")) == []


def test_ladders_of_the_same_name_in_other_courses_do_not_mix(tmp_path: Path) -> None:
    for course, name, order in (("one", "climb_a", 901), ("two", "climb_b", 902)):
        folder = tmp_path / course / name
        folder.mkdir(parents=True)
        (folder / "exercise.py").write_text(STEP.replace("{name}", name).replace("{order}", str(order)))
    catalog = load_catalog([tmp_path / "one", tmp_path / "two"])
    assert expected_of(catalog.find("climb_b")) == ["climb_b"]
    assert [one.name for one in catalog.ladder(catalog.find("climb_b"))] == ["climb_b"]


# -------------------------------------------------------------------------------------------------------------- oracles


def test_an_oracle_is_found_by_its_name(mini: Catalog) -> None:
    oracle = resolve_reference("mini:scale", mini.find("scale").course)
    assert oracle({"x": np.ones(3, dtype=np.float32)}, {"factor": 2.5})["y"].tolist() == [2.5, 2.5, 2.5]


def test_a_plain_course_may_use_the_built_in_oracles(write: Write) -> None:
    course = load_catalog([write("mine")]).find("mine").course
    assert not course.kernels_ref.exists()
    assert resolve_reference("reduction:sum", course)({"x": np.arange(4.0)}, {})["out"].tolist() == [6.0]


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course with kernels_ref/{good,broken,needy}.py and kernels_ref/baselines/good.py."""
    texts = {
        "good.py": "def double(x): return 2 * x\n_hidden = double\n",
        "broken.py": "x = 1\ny = z\n",
        "needy.py": "import a_module_that_nobody_has\n",
        "baselines/good.py": "def double(x): return 'baseline'\n",
    }
    (tmp_path / "kernels_ref" / "baselines").mkdir(parents=True)
    for name, text in texts.items():
        (tmp_path / "kernels_ref" / name).write_text(text)
    return Course(tmp_path / "exercises", tmp_path / "solutions", tmp_path / "kernels_ref")


def test_references_of_equal_names_in_other_folders_are_kept_apart(course: Course) -> None:
    assert resolve_reference("good:double", course)(4) == 8
    assert resolve_reference("good:double", course, folder="baselines")(4) == "baseline"
    assert resolve_reference("baselines.good:double", course)(4) == "baseline"


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("nowhere:f", "names no module"),
        ("../good:double", "names no module"),
        (":double", "names no module"),
        ("good:duoble", "names no function"),
        ("good:_hidden", "names no function"),
        ("good", "names no function"),
        ("broken:f", r"broken\.py:2: NameError"),
    ],
)
def test_a_reference_that_is_none_is_the_authors_error(course: Course, reference: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        resolve_reference(reference, course)
    assert caught.value.code == "bad_exercise"


def test_a_reference_that_needs_a_missing_package_is_unsupported(course: Course) -> None:
    with pytest.raises(Unsupported, match="a_module_that_nobody_has"):
        resolve_reference("needy:f", course)


@pytest.mark.parametrize(("inside", "root"), [(True, "grader/_course"), (False, ".")])
def test_the_course_is_the_installed_packages_else_the_clones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: bool, root: str
) -> None:
    (tmp_path / "grader" / ("_course" if inside else "launch")).mkdir(parents=True)
    monkeypatch.setattr("grader.catalog.courses.PACKAGE", tmp_path.resolve() / "grader")
    course = built_in_course()
    assert course.exercises == tmp_path.resolve() / root / "exercises"
    assert course.kernels_ref == tmp_path.resolve() / root / "kernels_ref"
