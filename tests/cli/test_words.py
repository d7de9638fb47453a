"""`grade words`: the glossary in the terminal."""

from __future__ import annotations

import pytest


def test_without_a_word_all_words_are_listed_by_section(run):
    code, out, _ = run("words")
    assert code == 0
    for word in ("Threads", "warp", "bank conflict", "multiprocessor (SM)", "Speed", "word", "sm_80", "verdict"):
        assert word in out
    assert "`grade words WORD` explains one of them." in out


def test_a_word_is_explained(run):
    code, out, _ = run("words", "sector")
    assert code == 0
    assert "32 aligned bytes, the smallest unit that global memory moves." in out
    assert "request" not in out


def test_a_counter_is_explained_by_its_name(run):
    code, out, _ = run("words", "sectors_per_request")
    assert code == 0
    assert "4 for a full warp of neighbouring floats, 32 at worst." in " ".join(out.split())


@pytest.mark.parametrize("word", ["counter", "counters"])
def test_all_counters_are_listed_by_group(run, word):
    code, out, _ = run("words", word)
    assert code == 0
    for text in ("a number that the simulator counts", "Global memory", "sectors_per_request", "modelled_overlap"):
        assert text in " ".join(out.split())
    assert "`grade words COUNTER` explains one of them" in out


def test_the_lines_beside_launch_lines_are_explained(run):
    assert "Outputs and scratch arrays hold poison before" in " ".join(run("words", "zero")[1].split())
    assert "grade show launch-lines shows their page" in " ".join(run("words", "launch", "line")[1].split())
    code, out, _ = run("show", "launch-lines")
    assert code == 0
    assert "What atomicAdd counts in must be cleared first" in " ".join(out.replace("`", "").split())


def test_the_page_of_counters_is_shown_with_the_profilers_names(run):
    code, out, _ = run("show", "counters")
    assert code == 0
    assert "l1tex__t_requests" in out


def test_several_words_on_the_command_line_are_one(run):
    assert "served one after the other" in " ".join(run("words", "bank", "conflict")[1].split())


@pytest.mark.parametrize(("text", "hint"), [("sectro", "did you mean 'sector'?"), ("qqq", "`grade words` lists all")])
def test_an_unknown_word_is_answered_with_the_nearest(run, text, hint):
    code, out, err = run("words", text)
    assert (code, out) == (2, "")
    assert f"the glossary has no word '{text}'" in err
    assert hint in err


def test_people_who_ask_for_the_glossary_are_led_to_it(run):
    assert "did you mean `grade words`?" in run("glossary")[2]
