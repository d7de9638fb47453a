"""`grade quiz` as a conversation: in a pipe, with the values of a seed, on a day that stands still."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest

from grader.cli import quiz

COURSE_FILES = {
    "exercise.py": """\
from grader import Array, Exercise

EXERCISE = Exercise(
    name="twice_it", order=9001, idea="twice", oracle="elementwise:add", simulated={"n": 64},
    arrays=(Array("x", "float32", "n"), Array("y", "float32", "n", role="out")), small=({"n": 1},),
)
""",
    "twice_it.cu": "// launch it\n",
    "interview.md": "## Why *twice*?\n\n### Answer\n\nBecause.\n\n**Listens for:** the reason.\n",
    "interview.toml": """\
[[number]]
ask = "A block has {n} threads. How many warps?"
draw = { n = [100, 130] }
answer = "cdiv(n, 32)"
unit = "warps"
because = "{n} / 32, rounded up."
""",
}


@pytest.fixture
def course(tmp_path):
    place = tmp_path / "course" / "01_first" / "twice_it"
    place.mkdir(parents=True)
    for name, text in COURSE_FILES.items():
        (place / name).write_text(text)
    return tmp_path / "course"


@pytest.fixture
def ask(run, monkeypatch, course, empty_folder):
    """Runs the quiz on lines of input; returns its exit code and what it prints."""
    monkeypatch.setattr(quiz, "seed", lambda: 1)
    monkeypatch.setattr(quiz, "utc_now", lambda: datetime(2026, 11, 23, 12, tzinfo=UTC))
    run("list", "--course", course)  # the warning about the course's rights, once

    def asked(*lines: str, words: tuple[str, ...] = ("twice_it",)) -> tuple[int, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        code, out, err = run("quiz", *words, "--course", course)
        assert err == ""
        return code, out

    return asked


def test_a_sitting_from_the_first_question_to_the_summary(ask):
    code, out = ask("it is needed", "g", "5 apples", "5", "4 warps")
    assert code == 0
    first, second, third, *_ = out.split("── ")[1:]
    assert "2 questions: 0 due, 2 new." in out
    assert first.startswith("1 · twice_it ")
    assert "Why twice?\n\n> it is needed\n\nBecause.\n\nAn interviewer listens for: the reason.\n" in first
    assert "easy [g] > g\nThis question comes back in 2 days.\n" in first
    assert "warps> 5 apples\nThat is not a number. Numbers look like" in second
    assert "warps> 5\n" in second
    assert "✘ No: 4 warps. 100 / 32, rounded up." in second
    assert "✔ Right: 4 warps." in third
    assert out.endswith("3 asked, 2 right; 1 comes back tomorrow.\n")


def test_the_end_of_input_ends_with_a_summary(ask):
    assert ask()[1].endswith("> \nNo question was answered.\n")
    assert ask("why", "again")[1].endswith("1 asked, 0 right; 1 comes back tomorrow.\n")
    assert "2 questions: 0 due, 1 new." in ask()[1]
    assert ask("q")[1].endswith("> q\nNo question was answered.\n")


def test_ctrl_c_ends_with_a_summary(ask, monkeypatch):
    def interrupt(prompt: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupt)
    assert ask()[1].endswith("\nNo question was answered.\n")


def test_enter_alone_shows_the_answer_of_a_number_and_counts_as_not_known(ask):
    out = ask("", "", "", "q")[1]
    assert "The answer: " in out
    assert out.endswith("2 asked, 1 right; 1 comes back tomorrow.\n")


def test_progress_says_how_many_questions_are_due(ask, run, course, monkeypatch):
    monkeypatch.setattr("grader.practice.quiz.utc_now", lambda: datetime(2026, 11, 24, 6, tzinfo=UTC))
    assert "due today" not in run("progress", "--course", course)[1]
    ask("", "again", "")
    assert "2 questions are due today: `grade quiz` asks." in run("progress", "--course", course)[1]


def test_a_grade_is_a_letter_or_the_word(ask):
    assert ask("", "what", "easy")[1].count("How well did you know it?") == 2


def test_answers_are_a_page_with_the_numbers_of_the_questions(run):
    code, out, _ = run("quiz", "vector_add", "--answers")
    assert code == 0
    assert "vector_add: interview" in out
    assert "1. Is vector addition limited by memory" in out
    assert "4. Why 256 threads in a block?" in out
    assert "Little's law" in out
    assert "listens for: 1 operation for 12 bytes" in out
    assert "### Answer" not in out
    assert "also asks 4 questions for a number" in " ".join(out.split())


def test_answers_about_a_topic_have_the_questions_that_it_is_about(run):
    out = run("quiz", "vector_add", "hello_index", "--topic", "Little's law", "--answers")[1]
    assert "3. One float per thread stops" in out
    assert "1. Is vector addition" not in out
    assert "hello_index" not in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--answers",), "the answers of which exercise?"),
        (("--topic", "no such thing"), "no question is about 'no such thing'"),
        (("no_such_exercise",), "no exercise"),
    ],
)
def test_wrong_use_says_what_to_type(run, words, message):
    code, out, err = run("quiz", *words)
    assert (code, out) == (2, "")
    assert message in err


def test_exercise_without_questions_is_explained(run, course):
    for name in ("interview.md", "interview.toml"):
        (course / "01_first" / "twice_it" / name).unlink()
    code, out, err = run("quiz", "twice_it", "--course", course)
    assert (code, out) == (2, "")
    assert "twice_it has no interview questions" in err


def test_a_broken_file_of_numbers_is_named(run, course):
    (course / "01_first" / "twice_it" / "interview.toml").write_text("[[number]]\nask = 1\n")
    code, _, err = run("quiz", "twice_it", "--course", course)
    assert code == 2
    assert "twice_it/interview.toml, 1st [[number]]: ask must be a text" in err


def test_the_former_command_for_answers_names_the_current_one(run):
    code, out, err = run("interview", "vector_add", "--answers")
    assert (code, out) == (2, "")
    assert "`grade quiz vector_add --answers`" in err
