"""Headers that an exercise gives: the course's text is compiled, whatever is on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.compile import compile_source
from grader.compile.toolchain import find_toolchain
from grader.errors import SubmissionError

pytestmark = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")

HEADER = """\
#pragma once
constexpr int THREADS = 96;
template <class T>
__device__ T twice(T x) { return x + x; }
"""
KERNEL = b"""\
#include "given.cuh"

// launch k(x): grid=1 block=THREADS
extern "C" __global__ void k(int* x)
{
    *x = twice(*x);
}
"""


def test_a_header_is_found_by_its_name_and_launch_lines_may_use_its_constants() -> None:
    program = compile_source(KERNEL, "k.cu", headers={"given.cuh": HEADER}, cache=False)
    assert program.constants == {"THREADS": 96}
    assert program.source == KERNEL.decode()


def test_a_program_is_cached_with_its_headers() -> None:
    first, same, other = (
        compile_source(KERNEL, "k.cu", headers={"given.cuh": text})
        for text in (HEADER, HEADER, HEADER.replace("96", "64"))
    )
    assert (first.constants, same, other.constants) == ({"THREADS": 96}, first, {"THREADS": 64})


def test_a_file_of_that_name_beside_the_submission_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("given.cuh").write_text("#error this is not the course's\n")
    assert compile_source(KERNEL, "k.cu", headers={"given.cuh": HEADER}, cache=False).constants == {"THREADS": 96}
    with pytest.raises(SubmissionError) as caught:
        compile_source(KERNEL, "k.cu", cache=False)
    assert caught.value.diagnostics[0].message == 'cannot open source file "given.cuh"'


def test_an_error_in_a_header_is_at_the_line_that_caused_it() -> None:
    wrong = KERNEL.replace(b"twice(*x)", b"*twice(x)")
    with pytest.raises(SubmissionError) as caught:
        compile_source(wrong, "k.cu", headers={"given.cuh": HEADER}, cache=False)
    found = caught.value.diagnostics[0]
    assert (found.file, found.line) == ("k.cu", 6)
    assert "(in <given.cuh>)" in found.message
