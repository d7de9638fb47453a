"""The roster: the exports of the usual systems are read as they are."""

from __future__ import annotations

import pytest

from grader.classroom.roster import Roster, read_roster
from grader.errors import UsageError


@pytest.fixture
def roster(tmp_path):
    def reading(content):
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / "roster.csv").write_bytes(data)
        return read_roster(tmp_path / "roster.csv")

    return reading


CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,"Week 4 (901)"
    Points Possible,,,,,100
"Lovelace, Ada",77,s-1,ada,A,
"Student, Test",99,,,A,
"""


@pytest.mark.parametrize(
    ("text", "used", "students"),
    [
        ("id,name,email\nada,Ada Lovelace,ada@x.org\n", {"id": "id", "name": "name", "email": "email"},
         [("ada", "Ada Lovelace", "ada@x.org")]),
        (CANVAS, {"id": "SIS Login ID", "name": "Student"}, [("ada", "Lovelace, Ada", "")]),
        ('First name,Last name,ID number,Email address\nAda,Lovelace,77,ada@x.org\n',
         {"id": "ID number", "first": "First name", "last": "Last name", "email": "Email address"},
         [("77", "Ada Lovelace", "ada@x.org")]),
        ('Identifier,Full name,Email address,Status\nParticipant 4711,Ada Lovelace,ada@x.org,\n',
         {"id": "Identifier", "name": "Full name", "email": "Email address"},
         [("Participant 4711", "Ada Lovelace", "ada@x.org")]),
        ("First Name,Last Name,SID,Email,Sections\nAda,Lovelace,77,ada@x.org,\n",
         {"id": "SID", "first": "First Name", "last": "Last Name", "email": "Email"},
         [("77", "Ada Lovelace", "ada@x.org")]),
        ("Nachname;Vorname;Matrikelnummer\nNoether;Emmy;12\n",
         {"id": "Matrikelnummer", "first": "Vorname", "last": "Nachname"}, [("12", "Emmy Noether", "")]),
        ("email\nada@x.org\n", {"id": "email", "email": "email"}, [("ada@x.org", "", "ada@x.org")]),
    ],
)  # fmt: skip
def test_columns_are_found_by_the_headings_of_each_system(roster, text, used, students):
    read = roster(text)
    assert read.used == used
    assert [(one.id, one.name, one.email) for one in read.students] == students


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_any_usual_encoding_is_read(roster, encoding):
    assert roster("id,name\n1,Zoë\n".encode(encoding)).students[0].name == "Zoë"


def test_all_cells_of_a_row_are_kept(roster):
    assert roster("id,Section\nada,B 2\n\n , \n").students[0].columns == {"id": "ada", "Section": "B 2"}


def test_a_roster_may_be_missing_or_have_no_students(roster, tmp_path):
    assert read_roster(tmp_path / "none.csv").students == ()
    assert roster("") == Roster(path=str(tmp_path / "roster.csv"))
    assert roster("id,name,email\n").students == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour,size\nred,3\n", "has no column with an id: colour, size"),
        ("id,name\nada,A\n,B\n", "row 3: B has no id, because the column 'id' is empty"),
        ("id,name\nada,A\nAda,B\n", "row 3: the id 'Ada' is also that of A"),
        ('id,name\nada,"A\n', "is no CSV file"),
    ],
)
def test_a_roster_with_a_mistake_names_the_row(roster, text, message):
    with pytest.raises(UsageError) as raised:
        roster(text)
    assert message in raised.value.message


def test_a_student_without_an_id_is_named_and_another_column_proposed(roster):
    with pytest.raises(UsageError) as raised:
        roster("First name,ID number,Email address\nAda,77,ada@x.org\nBob,,bob@x.org\n")
    assert "row 3: Bob has no id, because the column 'ID number' is empty" in raised.value.message
    assert "delete this column: the ids are then from 'Email address'" in raised.value.hint


def test_rows_that_are_no_students_are_left_out_by_name(roster):
    assert roster(CANVAS).left_out == ("Student, Test",)
