"""What the parsing child tells of a source, and what it does not know."""

from __future__ import annotations

from pathlib import Path

import pytest
from inline_snapshot import snapshot

from grader.grading import source_view
from grader.grading.source_view import UNREAD, SourceView, parsed

KERNEL = """\
__device__ void put(float v) { part[t] = v; }
extern "C" __global__ __launch_bounds__(256) void k(float* src) {
    extern __shared__ __align__(16) float part[];
    if (t >= n && src[t] > 0)  // a comment
        return;
    else if (t / 32 == 0)
        part[t].x = tile[i][j + 1];
    for (int r = 0; r < 4; ++r)
#pragma unroll
        for (int c = 0; c < 4; ++c) sum += c < n ? row[r * 4 + c] : 0;
    __syncthreads;
    cg::wait_prior<2>(block);
    asm volatile("cp.async.wait_group %0;" :: "n"(N));
}
"""


def listed(source: str) -> str:
    """A line for each part: its number, what it is in, and what it is."""
    return "\n".join(
        f"{number:2} in {one.inside:2}: {one.kind} {one.line}-{one.last} {one.name} {'; '.join(one.texts)}".rstrip()
        for number, one in enumerate(parsed(source))
    )


def test_loops_conditions_calls_and_accesses_are_told_by_line() -> None:
    assert listed(KERNEL) == snapshot("""\
 0 in -1: function 1-1 put void; (float v)
 1 in  0: stored 1-1 part =; v
 2 in  0: element 1-1 part t
 3 in -1: kernel 2-14 k void; (float* src)
 4 in  3: array 3-3 part float; extern __shared__
 5 in  3: if 4-7  t >= n && src[t] > 0
 6 in  5: comparison 4-4 > src[t]; 0
 7 in  5: comparison 4-4 >= t; n
 8 in  5: then 5-5
 9 in  5: else 6-7
10 in  5: if 4-4  t >= n
11 in 10: then 4-4
12 in 11: element 4-4 src t
13 in  8: return 5-5
14 in  9: if 6-7  t / 32 == 0
15 in 14: comparison 6-6 == t / 32; 0
16 in 14: then 7-7
17 in 16: member 7-7 part t
18 in 16: element 7-7 tile i; j + 1
19 in  3: loop 8-10  r < 4
20 in 19: comparison 8-8 < r; 4
21 in 19: local 8-8 r int; 0
22 in 19: assigned 8-8 r ++
23 in 19: loop 10-10  c < 4
24 in 23: comparison 10-10 < c; 4
25 in 23: local 10-10 c int; 0
26 in 23: assigned 10-10 c ++
27 in 23: assigned 10-10 sum +=; c < n ? row[r * 4 + c] : 0
28 in 23: if 10-10  c < n
29 in 28: comparison 10-10 < c; n
30 in 28: then 10-10
31 in 28: else 10-10
32 in 30: element 10-10 row r * 4 + c
33 in  3: name 11-11 __syncthreads
34 in  3: dropped 12-12 cg::wait_prior
35 in  3: call 12-12 cg::wait_prior 2; block
36 in  3: asm 13-13  "cp.async.wait_group %0;"\
""")


def test_lines_that_are_no_c_are_an_error_and_the_others_are_read() -> None:
    view = SourceView("__global__ void k() {\n    a[1] = 2;\n    D16(0 : 1;\n    b[1] = 2;\n}\n")
    assert [view.is_clear(line, line) for line in (2, 3, 4)] == [True, False, True]
    assert [access.name for access in view.elements(4)] == ["b"]


def test_without_a_parser_nothing_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "no_parser.py").write_text("import a_parser_that_is_not_installed")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(source_view, "CHILD", "no_parser")
    assert parsed("int not_parsed_before;") == UNREAD
