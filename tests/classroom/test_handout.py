"""What students get: their files, a page that says what counts, and nothing secret."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import datetime

import pytest
from inline_snapshot import snapshot

from grader.classroom.assignment import FILE, assignment_text
from grader.classroom.handout import about, handouts, without_relative_links, write_handout
from grader.classroom.key import assignment_key, read_key
from grader.classroom.records import AssignedExercise, Assignment, LateRule, Student
from grader.exercise import Variant
from tests.classroom.conftest import ASSIGNMENT, catalog

ADA, BOB = Student("ada", "Ada Lovelace"), Student("Bob B")
LATE = replace(
    ASSIGNMENT,
    deadline=datetime.fromisoformat("2026-12-06T23:59:00+01:00"),
    late=LateRule(15, 10, 3),
    counts="best",
    backend="sim",
    hidden="verdict",
)


def entries(assignment):
    return [catalog(()).find(each.name) for each in assignment.exercises]


def test_the_page_says_what_counts_until_when_and_what_is_hidden():
    page = about(LATE, entries(LATE), ADA)
    assert "\n".join(line[:100].rstrip() for line in page.split("\n")) == snapshot("""\
# Week 4

**Hand in by Sunday, 6 December 2026, 23:59 (UTC+01:00).** These are the files of Ada Lovelace.

| exercise | what it is about | time | hand in | points |
|---|---|---|---|---|
| [vector_add](vector_add.md) | one thread adds one element; the last block sticks out | 10 min | `v
| [pinned_copy](pinned_copy.md) | pinned memory, and one large copy instead of many small ones | 40
| | | | | 150 |

The statements are beside this page. Write your code where a file says YOUR CODE, keep the file's na
files of the table.

## Grade it yourself

```
pip install 'warpgrade[cuda12]'       # a machine without a GPU will do
grade vector_add                      # in this folder, as often as you want
grade hint vector_add
```

If pip does not find warpgrade, ask your teacher for its wheel: `pip install './FILE.whl[cuda12]'`.

Submissions are graded on the simulator, without times: `grade NAME --backend sim` does the same.

## What counts

- Points are for the stages that a file passes: it runs, is correct, uses the technique, and is fast
- You may hand in as often as you want: the submission of an exercise with most points counts.
- A submission after the deadline (after 15 minutes of grace) loses 10 % for each day that has begun
- Your file is graded with inputs that you do not know, and also at sizes that no statement names.
  If such a case fails, you are told the verdict and nothing else.
- What your own `grade` says is nearly always what you get. Only times differ between machines.
""")


@pytest.mark.parametrize(
    ("late", "words"),
    [
        (LateRule(), "After the deadline a submission gets no points."),
        (LateRule(5), "After the deadline (after 5 minutes of grace) a submission gets no points."),
        (LateRule(0, 20, None), "A submission after the deadline loses 20 % for each day that has begun."),
        (LateRule(0, 0, 1), "A submission after the deadline loses nothing. After 1 day it gets none."),
    ],
)
def test_the_page_says_what_being_late_costs(late, words):
    assert f"- {words}\n" in about(replace(LATE, late=late), entries(LATE), ADA)


def test_each_student_gets_stubs_and_statements_that_can_be_graded_there(tmp_path):
    made = handouts(ASSIGNMENT, entries(ASSIGNMENT), [ADA, BOB], b"")
    assert [write_handout(tmp_path, one) for one in made] == [(6, []), (6, [])]
    ada, bob = sorted(tmp_path.iterdir())
    assert (ada.name, bob.name[:6]) == ("ada", "bob_b-")
    files = ["README.md", "pinned_copy.cu", "pinned_copy.md", "pinned_copy_host.py", "vector_add.cu", "vector_add.md"]
    assert sorted(path.name for path in ada.iterdir()) == files
    stub = catalog(()).find("vector_add").stub
    assert (ada / "vector_add.cu").read_bytes() == stub.read_bytes()


def test_nothing_is_overwritten(tmp_path):
    made = handouts(ASSIGNMENT, entries(ASSIGNMENT), [ADA], b"")[0]
    write_handout(tmp_path, made)
    (tmp_path / "ada" / "vector_add.cu").write_text("mine")
    (tmp_path / "ada" / "README.md").unlink()
    assert write_handout(tmp_path, made) == (1, [tmp_path / "ada" / "vector_add.cu"])
    assert (tmp_path / "ada" / "vector_add.cu").read_text() == "mine"


@pytest.fixture
def varied(tmp_path, monkeypatch):
    """vector_add with a variant, whose edit changes a line of the stub."""
    monkeypatch.setenv("WARPGRADE_CACHE", str(tmp_path / "cache"))
    plain = catalog(()).find("vector_add")
    lines = plain.stub.read_text().splitlines()
    folder = tmp_path / "course" / "vector_add"
    shutil.copytree(plain.folder, folder)
    (folder / "variants").mkdir()
    (folder / "variants" / "other.diff").write_text(
        "// variant: other\n// From the end.\n"
        f"--- vector_add.cu\n+++ vector_add.cu\n@@ -1,1 +1,1 @@\n-{lines[0]}\n+{lines[0]} Backwards.\n"
    )
    exercise = replace(plain.exercise, variants=(Variant("other", task="Backwards."),))
    return replace(plain, exercise=exercise, folder=folder)


def test_with_variants_students_have_forms_of_their_own_and_the_same_each_time(varied):
    assignment = Assignment("w", "w", (AssignedExercise("vector_add"),), variants=True)
    students = [Student(f"s{number}") for number in range(12)]

    def stubs(assignment, key):
        return [one.files["vector_add.cu"] for one in handouts(assignment, [varied], students, key)]

    first = stubs(assignment, b"key")
    assert first == stubs(assignment, b"key")
    assert first != stubs(assignment, b"other")
    assert {content.startswith(b"// variant: other\n") for content in first} == {True, False}
    assert set(stubs(replace(assignment, variants=False), b"key")) == {varied.stub.read_bytes()}
    assert "Your form of vector_add may differ" in about(assignment, [varied], students[0])


def test_links_to_pages_that_a_student_does_not_have_become_words():
    page = "See [the page](../reduce.md#x), [this](https://x.org/), [here](#task); `f[](../x)`"
    assert without_relative_links(page) == "See the page, [this](https://x.org/), [here](#task); `f`"


def test_the_command_writes_a_folder_for_each_student_or_one_for_all(run, folder, tmp_path):
    code, _, err = run("class", "handout", folder, "--to", tmp_path / "out")
    assert code == 2
    assert "roster.csv has no students" in err
    assert run("class", "handout", folder, "--to", tmp_path / "all", "--common")[0] == 0
    assert (tmp_path / "all" / "README.md").is_file()
    (folder / "roster.csv").write_text('Login,Name\nada,Ada\nbob,Bob\n"Student, Test",x\n')
    code, out, _ = run("class", "handout", folder, "--to", tmp_path / "out")
    assert code == 0
    assert out.startswith("12 new files for 2 students")
    told = " ".join(out.split())
    assert "The ids are from the column 'Login'" in told
    assert "Left out, because it is no student: Student, Test." in told
    assert f"`grade class collect {folder} SOURCE`" in told
    secrets = (read_key(folder).hex(), assignment_key(read_key(folder), ASSIGNMENT.name).hex())
    written = [path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(written) == 12
    assert not any(secret in text for secret in secrets for text in written)


def test_variants_and_one_folder_for_all_contradict_each_other(run, folder, tmp_path):
    (folder / FILE).write_text(assignment_text(replace(ASSIGNMENT, variants=True)))
    code, _, err = run("class", "handout", folder, "--to", tmp_path / "all", "--common")
    assert code == 2
    assert "variants are different for each student" in err
