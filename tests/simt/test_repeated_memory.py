"""Arrays that repeat the same memory, as long as their addresses say; and launches of which few blocks run."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from grader.compile import compile_source
from grader.simt.ptx import parse
from grader.simt.simulate import Call, Memory, Options, Outcome, simulate
from tests.simt.kernels import machine_code

PERIOD = np.arange(1_000_003, dtype=np.float32)
COUNT = 5_000_000_000 + 123


def run(statements: str, *, blocks: int = 1, few: bool = False, out: int = 64) -> Outcome:
    """One warp for each block: ``x`` has COUNT floats, ``y`` as many as ``out``."""
    source = (
        f'extern "C" __global__ void k(float* x, float* y, long long n) {{\nint b = blockIdx.x;\n{statements}\n}}\n'
    )
    program = compile_source(source.encode(), "kernel.cu")
    memories = [
        Memory("x", PERIOD.view(np.uint8), True, repeated=4 * COUNT), Memory("y", np.zeros(4 * out, np.uint8), True),
    ]  # fmt: skip
    call = Call("k", (blocks, 1, 1), (32, 1, 1), 0, ("x", "y", struct.pack("<q", COUNT)))
    return simulate(
        parse(program.ptx, "kernel.cu"), memories, [call], cache=machine_code(program.key), options=Options(few=few)
    )


def test_every_place_of_a_repeated_array_has_its_value() -> None:
    """Also where a warp's lanes lie in two repeats."""
    seam = PERIOD.size - 10
    outcome = run(f"for (int r = 0; r < 2; ++r) y[32 * r + threadIdx.x] = x[(r ? n - 32 : {seam}) + threadIdx.x];")
    assert outcome.events == ()
    places = np.concatenate([seam + np.arange(32), COUNT - 32 + np.arange(32)])
    assert outcome.memory["y"].view(np.float32).tolist() == (places % PERIOD.size).tolist()


@pytest.mark.parametrize(
    ("index", "offset"), [("n", COUNT), ("-1LL", -1), ("(int)(n * 2 / 3)", COUNT * 2 // 3 - 2**32)]
)
def test_what_lies_outside_of_a_repeated_array_is_told_of_the_whole(index: str, offset: int) -> None:
    (event,) = run(f"if (threadIdx.x == 0) x[{index}] = 1;").events
    assert (event.kind, event.array, event.array_bytes) == ("out_of_bounds", "x", 4 * COUNT)
    assert event.offset == 4 * offset


def test_only_three_blocks_run_where_few_are_wanted() -> None:
    outcome = run("y[b] = b;", blocks=1000, few=True, out=1000)
    assert np.flatnonzero(outcome.memory["y"].view(np.float32)).tolist() == [749, 999]
    assert (
        outcome.counters[0].total["instructions"] < run("y[b] = b;", blocks=4, out=4).counters[0].total["instructions"]
    )


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_small_grids_run_as_a_whole_where_few_blocks_are_wanted(blocks: int) -> None:
    outcome = run("y[b] = b + 1;", blocks=blocks, few=True)
    assert np.count_nonzero(outcome.memory["y"]) == np.count_nonzero(run("y[b] = b + 1;", blocks=blocks).memory["y"])
