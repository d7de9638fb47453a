"""The notebook magic: a cell is graded and shows its page; a wrong line is answered in words."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import pytest

import grader
from grader.catalog.exercises import load_catalog
from grader.notebook import GradedCell, Refused, grade_cell

ADD = load_catalog().find("vector_add")


class Shell:
    """The part of IPython's shell that an extension meets."""

    def __init__(self) -> None:
        self.magics: dict[tuple[str, str], object] = {}

    def register_magic_function(self, function: object, magic_kind: str, magic_name: str) -> None:
        self.magics[magic_kind, magic_name] = function


def test_loading_the_extension_makes_the_cell_magic():
    shell = Shell()
    grader.load_ipython_extension(shell)
    assert shell.magics == {("cell", "grade"): grade_cell}


@pytest.fixture
def wrong() -> GradedCell:
    shown = grade_cell("vector_add --backend sim --seed 3", ADD.stub.read_text())
    assert isinstance(shown, GradedCell)
    return shown


def test_a_cell_is_graded_and_shows_the_page_in_a_frame(wrong: GradedCell):
    assert (wrong.verdict.verdict, wrong.verdict.seed) == ("wrong", 3)
    frame = wrong._repr_html_()
    assert frame.startswith('<iframe title="vector_add: wrong"')
    assert " sandbox " in frame
    assert unescape(frame.split('srcdoc="')[1].split('"></iframe>')[0]) == wrong.page
    assert '"' not in frame.split('srcdoc="')[1].split('"></iframe>')[0]


def test_without_pages_the_terminals_report_is_shown(wrong: GradedCell):
    assert "WRONG" in repr(wrong)
    assert "vector_add" in repr(wrong)


def test_the_cell_is_kept_in_a_file_where_that_is_asked_for(tmp_path: Path):
    grade_cell(f"vector_add --backend sim --save {tmp_path}/mine.cu", "no CUDA")
    assert (tmp_path / "mine.cu").read_text() == "no CUDA"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "the following arguments are required: name"),
        ("vector_add --backend moon", "invalid choice"),
        ("vector_add --seed x", "invalid int value"),
        ("nothing_like_it", "there is no exercise"),
        ("'vector_add", "No closing quotation"),
        ("vector_add --predict sector=4", "did you mean 'sectors'?"),
        ("vector_add --predict sectors", "a prediction is COUNTER=VALUE"),
        ("vector_add --timeout nan", "must be a positive number of seconds"),
        ("vector_add --device -1", "must be 0 or more"),
        ("vector_add --backend sim --save /dev/null/x.cu", "cannot write"),
        ("-h", "%%grade NAME"),
    ],
)
def test_a_wrong_line_is_answered_with_what_is_possible(line: str, words: str):
    shown = grade_cell(line, "")
    assert isinstance(shown, Refused)
    assert words in repr(shown)
    assert "Traceback" not in repr(shown)
