"""Questions of an interview page."""

from __future__ import annotations

from grader.practice.pages import Question, questions_in


def test_questions_are_headings_and_answers_stand_below_them():
    page = "# Page\n\nFor you.\n\n## Why?\n\n### Answer\n\nBecause.\n\n## How?\n\n### Answer\n\nSo.\n"
    assert questions_in(page) == (Question("Why?", "Because."), Question("How?", "So."))


def test_heading_inside_of_code_is_no_question():
    page = "## Why?\n\n### Answer\n\n```c\n## 1\n```\n"
    assert questions_in(page) == (Question("Why?", "```c\n## 1\n```"),)


def test_page_without_questions_has_none():
    assert questions_in("Nothing.\n") == ()
