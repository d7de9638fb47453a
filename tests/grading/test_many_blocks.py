"""Cases with more blocks than a block has threads, for blocks that put their results together, and cases for grids that
grow no further."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grader.compile import Entry, Parameter, Program
from grader.exercise import Array, Exercise, Large, Values, Work
from grader.grading.cases import CaseBook, case_run
from grader.grading.many_blocks import MOST_WORK_BEYOND_A_LIMIT, REPEATED, cases_of_many_blocks
from grader.grading.records import Case, CompiledSubmission
from grader.launch import DeviceLimits, Launch, LaunchPlan, parse_launches

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
    program = Program("total.cu", lines + KERNEL, ptx, "sm_80", (ENTRY, replace(ENTRY, name="scale")), "key")
    compiled = CompiledSubmission(program, parse_launches(program.source, file=program.name))
    return cases_of_many_blocks(exercise, compiled, DeviceLimits(), 1)


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
    (n,) = sizes(CAPPED.replace("99", "999999"), ATOMIC, replace(EXERCISE, secret={"n": (36, 900, 32)}))
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


def test_the_last_elements_are_the_last_blocks() -> None:
    (n,) = sizes(CAPPED, ATOMIC)
    assert n % 500 == 1


def test_each_kernel_has_many_blocks_not_only_the_one_with_the_smallest_share() -> None:
    fine = "// launch scale(x, out, n): grid=cdiv(n, 10) block=32\n"
    assert sizes(CAPPED, LOAD)[:1] == []
    (n,) = sizes(CAPPED + fine, LOAD)
    assert n // 500 > 64


def test_values_rise_where_the_exercise_has_such_so_that_the_last_block_counts() -> None:
    first, *rest = EXERCISE.arrays
    rising = replace(first, unusual=(Values(), Values(low=-2.0, high=2.0, rising=True)))
    (case,) = cases(CAPPED, ATOMIC, replace(EXERCISE, arrays=(rising, *rest)))
    assert (case.values, case.repeats) == ("unusual_2", {})


LIMITED = "// launch total(x, out, n): grid=min(cdiv(n, 32), 4000) block=32\n"
DRAWN = replace(EXERCISE, secret={"n": (1, 900, 1)})


@pytest.mark.parametrize(
    ("line", "least"),
    [
        (LIMITED, 4000 * 32),
        (LIMITED.replace("4000", "32"), 32 * 32),  # of the simulated size, nearly
        (LIMITED.replace("min(cdiv(n, 32), 4000)", "cdiv(min(n, 200000), 32)"), 200_000),
    ],
)
def test_a_grid_that_grows_no_further_runs_once_at_a_size_that_is_too_large_for_it(line: str, least: int) -> None:
    (case,) = cases(line, LOAD, DRAWN)
    assert least < case.size["n"] < 1.1 * least + 64
    assert case.many_blocks


@pytest.mark.parametrize(
    "line",
    [
        LIMITED.replace("min(cdiv(n, 32), 4000)", "cdiv(n, 32)"),
        LIMITED.replace("4000", "20"),  # the simulated size is too large for it
        LIMITED.replace("4000", "30000"),  # the timed size is hardly larger
        LIMITED.replace("min(cdiv(n, 32), 4000)", "264"),
    ],
)
def test_a_grid_without_such_a_limit_does_not(line: str) -> None:
    assert cases(line, LOAD, DRAWN) == ()


def test_the_limit_of_each_axis_is_exceeded_where_the_others_are_narrow() -> None:
    sheet = replace(
        EXERCISE, arrays=(Array("x", "float32", "rows*cols"), EXERCISE.arrays[1]), work=Work("4 * rows * cols"),
        small=({"rows": 1, "cols": 1}, {"rows": 40, "cols": 33}), simulated={"rows": 64, "cols": 64},
        secret={"rows": (1, 90, 1), "cols": (1, 90, 1)}, timed={"rows": 8192, "cols": 8192},
    )  # fmt: skip
    line = "// launch total(x, out, rows): grid=(cdiv(cols, 32), min(cdiv(rows, 32), 8)) block=32\n"
    (case,) = cases(line, LOAD, sheet)
    assert 256 < case.size["rows"] < 320
    assert case.size["cols"] == 33


def test_a_promise_of_larger_sizes_counts_and_too_much_work_does_not_run() -> None:
    far = replace(DRAWN, timed={"n": 2000})
    assert cases(LIMITED, LOAD, far) == ()
    assert cases(LIMITED, LOAD, replace(far, large=Large({"n": (1 << 31) - 1}, {"n": 1})))
    heavy = replace(DRAWN, work=Work(f"n * {MOST_WORK_BEYOND_A_LIMIT // 100_000}"))
    assert cases(LIMITED, LOAD, heavy) == ()


def test_threads_of_many_blocks_have_instructions_beside_those_of_the_work() -> None:
    case = Case({"n": 1000}, "real")
    book = CaseBook(DRAWN, lambda inputs, _: {"out": np.zeros(1)}, 1)
    plan = LaunchPlan((Launch("total", (), (1000, 1, 1), (32, 1, 1)),))
    few, many = (case_run(DRAWN, one, book.data(case), plan) for one in (case, replace(case, many_blocks=True)))
    assert many.instructions - few.instructions == 500 * 32_000
