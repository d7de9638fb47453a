"""docs/counters.md names every counter, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from grader.counters import IN_CODE
from tests.simt.kernels import body, run

DOCUMENT = Path(__file__).parents[2] / "docs" / "counters.md"

EVERYTHING = body(
    """
__shared__ float s[64];
__shared__ int q;
float first = x[t], second = x[t + 32];
s[t] = first + second;
s[t + 32] = second;
__syncthreads();
float twice = s[t * 2];
float v = s[t ^ 1] + twice;
for (int k = 0; k < t; ++k) v = v * x[k] + 1;
v += __shfl_xor_sync(0xffffffffu, v, 1);
atomicAdd(&q, t);
atomicAdd(x + 40, v);
unsigned a = 0, c0 = 0, c1 = 0;
asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %2, %2, %2}, {%2, %2}, {%0, %1};"
    : "+r"(c0), "+r"(c1) : "r"(a));
__pipeline_memcpy_async(s + t, x + t, 4);
__pipeline_commit();
__pipeline_wait_prior(0);
int kept[8];
_Pragma("unroll 1") for (int k = 0; k < 8; ++k) kept[(k + n) & 7] = t;
x[t] = 1.0f / (v + c0 + c1 + q + kept[q & 7] + table[t]) * 1.1;
""",
    before="#include <cuda_pipeline.h>\n__constant__ int table[64];\n",
)
"""A kernel that does everything which a counter counts."""


SHAPE = {"threads", "shared_memory_bytes", "registers", "spill_bytes", "occupancy", "grid_growth", *IN_CODE}
"""Counters of the launch itself and of the code, which the stages add."""


def of_kernels() -> str:
    """The document without its last part, the counters of host files."""
    return DOCUMENT.read_text().partition("\n## What the host file did\n")[0]


def documented() -> set[str]:
    """The first column of the tables about kernels."""
    return set(re.findall(r"^\| `(\w+)` \|", of_kernels(), flags=re.MULTILINE))


def test_a_kernel_that_does_everything_shows_every_documented_counter_and_no_other() -> None:
    ran = run(EVERYTHING, {"x": np.ones(64, np.float32)}, 64)
    assert set(ran.total) == documented() - SHAPE


def test_every_counter_of_a_source_line_is_documented() -> None:
    ran = run(EVERYTHING, {"x": np.ones(64, np.float32)}, 64)
    lines = ran.outcome.counters[0].lines
    assert len(lines) > 5
    assert {name for counters in lines.values() for name in counters} <= documented()


def test_each_counter_has_a_meaning_and_a_profilers_name() -> None:
    rows = [line.split(" | ") for line in of_kernels().splitlines() if line.startswith("| `")]
    assert [row[0] for row in rows if len(row) != 3 or not row[1].endswith(".") or not row[2].strip(" |")] == []
