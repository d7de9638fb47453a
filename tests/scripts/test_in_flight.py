"""`scripts/in_flight.py`: the chain that the latency is measured with, the kernel's loads, and the page."""

from __future__ import annotations

import in_flight
import numpy as np
import pytest
from in_flight import Sample, Shape

from grader.compile import compile_source
from grader.compile.toolchain import find_toolchain

NO_COMPILER = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")


def test_the_chain_is_one_circle_through_all_places_in_no_order_that_a_prefetcher_could_know() -> None:
    chain = in_flight.a_chain(1000, np.random.default_rng(1))[:, 0]
    place, seen = 0, []
    for _ in range(1000):
        place = int(chain[place])
        seen.append(place)
    assert sorted(seen) == list(range(1000))
    assert np.mean(np.abs(np.diff(seen)) == 1) < 0.01


@NO_COMPILER
@pytest.mark.parametrize("loads", [1, 2, 4, 8])
def test_a_thread_issues_all_its_loads_before_it_uses_one(loads: int) -> None:
    ptx = compile_source(in_flight.SOURCE.read_bytes(), in_flight.SOURCE.name).ptx
    kernel = ptx.split(f".entry in_flight_{loads}(")[1].split(".entry")[0]
    wide = "ld.volatile.global.v4.u32"
    assert kernel.count(wide) == loads
    between = kernel[kernel.index(wide) : kernel.rindex(wide)]
    assert "xor.b32" not in between


def test_a_shape_asks_for_the_bytes_of_all_loads_of_a_multiprocessor() -> None:
    assert Shape(per_sm=4, threads=256, loads=8).bytes_of_sm == 4 * 256 * 8 * 16
    assert all(shape.per_sm * shape.threads <= 2048 for shape in in_flight.SHAPES)


def test_the_page_is_ordered_by_bytes_and_says_what_littles_law_carries() -> None:
    samples = [Sample(Shape(2, 256, 4), 2.64e12, 1e-6), Sample(Shape(0, 32, 1), 0.0, 350e-9)]
    page = in_flight.to_markdown(samples, "NVIDIA H200", "driver 1", 132, "2026-11-23")
    rows = [line for line in page.splitlines() if line.startswith("| ")][1:]
    assert rows == [
        "| – | – | 0 KiB | 0.00 TB/s | 350 ns | 0.0 KiB |",
        "| 2 × 256 | 4 | 32 KiB | 2.64 TB/s | 1000 ns | 19.5 KiB |",
    ]
