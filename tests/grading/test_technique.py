"""Technique of whole submissions: honest work that an expectation must not refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.catalog.exercises import load_catalog
from grader.compile.toolchain import find_toolchain
from grader.dev.grading import request
from grader.exercise import Expect
from grader.grading.grade import grade
from grader.grading.technique import strictest

NO_COMPILER = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")

COMPENSATED = """
// scratch ping, pong: float[cdiv(n, BLOCK)]
// passes m=n until 1 by cdiv(m, BLOCK): NAME(src, dst, m): grid=cdiv(m, BLOCK) block=BLOCK
extern "C" __global__ void NAME(const float* src, float* dst, int m)
{
    __shared__ float sums[BLOCK], lost[BLOCK];
    int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    sums[t] = i < m ? src[i] : 0.0f;
    lost[t] = 0.0f;
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s /= 2) {
        if (t < s) {
            float a = sums[t], b = sums[t + s], sum = a + b, part = sum - a;
            lost[t] += lost[t + s] + (a - (sum - part)) + (b - part);
            sums[t] = sum;
        }
        __syncthreads();
    }
    if (t == 0)
        dst[blockIdx.x] = sums[0] + lost[0];
}
"""


@NO_COMPILER
@pytest.mark.slow
@pytest.mark.parametrize("block", ["128", "256"])
def test_a_tree_may_keep_in_a_second_array_what_its_additions_round_off(block: str, tmp_path: Path) -> None:
    path = tmp_path / "reduce_v3.cu"
    path.write_text(COMPENSATED.replace("NAME", "reduce_v3").replace("BLOCK", block))
    verdict = grade(request(load_catalog().find("reduce_v3"), path, "sim"))
    assert (verdict.verdict, verdict.diagnostics) == ("pass", ())


def test_of_what_a_ladder_asks_twice_the_strictest_is_shown() -> None:
    own, inherited = Expect("sectors", at_most=0.25, per="n"), Expect("sectors", at_most=0.5, per="n")
    others = [Expect("sectors", at_most=0.1), Expect("lanes", at_least=30), Expect("lanes", at_least=14)]
    assert strictest([own, inherited, *others]) == [own, *others[:2]]
    assert strictest([inherited, own]) == [own]


@NO_COMPILER
def test_what_two_steps_of_a_ladder_ask_is_missed_once_and_the_own_step_gives_the_hint(tmp_path: Path) -> None:
    entry = load_catalog().find("transpose_v5")
    assert entry.solution is not None
    path = tmp_path / "transpose_v5.cu"
    path.write_text(entry.solution.read_text().replace("(group ^ (row / 4 % 8))", "group"))
    verdict = grade(request(entry, path, "sim"))
    found = [diagnostic for diagnostic in verdict.diagnostics if diagnostic.counter == "excess_wavefronts"]
    own = next(expect for expect in entry.exercise.technique if expect.counter == "excess_wavefronts")
    assert (verdict.verdict, [diagnostic.hint for diagnostic in found]) == ("technique", [own.hint])
