"""The same bits, counters and findings with one CPU thread and with several."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from grader.compile import compile_source
from grader.simt.engine.code_cache import CodeCache
from grader.simt.engine.device import Device
from grader.simt.observers import OBSERVERS
from grader.simt.ptx import parse
from tests.simt.kernels import body, run

N = 8192
REDUCE = """__shared__ float s[128]; s[t] = x[i]; __syncthreads();
for (int d = 64; d > 0; d >>= 1) { if (t < d) s[t] += s[t + d]; BARRIER }
if (t == 0) y[blockIdx.x] = s[0];"""
SOURCES = {
    "clean": REDUCE.replace("BARRIER", "__syncthreads();"),
    "race in a block": REDUCE.replace("BARRIER", ""),
    "race between blocks": "y[i % 100] = x[i];",
    "reads its neighbour's output": "y[i] = x[i]; if (i) x[i] = y[i - 1];",
    "atomics": "atomicAdd(&y[i % 7], x[i]);",
    "too far": "y[i + (blockIdx.x == 40)] = x[i];",
    "printf": 'if (t == 0) printf("%d\\n", blockIdx.x); y[i] = x[i];',
}


@pytest.mark.parametrize("name", SOURCES)
def test_one_and_three_threads_agree(name: str) -> None:
    x = np.random.default_rng(1).random(N, np.float32)
    y = np.zeros(N, np.float32)
    source = body(SOURCES[name], "float* x, float* y")
    one, three = (run(source, {"x": x, "y": y}, grid=N // 128, block=128, threads=k) for k in (1, 3))
    assert one.events == three.events
    assert one.outcome.counters == three.outcome.counters
    assert one.outcome.printed == three.outcome.printed
    for array in ("x", "y"):
        assert one.arrays[array].tobytes() == three.arrays[array].tobytes()


WIDTHS = {"char": 1, "short": 2, "float": 4, "double": 8, "float4": 16}


def rerun(statement: str, kind: str) -> bool:
    """Whether a launch of 9 blocks of 33 threads on three CPU threads must be repeated on one."""
    source = body(statement, f"{kind}* x, {kind}* y")
    program = compile_source(source.encode(), "k.cu")
    on = Device(parse(program.ptx, "k.cu"), cache=CodeCache(program.key), threads=3, observed=frozenset(OBSERVERS))
    room = np.zeros(9 * 33 * WIDTHS[kind], np.uint8)
    given = [struct.pack("<Q", on.allocate(name, room)) for name in "xy"]
    return on.launch("k", (9, 1, 1), (33, 1, 1), 0, given, budget_per_block=10**6).rerun


@pytest.mark.parametrize("kind", WIDTHS)
def test_blocks_that_write_beside_each_other_need_no_second_run(kind: str) -> None:
    assert not rerun("y[i] = x[i];", kind)
    assert not rerun("y[gridDim.x * t + blockIdx.x] = x[i];", kind)


@pytest.mark.parametrize("kind", WIDTHS)
def test_blocks_of_two_threads_that_share_an_element_do_need_one(kind: str) -> None:
    assert rerun("y[blockIdx.x == 8 ? 0 : i] = x[i];", kind)  # written by both
    assert rerun("y[i] = blockIdx.x ? x[i] : y[264 + t];", kind)  # read by the first, written by the last
