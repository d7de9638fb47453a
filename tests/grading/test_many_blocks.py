"""One case with more blocks than a block has threads, for blocks that put their results together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grader.compile import Entry, Parameter, Program
from grader.exercise import Array, Exercise, Work
from grader.grading.cases import REPEATED, CaseBook, case_of_many_blocks, case_run
from grader.grading.records import Case, CompiledSubmission
from grader.launch import DeviceLimits, LaunchPlan, parse_launches

EXERCISE = Exercise(
    name="total", order=1, idea="a sum", arrays=(Array("x", "float32", "n"), Array("out", "float32", "1", role="out")),
    oracle="reduction:sum", small=({"n": 1},), simulated={"n": 1000}, timed={"n": 1 << 20}, work=Work("4 * n"),
)  # fmt: skip
ENTRY = Entry("total", (Parameter("u64", 8, 8), Parameter("u64", 8, 8), Parameter("u32", 4, 4)))
KERNEL = 'extern "C" __global__ void total(const float *x, float *out, int n) {}\n'
CAPPED = "// launch total(x, out, n): grid=min(cdiv(n, 500), 99) block=32\n"
SECOND = "// launch total(x, out, n): grid=1 block=32\n"
LOAD, ATOMIC = "ld.global.f32 %f1, [%rd1];", "atom.global.inc.u32 %r1, [%rd1], 1;"


def cases(lines: str, ptx: str, exercise: Exercise = EXERCISE) -> tuple[Case, ...]:
    program = Program("total.cu", lines + KERNEL, ptx, "sm_80", (ENTRY,), "key")
    compiled = CompiledSubmission(program, parse_launches(program.source, file=program.name))
    return case_of_many_blocks(exercise, compiled, DeviceLimits(), 1)


def sizes(lines: str, ptx: str, exercise: Exercise = EXERCISE) -> list[int]:
    return [case.size["n"] for case in cases(lines, ptx, exercise)]


@pytest.mark.parametrize(
    ("lines", "ptx", "more_than"),
    [
        (CAPPED, ATOMIC, 32),
        (CAPPED + SECOND, LOAD, 64),  # a third round of a block that goes over them
        (CAPPED.replace("99", "60") + SECOND, LOAD, 32),  # there is no third round
    ],
)
def test_blocks_that_work_together_run_once_with_more_blocks_than_threads(lines: str, ptx: str, more_than: int) -> None:
    (n,) = sizes(lines, ptx)
    assert more_than < n // 500 <= more_than + 4


def test_a_third_round_is_left_out_where_it_is_too_much_work() -> None:
    wide = replace(EXERCISE, work=Work("4 * n * max(1, n // 30000 * 4000)"))
    assert sizes(CAPPED + SECOND, LOAD, wide)[0] // 500 <= 36


def test_its_size_is_one_that_the_statement_allows() -> None:
    (n,) = sizes(CAPPED, ATOMIC, replace(EXERCISE, secret={"n": (36, 900, 32)}))
    assert n % 32 == 4


@pytest.mark.parametrize(
    ("lines", "ptx"),
    [
        (CAPPED, LOAD),  # each block has a result of its own
        (CAPPED.replace("99", "32"), ATOMIC),  # no size has more blocks than threads
        (CAPPED.replace("500", "5"), ATOMIC),  # the simulated size has
        (CAPPED.replace("500", "40000"), ATOMIC),  # the timed one has not
        (CAPPED.replace("block=32", "block=n//1000"), ATOMIC),  # blocks of 1048 threads cannot be launched
    ],
)
def test_other_programs_do_not(lines: str, ptx: str) -> None:
    assert sizes(lines, ptx) == []


def test_a_large_input_repeats_a_part_of_it() -> None:
    exercise = replace(EXERCISE, timed={"n": 1 << 24})
    (case,) = cases(CAPPED.replace("500", "100000"), ATOMIC, exercise)
    n = case.size["n"]
    assert n > 3_000_000
    book = CaseBook(exercise, lambda inputs, _: {"out": np.array([inputs["x"].sum(dtype=np.float64)])}, 1)
    data = book.data(case)
    x = data.inputs["x"]
    assert (x.size, x[REPEATED:].tolist()) == (n, x[:-REPEATED].tolist())
    assert data.expected["out"][0] == x.sum(dtype=np.float64) != 0
    given, _ = case_run(exercise, case, data, LaunchPlan(())).buffers
    assert given.data is not None
    assert (given.count, given.period, given.data.size) == (n, REPEATED, REPEATED)
    small = Case({"n": 1000}, "exact")
    assert case_run(exercise, small, book.data(small), LaunchPlan(())).buffers[0].period == 0


def test_not_where_it_takes_long() -> None:
    assert sizes(CAPPED, ATOMIC, replace(EXERCISE, work=Work("4 * n", "2000 * n")))
    assert not sizes(CAPPED, ATOMIC, replace(EXERCISE, work=Work("4 * n", "20000 * n")))
