"""The oracles of pinned_copy, zero_copy, unified_memory and l2_persistence against plain loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.catalog.courses import built_in_course, resolve_reference

RANDOM = np.random.default_rng(20261121)


def oracle(reference: str, inputs: Mapping[str, npt.NDArray[Any]], size: Mapping[str, int]) -> npt.NDArray[np.float64]:
    outputs = resolve_reference(reference, built_in_course())(inputs, size)
    out: npt.NDArray[np.float64] = outputs["out"]
    assert list(outputs) == ["out"]
    assert out.dtype == np.float64
    assert out.ndim == 1
    return out


@pytest.mark.parametrize("frames", [1, 2, 33])
def test_peak_is_the_largest_absolute_sample_of_each_frame(frames: int) -> None:
    x = RANDOM.uniform(-1, 1, 1024 * frames).astype(np.float32)
    expected = [max(abs(float(value)) for value in x[1024 * f : 1024 * (f + 1)]) for f in range(frames)]
    assert oracle("frames:peak", {"x": x}, {"frames": frames}).tolist() == expected


def test_peak_takes_a_sample_below_zero_for_its_size() -> None:
    x = np.zeros(2048, np.float32)
    x[7], x[2000], x[2001] = -3, 1, -2
    assert oracle("frames:peak", {"x": x}, {"frames": 2}).tolist() == [3, 2]


def test_the_background_is_taken_from_each_line_with_its_own_strength() -> None:
    lines, width = 3, 2048
    x = RANDOM.integers(-15, 16, lines * width).astype(np.float32)
    profile = RANDOM.integers(-15, 16, width).astype(np.float32)
    out = oracle("lines:remove_background", {"x": x, "profile": profile}, {"lines": lines})
    for line in range(lines):
        samples = [float(value) for value in x[line * width : (line + 1) * width]]
        middle = [sorted(samples[i - 1 : i + 2])[1] for i in range(1, width - 1)]
        clean = [samples[0], *middle, samples[-1]]
        strength = sum(clean[i] * float(profile[i]) for i in range(64))
        expected = [clean[i] - strength * float(profile[i]) for i in range(width)]
        assert out[line * width : (line + 1) * width].tolist() == expected


def test_a_single_spike_disappears_and_a_step_stays() -> None:
    x = np.zeros(2048, np.float32)
    x[100], x[1000:] = 50, 4
    out = oracle("lines:remove_background", {"x": x, "profile": np.zeros(2048, np.float32)}, {"lines": 1})
    assert out[100] == 0
    assert (out[999], out[1000], out[2047]) == (0, 4, 4)


@pytest.mark.parametrize(("keys", "rounds"), [([0], 1), ([2**32 - 1, 5], 3), ([7, 123456789, 4000000000], 2)])
def test_searches_walk_through_the_index_moved_on_by_what_the_scan_has_found(keys: list[int], rounds: int) -> None:
    nodes = 384 * len(keys)
    log = [hashed(i % 12288) >> 20 for i in range(12288 * len(keys))]
    places = [key * nodes >> 32 for key in keys]
    expected = []
    for number in range(rounds):
        if number:
            found = log.count(places[0] % 4096)
            places = [(place + found) % nodes for place in places]
        places = [walked(place, (key + number) % 2**32, nodes) for place, key in zip(places, keys, strict=True)]
        expected += places
    inputs = {"keys": np.array(keys, np.uint32)}
    out = oracle("tables:walks", inputs, {"searches": len(keys), "rounds": rounds})
    assert out.tolist() == expected


def walked(node: int, key: int, nodes: int) -> int:
    for _ in range(128):
        key = (key * 1664525 + 1013904223) % 2**32
        mixed = hashed(node * 8 + (key >> 29))
        node = (mixed ^ mixed >> 13) * nodes >> 32
    return node


def hashed(word: int) -> int:
    mixed = word * 0x9E3779B1 % 2**32
    return (mixed ^ mixed >> 15) * 0x85EBCA77 % 2**32
