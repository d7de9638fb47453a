"""The oracle of exercise tma_copy against a loop, and its trusted check, which runs on the simulator here."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.backends.gpu.reference import device_data
from grader.catalog.courses import built_in_course, resolve_reference
from grader.expressions import evaluate_integer

if TYPE_CHECKING:
    from grader.compile import Program
    from grader.simt.simulate import Call

Arrays = Mapping[str, npt.NDArray[Any]]

COURSE = built_in_course()
CHECK = device_data(COURSE).CHECKS["windows:shift"]
ROWS, COLS, DOWN, RIGHT = 7, 45, 2, 4  # 315 elements: more than one block, and no whole number of blocks


def oracle(x: npt.NDArray[np.float32], rows: int, cols: int, down: int, right: int) -> npt.NDArray[np.float64]:
    numbers = {"rows": rows, "cols": cols, "down": down, "right": right}
    outputs = resolve_reference("windows:shift", COURSE)({"x": x}, numbers)
    out: npt.NDArray[np.float64] = outputs["out"]
    return out


@pytest.mark.parametrize(
    ("rows", "cols", "down", "right"),
    [(1, 1, 1, 1), (1, 7, 1, 2), (7, 1, 3, 1), (3, 5, 1, 4), (33, 31, 5, 8), (3, 5, 9, 2)],
)
def test_shift_puts_every_element_where_the_statement_says(rows: int, cols: int, down: int, right: int) -> None:
    x = np.arange(1, rows * cols + 1, dtype=np.float32)
    out = oracle(x, rows, cols, down, right)
    assert out.dtype == np.float64
    assert out.shape == (rows * cols,)
    for r in range(rows):
        for c in range(cols):
            inside = r >= down and c >= right
            assert out[r * cols + c] == (x[(r - down) * cols + c - right] if inside else 0)


def test_shift_leaves_its_input_alone() -> None:
    x = np.arange(15, dtype=np.float32)
    oracle(x, 3, 5, 1, 4)
    np.testing.assert_array_equal(x, np.arange(15, dtype=np.float32))


@cache
def program() -> Program:
    """The check's sources, joined and compiled as the GPU backend does."""
    from grader.compile import compile_source

    text = "\n".join((COURSE.kernels_ref / "device" / source).read_text() for source in CHECK.sources)
    return compile_source(text.encode(), CHECK.sources[-1])


def judge(x: npt.NDArray[np.float32], out: npt.NDArray[np.float32]) -> tuple[int, int, list[float]]:
    """Bad elements, the first of them, and what the explanation says: index and expected value, if any is bad."""
    untouched = np.array([0, 2**64 - 1, 0], np.uint64)
    found = simulated(CHECK.steps, {"x": x, "out": out, "findings": untouched})["findings"].view(np.uint64)
    told: list[float] = []
    if found[0]:
        arrays: Arrays = {"x": x, "findings": found, "explanation": np.zeros(2)}
        told = simulated((CHECK.explain,), arrays)["explanation"].view(np.float64).tolist()
    return int(found[0]), int(found[1]), told


def simulated(steps: Sequence[Any], arrays: Arrays) -> Mapping[str, npt.NDArray[np.uint8]]:
    """Launch some of the check's steps on the simulator; nothing may be found. The memory afterwards."""
    from grader.simt.engine.code_cache import CodeCache
    from grader.simt.ptx import parse
    from grader.simt.simulate import Memory, simulate

    memories = [Memory(name, np.frombuffer(array.tobytes(), np.uint8), True) for name, array in arrays.items()]
    calls = [call(step, arrays) for step in steps]
    outcome = simulate(parse(program().ptx, CHECK.sources[-1]), memories, calls, cache=CodeCache(program().key))
    assert outcome.complete
    assert outcome.events == ()
    return outcome.memory


def call(step: Any, arrays: Arrays) -> Call:
    """One step's launch: addresses, 64-bit sizes and doubles, as the GPU backend passes them."""
    from grader.simt.simulate import Call

    sizes = {"rows": ROWS, "cols": COLS, "down": DOWN, "right": RIGHT}
    exact = struct.pack("<d", 0.0)
    args = tuple(
        arg if arg in arrays else struct.pack("<q", sizes[arg]) if arg in sizes else exact for arg in step.args
    )
    return Call(step.kernel, (evaluate_integer(step.grid, sizes), 1, 1), (step.block, 1, 1), 0, args)


def a_right_answer() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    x = np.random.default_rng(20250304).integers(1, 2**24, ROWS * COLS).astype(np.float32)
    return x, oracle(x, ROWS, COLS, DOWN, RIGHT).astype(np.float32)


def test_the_check_passes_the_oracles_output() -> None:
    assert judge(*a_right_answer()) == (0, 2**64 - 1, [])


@pytest.mark.parametrize("index", [0, 100, ROWS * COLS - 1])
def test_the_check_finds_one_wrong_bit_and_says_what_it_should_be(index: int) -> None:
    x, out = a_right_answer()
    expected = float(out[index])
    out[index] = np.nextafter(out[index], np.float32(np.inf))
    assert judge(x, out) == (1, index, [index, expected])


def test_the_check_finds_a_nan() -> None:
    x, out = a_right_answer()
    out[7] = np.nan
    assert judge(x, out)[:2] == (1, 7)


def test_the_check_refuses_a_copy_of_the_input() -> None:
    x, out = a_right_answer()
    assert judge(x, x.copy())[:2] == (int((x != out).sum()), 0)


def test_the_check_refuses_an_edge_that_was_not_cleared() -> None:
    x, out = a_right_answer()
    at = DOWN * COLS + RIGHT - 1
    out[at] = x[0]
    assert judge(x, out) == (1, at, [at, 0.0])
