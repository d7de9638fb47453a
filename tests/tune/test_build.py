"""What cannot run says why before anything is launched: with the real compiler and assembler."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader import Array, Exercise
from grader.launch import DeviceLimits
from grader.tune.build import DOES_NOT_FIT, Machine, TunedVariant, Workshop
from grader.tune.settings import combinations, parse_settings, places_of

EXERCISE = Exercise(
    name="copy",
    order=1,
    idea="a copy",
    arrays=(Array("x", "float32", "n"), Array("y", "float32", "n", role="out")),
    oracle="mini:scale",
    small=({"n": 1},),
    simulated={"n": 4096},
)
MACHINE = Machine("a GPU", "sm_80", "sm_80", DeviceLimits())
FILE = """\
#define THREADS 128
#define WORDS 64
#define DYNAMIC 0
#define KEPT 1
static_assert(WORDS % 2 == 0, "a block copies pairs");
// launch copy(x, y, n): grid=cdiv(n, THREADS) block=THREADS shared=DYNAMIC
extern "C" __global__ void copy(const float* x, float* y, int n)
{
    __shared__ float s[WORDS];
    float kept[KEPT];
    int i = blockIdx.x * THREADS + threadIdx.x;
#pragma unroll
    for (int k = 0; k < KEPT; ++k) kept[k] = x[(i + k) % n];
    s[threadIdx.x % WORDS] = i;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < KEPT; ++k) y[(i + k) % n] = kept[k] + s[k % WORDS];
#if KEPT == 3
    y[0] = nothing;
#endif
}
"""


def built(*sets: str, arch: str = "sm_80") -> list[TunedVariant]:
    settings = parse_settings(sets)
    places = places_of(FILE, "copy.cu", settings)
    workshop = Workshop(EXERCISE, {"n": 4096}, "copy.cu", FILE, places, replace(MACHINE, arch=arch))
    return list(workshop.build_all(combinations(settings), lambda words: None))


def test_a_combination_that_can_run_has_what_it_needs_and_its_program():
    small, now = built("THREADS=64,128")
    assert (small.word, small.reason, small.now, now.now) == ("", "", False, True)
    assert small.needs is not None
    assert (small.needs.kernel, small.needs.threads, small.needs.shared_bytes) == ("copy", 64, 256)
    assert small.needs.resident is not None
    assert small.needs.resident.blocks == 32
    assert small.program is not None
    assert "#define THREADS 64\n" in small.program.source


@pytest.mark.parametrize(
    ("setting", "word", "reason"),
    [
        ("THREADS=2048", "invalid", "block=THREADS requests 2048 threads at n=4096; a block has at most 1024"),
        ("WORDS=63", "compile_error", 'copy.cu, line 5: static assertion failed with "a block copies pairs"'),
        ("KEPT=3", "compile_error", 'copy.cu, line 19: identifier "nothing" is undefined'),
        ("DYNAMIC=200000", "invalid", "shared=DYNAMIC requests 200000 bytes at n=4096"),
        ("WORDS=12290", DOES_NOT_FIT, "copy declares 49160 bytes of __shared__ arrays; the maximum is 49152"),
        ("THREADS=0", "invalid", "'cdiv(n, THREADS)' divides by zero"),
    ],
)
def test_a_combination_that_cannot_run_says_why(setting: str, word: str, reason: str):
    (variant,) = built(setting)
    assert variant.word == word
    assert reason in variant.reason
    assert variant.program is None


def test_too_many_registers_are_counted_before_the_launch_would_be_refused():
    (variant,) = built("THREADS=1024", "KEPT=96")
    assert variant.word == DOES_NOT_FIT
    assert variant.needs is not None
    assert variant.needs.registers > 64
    assert f"{variant.needs.registers} registers for each of 1024 threads" in variant.reason
    assert "a multiprocessor has 65536" in variant.reason


def test_one_that_cannot_run_does_not_stop_the_others_and_order_stays():
    found = built("WORDS=63,64,65,66")
    assert [variant.word for variant in found] == ["compile_error", "", "compile_error", ""]


def test_what_is_not_begun_when_it_is_stopped_is_left_out():
    settings = parse_settings(["THREADS=32,64"])
    places = places_of(FILE, "copy.cu", settings)
    workshop = Workshop(EXERCISE, {"n": 4096}, "copy.cu", FILE, places, MACHINE)
    assert workshop.build_all(combinations(settings), lambda words: None, stopped=lambda: True) == ()


def test_an_architecture_that_is_not_in_the_table_has_needs_without_occupancy():
    (variant,) = built("THREADS=64", arch="sm_103")
    assert variant.word == ""
    assert variant.needs is not None
    assert variant.needs.resident is None
