"""calibrate, remove_drift and split_fields: oracles against plain loops, trusted checks on the simulator."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.backends.gpu.reference import device_data
from grader.catalog.courses import built_in_course, resolve_reference
from grader.compile.toolchain import find_toolchain
from grader.expressions import evaluate_integer

if TYPE_CHECKING:
    from grader.compile import Program
    from grader.simt.simulate import Call

Arrays = Mapping[str, npt.NDArray[Any]]
Numbers = Mapping[str, float]

COURSE = built_in_course()
CHECKS: Mapping[str, Any] = device_data(COURSE).CHECKS
NEEDS_NVRTC = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")
UNTOUCHED = np.array([0, 2**64 - 1, 0], np.uint64)


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


@pytest.mark.parametrize("name", TASKS)
def test_an_oracle_leaves_its_input_alone(name: str) -> None:
    x, _ = a_right_answer(name)
    before = x.copy()
    oracle(name, x, TASKS[name].numbers)
    np.testing.assert_array_equal(x, before)


# ------------------------------------------------------------------------------- trusted checks, on the simulator


def a_right_answer(name: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Integers for which every result is exact, none of them where it was and as it was, and the oracle's output."""
    count = 316 if name == "layout:split_fields" else 315
    x = np.random.default_rng(20250305).integers(1, 2**20, count).astype(np.float32)
    return x, oracle(name, x, TASKS[name].numbers).astype(np.float32)


@cache
def program(name: str) -> Program:
    """The check's sources, joined and compiled as the GPU backend does."""
    from grader.compile import compile_source

    sources = CHECKS[name].sources
    text = "\n".join((COURSE.kernels_ref / "device" / source).read_text() for source in sources)
    return compile_source(text.encode(), sources[-1])


def judge(name: str, x: npt.NDArray[np.float32], out: npt.NDArray[np.float32]) -> tuple[int, int, list[float]]:
    """Bad elements, the first of them, and what the explanation says: index and expected value, if any is bad."""
    check, task = CHECKS[name], TASKS[name]
    arrays: Arrays = {task.input: x, task.output: out, "findings": UNTOUCHED}
    found = simulated(name, check.steps, arrays)["findings"].view(np.uint64)
    told: list[float] = []
    if found[0]:
        arrays = {task.input: x, "findings": found, "explanation": np.zeros(2)}
        told = simulated(name, (check.explain,), arrays)["explanation"].view(np.float64).tolist()
    return int(found[0]), int(found[1]), told


def simulated(name: str, steps: Sequence[Any], arrays: Arrays) -> Mapping[str, npt.NDArray[np.uint8]]:
    """Launch some of the check's steps on the simulator; nothing may be found. The memory afterwards."""
    from grader.simt.engine.code_cache import CodeCache
    from grader.simt.ptx import parse
    from grader.simt.simulate import Memory, simulate

    built = program(name)
    memories = [Memory(key, np.frombuffer(array.tobytes(), np.uint8), True) for key, array in arrays.items()]
    calls = [call(TASKS[name], step, arrays) for step in steps]
    outcome = simulate(parse(built.ptx, built.name), memories, calls, cache=CodeCache(built.key))
    assert outcome.complete
    assert outcome.events == ()
    return outcome.memory


def call(task: Task, step: Any, arrays: Arrays) -> Call:
    """One step's launch: addresses, 64-bit sizes and doubles, as the GPU backend passes them. The bounds are 0."""
    from grader.simt.simulate import Call

    def argument(name: str) -> str | bytes:
        if name in arrays:
            return name
        return struct.pack("<q", task.sizes[name]) if name in task.sizes else struct.pack("<d", numbers[name])

    numbers = {**task.scalars, "relative": 0.0, "absolute": 0.0}
    grid = evaluate_integer(step.grid, task.sizes)
    return Call(step.kernel, (grid, 1, 1), (step.block, 1, 1), 0, tuple(map(argument, step.args)))


@NEEDS_NVRTC
@pytest.mark.parametrize("name", TASKS)
def test_a_check_passes_the_oracles_output(name: str) -> None:
    assert judge(name, *a_right_answer(name)) == (0, 2**64 - 1, [])


@NEEDS_NVRTC
@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("index", [0, 100, 314])
def test_a_check_finds_one_wrong_bit_and_says_what_it_should_be(name: str, index: int) -> None:
    x, out = a_right_answer(name)
    expected = float(out[index])
    out[index] = np.nextafter(out[index], np.float32(np.inf))
    assert judge(name, x, out) == (1, index, [index, expected])


@NEEDS_NVRTC
@pytest.mark.parametrize("name", TASKS)
def test_a_check_finds_a_nan(name: str) -> None:
    x, out = a_right_answer(name)
    out[7] = np.nan
    assert judge(name, x, out)[:2] == (1, 7)


@NEEDS_NVRTC
@pytest.mark.parametrize("name", TASKS)
def test_a_check_refuses_a_copy_but_for_what_is_right_by_chance(name: str) -> None:
    x, right = a_right_answer(name)
    assert judge(name, x, x.copy())[0] == np.count_nonzero(x != right) > 300


# ------------------------------------------------------------------------------------------------- the ceiling kernel


@NEEDS_NVRTC
@pytest.mark.parametrize("n", [1, 2047, 2048, 4099])
def test_the_copy_of_eight_floats_a_thread_copies_everything_once(n: int) -> None:
    from grader.compile import compile_source
    from grader.simt.engine.code_cache import CodeCache
    from grader.simt.ptx import parse
    from grader.simt.simulate import Call, Memory, simulate

    built = compile_source((COURSE.kernels_ref / "ceilings" / "copy.cu").read_bytes(), "copy.cu")
    x = np.arange(1, n + 1, dtype=np.float32)
    memories = [Memory(key, np.frombuffer(data.tobytes(), np.uint8), True) for key, data in {"x": x, "y": -x}.items()]
    launch = Call("copy_f32x1_8", (-(-n // 2048), 1, 1), (256, 1, 1), 0, ("x", "y", struct.pack("<q", n)))
    outcome = simulate(parse(built.ptx, built.name), memories, [launch], cache=CodeCache(built.key))
    assert outcome.complete
    assert outcome.events == ()
    np.testing.assert_array_equal(outcome.memory["y"].view(np.float32), x)
