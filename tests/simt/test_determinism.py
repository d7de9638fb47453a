"""The same bits, counters and findings with one CPU thread and with several."""

from __future__ import annotations

import numpy as np
import pytest

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
