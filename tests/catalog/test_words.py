"""The glossary: its words, and the forms in which people look for one."""

from __future__ import annotations

import pytest

from grader.catalog.words import counters, find_words, glossary, guide
from grader.counters import HOST_COUNTERS, KERNEL_COUNTERS
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


def test_a_counter_has_its_name_in_the_profiler():
    names = {word.title: word.profiler for word in counters()}
    assert names["`barriers`"] == "`BAR` lines of the source page"
    assert names["`spill_bytes`"] == ""
    assert names["`global_store_requests`"].endswith("op_ld.sum`, the same with `op_st`")


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
        ("sectors_per_request", ["`sectors_per_request`"]),
        ("sectors per request", ["`sectors_per_request`"]),
        ("modelled_overlap", ["`modelled_overlap`"]),
        ("lanes", ["lane", "`active_lanes`"]),
        ("bank excess", ["`excess_wavefronts`"]),
        ("sector eff.", ["`sector_efficiency`"]),
        ("sector efficiency", ["sector efficiency", "`sector_efficiency`"]),
        ("occupancy", ["occupancy", "`occupancy`"]),
        ("predict", ["predict, prediction"]),
        ("counters", ["counter"]),
        ("local memory", ["local memory"]),
        ("shuffle", ["shuffle"]),
        ("barrier", ["barrier"]),
        ("launch lines", ["launch line"]),
        ("NaN", ["NaN"]),
        ("unusual values", ["unusual values"]),
        ("masked values", ["masked values, special values"]),
        ("divergent", ["`divergent_branches`"]),
        ("zero", ["zero (`// zero NAME`)"]),
        ("// zero", ["zero (`// zero NAME`)"]),
        ("scratch", ["scratch (`// scratch NAME: TYPE[COUNT]`)"]),
        ("constant", ["constant (`// constant SYMBOL = NAME`)"]),
        ("passes", ["pass (`// passes`)"]),
        ("launch", ["launch"]),
        ("Little's law", ["Little's law"]),
        ("L1", ["L1, L2"]),
        ("FMA", ["fma"]),
        ("overlap", ["overlap", "`overlap`"]),
    ],
)
def test_a_word_is_found_in_the_forms_in_which_people_meet_it(text, found):
    assert titles(text) == found


WANTED = (
    "resident", "latency", "in flight", "little's law", "ridge point", "roofline", "stride", "padding", "swizzle",
    "mask", "fence", "tile", "lockstep", "l1", "l2", "fma", "ladder", "constant memory", "zero",
    "scratch", "constant", "pass",
)  # fmt: skip
"""Words that a learner looked for."""


def test_the_words_of_statements_are_in_the_glossary():
    names = {name.casefold() for word in glossary() for name in word.names}
    assert set(WANTED) <= names


def test_no_meaning_ends_with_the_mark_that_the_command_adds():
    assert not [word.title for word in glossary() if word.meaning.endswith((".", ".)", ":"))]


@pytest.mark.parametrize(
    ("name", "title"),
    [("counters", "# Counters"), ("launch-lines", "# Launch lines"), ("Launch line", "# Launch lines"), ("sgemm", "")],
)
def test_the_pages_for_learners_have_names(name, title):
    assert guide(name).partition("\n")[0] == title


def test_every_counter_is_a_word_with_its_meaning_and_nothing_else_is():
    words = [*counters()]
    assert sorted(word.title.strip("`") for word in words) == sorted([*KERNEL_COUNTERS, *HOST_COUNTERS])
    assert all(word.meaning and " | " not in word.meaning and not word.meaning.endswith(".") for word in words)
    explained = {word.title.strip("`"): word.meaning for word in words}
    assert {name: f"{explained[name]}." for name in HOST_COUNTERS} == {
        name: counter.explained for name, counter in HOST_COUNTERS.items()
    }


def test_links_are_text_and_a_missing_page_is_explained(monkeypatch, tmp_path):
    assert all("](" not in word.meaning for word in glossary())
    monkeypatch.setattr("grader.catalog.words.built_in_course", lambda: type("C", (), {"exercises": tmp_path / "x"}))
    with pytest.raises(UsageError, match="cannot read"):
        find_words("warp")
