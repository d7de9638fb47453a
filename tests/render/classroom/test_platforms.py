"""What Gradescope, Classroom 50 and JUnit's readers accept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import junitparser
import pytest
from class_samples import DEADLINE, class_of_30, record, result, submission
from lxml import etree
from verdict_samples import EVIL, RACY, evil_verdict

from grader.classroom.gradebook import gradebook
from grader.classroom.records import Student
from grader.render.classroom.platforms import class_junit, classroom50, gradescope
from grader.render.classroom.shown import ExerciseFacts
from grader.text import safe

BOOK = gradebook(class_of_30())
ROWS = {row.student.name: row for row in BOOK.rows}
FORMATS = ["text", "html", "simple_format", "md", "ansi"]
VISIBILITIES = ["hidden", "after_due_date", "after_published", "visible"]


def closed(properties: dict, *required: str) -> dict:
    return {
        "type": "object", "properties": properties, "required": list(required), "additionalProperties": False
    }  # fmt: skip


GRADESCOPE = closed(
    {
        "score": {"type": "number", "minimum": 0},
        "execution_time": {"type": "number", "minimum": 0},
        "output": {"type": "string"},
        "output_format": {"enum": FORMATS},
        "test_output_format": {"enum": FORMATS},
        "visibility": {"enum": VISIBILITIES},
        "stdout_visibility": {"enum": VISIBILITIES},
        "extra_data": {"type": "object"},
        "leaderboard": {"type": "array"},
        "tests": {
            "type": "array",
            "items": closed(
                {
                    "score": {"type": "number"},
                    "max_score": {"type": "number"},
                    "status": {"enum": ["passed", "failed"]},
                    "name": {"type": "string"},
                    "number": {"type": "string"},
                    "output": {"type": "string"},
                    "output_format": {"enum": FORMATS},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "visibility": {"enum": VISIBILITIES},
                    "extra_data": {"type": "object"},
                }
            ),
        },
    },
    "score",
    "tests",
)
INTEGER = {"type": "integer", "minimum": 0}
TEXT = {"type": "string"}
CLASSROOM50 = closed(
    {
        "schema": {"const": "classroom50/result/v1"},
        **dict.fromkeys(("classroom", "assignment", "submission", "commit", "release", "review"), TEXT),
        "datetime": {"type": "string", "format": "date-time"},
        "score": INTEGER,
        "max-score": INTEGER,
        "tests": {
            "type": "array",
            "items": closed(
                {"test-name": TEXT, "passed": {"type": "boolean"}, "score": INTEGER, "max-score": INTEGER},
                "test-name", "passed", "score", "max-score",
            ),
        },
    },
    "schema", "classroom", "assignment", "submission", "commit", "release", "review", "datetime", "score", "max-score",
    "tests",
)  # fmt: skip


@pytest.mark.parametrize("row", BOOK.rows, ids=lambda row: row.student.id)
def test_gradescope_and_classroom_50_accept_each_student(row):
    given = json.loads(json.dumps(gradescope(row, BOOK, {}), allow_nan=False))
    jsonschema.validate(given, GRADESCOPE)
    assert given["score"] == pytest.approx(sum(test.get("score", 0) for test in given["tests"]))
    made = classroom50(row, BOOK, classroom="cuda-2026", made=DEADLINE)
    jsonschema.validate(made, CLASSROOM50)
    assert made["score"] == sum(test["score"] for test in made["tests"]) <= made["max-score"] == 100


def test_gradescope_says_verdict_reasons_place_and_hint():
    test = gradescope(ROWS["Ada Lovelace"], BOOK, {"reduce_v3": ExerciseFacts("", ({"n": 33},))})["tests"][1]
    assert test["status"] == "failed"
    assert test["output"].splitlines()[:4] == [
        "Verdict: out of bounds", "−60: the verdict is out of bounds.",
        "reduce_v3.cu:4: x[1024] is read past the end: x has 1023 elements",
        "  Hint: compare the index with the size first",
    ]  # fmt: skip


def test_an_open_grade_has_no_score_and_no_status_and_says_so():
    given = gradescope(ROWS["Claude Shannon"], BOOK, {})
    assert not {"score", "status"} & set(given["tests"][1])
    assert "not graded yet" in given["output"]
    assert given["extra_data"]["open"] == 1
    assert classroom50(ROWS["Claude Shannon"], BOOK, classroom="", made=DEADLINE)["tests"][1]["passed"] is False


def test_classroom_50_rounds_each_test_and_sums_those():
    made = submission("ada")
    third = replace(RACY, score=1, max_score=3)
    book = gradebook(record(made, results=(result(made, third),)))
    document = classroom50(book.rows[0], book, classroom="c", made=DEADLINE)
    assert (document["score"], document["tests"][0]["score"]) == (13, 13)
    assert document["datetime"] == "2026-11-07T23:59:00+01:00"


def test_gradescope_shows_no_seed_no_folder_and_no_control_character():
    made = replace(submission("ada"), student=EVIL)
    book = gradebook(replace(record(made, results=(result(made, evil_verdict()),)), roster=(Student(EVIL, EVIL),)))
    text = json.dumps(gradescope(book.rows[0], book, {}, private=["/srv/teacher"]), ensure_ascii=False)
    assert safe(text) == text
    assert "seed" not in text


# --------------------------------------------------------------------------------------------------------------- JUnit


def test_junit_of_the_class_has_the_wellknown_shape():
    schema = etree.XMLSchema(etree.parse(Path(__file__).with_name("junit.xsd")))
    schema.assertValid(etree.fromstring(class_junit(BOOK, made=DEADLINE).encode()))


def test_junitparser_reads_a_suite_for_each_student_and_exercise():
    suites = junitparser.JUnitXml.fromstring(class_junit(BOOK, made=DEADLINE).encode())
    assert len(suites) == 2 * len(BOOK.rows)
    by_name = {suite.name: suite for suite in suites}
    assert by_name["s1000/reduce_v3"].failures == 1
    assert [case.result[0].message for case in by_name["s2036/vector_add"]] == ["Nothing was submitted."]
    assert by_name["s1185/reduce_v3"].skipped == 1
    assert {prop.name for suite in suites for prop in suite.properties()} >= {"verdict", "score"}
    assert "seed" not in {prop.name for suite in suites for prop in suite.properties()}
