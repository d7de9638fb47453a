"""Tensor maps: the line, its numbers, every error, and the way of a map to the driver."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest

from grader.backends.base import Buffer, CaseRun
from grader.backends.gpu.cuda import _ENCODE, encode
from grader.backends.plans import resolve
from grader.backends.sim.session import case_request
from grader.compile import Entry, Parameter, Program, compile_source
from grader.errors import SubmissionError, Unsupported
from grader.exercise import Array, Exercise
from grader.launch import DeviceLimits, LaunchPlan, TensorMap, parse_launches, resolve_launches
from grader.reading import from_json
from grader.verdict import Diagnostic

EXERCISE = Exercise(
    name="tiles",
    order=1,
    idea="an exercise for these tests",
    arrays=(Array("a", "float16", "m*k"), Array("c", "float32", "m*k", role="out")),
    oracle="none:none",
    small=({"m": 16, "k": 16},),
    simulated={"m": 96, "k": 160},
)
SIZE = {"m": 96, "k": 160}
MAP, POINTER, INT = Parameter("b8", 128, 64), Parameter("u64", 8, 8), Parameter("u32", 4, 4)
KERNEL = """
#include <cuda.h>
extern "C" __global__ void tiles(const __grid_constant__ CUtensorMap a_tiles, float* c, int m)
{
    extern __shared__ char tile[];
    asm volatile("prefetch.tensormap [%0];" ::"l"(&a_tiles) : "memory");
    c[0] = m + tile[0];
}
"""
LAUNCH = "// launch tiles(a_tiles, c, m): grid=1 block=32 shared=1024\n"
LINE = "// tensor_map a_tiles = a: shape=(m, k) box=(64, 32)"


def program(*parameters: Parameter, source: str = KERNEL) -> Program:
    return Program("tiles.cu", source, "", "sm_90a", (Entry("tiles", parameters),), "")


def plan(lines: str, compiled: Program | None = None, kernel: str = KERNEL) -> LaunchPlan:
    script = parse_launches(lines + kernel, file="tiles.cu")
    return resolve_launches(script, EXERCISE, SIZE, DeviceLimits(), compiled)


def only_map(line: str) -> TensorMap:
    (made,) = plan(f"{line}\n{LAUNCH}").tensor_maps
    return made


def complaint(line: str, launch: str = LAUNCH, **more: object) -> Diagnostic:
    with pytest.raises(SubmissionError) as caught:
        plan(f"{line}\n{launch}", **more)
    assert caught.value.verdict == "invalid"
    return caught.value.diagnostics[0]


# ----------------------------------------------------------------------------------------------------- what lines mean


def test_a_line_becomes_a_map_with_numbers() -> None:
    made = only_map("// tensor_map a_tiles = a: shape=(m, k) box=(BM, 64) swizzle=128\n#define BM (2 * 64)")
    assert made == TensorMap("a_tiles", "a", "float16", (96, 160), (320,), (128, 64), swizzle=128, line=1)


@pytest.mark.parametrize(
    ("options", "shape", "strides", "box"),
    [
        ("shape=m*k box=256", (15360,), (), (256,)),
        ("shape=(4, 24, k) box=(1, 8, 32)", (4, 24, 160), (7680, 320), (1, 8, 32)),
        ("shape=(m, 64) strides=k box=(64, 64)", (96, 64), (320,), (64, 64)),
        ("shape=(m/2, 2, 32) strides=(2*k, k) box=(8, 2, 32)", (48, 2, 32), (640, 320), (8, 2, 32)),
        ("box=(8, 8), shape=(m, k), swizzle=32, promotion=256", (96, 160), (320,), (8, 8)),
    ],
)
def test_dimensions_go_from_the_outermost_to_the_innermost(
    options: str, shape: tuple[int, ...], strides: tuple[int, ...], box: tuple[int, ...]
) -> None:
    made = only_map(f"// tensor_map a_tiles = a: {options}")
    assert (made.shape, made.strides, made.box) == (shape, strides, box)


def test_a_scratch_array_can_have_a_map() -> None:
    made = only_map("// scratch half_way: float[m * 64]\n// tensor_map a_tiles = half_way: shape=(m, 64) box=(8, 32)")
    assert (made.buffer, made.dtype, made.strides) == ("half_way", "float32", (256,))


def test_the_name_is_an_argument() -> None:
    made = plan(f"{LINE}\n{LAUNCH}", program(MAP, POINTER, INT))
    assert made.launches[0].args == ("a_tiles", "c", 96)


def test_prose_about_tensor_maps_is_prose() -> None:
    made = plan("// tensor_map objects are 128 bytes long\n// launch tiles(a, c, m): grid=1 block=32\n")
    assert made.tensor_maps == ()


# -------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("line", "words", "hint"),
    [
        ("// tensor_map a_tiles = a: box=(64, 32)", "the tensor_map line has no shape=", "write it like"),
        ("// tensor_map a_tiles = a: shape=(m, k)", "the tensor_map line has no box=", "write it like"),
        (f"{LINE} swizle=128", "a tensor_map line has no option 'swizle'", "did you mean 'swizzle'?"),
        (f"{LINE} box=8", "box is given twice", ""),
        (f"{LINE} cooperative", "a tensor_map line has no option 'cooperative'", "shape, box, swizzle"),
        ("// tensor_map a_tiles: shape=(m, k) box=(64, 32)", "this is nearly a launch line", "// tensor_map"),
        ("// tensormap a_tiles = a: shape=(m, k) box=(64, 32)", "first word is not `tensor_map`", "// tensor_map"),
        ("// tensor_map a_tiles = b: shape=(m, k) box=(64, 32)", "no array 'b' to make a tensor map of", "a, c"),
        ("// tensor_map m = a: shape=(m, k) box=(64, 32)", "'m' is already a number of the exercise", ""),
        ("// tensor_map c = a: shape=(m, k) box=(64, 32)", "'c' is already an array of the exercise", ""),
        (f"{LINE}\n{LINE}", "'a_tiles' is already a tensor map", ""),
        ("// tensor_map a_tiles = a: shape=(1,1,1,1,1,k) box=8", "not a list of one to five numbers", ""),
        ("// tensor_map a_tiles = a: shape=(m, k) box=32", "box= has 1 dimension, and shape= has 2", "same order"),
        ("// tensor_map a_tiles = a: shape=(0, k) box=(8, 32)", "an extent of shape= is 0 at m=96, k=160", ""),
        (
            "// tensor_map a_tiles = a: shape=(m, k) box=(2*k, 32)",
            "an extent of box= is 320 (2*k); it must be from 1 to 256",
            "several boxes",
        ),
        ("// tensor_map a_tiles = a: shape=(m, k) box=(8, 12)", "12 elements of 2 bytes, 24 bytes; TMA needs", ""),
        (
            "// tensor_map a_tiles = a: shape=(m, k) box=(8, 64) swizzle=64",
            "64 elements of 2 bytes, 128 bytes, more than the 64 that its swizzle spans",
            "swizzle=64 allows at most 32 elements",
        ),
        (f"{LINE} swizzle=100", "swizzle= is 100; TMA has 0, 32, 64, 128 bytes", "0 means none"),
        (f"{LINE} promotion=32", "promotion= is 32; TMA has 0, 64, 128, 256 bytes", "0 means none"),
        (f"{LINE} strides=(k, 1)", "strides= has 2 for 2 dimensions", "except the last"),
        (f"{LINE} strides=k+1", "is 322 bytes at m=96, k=160; TMA needs a multiple of 16", "16 bytes"),
        (f"{LINE} strides=0", "is 0 bytes at", "16 bytes"),
        (
            "// tensor_map a_tiles = a: shape=(m + 1, k) box=(64, 32)",
            "reaches element 15519 of a at m=96, k=160, which has 15360",
            "from the outermost",
        ),
        ("// tensor_map a_tiles = a: shape=(m, kk) box=(64, 32)", "there is no 'kk'", ""),
    ],
)
def test_a_map_that_tma_does_not_have_is_explained(line: str, words: str, hint: str) -> None:
    found = complaint(line)
    assert words in found.message
    assert hint in found.hint
    assert found.line == line.count("\n") + 1


def test_a_map_inside_a_function_is_an_error() -> None:
    inside = KERNEL.replace("{\n", "{\n    " + LINE + "\n", 1)
    assert "inside a function" in complaint("", kernel=inside).message


def test_a_map_is_no_number() -> None:
    found = complaint(LINE, "// launch tiles(a_tiles, c, m): grid=a_tiles block=32\n")
    assert "is a tensor map, not a number" in found.message


@pytest.mark.parametrize(
    ("parameters", "args", "words", "hint"),
    [
        ((POINTER, POINTER, INT), "a_tiles, c, m", "passes the tensor map a_tiles", "__grid_constant__ CUtensorMap"),
        ((MAP, POINTER, INT), "a, c, m", "passes the array a; write a `// tensor_map` line", "order"),
        ((MAP, POINTER, INT), "m, c, m", "passes 96; write a `// tensor_map` line", "order"),
        ((Parameter("b8", 128, 8), POINTER, INT), "a_tiles, c, m", "passes the tensor map a_tiles", "CUtensorMap"),
    ],
)
def test_a_parameter_must_be_a_tensor_map(parameters: tuple[Parameter, ...], args: str, words: str, hint: str) -> None:
    launch = f"// launch tiles({args}): grid=1 block=32\n"
    found = complaint(LINE, launch, compiled=program(*parameters))
    assert words in found.message
    assert hint in found.hint


def test_a_map_that_is_copied_to_local_memory_is_refused() -> None:
    copied = KERNEL.replace("const __grid_constant__ ", "")
    found = complaint(LINE, compiled=program(MAP, POINTER, INT, source=copied), kernel=copied)
    assert "TMA would get a copy in local memory" in found.message


# ----------------------------------------------------------------------------------------------------- compiled and run


def test_the_compiler_makes_the_parameter_that_is_asked_for() -> None:
    compiled = compile_source((f"{LINE}\n{LAUNCH}" + KERNEL).encode(), "tiles.cu", target="sm_90a")
    assert compiled.entries[0].parameters == (MAP, POINTER, INT)
    assert plan(f"{LINE}\n{LAUNCH}", compiled).launches[0].args[0] == "a_tiles"


def test_a_plan_with_maps_survives_json() -> None:
    made = plan(f"{LINE} swizzle=64\n{LAUNCH}")
    assert from_json(LaunchPlan, json.loads(json.dumps(asdict(made)))) == made


def test_arguments_hold_the_bytes_of_a_map() -> None:
    values = resolve(("a_tiles", "c", 7), (MAP, POINTER, INT), {"c": 4096}, {"a_tiles": bytes(range(128))})
    assert [np.asarray(value).nbytes for value in values] == [128, 8, 4]
    assert values[0].tobytes() == bytes(range(128))


def test_the_simulator_says_that_it_has_no_tensor_maps() -> None:
    run = CaseRun(plan(f"{LINE}\n{LAUNCH}"), (Buffer("a", "float16", 15360, "in"),))
    with pytest.raises(Unsupported, match=r"no tensor maps \(tiles.cu:1\): they need compute capability 9.0") as caught:
        case_request(run, program(MAP, POINTER, INT))
    assert caught.value.diagnostics[0].line == 1


def names(prefix: str, *suffixes: str) -> SimpleNamespace:
    """An enumeration of cuda.h: the values in order."""
    return SimpleNamespace(**{f"CU_TENSOR_MAP_{prefix}_{suffix}": at for at, suffix in enumerate(suffixes)})


BINDINGS = SimpleNamespace(
    CUtensorMapDataType=names("DATA_TYPE", "UINT8", "UINT16", "UINT32", "INT32", "UINT64", "INT64", "FLOAT16"),
    CUtensorMapInterleave=names("INTERLEAVE", "NONE", "16B", "32B"),
    CUtensorMapSwizzle=names("SWIZZLE", "NONE", "32B", "64B", "128B"),
    CUtensorMapL2promotion=names("L2_PROMOTION", "NONE", "L2_64B", "L2_128B", "L2_256B"),
    CUtensorMapFloatOOBfill=names("FLOAT_OOB_FILL", "NONE"),
    CUresult=lambda status: status,
)


@pytest.fixture
def driver() -> tuple[Callable[[TensorMap], bytes], list[tuple[object, ...]]]:
    """A function that encodes at address 4096 with a driver made of Python, and what that driver was told."""
    told: list[tuple[object, ...]] = []

    @_ENCODE
    def fake(at, kind, rank, address, shape, strides, box, steps, interleave, swizzle, promotion, fill):
        def read(type_: type[ctypes.c_uint64] | type[ctypes.c_uint32], pointer: int, count: int) -> list[int]:
            return list((type_ * count).from_address(pointer))

        u64, u32 = ctypes.c_uint64, ctypes.c_uint32
        lists = (read(u64, shape, rank), read(u64, strides, rank - 1), read(u32, box, rank), read(u32, steps, rank))
        told.append((at % 64, kind, address, *lists, interleave, swizzle, promotion, fill))
        ctypes.memset(at, 7, 128)
        return 0

    held = ctypes.cast(fake, ctypes.c_void_p).value
    assert held is not None

    def encoded(wanted: TensorMap, keep: object = fake) -> bytes:
        status, made = encode(BINDINGS, held, wanted, 4096)
        assert status == 0
        return made

    return encoded, told


def test_the_driver_is_told_the_innermost_dimension_first_and_an_aligned_place(driver) -> None:
    encoded, told = driver
    made = TensorMap("t", "a", "float16", (3, 96, 160), (32000, 320), (1, 128, 64), swizzle=128, promotion=256)
    assert encoded(made) == b"\7" * 128
    assert told == [(0, 6, 4096, [160, 96, 3], [320, 32000], [64, 128, 1], [1, 1, 1], 0, 3, 3, 0)]


def test_types_that_tma_does_not_know_are_copied_as_ones_of_their_size(driver) -> None:
    encoded, told = driver
    for dtype in ("int8", "int16", "uint64"):
        encoded(TensorMap("t", "a", dtype, (256,), (), (16,), promotion=0))
    assert [one[1] for one in told] == [0, 1, 4]
    assert [one[-2] for one in told] == [0, 0, 0]
