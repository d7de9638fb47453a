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


def test_a_number_stays_in_one_line():
    words = "word " * 11
    assert shown(f"{words}1 048 576 blocks") == f"{words.strip()}\n1 048 576 blocks\n"


def test_a_link_names_what_an_installed_course_has():
    assert shown("[The page](../reduce.md#which-launch-shape) tells.") == "The page (grade show reduce) tells.\n"
    assert shown("It takes [twice the time](../../../docs/results/h200-ring.md).") == "It takes twice the time.\n"


def test_the_words_of_a_narrow_table_are_whole():
    names = ("step", "time", "of peak", "instructions", "excess", "sectors")
    rows = ("transpose_v1", "322 µs", "0.347", "844", "0", "0.22")
    table = "\n".join(f"| {' | '.join(row)} |" for row in (names, ["-"] * 6, rows))
    assert {"instructions", "transpose_v1", "sectors"} <= set(shown(table).split())


def test_without_unicode_the_drawing_is_plain():
    assert shown("```\n█░ →\n```\n", unicode=False).isascii()
