"""Statements on a terminal: drawings as they are, pictures as their texts, no comments."""

from __future__ import annotations

from grader.render.console import statement_text


def shown(markdown: str, **options: bool) -> str:
    return statement_text(markdown, width=60, color=False, **options)


def test_comments_leave_no_trace_and_a_picture_its_text():
    text = "one\n\n<!-- claim: solution x = 1 -->\n<!-- of\ntwo lines -->\n\n![a plot](x.svg)\n\ntwo\n"
    assert shown(text) == "one\n\nPicture x.svg: a plot\n\ntwo\n"


def test_a_drawing_keeps_its_lines_and_blanks():
    drawing = "```\n  a   b\n\n  ▏ → c\n```\n"
    assert "    a   b\n\n    ▏ → c\n" in shown(drawing)


def test_a_comment_inside_a_line_of_code_is_text():
    assert "<!-- not a comment -->" in shown("`x <!-- not a comment -->`\n")


def test_without_unicode_the_drawing_is_plain():
    assert shown("```\n█░ →\n```\n", unicode=False).isascii()
