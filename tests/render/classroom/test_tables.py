"""Gradebooks as CSV: plain, Canvas's and Moodle's rules, and cells that a spreadsheet would execute."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from datetime import timedelta

import pytest
from class_samples import ASSIGNMENT, DEADLINE, class_of_30, record, result, submission
from verdict_samples import EVIL, WASTEFUL

from grader.classroom.gradebook import gradebook
from grader.classroom.records import Override, Student
from grader.errors import UsageError
from grader.render.classroom.canvas import fill_canvas, to_canvas
from grader.render.classroom.moodle import to_moodle
from grader.render.classroom.tables import neutral, to_csv
from grader.text import safe


def book_of(*submissions, **more):
    return gradebook(record(*submissions, **more))


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def two():
    """Ada: 24 of 40 and open; Bob: nothing."""
    one, other = submission("ada"), submission("ada", "reduce_v3")
    return book_of(one, other, results=(result(one, WASTEFUL),))


# --------------------------------------------------------------------------------------------------------------- cells


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\n=1", "＝1", "－1"])
def test_what_a_spreadsheet_would_execute_is_text(text):
    assert neutral(text)[0] == "'"


def test_control_characters_and_bidirectional_marks_are_made_visible():
    assert neutral("a\x1b[2Jb\u202ec\nd") == "a\\x1b[2Jb\\u{202e}c d"
    assert neutral("Zoë O’Neill") == "Zoë O’Neill"


def test_no_export_of_a_hostile_class_has_a_cell_that_begins_a_formula():
    evil = [Student(text, text, text, {"ID": text, "Section": text}) for text in ("=cmd|' /C calc'!A0", "@x", EVIL)]
    made = replace(
        record(*(submission(one.id) for one in evil), overrides=(Override("@x", "vector_add", 1, "=1+1", DEADLINE),)),
        roster=tuple(evil),
    )  # fmt: skip
    book = gradebook(made)
    for export in (to_csv(book), to_canvas(book), *(to_moodle(book, match=m) for m in ("idnumber", "email"))):
        for row in rows(export.text):
            assert not [cell for cell in row if cell[:1] in ("=", "+", "-", "@", "\t", "\r", "\n")]
            assert not [cell for cell in row if safe(cell) != cell]
    assert "'=1+1" not in to_moodle(book).text  # nobody can be matched, so nobody is there


# ----------------------------------------------------------------------------------------------------------- the plain


def test_csv_has_points_results_and_days_and_leaves_what_is_open_blank():
    head, ada, bob = rows(to_csv(two()).text)
    assert head[4:] == [
        "vector_add", "vector_add result", "vector_add days late", "reduce_v3", "reduce_v3 result",
        "reduce_v3 days late", "total", "of", "open",
    ]  # fmt: skip
    assert ada == ["ada", "Ada", "ada@example.org", "yes", "24", "technique", "0", "", "waiting", "0", "24", "100", "1"]
    assert bob[4:] == ["0", "missing", "", "0", "missing", "", "0", "100", "0"]
    assert rows(to_csv(two(), missing="blank").text)[2][4:6] == ["", "missing"]


def test_csv_lists_what_is_open_and_can_be_of_one_exercise():
    assert [(one.who, one.why) for one in to_csv(two()).left_out] == [("ada, reduce_v3", "it has not been graded yet")]
    assert rows(to_csv(two(), exercise="vector_add").text)[1][4:] == ["24", "technique", "0"]


# -------------------------------------------------------------------------------------------------------------- Canvas


def test_canvas_has_its_header_and_the_row_of_points_possible():
    head, possible, ada, _ = rows(to_canvas(two()).text)
    assert head[:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    assert head[5:] == ["Homework 2: reductions: vector_add", "Homework 2: reductions: reduce_v3"]
    assert (possible[0].strip(), possible[5:]) == ("Points Possible", ["40", "60"])
    assert ada == ["Ada", "", "", "ada", "", "24", ""]


def test_canvas_uses_the_ids_of_a_roster_that_is_an_export_of_canvas_and_leaves_out_who_is_unknown():
    cells = {"Student": "Lovelace, Ada", "ID": "71", "SIS User ID": "u1", "SIS Login ID": "ada", "Section": "A"}
    made = replace(record(submission("ada"), submission("eve")), roster=(Student("ada", "Lovelace, Ada", "", cells),))
    export = to_canvas(gradebook(made))
    assert rows(export.text)[2][:6] == ["Lovelace, Ada", "71", "u1", "ada", "A", "40"]
    assert ("eve", "not on the roster") in [(one.who, one.why) for one in export.left_out]


EXPORT = (
    '\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,"Quiz, 1 (11)",Homework 2: reductions (12),Final Score\r\n'
    "    Points Possible,,,,,10.0,50.0,(read only)\r\n"
    '"Lovelace, Ada",71,u1,ada,"A ""morning""",7.5,,88.1\r\n'
    "Turing,72,u2,b@x.org,B,  3 ,12,\r\n"
    "Bob,73,u3,,B,,EX,\r\n"
    '"Student, Test",99,,t,B,,,\r\n'
    "Nobody,98,,x,B,,1,"
)


def canvas_class(*students: Student, **more):
    return gradebook(replace(record(*(submission(s.id, e) for s in students for e in ("vector_add", "reduce_v3"))),
                             roster=students, **more))  # fmt: skip


def test_one_column_of_the_instructors_file_is_filled_and_every_other_byte_stays():
    students = Student("ada"), Student("bert", "", "b@x.org"), Student("bob", "Bob"), Student("zoe")
    filled = fill_canvas(EXPORT.encode(), canvas_class(*students))
    wanted = EXPORT.replace(",7.5,,88.1", ",7.5,50,88.1").replace("  3 ,12,", "  3 ,50,")
    assert filled.content == wanted.encode()
    assert filled.filled == 2
    assert [(one.who, one.why) for one in filled.left_out] == [
        ("bob", "excused in Canvas"), ("zoe", "not in the file")
    ]  # fmt: skip
    assert filled.remarks == (
        "'Homework 2: reductions (12)' is out of 50: the 100 points of the class are scaled to it.",
    )


def test_a_file_without_a_student_of_the_class_is_unchanged_to_the_byte():
    for content in (
        EXPORT.encode(),
        EXPORT.encode("utf-8")[3:].replace(b"Bob", b"B\xf6b"),
        EXPORT.replace("\r\n", "\n").encode(),
    ):
        assert fill_canvas(content, canvas_class(Student("zoe"))).content == content


def test_students_are_found_by_id_then_sis_ids_then_the_exact_name():
    head = "Student,ID,SIS User ID,SIS Login ID,Section,Homework 2: reductions\n"
    student = Student("ada", "Ada L", "ada@x.org", {"ID": "71", "SIS User ID": "u1"})
    for cells in ("?,71,?,?", "?,,u1,?", "?,,,ada", "?,,,ada@x.org", "Ada L,,,"):
        content = f"{head}{cells},S,".encode()
        assert fill_canvas(content, canvas_class(student)).content == content + b"100"
    for cells in ("ada l,,,", "?,u1,,", "Ada L ,9,9,9"):
        content = f"{head}{cells},S,".encode()
        assert fill_canvas(content, canvas_class(student)).filled == ("Ada L" in cells)


def test_a_name_that_two_students_share_finds_nobody_and_a_second_row_of_one_is_told():
    head = "Student,ID,SIS User ID,SIS Login ID,Section,Homework 2: reductions\n"
    same = Student("a", "Bo Li"), Student("b", "Bo Li")
    assert fill_canvas(f"{head}Bo Li,,,,S,\n".encode(), canvas_class(*same)).filled == 0
    twice = fill_canvas(f"{head}X,,,a,S,\nX,,,a,T,\n".encode(), canvas_class(same[0]))
    assert (twice.filled, twice.remarks) == (1, ("2 rows of the file are a: the first was filled.",))


def test_an_open_total_leaves_the_cell_and_is_listed_and_an_exercise_can_be_filled_alone():
    content = (
        b"Student,ID,SIS User ID,SIS Login ID,Section,vector_add (5),Homework 2: reductions (6)\nAda,,,ada,S,1,2\n"
    )
    filled = fill_canvas(content, two())
    assert filled.content == content
    assert ("ada, reduce_v3", "it has not been graded yet") in [(one.who, one.why) for one in filled.left_out]
    assert b"ada,S,24,2" in fill_canvas(content, two(), exercise="vector_add").content
    assert b"ada,S,1,24" in fill_canvas(content, two(), exercise="vector_add", column="Homework 2: reductions").content


def test_semicolons_mean_decimal_commas():
    one = submission("ada")
    third = replace(WASTEFUL, score=1, max_score=3)
    book = book_of(one, results=(result(one, third),))
    filled = fill_canvas(b"Student;ID;SIS Login ID;vector_add\nAda;;ada;\n", book, exercise="vector_add")
    assert filled.content == b"Student;ID;SIS Login ID;vector_add\nAda;;ada;13,33\n"


@pytest.mark.parametrize(
    ("content", "column", "words"),
    [
        (b"", None, "no gradebook of Canvas"),
        (b"id,name\n", None, "no gradebook of Canvas"),
        (b"\xff\xfeS\x00", None, "UTF-16"),
        (b'Student,"x\n', None, "quote"),
        (b"Student,ID,Other\n", None, "there is no column 'Homework 2: reductions' or 'hw2'"),
        (b"Student,hw2 (1),hw2 (2)\n", "hw2", "2 columns are called 'hw2'"),
        (b"Student,ID\n", "ID", "there is no column 'ID'"),
        (b"Student,Final\n Points Possible,(read only)\n", "Final", "computes the column"),
    ],
)
def test_a_file_that_cannot_be_filled_says_why(content, column, words):
    with pytest.raises(UsageError, match=words):
        fill_canvas(content, two(), column=column)


# -------------------------------------------------------------------------------------------------------------- Moodle


def test_moodle_has_one_user_column_and_feedback_beside_each_grade():
    one = submission("ada", at=DEADLINE + timedelta(days=1))
    head, ada, bob = rows(to_moodle(book_of(one)).text)
    assert head == ["useridnumber", "vector_add", "vector_add feedback", "reduce_v3", "reduce_v3 feedback"]
    assert ada == ["ada", "32", "−8: 1 day late: 20 % of 40 points.", "0", "Nothing was submitted."]
    assert bob[0] == "bob"


def test_moodle_leaves_out_who_is_unknown_unmatched_or_open():
    made = replace(
        record(submission("ada"), submission("eve"), results=()),
        roster=(Student("ada"), Student("bob", "", "b@x.org"), Student("-x")),
    )  # fmt: skip
    export = to_moodle(gradebook(made))
    assert [row[0] for row in rows(export.text)] == ["useridnumber", "bob"]
    assert [(one.who, one.why) for one in export.left_out] == [
        ("eve", "not on the roster"), ("ada, vector_add", "it has not been graded yet"),
        ("-x", "no useridnumber that Moodle could match"),
    ]  # fmt: skip
    assert [row[0] for row in rows(to_moodle(gradebook(made), match="email").text)] == ["useremail", "b@x.org"]


def test_moodle_never_gets_more_than_the_maximum_and_no_markup():
    decided = Override("ada", "vector_add", 55, "<b>bonus</b> & thanks", DEADLINE)
    export = to_moodle(book_of(overrides=(decided,)))
    assert rows(export.text)[1][1:3] == [
        "40", "Your teacher gave 55 of 40 points: &lt;b&gt;bonus&lt;/b&gt; &amp; thanks Nothing was submitted."
    ]  # fmt: skip
    assert export.remarks == ("1 above the maximum: the maximum is written, because Moodle refuses more.",)


def test_moodle_takes_the_rosters_own_column_and_a_missing_one_may_be_left_out():
    made = replace(record(), roster=(Student("ada", "", "", {"ID number": "4711", "Username": "al"}),))
    assert rows(to_moodle(gradebook(made)).text)[1][0] == "4711"
    assert rows(to_moodle(gradebook(made), match="username").text)[1][0] == "al"
    assert [one.why for one in to_moodle(gradebook(made), missing="blank").left_out] == ["nothing was submitted"]


def test_every_export_of_a_class_of_30_has_each_student_once():
    book = gradebook(class_of_30())
    ids = [row.student.id for row in book.rows if row.known]
    assert [row[0] for row in rows(to_csv(book).text)[1:]] == [*ids, "s9999"]
    assert [row[3] for row in rows(to_canvas(book).text)[2:]] == ids
    assert len(rows(to_moodle(book, exercise="vector_add").text)) == 31
    assert ASSIGNMENT.name == book.assignment.name
