"""Nothing that a kernel does takes the simulator more than moments: every excess ends in a finding, always the same."""

from __future__ import annotations

import numpy as np
import pytest

from grader.compile import compile_source
from grader.simt.engine.code_cache import CodeCache
from grader.simt.engine.codegen import generate
from grader.simt.engine.flatten import UnsupportedPtx
from grader.simt.observers import OBSERVERS, observer_set
from grader.simt.ptx import parse
from grader.simt.simulate import Call, Memory, Options, Outcome, simulate
from tests.simt.kernels import NAME, body, run

X = np.zeros(256, np.float32)
SPIN = "volatile float* v = x; int k = 0; while (v[255] == 0.0f) ++k; x[200 + t % 32] = k;"


def case(
    statements: str, *, launches: int = 1, grid: int = 1, block: int = 32, shared: int = 0, before: str = "",
    threads: int = 1, budget: int = 10_000_000,
) -> Outcome:  # fmt: skip
    """Run a kernel several times on one buffer, with a budget for all of it."""
    program = compile_source(body(statements, "float* x", before).encode(), NAME)
    options = Options(observed=frozenset(OBSERVERS), threads=threads, instructions=budget)
    memory = Memory("x", np.frombuffer(X.tobytes(), np.uint8), True)
    calls = [Call("k", (grid, 1, 1), (block, 1, 1), shared, ("x",))] * launches
    return simulate(parse(program.ptx, NAME), [memory], calls, cache=CodeCache(program.key), options=options)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(("who", "block"), [("t == 3", 32), ("t / 32 == 1", 96), ("true", 1024)])
def test_an_endless_loop_ends_at_the_same_place_on_any_number_of_threads(who: str, block: int, threads: int) -> None:
    source = body(f"if ({who}) {{\n{SPIN} }}\nx[i % 200] = 1;", "float* x")
    first, again = (run(source, {"x": X}, block=block, grid=5, threads=k, budget=300_000) for k in (1, threads))
    event = next(e for e in first.events if e.kind == "instruction_budget")
    assert event.line == 5
    assert first.events == again.events
    assert first.outcome.counters == again.outcome.counters
    assert first.arrays["x"].tobytes() == again.arrays["x"].tobytes()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_slow_kernel_ends_with_the_budget_of_the_case(threads: int) -> None:
    slow = "float v = t; for (int k = 0; k < 3000; ++k) v = v * 1.5f + k; if (v == 2.0f) x[t] = v;"
    outcome = case(slow, grid=500, threads=threads, budget=1_000_000)
    assert [(e.kind, e.detail[0], e.block) for e in outcome.events] == [
        ("instruction_budget", 1, outcome.events[0].block)
    ]
    assert outcome.events[0].block == case(slow, grid=500, budget=1_000_000).events[0].block
    assert not outcome.complete


def test_a_budget_that_ends_between_blocks_blames_nobody() -> None:
    outcome = case("if (t == 99) x[0] = 1;", grid=1000, budget=100_000)
    assert [(e.kind, e.line) for e in outcome.events] == [("instruction_budget", None)]


def test_the_budget_is_that_of_all_launches_together() -> None:
    slow = "float v = t; for (int k = 0; k < 1000; ++k) v = v * 1.5f + k; if (v == 2.0f) x[t] = v;"
    assert case(slow, launches=3, grid=20, budget=1_000_000).complete
    outcome = case(slow, launches=30, grid=20, budget=1_000_000)
    assert not outcome.complete
    assert 3 < len(outcome.calls) < 30


@pytest.mark.parametrize("grid", [2**31 - 1, 65535 * 65535, 2**24])
def test_a_grid_that_no_budget_covers_is_not_started(grid: int) -> None:
    outcome = case("", grid=grid, budget=4_000_000_000)
    assert [e.kind for e in outcome.events] == ["launch_limit"]
    assert str(grid) in outcome.events[0].text


def test_a_million_small_blocks_run() -> None:
    assert case("if (t == 99) x[0] = 1;", grid=1_000_000, budget=4_000_000_000).complete


@pytest.mark.parametrize(
    ("statements", "word"),
    [("float a[200000]; for (int k = 0; k < 200000; k += 999) a[k + t] = k; x[t] = a[t * 999];", "local arrays"), ("", "shared memory")],
)  # fmt: skip
def test_memory_beyond_the_device_is_a_limit(statements: str, word: str) -> None:
    outcome = case(statements, shared=0 if statements else 2 << 20)
    assert [e.kind for e in outcome.events] == ["launch_limit"]
    assert word in outcome.events[0].text


@pytest.mark.parametrize(
    "call",
    [r'for (int k = 0; k < 1000000; ++k) printf("%d\n", k)', r'for (int k = 0; k < 99; ++k) printf("%9999d%9999d%9999d\n", k, k, k)'],
)  # fmt: skip
def test_a_flood_of_output_is_cut(call: str) -> None:
    outcome = case(f"{call};")
    assert [e.kind for e in outcome.events] == ["print_limit"]
    assert len(outcome.printed) <= 64 << 10


def test_widths_of_output_are_bounded() -> None:
    outcome = case(
        r'if (t == 0) printf("%999999999d|%.999999999f|%*d|%.*s\n", 1, 1.0, 2000000000, 3, 2000000000, "x");'
    )
    assert len(outcome.printed) < 2000
    assert outcome.complete


CHAIN = "__device__ __noinline__ float f0(float v, int t) { return v * t + 1; }\n" + "\n".join(
    f"__device__ __noinline__ float f{i}(float v, int t) {{ return f{i - 1}(v, t) + f{i - 1}(v + 1, t); }}"
    for i in range(1, 21)
)
UNSUPPORTED = [
    ("x[t] = f20(t, t);", CHAIN + "\n", "instructions"),
    ("x[t] = f(t);", "__device__ __noinline__ int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n", "recursion: f calls itself"),
    ("x[t] = fs[t & 1](t);", "__device__ int a(int v) { return v + 1; } __device__ int b(int v) { return v * 2; } typedef int (*F)(int); __device__ F fs[2] = {a, b};\n", "function pointer"),
    ('asm volatile("' + "".join(f"L{i}: " for i in range(20001)) + '");', "", "instructions"),
    ('asm volatile("{ .reg .pred p; setp.eq.s32 p, %0, 3; ' + "".join(f"L{i}: @p bra L{i * 7 % 1200}; " for i in range(1200)) + '}" :: "r"(t));', "", "basic blocks"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("statements", "before", "word"), UNSUPPORTED, ids=[u[2] + str(k) for k, u in enumerate(UNSUPPORTED)]
)
def test_code_that_would_not_end_is_refused(statements: str, before: str, word: str) -> None:
    program = compile_source(body(statements, "float* x", before).encode(), NAME)
    with pytest.raises(UnsupportedPtx, match=word):
        generate(parse(program.ptx, NAME), "k", observer_set(frozenset()))


VIRTUAL = "struct A { __device__ virtual int f() { return 1; } }; struct B : A { __device__ int f() { return 2; } };\n"
MUTUAL = (
    "__device__ __noinline__ int odd(int n);\n"
    "__device__ __noinline__ int even(int n) { return n < 1 ? 1 : 3 * odd(n - 1); }\n"
    "__device__ __noinline__ int odd(int n) { return n < 1 ? 0 : 2 + even(n - 1); }\n"
)
REFUSED = [
    ("x[t] = f(t);", UNSUPPORTED[1][1], 1, "recursion: f calls itself", "as a loop"),
    ("x[t] = even(t);", MUTUAL, 3, "recursion: even calls itself through odd", "as a loop"),
    ("x[t] = fs[t & 1](t);", UNSUPPORTED[2][1], 6, "a call through a function pointer (or of a virtual function)", "if or switch"),
    ("A a; B b; A* p = t % 2 ? &a : &b; x[t] = p->f();", VIRTUAL, 6, "a call through a function pointer (or of a virtual function)", "if or switch"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("statements", "before", "line", "what", "hint"), REFUSED, ids=["self", "mutual", "pointer", "virtual"]
)
def test_recursion_and_function_pointers_are_refused_with_their_line_and_what_to_write(
    statements: str, before: str, line: int, what: str, hint: str
) -> None:
    program = compile_source(body("\n" + statements, "float* x", before).encode(), NAME)
    with pytest.raises(UnsupportedPtx) as refused:
        generate(parse(program.ptx, NAME), "k", observer_set(frozenset()))
    assert refused.value.what == what
    assert hint in refused.value.hint
    assert refused.value.line is not None
    assert refused.value.line.line == line


def test_a_large_unrolled_kernel_runs() -> None:
    terms = "".join(f"v = v * y[{k}] + {k % 7}.0f;" for k in range(1200))
    ran = run(
        body(f"float v = 0; {terms} x[i] = v;", "float* x, float* y"), {"x": X, "y": np.full(1200, 0.5, np.float32)}
    )
    want = np.float32(0)
    for k in range(1200):
        want = np.float32(want * np.float32(0.5) + np.float32(k % 7))
    assert set(ran.arrays["x"][:32]) == {want}


def test_a_kernel_of_several_regions_runs_as_one() -> None:
    """More basic blocks than one LLVM function holds, with jumps forward and back between them."""
    steps = "".join(f"if (s & {1 << k % 20}) {{ s = s * 3 + {k}; x[t] = s; }}" for k in range(150))
    ran = run(
        body(f"int s = t; for (int k = 0; k < 3; ++k) {{ {steps} }} x[i] = s;", "int* x"),
        {"x": np.zeros(64, np.int32)},
        block=64,
    )
    assert ran.arrays["x"].tolist() == [_many_steps(t) for t in range(64)]


def _many_steps(s: int) -> int:
    for _ in range(3):
        for k in range(150):
            if s & (1 << k % 20):
                s = (s * 3 + k) % 2**32
    return s - 2**32 if s >= 2**31 else s
