"""A hints file cut into its hints."""

from __future__ import annotations

import pytest

from grader.catalog.exercises import load_catalog
from grader.practice.pages import hints_in


@pytest.mark.parametrize(
    ("markdown", "hints"),
    [
        ("## 1\n\nLook.\n\n## 2\n\nLook *again*.\n", ("Look.", "Look *again*.")),
        ("# Hints\n\nTake your time.\n\n## 1\n\nLook.\n", ("Look.",)),
        ("## 1\n\n```c\n## no hint\n1. neither\n```\n\n## 2\n\nTwo.\n", ("```c\n## no hint\n1. neither\n```", "Two.")),
        ("## 1\n\n1. a list\n2. inside\n", ("1. a list\n2. inside",)),
        ("## 1\n\nOne.\n\n### deeper\n\nMore.\n", ("One.\n\n### deeper\n\nMore.",)),
        ("1. Copy.\n2. Halve,\n   step by step.\n", ("Copy.", "Halve,\n   step by step.")),
        ("Only this.\n", ("Only this.",)),
        ("## 1\n\n## 2\n\nTwo.\n", ("Two.",)),
        ("", ()),
        ("\n \n", ()),
    ],
    ids=["sections", "preface", "code", "list_inside", "deeper", "numbered", "plain", "no_text", "empty", "blank"],
)  # fmt: skip
def test_hints_are_the_sections_else_the_numbered_items_else_the_whole(markdown, hints):
    assert hints_in(markdown) == hints


@pytest.mark.parametrize("one", load_catalog().exercises, ids=lambda one: one.name)
def test_every_hint_of_the_course_is_a_section_that_says_something(one):
    text = one.hints.read_text(encoding="utf-8")
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert len(hints_in(text)) == len(headings) >= 2
