"""The class as a document: held to its schema, with everything that a gradebook needs and no secret."""

from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
from class_samples import DEADLINE, SECRET, class_of_30, record, submission

from grader.classroom.gradebook import gradebook
from grader.render.classroom.document import class_document
from grader.render.classroom.names import pseudonyms
from grader.render.json import dumps

SCHEMA = json.loads(files("grader.render").joinpath("class.schema.json").read_text())


def document(made, **more):
    read = json.loads(dumps(class_document(gradebook(made), made=DEADLINE, versions={"warpgrade": "1"}, **more)))
    jsonschema.validate(read, SCHEMA, cls=jsonschema.Draft202012Validator)
    return read


def test_every_state_fits_the_schema():
    made = class_of_30()
    names = pseudonyms((row.student.id for row in gradebook(made).rows), SECRET)
    read = document(made, similar=made.similar, pseudonyms=names)
    assert len(read["students"]) == 31
    assert len({grade["state"] for student in read["students"] for grade in student["grades"]}) == 8


def test_schema_itself_is_valid_and_every_documented_key_is_in_the_docs(pytestconfig):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    docs = (pytestconfig.rootpath / "docs" / "class-json.md").read_text()
    keys = {key for part in (SCHEMA, *SCHEMA["$defs"].values()) for key in part.get("properties", {})}
    assert {key for key in keys if f"`{key}`" not in docs} == set()


def test_an_open_grade_has_no_points_and_says_which_submission_counts():
    read = document(record(submission("ada"), results=()))
    (grade, missing), _ = (student["grades"] for student in read["students"])
    assert (grade["points"], grade["state"], grade["counts"], grade["submissions"][0]["result"]) == (
        None, "waiting", 0, None
    )  # fmt: skip
    assert (missing["points"], missing["state"], missing["counts"]) == (0, "missing", None)


def test_no_seed_and_no_source_is_in_it():
    text = json.dumps(document(class_of_30()))
    assert "seed" not in text
    assert "__global__" not in text
