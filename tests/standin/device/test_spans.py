"""Spans of bytes against sets of bytes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grader.standin.device.spans import NONE, Footprint, Spans, clash, clip, common, span, total, union, without

RUNS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 8)), max_size=6)


def spans(runs: list[tuple[int, int]]) -> Spans:
    return union(span(start, size) for start, size in runs)


def members(runs: list[tuple[int, int]]) -> set[int]:
    return {i for start, size in runs for i in range(start, start + size)}


@given(RUNS)
def test_a_union_is_sorted_and_disjoint_and_has_all_bytes(runs: list[tuple[int, int]]) -> None:
    joined = spans(runs)
    assert {i for start, end in joined.tolist() for i in range(start, end)} == members(runs)
    assert total(joined) == len(members(runs))
    assert np.all(joined[1:, 0] > joined[:-1, 1])


@given(RUNS, RUNS)
def test_the_first_common_byte_is_that_of_the_sets(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    assert common(spans(a), spans(b)) == min(members(a) & members(b), default=None)


@given(RUNS, RUNS)
def test_a_difference_has_the_bytes_of_the_sets_difference(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    left = without(spans(a), spans(b))
    assert {i for start, end in left.tolist() for i in range(start, end)} == members(a) - members(b)


@given(RUNS, st.integers(0, 50), st.integers(0, 50))
def test_a_clip_keeps_the_bytes_between(runs: list[tuple[int, int]], low: int, high: int) -> None:
    kept = clip(spans(runs), low, high)
    assert total(kept) == len({i for i in members(runs) if low <= i < high})


def test_reads_do_not_clash_and_neither_do_atomic_updates() -> None:
    one = span(0, 4)
    assert clash(Footprint(reads=one), Footprint(reads=one)) is None
    assert clash(Footprint(atomics=one), Footprint(atomics=one)) is None
    assert clash(Footprint(writes=one), Footprint(reads=span(4, 4))) is None


def test_what_the_second_reads_of_the_first_is_told_first() -> None:
    a = Footprint(reads=span(0, 4), writes=span(8, 4))
    b = Footprint(reads=span(8, 4), writes=span(0, 4))
    assert clash(a, b) == ("writes", "reads", 8)


def test_an_atomic_update_clashes_with_a_plain_write_and_with_a_read() -> None:
    atomic, plain = Footprint(atomics=span(0, 4)), Footprint(writes=span(0, 4))
    assert clash(atomic, plain) == ("writes", "writes", 0)
    assert clash(plain, atomic) == ("writes", "writes", 0)
    assert clash(atomic, Footprint(reads=span(0, 4))) == ("writes", "reads", 0)


def test_nothing_has_no_bytes() -> None:
    assert total(NONE) == 0
    assert common(NONE, span(0, 4)) is None
