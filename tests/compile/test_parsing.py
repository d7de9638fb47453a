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
 0 in -1: function 1-1
 1 in  0: element 1-1 part t
 2 in -1: kernel 2-14
 3 in  2: if 4-7  t >= n && src[t] > 0
 4 in  3: comparison 4-4 > src[t]; 0
 5 in  3: comparison 4-4 >= t; n
 6 in  3: then 5-5
 7 in  3: else 6-7
 8 in  3: if 4-4  t >= n
 9 in  8: then 4-4
10 in  9: element 4-4 src t
11 in  6: return 5-5
12 in  7: if 6-7  t / 32 == 0
13 in 12: comparison 6-6 == t / 32; 0
14 in 12: then 7-7
15 in 14: member 7-7 part t
16 in 14: element 7-7 tile i; j + 1
17 in  2: loop 8-10
18 in 17: comparison 8-8 < r; 4
19 in 17: local 8-8 r int; 0
20 in 17: assigned 8-8 r ++
21 in 17: loop 10-10
22 in 21: comparison 10-10 < c; 4
23 in 21: local 10-10 c int; 0
24 in 21: assigned 10-10 c ++
25 in 21: assigned 10-10 sum +=
26 in 21: if 10-10  c < n
27 in 26: comparison 10-10 < c; n
28 in 26: then 10-10
29 in 26: else 10-10
30 in 28: element 10-10 row r * 4 + c
31 in  2: name 11-11 __syncthreads
32 in  2: call 12-12 cg::wait_prior 2; block
33 in  2: asm 13-13  "cp.async.wait_group %0;"\
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
