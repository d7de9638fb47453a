"""A case with more than 2^32 elements: what its few blocks show, of whom, and of whom they show nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grader.backends.sim.session import SimBackend
from grader.exercise import Array, Exercise, Large
from grader.grading.grade import grade
from grader.render.evidence import right_words
from grader.verdict import Verdict
from tests.grading.requests import request_of

ROWS, COLS = 300_001, 16_384


def exercise(*, whole: bool = False) -> Exercise:
    """Each row's second element, or ``whole`` rows, doubled."""
    arrays = (Array("x", "float32", "rows*cols"), Array("y", "float32", "rows*cols" if whole else "rows", role="out"))
    return Exercise(
        name="rows", order=1, idea="double", arrays=arrays, oracle="rows", small=({"rows": 3, "cols": 32},),
        simulated={"rows": 40, "cols": 64}, large=Large({"rows": ROWS, "cols": COLS}, period={"rows": 7}),
    )  # fmt: skip


def oracle(inputs, sizes):
    x = inputs["x"].astype(np.float64).reshape(sizes["rows"], sizes["cols"])
    return {"y": 2 * x[:, 1]}


def both(inputs, sizes):
    return oracle(inputs, sizes) | {"z": oracle(inputs, sizes)["y"]}


def all_of_it(inputs, sizes):
    return {"y": 2 * inputs["x"].astype(np.float64)}


HEAD = "// launch k(x, y, rows, cols): grid=cdiv(rows, 64) block=64\n"
ROW = "int r = blockIdx.x * 64 + threadIdx.x; if (r < rows) y[r] = 2 * x[INDEX + 1];"


def graded(tmp_path: Path, body: str, head: str = HEAD, kernels: str = "", *, whole: bool = False) -> Verdict:
    path = tmp_path / "rows.cu"
    parameters = "const float* x, float* y, int rows, int cols"
    path.write_text(f'{head}{kernels}extern "C" __global__ void k({parameters})\n{{\n{body}\n}}\n')
    one = exercise(whole=whole)
    return grade(request_of(one, path, oracle=lambda: all_of_it if whole else oracle, simulator=SimBackend(threads=1)))


def row(index: str) -> str:
    return ROW.replace("INDEX", index)


def test_a_right_index_passes_and_the_case_is_the_largest_that_the_report_names(tmp_path):
    verdict = graded(tmp_path, row("(size_t)r * cols"))
    assert verdict.passed
    assert {case.size["rows"] for case in verdict.cases} == {3, 40, ROWS}
    assert right_words(verdict).endswith(f"the largest with rows={ROWS}, cols={COLS} (three of its blocks)")


@pytest.mark.parametrize(
    ("index", "word", "rule"),
    [
        ("r * cols", "out_of_bounds", "large.negative_index"),
        ("(unsigned)r * cols", "wrong", "large.index_that_begins_again"),
        ("(size_t)(r * 4u * cols) / 4", "wrong", "large.index_that_begins_again"),
        ("(long long)(r * 4 * cols) / 4", "out_of_bounds", "large.negative_index"),
    ],
)
def test_an_index_of_32_bits_is_found_with_its_hint(tmp_path, index, word, rule):
    verdict = graded(tmp_path, row(index))
    assert verdict.verdict == word
    assert verdict.failing_case.size == {"rows": ROWS, "cols": COLS}
    assert verdict.diagnostics[0].rule == rule


def test_a_fence_hides_no_wrong_value(tmp_path):
    assert graded(tmp_path, row("(unsigned)r * cols") + " __threadfence();").verdict == "wrong"


def test_the_wrong_element_is_named_with_its_index_in_the_whole_array(tmp_path):
    verdict = graded(tmp_path, row("(unsigned)r * cols"))
    assert verdict.diagnostics[0].index >= ROWS - 64


def test_blocks_that_walk_over_all_rows_are_judged_like_others(tmp_path):
    head = "// launch k(x, y, rows, cols): grid=200 block=64\n"
    loop = "for (int r = blockIdx.x * 64 + threadIdx.x; r < rows; r += 64 * gridDim.x) y[r] = 2 * x[INDEX + 1];"
    assert graded(tmp_path, loop.replace("INDEX", "(size_t)r * cols"), head).passed
    assert graded(tmp_path, loop.replace("INDEX", "r * cols"), head).verdict == "out_of_bounds"


def test_a_launch_before_the_one_that_counts_hides_nothing(tmp_path):
    kernel = 'extern "C" __global__ void first(float* some) { some[threadIdx.x] = 1; }\n'
    head = "// scratch some: float[32]\n// launch first(some): grid=1 block=32\n" + HEAD
    assert graded(tmp_path, row("(size_t)r * cols"), head, kernel).passed
    assert graded(tmp_path, row("r * cols"), head, kernel).verdict == "out_of_bounds"


ATOMIC = "int r = blockIdx.x / 2; if (threadIdx.x == 0) atomicAdd(&y[r], x[(size_t)r * cols + 1]);"
PART = """extern "C" __global__ void twice(const float* part, float* y, int rows)
{ int r = blockIdx.x * 64 + threadIdx.x; if (r < rows) y[r] = 2 * part[r]; }
"""
PASS = "// scratch part: float[rows]\n// launch k(x, part, rows, cols): grid=cdiv(rows, 64) block=64\n"
NOTHING = {
    "parts of a sum": ("// zero y\n// launch k(x, y, rows, cols): grid=2*rows block=32\n", ATOMIC, ""),
    "a launch that reads another one's results": (
        PASS + "// launch twice(part, y, rows): grid=cdiv(rows, 64) block=64\n",
        row("(size_t)r * cols").replace("2 *", ""), PART,
    ),
    "one block for all": (
        HEAD.replace("cdiv(rows, 64)", "1"),
        "for (int r = threadIdx.x; r < rows; r += 64) { float s = 0; for (int c = 0; c < cols; ++c) "
        "s += c == 1 ? 2 * x[(size_t)r * cols + c] : 0; y[r] = s; }", "",
    ),
    "a grid that does not fit": (
        "// launch k(x, y, rows, cols): grid=(1, rows) block=32\n",
        "if (threadIdx.x == 0) y[blockIdx.y] = 2 * x[(size_t)blockIdx.y * cols + 1];", "",
    ),
    "scratch as large as the array": (
        "// scratch copy: float[rows*cols]\n" + HEAD, row("(size_t)r * cols"), "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("head", "body", "kernels"), NOTHING.values(), ids=NOTHING)
def test_of_whom_three_blocks_show_nothing_passes(tmp_path, head, body, kernels):
    assert graded(tmp_path, body, head, kernels).passed


@pytest.mark.parametrize(("type_name", "word"), [("int", "invalid"), ("unsigned", "invalid"), ("long long", "pass")])
def test_a_number_that_its_parameter_cannot_hold_is_found(tmp_path, type_name, word):
    head = "// launch k(x, y, 16384 * rows, cols): grid=cdiv(rows, 64) block=64\n"
    path = tmp_path / "rows.cu"
    body = "int r = blockIdx.x * 64 + threadIdx.x; if (r < n / 16384) y[r] = 2 * x[(size_t)r * cols + 1];"
    path.write_text(
        f'{head}extern "C" __global__ void k(const float* x, float* y, {type_name} n, int cols) {{ {body} }}\n'
    )
    verdict = grade(request_of(exercise(), path, oracle=lambda: oracle, simulator=SimBackend(threads=1)))
    assert verdict.verdict == word
    if word == "invalid":
        assert verdict.diagnostics[0].cause == "narrow_parameter"
        assert verdict.diagnostics[0].hint == "declare `long long n`"


def test_launches_with_results_of_their_own_are_judged_like_one(tmp_path):
    """As those of a task and of its gradient."""
    path = tmp_path / "pairs.cu"
    line = "// launch {0}({1}, rows, cols): grid=cdiv(rows, 64) block=64\n"
    kernel = 'extern "C" __global__ void {0}(const float* x, float* y, int rows, int cols) {{ {1} }}\n'
    two = Exercise(
        name="pairs", order=1, idea="double", oracle="pairs", small=({"rows": 3, "cols": 32},),
        arrays=(
            Array("x", "float32", "rows*cols"), Array("y", "float32", "rows", role="out"),
            Array("z", "float32", "rows", role="out"),
        ),
        simulated={"rows": 40, "cols": 64}, large=Large({"rows": ROWS, "cols": COLS}, period={"rows": 7}),
    )  # fmt: skip
    for index, word in {"(size_t)r * cols": "pass", "(unsigned)r * cols": "wrong"}.items():
        path.write_text(
            line.format("k", "x, y") + line.format("l", "x, z")
            + kernel.format("k", row("(size_t)r * cols")) + kernel.format("l", row(index))
        )  # fmt: skip
        asked = request_of(two, path, oracle=lambda: both, simulator=SimBackend(threads=1))
        assert grade(asked).verdict == word


ROW_BLOCK = "// launch k(x, y, rows, cols): grid=rows block=128\n"
COPY = "TYPE at = (TYPE)blockIdx.x * cols; for (int c = threadIdx.x; c < cols; c += 128) y[at + c] = 2 * x[SOURCE + c];"


@pytest.mark.parametrize(
    ("type_name", "source", "word"),
    [
        ("size_t", "at", "pass"),
        ("int", "at", "out_of_bounds"),
        ("size_t", "(unsigned)at", "wrong"),
        ("unsigned", "(size_t)blockIdx.x * cols", "wrong"),
    ],
)
def test_outputs_that_are_as_large_repeat_their_memory_too(tmp_path, type_name, source, word):
    body = COPY.replace("TYPE", type_name).replace("SOURCE", source)
    verdict = graded(tmp_path, body, ROW_BLOCK, whole=True)
    assert verdict.verdict == word
    if word == "wrong":
        assert verdict.diagnostics[0].index is None
