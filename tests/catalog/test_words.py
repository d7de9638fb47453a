"""The glossary: its words, and the forms in which people look for one."""

from __future__ import annotations

import pytest

from grader.catalog.words import find_words, glossary
from grader.errors import UsageError


def titles(text: str) -> list[str]:
    return [word.title for word in find_words(text)]


def test_every_word_of_the_page_is_found_by_each_of_its_names():
    words = [*glossary()]
    assert len(words) > 60
    for word in words:
        assert word.meaning
        for name in word.names:
            assert word in find_words(name), name


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("warp", ["warp"]),
        ("Warps", ["warp"]),
        ("bank  conflicts", ["bank conflict"]),
        ("conflict", ["bank conflict"]),
        ("SM", ["multiprocessor (SM)"]),
        ("tma", ["TMA (tensor memory accelerator)"]),
        ("host", ["host, device"]),
        ("zero-copy", ["mapped, zero-copy"]),
        ("__syncthreads()", ["barrier"]),
        ("mbarrier", ["barrier object"]),
        ("sm_80", ["`sm_80`"]),
        ("shared", ["shared memory", "distributed shared memory"]),
    ],
)
def test_a_word_is_found_in_the_forms_in_which_people_meet_it(text, found):
    assert titles(text) == found


def test_links_are_text_and_a_missing_page_is_explained(monkeypatch, tmp_path):
    assert all("](" not in word.meaning for word in glossary())
    monkeypatch.setattr("grader.catalog.words.built_in_course", lambda: type("C", (), {"exercises": tmp_path / "x"}))
    with pytest.raises(UsageError, match="cannot read"):
        find_words("warp")
