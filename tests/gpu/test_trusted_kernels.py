"""The trusted kernels on a real GPU: inputs equal the host's bit for bit, checks find one wrong element."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.backends.gpu.checks import generator
from grader.backends.gpu.reference import ceiling_data, device_data
from grader.catalog.courses import built_in_course, resolve_reference
from grader.exercise import Array, Values
from grader.expressions import cdiv, evaluate, evaluate_integer
from grader.gpus import detect as device
from grader.inputs import make_array, stream

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(device.count() == 0, reason="there is no GPU here")]

ROOT = built_in_course().kernels_ref
DEVICE, CEILINGS = device_data(built_in_course()), ceiling_data(built_in_course()).CEILINGS
SIZES = {
    "elementwise:add": {"n": 100_003},
    "elementwise:saxpy": {"n": 100_003},
    "elementwise:saxpy_reversed": {"n": 100_003},
    "elementwise:saxpy_clamped": {"n": 100_003},
    "elementwise:add_relu": {"n": 100_003},
    "elementwise:calibrate": {"n": 100_003},
    "elementwise:remove_drift": {"rows": 37, "cols": 1025},
    "reduction:sum": {"n": 100_003},
    "softmax:rows": {"rows": 37, "cols": 1025},
    "softmax:log_rows": {"rows": 37, "cols": 1025},
    "layout:transpose": {"rows": 37, "cols": 1025},
    "layout:split_fields": {"n": 10_007},
    "layout:join_fields": {"n": 10_007},
    "layout:regroup": {"rows": 257},
    "execution:decode": {"n": 10_007, "rounds": 3},
    "execution:distances": {"n": 1003, "m": 77},
    "gemm:matvec": {"m": 49, "k": 1032},
    "gemm:matmul": {"m": 48, "n": 160, "k": 80},
    "gemm:matmul_f32": {"m": 49, "n": 300, "k": 84},
    "gemm:matmul_i8": {"m": 49, "n": 300, "k": 96},
}
SHAPES = {
    "elementwise:add": {"a": ("float32", "n"), "b": ("float32", "n")},
    "elementwise:saxpy": {"x": ("float32", "n"), "y": ("float32", "n")},
    "elementwise:saxpy_reversed": {"x": ("float32", "n"), "y": ("float32", "n")},
    "elementwise:saxpy_clamped": {"x": ("float32", "n"), "y": ("float32", "n")},
    "elementwise:add_relu": {"a": ("float16", "n"), "b": ("float16", "n")},
    "elementwise:calibrate": {"x": ("float32", "n")},
    "elementwise:remove_drift": {"x": ("float32", "rows*cols")},
    "reduction:sum": {"x": ("float32", "n")},
    "softmax:rows": {"x": ("float32", "rows*cols")},
    "softmax:log_rows": {"x": ("float32", "rows*cols")},
    "layout:transpose": {"x": ("float32", "rows*cols")},
    "layout:split_fields": {"particles": ("float32", "4*n")},
    "layout:join_fields": {"planes": ("float32", "4*n")},
    "layout:regroup": {"x": ("float32", "32*rows")},
    "execution:decode": {"x": ("uint32", "n")},
    "execution:distances": {"x": ("float32", "n"), "y": ("float32", "m")},
    "gemm:matvec": {"A": ("float16", "m*k"), "x": ("float16", "k")},
    "gemm:matmul": {"A": ("float16", "m*k"), "B": ("float16", "k*n")},
    "gemm:matmul_f32": {"A": ("float32", "m*k"), "B": ("float32", "k*n")},
    "gemm:matmul_i8": {"A": ("int8", "m*k"), "B": ("int8", "n*k")},
}
ORACLES = {"gemm:matmul_f32": "gemm:matmul"}  # the check's own name where not named
SCALARS = {
    "elementwise:saxpy": {"alpha": 2.5},
    "elementwise:saxpy_reversed": {"alpha": 2.5},
    "elementwise:saxpy_clamped": {"alpha": 2.5},
    "elementwise:calibrate": {"gain": 1.5, "offset": 0.75},
    "elementwise:remove_drift": {"slope": 0.75},
}
# float32 where not named
OUTPUT_TYPES = {"elementwise:add_relu": "float16", "gemm:matmul_i8": "int32", "execution:decode": "uint32"}
RELATIVE, ABSOLUTE = {"float32": 1e-5, "float16": 2**-10, "int32": 0.0, "uint32": 0.0}, 1e-4


@cache
def module(*paths: Path) -> Any:
    """The CUDA files, joined and compiled by our own pipeline for this GPU."""
    from cupy.cuda import Device
    from cupy.cuda.function import Module

    from grader.compile import assemble, compile_source

    source = "\n".join(path.read_text() for path in paths)
    program = compile_source(source.encode(), paths[-1].name)
    loaded = Module()
    loaded.load(assemble(program, f"sm_{Device().compute_capability}"))
    return loaded


def launch(loaded: Any, kernel: str, grid: int, block: int, args: tuple[Any, ...]) -> None:
    loaded.get_function(kernel)((grid, 1, 1), (block, 1, 1), args)


def address(array: Any) -> np.uint64:
    return np.uint64(array.data.ptr)


def number(value: float) -> np.generic:
    return np.float64(value) if isinstance(value, float) else np.int64(value)


class OnDevice:
    """One task's arrays on the GPU, and its check; ``expected`` has all outputs, one after another."""

    def __init__(self, name: str) -> None:
        import cupy

        self.name, self.check, self.size = name, DEVICE.CHECKS[name], SIZES[name]
        self.dtype = OUTPUT_TYPES.get(name, "float32")
        self.numbers = {**SCALARS.get(name, {}), **self.size}
        inputs = {
            key: make_array(Array(key, dtype, count), evaluate_integer(count, self.size), 7, "real")  # type: ignore[arg-type]  # the dtypes of SHAPES
            for key, (dtype, count) in SHAPES[name].items()
        }
        self.outputs = resolve_reference(ORACLES.get(name, name), built_in_course())(inputs, self.numbers)
        self.expected = np.concatenate(list(self.outputs.values()))
        self.arrays = {key: cupy.asarray(value) for key, value in inputs.items()}
        for scratch in self.check.scratch:
            count = evaluate_integer(scratch.count, self.size)
            self.arrays[scratch.name] = cupy.asarray(np.random.default_rng(1).integers(0, 2, count).astype(np.float64))

    def judge(self, output: npt.NDArray[np.generic]) -> tuple[int, int, float]:
        """Bad elements, the index explained, and what was expected there."""
        import cupy

        findings = cupy.asarray(np.array([0, 2**64 - 1, 0], np.uint64))
        explanation = cupy.zeros(2, cupy.float64)
        ends = np.cumsum([len(each) for each in self.outputs.values()])
        given = {key: cupy.asarray(part) for key, part in zip(self.outputs, np.split(output, ends[:-1]), strict=True)}
        known = {**self.arrays, **given, "findings": findings, "explanation": explanation}
        values = {**self.numbers, "relative": RELATIVE[self.dtype], "absolute": ABSOLUTE}
        loaded = module(*(ROOT / "device" / source for source in self.check.sources))
        for step in (*self.check.steps, self.check.explain):
            args = tuple(
                address(known[a]) if a in known else number(values[a] if a in values else int(a)) for a in step.args
            )
            if step is not self.check.explain or int(findings[0]):
                launch(loaded, step.kernel, evaluate_integer(step.grid, self.size), step.block, args)
        return int(findings[0]), int(explanation[0]), float(explanation[1])


@pytest.mark.parametrize("name", DEVICE.CHECKS)
def test_a_check_passes_the_oracles_output(name: str) -> None:
    task = OnDevice(name)
    assert task.judge(task.expected.astype(task.dtype))[0] == 0


@pytest.mark.parametrize("name", DEVICE.CHECKS)
@pytest.mark.parametrize("change", ["off", "nan"])
def test_a_check_finds_one_wrong_element_and_says_what_it_should_be(name: str, change: str) -> None:
    task = OnDevice(name)
    output = task.expected.astype(task.dtype)
    floating = output.dtype.kind == "f"
    if change == "nan" and not floating:
        pytest.skip("an integer is always a number")
    wrong = len(output) // 2
    output[wrong] = np.nan if change == "nan" else output[wrong] + (0.25 if floating else 1)
    bad, index, expected = task.judge(output)
    assert (bad, index) == (1, wrong)
    assert expected == pytest.approx(task.expected[wrong], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", DEVICE.CHECKS)
def test_a_check_refuses_zeros(name: str) -> None:
    task = OnDevice(name)
    assert task.judge(np.zeros_like(task.expected, task.dtype))[0] > 0


FLOATS = [dtype for dtype in DEVICE.GENERATED_TYPES if np.dtype(dtype).kind == "f"]
BOUNDS = Values(0, 100, -1.7, 120.3)
SHAPED = [replace(BOUNDS, shape=shape, outlier=outlier) for shape in ("uniform", "normal") for outlier in (None, -60.1)]  # type: ignore[arg-type]  # both shapes
SHAPED.append(replace(BOUNDS, rising=True))


@pytest.mark.parametrize(
    ("dtype", "kind", "values"),
    [
        *((dtype, "exact", BOUNDS) for dtype in DEVICE.GENERATED_TYPES),
        *((dtype, "real", values) for dtype in FLOATS for values in SHAPED),
        ("int32", "exact", Values(exact_low="-n", exact_high="n - 1")),
        ("int32", "exact", Values(permutation=True)),
        ("int32", "exact", Values(0, "5*n", rising=True, skew=3)),
        ("int32", "exact", Values(0, (1 << 31) - 2, rising=True, skew=1, width=70000)),
    ],
)
@pytest.mark.parametrize("count", [1, 70_001, (1 << 22) + 1])
def test_generated_inputs_equal_the_hosts_bit_for_bit(dtype: Any, kind: Any, values: Values, count: int) -> None:
    import cupy

    if count > 1 << 22 and (kind, values.outlier, dtype) not in {("exact", None, "int32"), ("real", -60.1, "float32")}:
        pytest.skip("the large size only for some")
    seed, sample, size = 2**63 + 12345, 3, {"n": count}
    array = Array("x", dtype, "n", values=values)
    form, last = generator(array, kind, size)
    types = {"i64": np.int64, "u64": np.uint64, "f64": np.float64}
    given = (np.uint64(count), np.uint64(seed), np.uint64(stream("x")), np.uint64(sample))
    args = (*given, *(types[name](value) for name, value in last))
    out, changed = cupy.zeros(count, dtype), cupy.zeros(1, cupy.uint64)
    loaded, suffix = module(ROOT / "device" / DEVICE.GENERATOR), f"{form}_{DEVICE.GENERATED_TYPES[dtype]}"
    launch(loaded, f"generate_{suffix}", cdiv(cdiv(count, 4), 256), 256, (address(out), *args))
    assert out.get().tobytes() == make_array(array, count, seed, kind, sample, size=size).tobytes()
    out[count // 3] += 1
    launch(loaded, f"unchanged_{suffix}", cdiv(cdiv(count, 4), 256), 256, (address(out), *args, address(changed)))
    assert int(changed[0]) == 1


@pytest.mark.parametrize("name", [name for name, ceiling in CEILINGS.items() if ceiling.kernel])
def test_a_ceiling_runs_at_a_size_that_is_no_multiple_of_anything(name: str) -> None:
    import cupy

    ceiling = CEILINGS[name]
    numbers: dict[str, float] = {"bytes": 12 * 16 * 1009, "flops": 10**9, "sm_count": 3}
    for key, expression in ceiling.numbers:
        numbers[key] = evaluate(expression, numbers)
    arrays: dict[str, Any] = {"sink": cupy.zeros(1, cupy.uint32)}
    arrays |= {a.name: cupy.zeros(evaluate_integer(a.bytes, numbers), cupy.uint8) for a in ceiling.arrays}
    args = tuple(
        address(arrays[a])
        if a in arrays
        else np.float32(numbers[a])
        if isinstance(numbers[a], float)
        else number(numbers[a])
        for a in ceiling.args
    )
    loaded = module(ROOT / "ceilings" / ceiling.file)
    launch(loaded, ceiling.kernel, evaluate_integer(ceiling.grid, numbers), ceiling.block, args)
    cupy.cuda.get_current_stream().synchronize()
    assert int(arrays["sink"][0]) == 0
