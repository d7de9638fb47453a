"""The worst request of each line: which lanes touched what, the same with any number of CPU threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grader.simt.counters import KEPT, WarpRequest, least_sectors
from grader.simt.observers import WATCHING
from tests.simt.kernels import Ran, body, run

X = np.arange(4096, dtype=np.float32)


def worst(ran: Ran) -> tuple[WarpRequest, ...]:
    return ran.outcome.worst[0]


def ran(statements: str, **how: Any) -> Ran:
    return run(body(statements, "float* x, float* y"), {"x": X, "y": X}, **how)


def test_a_strided_load_shows_each_lanes_offset_and_sectors() -> None:
    load, store = worst(ran("y[i] = x[2 * i + 1];"))
    assert (load.line, load.space, load.kind, load.array, load.base) == (4, "global", "load", "x", 0)
    assert load.offsets == tuple(8 * lane + 4 for lane in range(32))
    assert (load.taken, load.least, load.bytes_per_lane) == (8, 4, 4)
    assert (store.kind, store.array, store.taken, store.least) == ("store", "y", 4, 4)


def test_idle_lanes_have_no_offset() -> None:
    (load, _) = worst(ran("if (t % 3 == 1) y[t] = x[32 * t];"))
    assert load.offsets == tuple(128 * lane if lane % 3 == 1 else None for lane in range(32))


def test_the_request_that_took_most_is_kept_with_its_block_and_warp() -> None:
    found = worst(ran("y[i] = x[i == 200 ? 4000 : i];", grid=4, block=96))[0]
    assert (found.block, found.warp, found.taken) == ((2, 0, 0), 0, 5)
    assert found.offsets[8] == 16000


def test_of_equal_requests_the_first_is_kept_on_any_number_of_threads() -> None:
    statements = "y[i] = x[2 * i]; if (blockIdx.x > 10) y[(i * 7) % 4096] = 1;"
    one, three = (worst(ran(statements, grid=16, block=128, threads=threads)) for threads in (1, 3))
    assert one == three
    assert {(r.line, r.kind, r.block, r.warp) for r in one} >= {(4, "load", (0, 0, 0), 0)}


def test_a_shared_array_is_named_with_its_place() -> None:
    statements = """__shared__ float a[32]; __shared__ float b[64];
a[t] = 1; b[t * 2] = 2; __syncthreads(); y[t] = b[t * 2] + a[31 - t];"""
    found = {(r.array, r.kind): r for r in worst(ran(statements)) if r.space == "shared"}
    twos = found["b", "store"]
    assert (twos.taken, twos.least) == (2, 1)
    assert (twos.base % 128, twos.offsets[31]) == (0, 248)


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_dynamic_shared_memory_is_named_too(shift: int) -> None:
    statements = f"extern __shared__ float s[]; s[t << {shift}] = x[t]; __syncthreads(); y[t] = s[t << {shift}];"
    found = [r for r in worst(ran(statements, shared=4096)) if r.space == "shared"]
    assert {(r.array, r.taken) for r in found} == ({("s", 1 << shift)} if shift else set())


def test_atomics_and_wide_loads_are_kept_as_such() -> None:
    found = worst(ran("atomicAdd(&y[t * 8], 1.0f);\nfloat4 v = ((float4*)x)[t]; y[i] = v.x + v.y + v.z + v.w;"))
    assert {(r.line, r.kind, r.bytes_per_lane, r.taken, r.least) for r in found} == {
        (4, "atomic", 4, 32, 4), (5, "load", 16, 16, 16), (5, "store", 4, 4, 4),
    }  # fmt: skip


def test_a_launch_keeps_a_few_requests_the_most_wasteful_first() -> None:
    found = worst(ran("\n".join(f"y[{s} * t] = x[{s} * t];" for s in (1, 2, 4, 8))))
    assert len(found) == KEPT
    assert [r.taken - r.least for r in found] == [28, 28, 12, 12]


def test_without_counting_observers_nothing_is_kept() -> None:
    assert worst(ran("y[i] = x[2 * i];", observed=frozenset(WATCHING))) == ()


def test_lanes_that_share_need_fewer_sectors() -> None:
    assert least_sectors([0] * 32, 4) == 1
    assert least_sectors([4 * lane for lane in range(32)], 4) == 4
    assert least_sectors([None] * 31 + [64], 16) == 1
