"""The ``--json`` document: held to its schema, finite, plain, ASCII."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files

import jsonschema
import numpy as np
import pytest
from verdict_samples import HOSTILE, OVERLAPPED, PASSED, RACE, RACY, WAITLESS, WASTEFUL, plainly

from grader.errors import UsageError
from grader.render.json import dumps, error_document, plain, run_document, versions
from grader.verdict import VERDICTS, Access, Verdict

SCHEMA = json.loads(files("grader.render").joinpath("run.schema.json").read_text())


def document(*verdicts: Verdict):
    return run_document(verdicts, versions={"warpgrade": "1", "numpy": None}, elapsed_s=1.25)


def check(made):
    """The document as a reader gets it, after it has passed the schema."""
    read = json.loads(dumps(made), parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    jsonschema.validate(read, SCHEMA, cls=jsonschema.Draft202012Validator)
    return read


def test_schema_itself_is_valid():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("word", VERDICTS)
def test_every_verdict_word_fits_the_schema(word):
    assert check(document(plainly(RACY, word)))["results"][0]["verdict"] == word


def test_verdict_has_exactly_the_documented_keys():
    read = check(document(PASSED))["results"][0]
    assert set(read) == set(SCHEMA["$defs"]["verdict"]["properties"])
    assert read["passed"] is True
    assert [stage["name"] for stage in read["stages"]] == ["compiles", "runs", "correct", "technique", "fast"]
    assert read["measured"]["fraction_of_peak"] == 0.71
    assert read["launches"][0]["lines"] == [{"line": 6, "counters": {"sector_efficiency": 1.0}}]


def test_worst_requests_and_the_roofline_are_told_lane_by_lane_and_number_by_number():
    read = check(document(WASTEFUL))["results"][0]
    worst = read["launches"][0]["worst"][0]
    assert (worst["offsets"][:3], worst["taken"], worst["least"]) == ([0, 8, 16], 8, 4)
    assert read["measured"]["roof"] == {
        "intensity": 1 / 12, "achieved": 1.4e11, "bandwidth": 4.8e12, "compute": 6.69e13,
            "unit": "FLOP",
    }  # fmt: skip


def test_what_a_host_file_did_is_told_operation_by_operation():
    read = check(document(OVERLAPPED, WAITLESS, PASSED))["results"]
    assert read[0]["timeline"]["operations"][0] == {
        "kind": "to_device", "name": "x", "stream": 1, "start_s": 0.0, "end_s": 1e-3, "bytes": 1 << 26, "line": 9,
        "device": 0, "turn": 0,
    }  # fmt: skip
    assert (read[0]["timeline"]["modelled"], read[0]["timeline"]["device"]) == (True, "A100 (PCIe 4)")
    assert read[0]["host_counters"]["modelled_overlap"] == 0.893
    assert read[1]["diagnostics"][0]["kind"] == "missing_wait"
    assert (read[2]["timeline"], read[2]["host_counters"]) == (None, {})


def test_schema_allows_no_other_key():
    made = document(PASSED)
    made["results"][0]["extra"] = 1
    with pytest.raises(jsonschema.ValidationError):
        check(made)


def test_schema_refuses_another_order_of_stages():
    made = document(PASSED)
    made["results"][0]["stages"].reverse()
    with pytest.raises(jsonschema.ValidationError):
        check(made)


def test_counter_that_is_no_number_is_null():
    counters = check(document(PASSED))["results"][0]["launches"][0]["counters"]
    assert counters["conflict_degree"] is None
    assert counters["excess_wavefronts"] == 0


def test_race_names_both_accesses():
    accesses = check(document(RACY))["results"][0]["diagnostics"][0]["accesses"]
    assert accesses[0] == {"kind": "write", "thread": [49, 0, 0], "block": [0, 0, 0], "line": 6}
    assert accesses[1]["kind"] == "read"


@pytest.mark.parametrize("kind", ["read", "write", "atomic", "barrier", "exit"])
def test_every_kind_of_access_fits_the_schema(kind):
    found = replace(RACE, accesses=(Access(kind, (0, 0, 0), (0, 0, 0)),))
    check(document(replace(RACY, diagnostics=(found,))))


def test_text_is_ascii_without_control_characters_whatever_a_student_wrote():
    text = dumps(document(HOSTILE))
    assert text.isascii()
    assert all(character == "\n" or character.isprintable() for character in text)
    assert check(document(HOSTILE))["results"][0]["printed"] == HOSTILE.printed


def test_lone_surrogate_of_an_undecodable_path_is_replaced():
    read = check(document(replace(RACY, file="a\udcff.cu")))
    assert read["results"][0]["file"] == "a\ufffd.cu"


def test_numpy_scalars_become_plain_numbers():
    made = plain({"a": np.float32(0.5), "b": np.int64(3), "c": np.float64("inf"), "d": np.bool_(True), "e": (1, 2)})
    assert made == {"a": 0.5, "b": 3, "c": None, "d": True, "e": [1, 2]}
    assert [type(value) for value in made.values()] == [float, int, type(None), bool, list]


def test_wrong_command_is_a_document_of_its_own():
    error = UsageError("there is no exercise 'x'", code="unknown_exercise", hint="did you mean 'y'?")
    read = check(error_document(error.code, error.message, error.hint))
    assert read["error"] == {
        "code": "unknown_exercise", "message": "there is no exercise 'x'", "hint": "did you mean 'y'?",
    }  # fmt: skip


def test_document_is_never_both_results_and_error():
    made = document(PASSED) | error_document("usage", "no")
    with pytest.raises(jsonschema.ValidationError):
        check(made)


def test_versions_name_what_a_result_depends_on():
    found = versions()
    assert found["warpgrade"]
    assert found["numpy"] == np.__version__
    check(run_document([PASSED], versions=found, elapsed_s=0.1))
