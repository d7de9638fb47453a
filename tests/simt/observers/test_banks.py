"""Wavefronts: as Nsight Compute counts them, and by arithmetic."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from nsight.on_simulator import Counted, simulated

from tests.simt.kernels import body, run
from tests.simt.observers.measured import Pattern, active_lanes, kinds, pattern, patterns, random_patterns

EVEN_LANES = 0x55555555


def counts(pattern: Pattern) -> tuple[int, int]:
    """(wavefronts, excess wavefronts)."""
    [counted] = simulated([pattern])
    return counted.wavefronts, counted.evidence


@pytest.mark.parametrize(("operation", "width"), kinds("shared"))
def test_wavefronts_and_conflicts_are_those_that_nsight_compute_counted_on_an_h200(operation: str, width: int) -> None:
    chosen = patterns("shared", operation, width)
    counted = {p["name"]: (c.wavefronts, c.evidence) for p, c in zip(chosen, simulated(chosen), strict=True)}
    assert counted == {p["name"]: (p["wavefronts"], p["excess"]) for p in chosen}


@pytest.mark.parametrize(("stride", "degree"), [(1, 1), (2, 2), (3, 1), (8, 8), (32, 32), (33, 1)])
def test_a_conflict_of_some_degree_takes_one_wavefront_less_than_that_in_excess(stride: int, degree: int) -> None:
    source = body("extern __shared__ float s[];\ns[t * n] = t;\n__syncthreads();\nx[i] = s[t * n];")
    ran = run(source, {"x": np.zeros(32, np.float32)}, stride, shared=33 * 32 * 4)
    assert ran.total["shared_store_wavefronts"] == ran.total["shared_load_wavefronts"] == degree
    assert ran.total["excess_wavefronts"] == 2 * (degree - 1)
    lines = ran.outcome.counters[0].lines
    assert [lines[n]["excess_wavefronts"] for n in (5, 7)] == [degree - 1, degree - 1]


@pytest.mark.parametrize("operation", ["load", "store"])
@pytest.mark.parametrize(("width", "least"), [(2, 1), (4, 1), (8, 2), (16, 4)])
def test_a_full_request_without_conflicts_has_no_excess(operation: str, width: int, least: int) -> None:
    assert counts(pattern("shared", operation, width, lambda lane: lane)) == (least, 0)


@pytest.mark.parametrize("operation", ["load", "store"])
def test_lanes_that_want_the_same_word_do_not_conflict(operation: str) -> None:
    assert counts(pattern("shared", operation, 4, lambda lane: lane % 2 * 33)) == (1, 0)


def test_halves_of_a_word_do_not_conflict() -> None:
    assert counts(pattern("shared", "load", 2, lambda lane: lane)) == (1, 0)


NEIGHBOURS_SHARE = {
    1: lambda lane: lane // 2,
    2: lambda lane: lane % 2 + lane // 4 * 2,
    4: lambda lane: lane % 4 + lane // 8 * 4,
}
"""Elements that lanes l and l ^ distance share, next to each other."""


@pytest.mark.parametrize(("width", "full"), [(8, 2), (16, 4)])
@pytest.mark.parametrize(("distance", "saving"), [(1, 2), (2, 2), (4, 1)])
def test_wide_loads_that_neighbours_share_take_half_the_wavefronts(
    width: int, full: int, distance: int, saving: int
) -> None:
    element = NEIGHBOURS_SHARE[distance]
    assert counts(pattern("shared", "load", width, element)) == (full // saving, 0)
    assert counts(pattern("shared", "store", width, element)) == (full, 0)


def test_one_lane_that_does_not_share_splits_the_whole_warp() -> None:
    assert counts(pattern("shared", "load", 16, lambda lane: 0 if lane < 31 else 4)) == (4, 0)


def test_a_lane_whose_partner_is_idle_lets_groups_join() -> None:
    # 16 lanes, 16 bytes apart, over 62 words: two wavefronts either way, but in one group they are a conflict.
    assert counts(pattern("shared", "load", 8, lambda lane: lane, EVEN_LANES)) == (2, 1)
    assert counts(pattern("shared", "store", 8, lambda lane: lane, EVEN_LANES)) == (2, 0)


def test_groups_without_active_lanes_take_no_wavefront() -> None:
    assert counts(pattern("shared", "store", 16, lambda lane: lane, 0x00FF0001)) == (2, 0)


@pytest.mark.parametrize("operation", ["load", "store"])
@pytest.mark.parametrize("width", [2, 4, 8, 16])
def test_random_requests_follow_the_rule_word_by_word(operation: str, width: int) -> None:
    chosen = random_patterns("shared", operation, width, count=120, seed=2)
    assert simulated(chosen) == [expected(p) for p in chosen]


def expected(given: Pattern) -> Counted:
    """The rule of `grader.simt.observers.banks` from words and sets."""
    words, active, index = max(1, given["width"] // 4), active_lanes(given), given["index"]
    size = 32 // words
    if words > 1 and given["operation"] == "load":
        size *= 1 + any(
            all(index[a] == index[a ^ distance] for a in active if a ^ distance in active) for distance in (1, 2)
        )
    groups = [[lane for lane in active if lane // size == i] for i in range(32 // size)]
    taken = [_busiest(given, group) for group in groups if group]
    return Counted(evidence=sum(taken) - len(taken), wavefronts=sum(taken))


def _busiest(given: Pattern, lanes: list[int]) -> int:
    banks: dict[int, set[int]] = defaultdict(set)
    for lane in lanes:
        first = given["index"][lane] * given["width"] // 4
        for word in range(first, first + max(1, given["width"] // 4)):
            banks[word % 32].add(word)
    return max(map(len, banks.values()))
