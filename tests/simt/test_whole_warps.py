"""Matrix instructions belong to whole warps: lanes that returned, diverged or never were are found and named."""

from __future__ import annotations

import numpy as np
import pytest

from grader.backends.sim.results import finding
from tests.simt.kernels import NAME, Ran, body, run
from tests.telling import rule_of

WMMA = """wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
wmma::fill_fragment(c, 0.0f); wmma::fill_fragment(a, __float2half(1.0f)); wmma::fill_fragment(b, __float2half(1.0f));
wmma::mma_sync(c, a, b, c);
wmma::store_matrix_sync(x, c, 16, wmma::mem_row_major);"""

LDMATRIX = """__shared__ __align__(16) half s[128]; unsigned r;
for (int k = t; k < 128; k += n) s[k] = 0; __syncthreads();
unsigned p = (unsigned)__cvta_generic_to_shared(s + 8 * (t % 8));
asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(p)); x[t] = r;"""

MMA = """unsigned a[2] = {}, b = 0; float c[4] = {}, d[4];
asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"
: "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
: "r"(a[0]), "r"(a[1]), "r"(b), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3])); x[t] = d[0];"""

HEAD = "#include <mma.h>\n#include <cuda_fp16.h>\nusing namespace nvcuda;\n"
UPPER, LOWER = 0xFFFF0000, 0x0000FFFF


def ran(statements: str, block: int = 32) -> Ran:
    return run(body(statements, before=HEAD), {"x": np.zeros(256, np.float32)}, block, block=block)


def missing(found: Ran) -> set[int]:
    assert set(found.kinds) == {"missing_lanes"}, found.events
    return {event.detail[0] for event in found.events}


@pytest.mark.parametrize("code", [WMMA, LDMATRIX, MMA], ids=["wmma", "ldmatrix", "mma"])
def test_a_whole_warp_may_execute_a_matrix_instruction(code: str) -> None:
    assert ran(code).kinds == []
    assert ran("if (t >= 32) return; " + code.replace("k += n", "k += 32"), block=64).kinds == []


@pytest.mark.parametrize("code", [WMMA, LDMATRIX, MMA], ids=["wmma", "ldmatrix", "mma"])
def test_a_block_of_half_a_warp_lacks_the_lanes_that_were_never_there(code: str) -> None:
    assert missing(ran(code, block=16)) == {UPPER}


@pytest.mark.parametrize("code", [WMMA, MMA], ids=["wmma", "mma"])
def test_lanes_that_returned_before_are_missing(code: str) -> None:
    found = ran("if (t >= 16) return;\n" + code)
    assert missing(found) == {UPPER}
    assert found.events[0].lanes == LOWER


@pytest.mark.parametrize("code", [WMMA, MMA], ids=["wmma", "mma"])
def test_lanes_in_the_other_branch_are_missing_whether_they_return_or_wait(code: str) -> None:
    assert missing(ran(f"if (t < 16) {{ {code} }}\nelse x[t] = 1;")) == {UPPER}
    later = ran(f"if (t % 2) {{ {code} }}\n__syncwarp(); x[255 - t] = 1;")
    assert 0x55555555 in {event.detail[0] for event in later.events if event.kind == "missing_lanes"}


def test_the_last_warp_of_a_block_that_is_no_multiple_of_32_is_found() -> None:
    found = ran(WMMA.replace("x, c", "x + 0 * t, c").replace("wmma::store", "if (t < 32) wmma::store"), block=48)
    assert missing(found) == {UPPER}
    assert {event.thread for event in found.events} == {(32, 0, 0)}


def test_the_message_names_the_line_and_the_lanes() -> None:
    found = ran("if (t >= 16) return;\n" + MMA)
    record = finding(found.events[0], NAME, {})
    assert (record.kind, record.line) == ("missing_lanes", 11)  # where the asm statement ends
    assert record.facts["detail"][0] & 0xFFFFFFFF == 0xFFFF0000
    assert rule_of(record) == "faults.whole_warps"


def test_votes_and_shuffles_of_the_lanes_that_are_left_are_fine() -> None:
    votes = "x[t] = __popc(__ballot_sync(0xffffffffu, 1)) + __shfl_sync(0xffffffffu, t, 3);"
    found = ran("if (t >= 16) return;\n" + votes)
    assert found.kinds == []
    assert set(found.arrays["x"][:16]) == {16 + 3}
