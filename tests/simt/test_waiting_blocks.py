"""Blocks that wait for each other by flags, hand-made barriers and locks. Those that never can go on are named."""

from __future__ import annotations

import numpy as np
import pytest

from grader.compile import compile_source
from grader.simt.engine.codegen import generate
from grader.simt.observers import observer_set
from grader.simt.occupancy import SM_COUNT, multiprocessor
from grader.simt.ptx import parse
from tests.simt.kernels import NAME, Ran, body, run

N = 20 * 64
FENCE = "__threadfence();"


def counted(**changes: str) -> str:
    """A barrier of the whole grid, by hand: every block adds 1 to a counter and waits for the last one."""
    parts = {
        "release": FENCE,
        "look": "*(volatile int*)count",
        "acquire": FENCE,
        "behind": "__syncthreads();",
    } | changes
    return (
        'extern "C" __global__ void k(int* a, int* b, int* count, int n) {\n'
        "int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "a[i] = i;\n"
        "__syncthreads();\n"
        f"if (threadIdx.x == 0) {{ {parts['release']} atomicAdd(count, 1);\n"
        f"while ({parts['look']} < gridDim.x) ; {parts['acquire']} }}\n"
        f"{parts['behind']}\n"
        "b[i] = a[(i + 77) % n];\n}\n"
    )


def grid_of_20(source: str, threads: int = 1) -> Ran:
    zeros = np.zeros(N, np.int32)
    arrays = {"a": zeros, "b": zeros, "count": zeros[:1]}
    return run(source, arrays, N, grid=20, block=64, threads=threads)


@pytest.mark.parametrize("look", ["*(volatile int*)count", "atomicAdd(count, 0)", "atomicCAS(count, -1, -1)"])
def test_a_barrier_made_of_a_counter_orders_the_grid(look: str) -> None:
    ran = grid_of_20(counted(look=look))
    assert ran.kinds == []
    assert ran.arrays["b"].tolist() == ((np.arange(N) + 77) % N).tolist()


@pytest.mark.parametrize("gone", ["release", "acquire", "behind"])
def test_each_part_of_that_barrier_is_missed_where_it_is_gone(gone: str) -> None:
    ran = grid_of_20(counted(**{gone: ""}))
    race = next(e for e in ran.events if e.kind == "missing_fence")
    assert race.array == "a"
    assert {a.line for a in race.accesses} == {3, 8}
    assert race.accesses[0].block != race.accesses[1].block


@pytest.mark.parametrize("fence", [True, False])
def test_the_fences_may_be_of_all_threads_before_the_barrier_of_the_block(fence: bool) -> None:
    source = counted(release="").replace("a[i] = i;", "a[i] = i; " + FENCE * fence)
    assert (grid_of_20(source).kinds == []) is fence


def test_results_counters_and_findings_do_not_depend_on_the_number_of_threads() -> None:
    for source in (counted(), counted(release="")):
        one, three = grid_of_20(source, threads=1), grid_of_20(source, threads=3)
        assert one.events == three.events
        assert one.outcome.counters == three.outcome.counters
        assert one.arrays["b"].tobytes() == three.arrays["b"].tobytes()


SCAN = """__shared__ int s[64], base, b;
if (t == 0) b = {number};
__syncthreads();
i = 64 * b + t;
s[t] = x[i];
__syncthreads();
for (int d = 1; d < 64; d *= 2) {{
int v = t >= d ? s[t - d] : 0; __syncthreads(); s[t] += v; __syncthreads(); }}
if (t == 0) {{
base = 0;
if (b > 0) {{ while (((volatile int*)flags)[b - 1] == 0) ; {acquire} base = sums[b - 1]; }}
sums[b] = base + s[63]; {release}
((volatile int*)flags)[b] = 1;
}}
__syncthreads();
x[i] = base + s[t];"""


def scanned(blocks: int, number: str, release: str = FENCE, acquire: str = FENCE, block: int = 64) -> Ran:
    """A scan in which each block waits for the sum of the block before it."""
    x = np.arange(64 * blocks, dtype=np.int32) % 7
    source = body(
        SCAN.format(number=number, release=release, acquire=acquire), "int* x, int* flags, int* sums, int* next"
    )
    empty = np.zeros(blocks, np.int32)
    arrays = {"x": x, "flags": empty, "sums": empty, "next": empty[:1]}
    ran = run(source, arrays, grid=blocks, block=block)
    if not ran.kinds:
        assert ran.arrays["x"].tolist() == np.cumsum(x).tolist()
    return ran


@pytest.mark.parametrize("number", ["blockIdx.x", "atomicAdd(next, 1)", "gridDim.x - 1 - blockIdx.x"])
def test_a_scan_that_looks_back_is_right_whoever_comes_first(number: str) -> None:
    assert scanned(40, number).kinds == []


@pytest.mark.parametrize("number", ["blockIdx.x", "gridDim.x - 1 - blockIdx.x"])
@pytest.mark.parametrize("gone", ["release", "acquire"])
def test_a_scan_without_one_of_its_fences_races_on_the_sums(number: str, gone: str) -> None:
    ran = scanned(8, number, **{gone: ""})
    assert {(e.kind, e.array) for e in ran.events} == {("missing_fence", "sums")}


def test_a_block_that_waits_for_one_that_is_not_resident_is_told_which() -> None:
    """1024 threads: two blocks on each multiprocessor. Block 215 waits for 216, which cannot start before it ends."""
    source = body(
        "int next = blockIdx.x + 1;\n"
        "if (t == 0 && next < gridDim.x) while (((volatile int*)x)[next] == 0) ;\n"
        "if (t == 0) ((volatile int*)x)[blockIdx.x] = 1;",
        "int* x",
    )
    resident = SM_COUNT * multiprocessor("sm_80").warps // 32
    ran = run(source, {"x": np.zeros(400, np.int32)}, grid=resident + 10, block=1024)
    first = ran.events[0]
    assert (first.kind, first.line, first.block[0], first.array) == ("block_deadlock", 5, resident - 1, "x")
    assert first.offset == 4 * resident
    assert first.detail == (resident, resident + 10, resident)
    assert run(source, {"x": np.zeros(400, np.int32)}, grid=resident, block=1024).kinds == []


def test_small_blocks_are_resident_up_to_the_limit_of_blocks() -> None:
    source = body("if (t == 0) { atomicAdd(x, 1); while (((volatile int*)x)[0] < gridDim.x) ; }", "int* x")
    most = SM_COUNT * multiprocessor("sm_80").blocks
    assert run(source, {"x": np.zeros(1, np.int32)}, grid=most, block=32).kinds == []
    ran = run(source, {"x": np.zeros(1, np.int32)}, grid=most + 1, block=32)
    assert ran.events[0].kind == "block_deadlock"
    assert ran.events[0].detail == (most, most + 1, most)


def test_two_blocks_that_wait_crosswise_are_a_deadlock() -> None:
    source = body(
        "volatile int* f = x;\nif (t == 3) {\nwhile (f[1 - blockIdx.x] == 0) ;\nf[blockIdx.x] = 1; }", "int* x"
    )
    ran = run(source, {"x": np.zeros(2, np.int32)}, grid=2, block=64)
    assert [(e.kind, e.line, e.block[0], e.thread[0], e.array, e.offset) for e in ran.events] == [
        ("block_deadlock", 6, 0, 3, "x", 4)
    ]
    assert ran.events[0].count == 2
    assert not ran.outcome.complete


@pytest.mark.parametrize("until", ["k < 9000", "clock64() - begin < 500000"])
def test_a_loop_with_a_counter_or_a_time_limit_is_no_deadlock(until: str) -> None:
    source = body(
        "volatile int* f = x; long long begin = clock64(); int k = 0;\n"
        f"if (t == 3) {{ while (f[1 - blockIdx.x] == 0 && {until}) ++k;\n"
        "f[2 + blockIdx.x] = 1 + k % 2; f[blockIdx.x] = 1; }",
        "int* x",
    )
    ran = run(source, {"x": np.zeros(4, np.int32)}, grid=2, block=64)
    assert ran.kinds == []
    assert (ran.arrays["x"] > 0).all()


def test_a_lock_lets_every_block_in_and_one_that_nobody_frees_none() -> None:
    source = body(
        "if (t == 0) {\nwhile (atomicCAS(x, 0, 1) != 0) ;\n"
        "__threadfence(); x[1] += 1; __threadfence(); atomicExch(x, 0); }",
        "int* x",
    )
    ran = run(source, {"x": np.zeros(2, np.int32)}, grid=50)
    assert ran.kinds == []
    assert ran.arrays["x"][1] == 50
    ran = run(source, {"x": np.ones(2, np.int32)}, grid=50)
    assert [(e.kind, e.line, e.array, e.offset) for e in ran.events] == [("block_deadlock", 5, "x", 0)]


WHOLE_BLOCK = """__shared__ int go;
if (blockIdx.x == 0) {
while (true) { if (t == 0) go = ((volatile int*)x)[1];
__syncthreads(); int g = go; __syncthreads(); if (g) break; }
x[2 + t] = 1;
} else if (t == 0 && blockIdx.x == n) ((volatile int*)x)[1] = 1;"""


def test_a_whole_block_may_wait_with_a_barrier_in_each_round() -> None:
    x = np.zeros(66, np.int32)
    ran = run(body(WHOLE_BLOCK, "int* x, int n"), {"x": x}, 3, grid=6, block=64)
    assert ran.kinds == []
    assert ran.arrays["x"][2:].tolist() == [1] * 64
    ran = run(body(WHOLE_BLOCK, "int* x, int n"), {"x": x}, 9, grid=6, block=64)
    assert (ran.events[0].kind, ran.events[0].array, ran.events[0].offset) == ("block_deadlock", "x", 4)


def test_producers_and_consumers_hand_on_one_item_after_the_other() -> None:
    source = body(
        "volatile int* ready = x; volatile int* taken = x + 1;\n"
        "if (t == 0) for (int k = 1; k <= n; ++k) {\n"
        "if (blockIdx.x == 1) { while (*taken < k - 1) ;\n"
        "__threadfence(); y[0] = 10 * k; __threadfence(); *ready = k; }\n"
        "else { while (*ready < k) ; __threadfence(); y[k] = y[0]; __threadfence(); *taken = k; } }",
        "int* x, int* y, int n",
    )
    ran = run(source, {"x": np.zeros(2, np.int32), "y": np.zeros(101, np.int32)}, 100, grid=2)
    assert ran.kinds == []
    assert ran.arrays["y"][1:].tolist() == [10 * k for k in range(1, 101)]
    bare = source.replace("y[0] = 10 * k; __threadfence();", "y[0] = 10 * k;")
    ran = run(bare, {"x": np.zeros(2, np.int32), "y": np.zeros(101, np.int32)}, 100, grid=2)
    assert {(e.kind, e.array) for e in ran.events} == {("missing_fence", "y")}


def test_what_a_block_writes_after_it_has_signalled_is_not_covered_by_its_fence() -> None:
    source = body(
        "volatile int* flag = x;\n"
        "if (t == 0) { if (blockIdx.x == 0) { y[0] = 1; __threadfence(); *flag = 1; y[n] = 2; }\n"
        "else { while (*flag == 0) ; __threadfence(); y[2] = y[0] + y[1]; } }",
        "int* x, int* y, int n",
    )
    arrays = {"x": np.zeros(1, np.int32), "y": np.zeros(4, np.int32)}
    assert run(source, arrays, 3, grid=2).kinds == []
    ran = run(source, arrays, 1, grid=2)
    assert [(e.kind, e.array, e.offset) for e in ran.events] == [("missing_fence", "y", 4)]


def test_a_block_that_has_not_looked_at_a_flag_knows_nothing_of_the_others() -> None:
    """In the simulator block 1 comes after block 0, with its fence and its atomic; nothing orders them yet."""
    source = body(
        "if (t == 0) { if (blockIdx.x == 0) { y[0] = 1; __threadfence(); atomicAdd(x, 1); }\n"
        "else { y[1] = y[0]; atomicAdd(x, 1); } }",
        "int* x, int* y",
    )
    ran = run(source, {"x": np.zeros(1, np.int32), "y": np.zeros(2, np.int32)}, grid=2)
    assert [(e.kind, e.array, e.offset) for e in ran.events] == [("missing_fence", "y", 0)]


def test_clocks_that_fences_have_used_up_are_numbered_anew_and_still_tell_what_was_released() -> None:
    source = body(
        "volatile int* flag = x;\n"
        "if (t == 0) { if (blockIdx.x == 0) { y[0] = 1; for (int k = 0; k < 300000; ++k) __threadfence();\n"
        "y[1] = 2; __threadfence(); *flag = 1; y[n] = 3; }\n"
        "else { while (*flag == 0) ; __threadfence(); y[3] = y[0] + y[1] + y[2]; } }",
        "int* x, int* y, int n",
    )
    arrays = {"x": np.zeros(1, np.int32), "y": np.zeros(8, np.int32)}
    assert run(source, arrays, 4, grid=2, budget=50_000_000).kinds == []
    ran = run(source, arrays, 2, grid=2, budget=50_000_000)
    assert [(e.kind, e.array, e.offset) for e in ran.events] == [("missing_fence", "y", 8)]


def test_blocks_that_have_released_more_often_than_is_kept_are_judged_by_their_last_releases() -> None:
    source = body(
        "volatile int* flag = x;\n"
        "if (t == 0) { if (blockIdx.x == 0) { for (int k = 1; k <= 40; ++k) { y[k] = k; __threadfence(); *flag = k; }\n"
        "y[n] = 0; }\n"
        "else { while (*flag < 40) ; __threadfence(); for (int k = 1; k <= 40; ++k) y[0] += y[k]; } }",
        "int* x, int* y, int n",
    )
    arrays = {"x": np.zeros(1, np.int32), "y": np.zeros(64, np.int32)}
    ran = run(source, arrays, 50, grid=2)
    assert ran.kinds == []
    assert ran.arrays["y"][0] == 40 * 41 // 2
    ran = run(source, arrays, 7, grid=2)
    assert {(e.kind, e.array, e.offset) for e in ran.events} == {("missing_fence", "y", 28)}


@pytest.mark.parametrize(
    ("statements", "waits"),
    [
        ("while (((volatile int*)x)[0] == 0) ;", True),
        ("while (atomicAdd(x, 0) == 0) ;", True),
        ("while (atomicCAS(x, 0, 1) != 0) __nanosleep(20);", True),
        ("do { __threadfence(); } while (x[0] == 0);", True),
        ("while (atomicCAS(x, 0, 1) != 0 && clock64() < 1000) ;", True),
        ("for (int k = t; k < x[1]; k += blockDim.x) atomicAdd(x + k % 7, 1);", False),
        ("int s = 0; for (int k = t; k < 999; k += blockDim.x) s += x[k]; atomicAdd(x, s);", False),
        ("int s = 0; for (int k = 0; k < 99; ++k) { s += x[k]; __syncthreads(); } atomicAdd(x, s);", False),
        ("int k = t; while (k < 999) { k = x[k]; } atomicAdd(x, k);", False),
    ],
)
def test_which_loops_may_wait_is_known_before_the_kernel_runs(statements: str, waits: bool) -> None:
    program = compile_source(body(statements, "int* x").encode(), NAME)
    _, kernel = generate(parse(program.ptx, NAME), "k", observer_set(frozenset()))
    assert kernel.waits is waits
