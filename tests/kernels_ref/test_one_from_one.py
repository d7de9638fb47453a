"""Each output from one input: calibrate, remove_drift, split_fields, transpose and shift.

Their oracles against plain loops, their trusted checks on the simulator.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from grader.catalog.courses import resolve_reference
from grader.simt.simulate import Call
from tests.kernels_ref.trusted import COURSE, NEEDS_NVRTC, NONE_BAD, Numbers, judge, launched


@dataclass(frozen=True)
class Task:
    """One oracle's name, its sizes and scalars, and the names of its input and output."""

    sizes: Mapping[str, int]
    scalars: Numbers
    input: str
    output: str

    @property
    def numbers(self) -> Numbers:
        return {**self.sizes, **self.scalars}


# 315 elements: more than one block, and no whole number of blocks; 316 for records of four.
TASKS: Mapping[str, Task] = {
    "elementwise:calibrate": Task({"n": 315}, {"gain": 1.5, "offset": 0.75}, "x", "out"),
    "elementwise:remove_drift": Task({"rows": 7, "cols": 45}, {"slope": 0.75}, "x", "out"),
    "layout:split_fields": Task({"n": 79}, {}, "particles", "planes"),
    "layout:join_fields": Task({"n": 79}, {}, "planes", "particles"),
    "layout:transpose": Task({"rows": 7, "cols": 45}, {}, "x", "out"),
    "windows:shift": Task({"rows": 7, "cols": 45, "down": 2, "right": 4}, {}, "x", "out"),
}


def oracle(name: str, x: npt.NDArray[np.float32], numbers: Numbers) -> npt.NDArray[np.float64]:
    outputs = resolve_reference(name, COURSE)({TASKS[name].input: x}, numbers)
    out: npt.NDArray[np.float64] = outputs[TASKS[name].output]
    assert list(outputs) == [TASKS[name].output]
    assert out.dtype == np.float64
    assert out.shape == x.shape
    return out


# -------------------------------------------------------------------------------------------------------------- oracles


def test_calibrate_scales_then_shifts_and_keeps_the_bits_that_a_float32_would_lose() -> None:
    x = np.array([0, -1, 2**24 + 2, 0.1], np.float32)
    out = oracle("elementwise:calibrate", x, {"n": 4, "gain": 1.5, "offset": 0.75})
    assert out.tolist() == [0.75, -0.75, 1.5 * (2**24 + 2) + 0.75, 1.5 * float(x[3]) + 0.75]


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (5, 1), (1, 7), (3, 8), (4, 33)])
def test_remove_drift_takes_the_same_ramp_off_every_row(rows: int, cols: int) -> None:
    x = np.random.default_rng(1).uniform(-1, 1, rows * cols).astype(np.float32)
    out = oracle("elementwise:remove_drift", x, {"rows": rows, "cols": cols, "slope": 0.75})
    for r in range(rows):
        for c in range(cols):
            assert out[r * cols + c] == float(x[r * cols + c]) - 0.75 * c


@pytest.mark.parametrize("n", [1, 2, 7, 33])
def test_split_fields_puts_every_field_where_the_statement_says(n: int) -> None:
    particles = np.arange(4 * n, dtype=np.float32)
    planes = oracle("layout:split_fields", particles, {"n": n})
    for i in range(n):
        for f in range(4):
            assert planes[f * n + i] == particles[4 * i + f]


@pytest.mark.parametrize("n", [1, 2, 7, 33])
def test_join_fields_is_the_way_back(n: int) -> None:
    particles = np.arange(4 * n, dtype=np.float32)
    planes = oracle("layout:split_fields", particles, {"n": n}).astype(np.float32)
    assert oracle("layout:join_fields", planes, {"n": n}).tolist() == particles.tolist()


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (1, 7), (7, 1), (3, 5), (33, 31)])
def test_transpose_puts_every_element_where_the_statement_says(rows: int, cols: int) -> None:
    x = np.arange(rows * cols, dtype=np.float32)
    out = oracle("layout:transpose", x, {"rows": rows, "cols": cols})
    for r in range(rows):
        for c in range(cols):
            assert out[c * rows + r] == x[r * cols + c]


@pytest.mark.parametrize(
    ("rows", "cols", "down", "right"),
    [(1, 1, 1, 1), (1, 7, 1, 2), (7, 1, 3, 1), (3, 5, 1, 4), (33, 31, 5, 8), (3, 5, 9, 2)],
)
def test_shift_puts_every_element_where_the_statement_says(rows: int, cols: int, down: int, right: int) -> None:
    x = np.arange(1, rows * cols + 1, dtype=np.float32)
    out = oracle("windows:shift", x, {"rows": rows, "cols": cols, "down": down, "right": right})
    for r in range(rows):
        for c in range(cols):
            inside = r >= down and c >= right
            assert out[r * cols + c] == (x[(r - down) * cols + c - right] if inside else 0)


@pytest.mark.parametrize("name", TASKS)
def test_an_oracle_leaves_its_input_alone(name: str) -> None:
    x, _ = a_right_answer(name)
    before = x.copy()
    oracle(name, x, TASKS[name].numbers)
    np.testing.assert_array_equal(x, before)


# ------------------------------------------------------------------------------- trusted checks, on the simulator


def a_right_answer(name: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Integers for which every result is exact, none of them where it was and as it was, and the oracle's output."""
    count = 316 if name.endswith("_fields") else 315
    x = np.random.default_rng(20250305).integers(1, 2**20, count).astype(np.float32)
    return x, oracle(name, x, TASKS[name].numbers).astype(np.float32)


def judged(name: str, x: npt.NDArray[np.float32], out: npt.NDArray[np.float32]) -> tuple[int, int, list[float]]:
    task = TASKS[name]
    return judge(name, {task.input: x, task.output: out}, task.sizes, **task.scalars)


@NEEDS_NVRTC
@pytest.mark.parametrize("name", TASKS)
def test_a_check_passes_the_oracles_output(name: str) -> None:
    assert judged(name, *a_right_answer(name)) == NONE_BAD


@NEEDS_NVRTC
@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("index", [0, 100, 314])
def test_a_check_finds_one_wrong_bit_and_says_what_it_should_be(name: str, index: int) -> None:
    x, out = a_right_answer(name)
    expected = float(out[index])
    out[index] = np.nextafter(out[index], np.float32(np.inf))
    assert judged(name, x, out) == (1, index, [index, expected])


@NEEDS_NVRTC
@pytest.mark.parametrize("name", TASKS)
def test_a_check_finds_a_nan(name: str) -> None:
    x, out = a_right_answer(name)
    out[7] = np.nan
    assert judged(name, x, out)[:2] == (1, 7)


@NEEDS_NVRTC
@pytest.mark.parametrize("name", TASKS)
def test_a_check_refuses_a_copy_but_for_what_is_right_by_chance(name: str) -> None:
    x, right = a_right_answer(name)
    assert judged(name, x, x.copy())[0] == np.count_nonzero(x != right) > 300


@NEEDS_NVRTC
def test_the_check_of_shift_refuses_an_edge_that_was_not_cleared() -> None:
    x, out = a_right_answer("windows:shift")
    out[93] = x[0]  # the last of the edge in row 2
    assert judged("windows:shift", x, out) == (1, 93, [93, 0.0])


# ------------------------------------------------------------------------------------------------- the ceiling kernel


@NEEDS_NVRTC
@pytest.mark.parametrize("n", [1, 2047, 2048, 4099])
def test_the_copy_of_eight_floats_a_thread_copies_everything_once(n: int) -> None:
    x = np.arange(1, n + 1, dtype=np.float32)
    launch = Call("copy_f32x1_8", (-(-n // 2048), 1, 1), (256, 1, 1), 0, ("x", "y", struct.pack("<q", n)))
    memory = launched(COURSE.kernels_ref / "ceilings" / "copy.cu", [launch], {"x": x, "y": -x})
    np.testing.assert_array_equal(memory["y"].view(np.float32), x)
