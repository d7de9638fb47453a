"""Sectors: as Nsight Compute counts them, and by arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from nsight.on_simulator import simulated

from tests.simt.kernels import body, run
from tests.simt.observers.measured import active_lanes, kinds, pattern, patterns, random_patterns

X = np.arange(33 * 32 + 32, dtype=np.float32)
LOAD = body("y[t] = x[t * s + o];", "const float* x, float* y, int s, int o")
STORE = body("y[t * s + o] = x[t];", "const float* x, float* y, int s, int o")


def load_sectors(stride: int, offset: int) -> float:
    ran = run(LOAD, {"x": X, "y": np.zeros(32, np.float32)}, stride, offset)
    assert ran.total["global_load_requests"] == 1
    return ran.total["global_load_sectors"]


@pytest.mark.parametrize(("operation", "width"), kinds("global"))
def test_sectors_are_those_that_nsight_compute_counted_on_an_h200(operation: str, width: int) -> None:
    chosen = patterns("global", operation, width)
    counted = {p["name"]: c.evidence for p, c in zip(chosen, simulated(chosen), strict=True)}
    assert counted == {p["name"]: p["sectors"] for p in chosen}


def test_a_float_load_of_any_stride_touches_4_sectors_for_each_stride_and_32_at_most() -> None:
    chosen = [pattern("global", "load", 4, lambda lane, s=s: lane * s) for s in range(1, 34)]  # type: ignore[misc]  # s=s
    assert [c.evidence for c in simulated(chosen)] == [min(4 * s, 32) for s in range(1, 34)]


@pytest.mark.parametrize("stride", [1, 2, 8, 32])
def test_a_strided_load_of_cuda_c_touches_4_sectors_for_each_stride(stride: int) -> None:
    assert load_sectors(stride, 0) == min(4 * stride, 32)


@pytest.mark.parametrize("offset", [1, 4, 7])
def test_a_misaligned_load_touches_5_sectors(offset: int) -> None:
    assert load_sectors(1, offset) == 5


def test_a_load_moved_by_whole_sectors_touches_4() -> None:
    assert load_sectors(1, 8) == 4


def test_stores_count_as_loads_do() -> None:
    ran = run(STORE, {"x": X, "y": X}, 2, 1)
    assert (ran.total["global_store_sectors"], ran.total["global_store_bytes"]) == (8, 128)
    assert ran.total["global_load_sectors"] == 4


def test_efficiency_is_bytes_asked_for_over_bytes_moved() -> None:
    ran = run(LOAD, {"x": X, "y": np.zeros(32, np.float32)}, 2, 0)
    assert ran.total["sector_efficiency"] == (128 + 128) / (32 * (8 + 4))


@pytest.mark.parametrize("spread", ["x[0]", "x[t / 2]", "x[t % 8]"])
def test_lanes_that_share_values_do_not_make_up_for_a_stride(spread: str) -> None:
    source = body(f"y[t] = x[t * 8] + {spread};", "const float* x, float* y")
    ran = run(source, {"x": X, "y": np.zeros(32, np.float32)})
    shared = ran.total["global_load_sectors"] - 32
    assert ran.total["sector_efficiency"] == (128 + 32 * shared + 128) / (32 * (32 + shared + 4))


def test_atomics_count_as_loads_and_stores_do() -> None:
    source = body("atomicAdd(y + t * 8, x[t]);\natomicAdd(y, 1.0f);", "const float* x, float* y")
    total = run(source, {"x": X, "y": np.zeros(32 * 8, np.float32)}).total
    assert (total["global_requests"], total["sectors"]) == (3, 4 + 32 + 1)
    assert total["sector_efficiency"] == (128 + 128 + 32) / (32 * (4 + 32 + 1))


def test_each_line_has_its_own_sectors() -> None:
    source = body("float v = x[t * s];\ny[t] = v;", "const float* x, float* y, int s")
    lines = run(source, {"x": X, "y": np.zeros(32, np.float32)}, 4).outcome.counters[0].lines
    assert (lines[4]["global_load_sectors"], lines[5]["global_store_sectors"]) == (16, 4)
    assert "global_store_sectors" not in lines[4]


@pytest.mark.parametrize("width", [2, 4, 8, 16])
def test_random_requests_touch_the_distinct_sectors_of_their_active_lanes(width: int) -> None:
    chosen = random_patterns("global", "load", width, count=60, seed=1)
    want = [len({p["index"][lane] * width // 32 for lane in active_lanes(p)}) for p in chosen]
    assert [c.evidence for c in simulated(chosen)] == want
