"""What Markdown would cut out of a text."""

from __future__ import annotations

import pytest

from grader.dev.markdown import cuts


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("The same bits, because a + b = b\n+ a at each step.", 2, "'+ a at each step.' goes on"),
        ("Up to k = 2^17\n- 1 nothing can happen.", 2, "a list"),
        ("With fma, a*b - c*d need not be 0.", 1, "after 'With fma, a'"),
        ("| a | b |\n|---|---|\n| loads per planes*h*w | c |", 3, "'w'"),
    ],
)
def test_a_cut_is_found_with_its_line(text: str, line: int, says: str) -> None:
    found = list(cuts(text))
    assert {at for at, _ in found} == {line}
    assert any(says in message for _, message in found), found


@pytest.mark.parametrize(
    "text",
    [
        "With fma, `a*b - c*d` need not be 0.",
        "2 * m * n bytes, *all* of them, and **none** (*or so*).",
        "Two of them:\n\n- one\n- two\n\n1. first\n   - inner",
        "It ends at 2^24:\n4. Were one misaligned",  # a list in a paragraph begins with 1
        "Two of them:\n- one\n- two",
        "```\na*b*c\n- 1\n```",
    ],
)
def test_a_text_that_stays_whole_is_no_problem(text: str) -> None:
    assert list(cuts(text)) == []
