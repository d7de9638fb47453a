"""The launch lines: what counts as one, what it comes to, and what is said where it cannot be."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.c_types import ELEMENTS
from grader.compile import Entry, Parameter, Program
from grader.errors import RefusedProgram, SubmissionError
from grader.exercise import Array, Exercise, Size
from grader.launch import Constant, DeviceLimits, Launch, LaunchPlan, Scratch, Zero, parse_launches, resolve_launches
from grader.launch.resolve import example_line
from grader.verdict import Diagnostic

ADD = Exercise(
    name="add",
    order=1,
    idea="an exercise for these tests",
    arrays=(
        Array("a", "float32", "n"),
        Array("b", "float32", "n"),
        Array("c", "float32", "n", role="out"),
    ),
    oracle="none:none",
    small=({"n": 1},),
    simulated={"n": 1000},
    scalars={"alpha": 2.5},
)
CODE = 'extern "C" __global__ void add(const float* a, const float* b, float* c, int n) { }\n'
POINTER, INT, FLOAT = Parameter("u64", 8, 8), Parameter("u32", 4, 4), Parameter("f32", 4, 4)


def program(*parameters: Parameter, name: str = "add", ptx: str = "", static: int = 0) -> Program:
    return Program("add.cu", "", ptx, "sm_80", (Entry(name, parameters, static),), "")


ADD_PROGRAM = program(POINTER, POINTER, POINTER, INT)


def plan(
    lines: str, size: Size | None = None, *, compiled: Program | None = None, limits: DeviceLimits | None = None
) -> LaunchPlan:
    script = parse_launches(f"{lines}\n{CODE}", file="add.cu")
    return resolve_launches(script, ADD, size or {"n": 1000}, limits or DeviceLimits(), compiled)


def complaint(lines: str, size: Size | None = None, *, compiled: Program | None = None) -> Diagnostic:
    with pytest.raises(SubmissionError) as caught:
        plan(lines, size, compiled=compiled)
    assert caught.value.verdict == "invalid"
    return caught.value.diagnostics[0]


def only_launch(lines: str, size: Size | None = None, *, compiled: Program | None = None) -> Launch:
    (launch,) = plan(lines, size, compiled=compiled).launches
    return launch


# ------------------------------------------------------------------------------------------------------ what lines mean


def test_a_launch_line_becomes_one_launch_with_numbers() -> None:
    launch = only_launch("// launch add(a, b, c, n): grid=cdiv(n, 256) block=256 shared=256*sizeof(float)")
    assert launch == Launch("add", ("a", "b", "c", 1000), (4, 1, 1), (256, 1, 1), 1024, line=1)


@pytest.mark.parametrize("slashes", ["//", "// ", "   //   ", "///"])
def test_blanks_around_the_slashes_do_not_matter(slashes: str) -> None:
    assert only_launch(f"{slashes}launch add(a, b, c, n): grid=1 block=2").block == (2, 1, 1)


@pytest.mark.parametrize(
    ("options", "grid", "block"),
    [
        ("grid=(n, 2) block=(8, 4, 2)", (1000, 2, 1), (8, 4, 2)),
        ("grid=dim3(n, 2) block=dim3(8)", (1000, 2, 1), (8, 1, 1)),
        ("block=64 grid=2", (2, 1, 1), (64, 1, 1)),
        ("grid = cdiv(n, 100), block = 64,", (10, 1, 1), (64, 1, 1)),
        ("grid=(n + 99) / 100 block=(64)", (10, 1, 1), (64, 1, 1)),
        ("grid=min(2*sm_count, n) block=warp_size", (216, 1, 1), (32, 1, 1)),
    ],
)
def test_grid_and_block_may_be_written_in_several_ways(
    options: str, grid: tuple[int, int, int], block: tuple[int, int, int]
) -> None:
    launch = only_launch(f"// launch add(a, b, c, n): {options}")
    assert (launch.grid, launch.block) == (grid, block)


def test_cooperative_and_cluster_are_attributes_of_the_line() -> None:
    launch = only_launch("// launch add(a, b, c, n): grid=8 block=32 cluster=(4, 1) cooperative")
    assert launch.cooperative
    assert launch.cluster == (4, 1, 1)


def test_arguments_are_arrays_scalars_sizes_and_expressions() -> None:
    assert only_launch("// launch add(c, alpha, n / 3, -1): grid=1 block=1").args == ("c", 2.5, 333, -1)
    assert only_launch("// launch add(): grid=1 block=1").args == ()


def test_steps_stand_in_the_order_of_the_file() -> None:
    found = plan("// zero c\n// launch add(a, b, c, n): grid=1 block=1\n// zero c\n// constant W = a")
    assert [type(step) for step in found.steps] == [Zero, Launch, Zero]
    assert [step.line for step in found.steps] == [1, 2, 3]
    assert found.constants == (Constant("W", "a", 4),)


def test_the_files_integer_constants_may_be_used() -> None:
    lines = """
    #define TILE (1 << 4) /* a block is */
    #define BLOCK (TILE * \\
        TILE)   // a square
    static constexpr unsigned int HALF = BLOCK / 2u, QUARTER = HALF / 2;
    namespace shape { const int ROWS = QUARTER; }
    // launch add(a, b, c, TILE): grid=(HALF, QUARTER) block=BLOCK shared=ROWS
    """
    launch = only_launch(lines)
    assert launch.args[-1] == 16
    assert (launch.grid, launch.block, launch.shared_bytes) == ((128, 64, 1), (256, 1, 1), 64)


def test_the_exercises_sizes_win_over_the_files_constants() -> None:
    assert only_launch("#define n 5\n// launch add(a, b, c, n): grid=n block=1").grid == (1000, 1, 1)


@pytest.mark.parametrize(
    ("type_name", "dtype", "per_element"),
    [("float", "float32", 1), ("half", "float16", 1), ("unsigned  long long", "uint64", 1), ("float4", "float32", 4)],
)
def test_scratch_types_are_those_of_cuda(type_name: str, dtype: str, per_element: int) -> None:
    found = plan(f"// scratch tmp: {type_name}[n]\n// launch add(a, b, tmp, n): grid=1 block=1")
    assert found.scratch == (Scratch("tmp", dtype, 1000 * per_element),)
    assert found.launches[0].args[2] == "tmp"


def test_every_scratch_type_is_a_dtype_of_numpy() -> None:
    import numpy as np

    assert all(np.dtype(dtype).name == dtype for dtype, _ in ELEMENTS.values())


# --------------------------------------------------------------------------------------------------------------- passes

PASSES = """
// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): add(src, b, dst, m): grid=cdiv(m, 256) block=256
"""


@pytest.mark.parametrize(
    ("n", "pairs", "grids"),
    [
        (1, [("a", "c")], [1]),
        (256, [("a", "c")], [1]),
        (257, [("a", "ping"), ("ping", "c")], [2, 1]),
        (65537, [("a", "ping"), ("ping", "pong"), ("pong", "c")], [257, 2, 1]),
        (2**24 + 1, [("a", "ping"), ("ping", "pong"), ("pong", "ping"), ("ping", "c")], [65537, 257, 2, 1]),
    ],
)
def test_passes_go_from_the_input_over_scratch_to_the_output(
    n: int, pairs: list[tuple[str, str]], grids: list[int]
) -> None:
    launches = plan(PASSES, {"n": n}).launches
    assert [(launch.args[0], launch.args[2]) for launch in launches] == pairs
    assert [launch.grid[0] for launch in launches] == grids
    assert launches[0].args[3] == n


@given(st.integers(1, 2**40), st.integers(2, 512))
@settings(max_examples=60)
def test_passes_end_in_the_output_and_never_read_what_they_write(n: int, step: int) -> None:
    line = f"// passes m=n until 1 by cdiv(m, {step}): add(src, b, dst, m): grid=1 block=1"
    launches = plan(f"// scratch ping, pong: float[1]\n{line}", {"n": n}).launches
    assert launches[0].args[0] == "a"
    assert launches[-1].args[2] == "c"
    assert all(launch.args[0] != launch.args[2] for launch in launches)
    assert all(before.args[2] == after.args[0] for before, after in pairwise(launches))
    assert launches[-1].args[3] in range(step + 1)


@pytest.mark.parametrize(
    ("by", "until", "words"),
    [
        ("m", "1", "never end"),
        ("m + 1", "1", "never end"),
        ("m / 3", "2", "is never 2"),
        ("m - 1", "1", "more than 64 passes"),
        ("m / 0", "1", "divides by zero"),
    ],
)
def test_passes_that_do_not_end_are_explained(by: str, until: str, words: str) -> None:
    line = f"// passes m=n until {until} by {by}: add(src, b, dst, m): grid=1 block=1"
    assert words in complaint(f"// scratch p, q: float[n]\n{line}").message


def test_passes_need_scratch_only_between_them() -> None:
    line = "// passes m=n until 1 by cdiv(m, 256): add(src, b, dst, m): grid=1 block=1"
    assert len(plan(line, {"n": 256}).launches) == 1
    assert "no scratch array" in complaint(line, {"n": 257}).message
    one = f"// scratch p: float[n]\n{line}"
    assert len(plan(one, {"n": 257}).launches) == 2
    assert "would read and write the only scratch array 'p'" in complaint(one, {"n": 65537}).message


def test_passes_need_an_input_to_begin_with() -> None:
    script = parse_launches(f"// passes m=n until 1 by 1: add(src, dst, m): grid=1 block=1\n{CODE}", file="add.cu")
    without = replace(ADD, arrays=(Array("c", "float32", "n", role="out"),))
    with pytest.raises(SubmissionError, match="has none"):
        resolve_launches(script, without, {"n": 1000}, DeviceLimits(), None)


def test_src_and_dst_exist_in_passes_only() -> None:
    assert "only in a passes line" in complaint("// launch add(src, b, c, n): grid=1 block=1").message


# ------------------------------------------------------------------------------------------------- which comments count

LAUNCH = "// launch add(a, b, c, n): grid=1 block=1\n"


def test_a_remark_on_other_numbers_is_no_launch_line_unless_it_names_a_kernel() -> None:
    kernel = "__global__ void add(float* a, float* b, float* c, int n) {}\n"
    plan(f"// faster (by 12 %): grid=n block=512\n// Idea (later): grid=n block=512\n{LAUNCH}{kernel}")
    with pytest.raises(SubmissionError, match="nearly a launch line"):
        plan(f"// ad(a, b, c, n): grid=n block=512\n{LAUNCH}{kernel}")


@pytest.mark.parametrize(
    "remark",
    [
        "// launch one block per row, and let it loop",
        "// launch bounds keep the registers down: see below",
        "// zero the accumulator first",
        "// constant memory is broadcast to the warp",
        "// passes over the data: two",
        "// scratch space: two floats per block",
        "// scratch is float here",
        "// block = 256 threads, grid = enough of them",
        "// add(a, b): adds two numbers",
        "/* launch sub(a): grid=1 block=1 */",
        "/*\n// launch sub(a): grid=1 block=1\n*/",
        'const char* text = "\\\n// launch sub(a): grid=1 block=1\\\n";',
        'const char* raw = R"x(\n// launch sub(a): grid=1 block=1\n)x";',
        "int x;  // launch sub(a): grid=1 block=1",
        "#define Y 2 // launch sub(a): grid=1 block=1",
        "__device__ void f() {\n  // zero padding\n  // constant W = w\n  // scratch t: float[2]\n}",
        "// hero image\n// zeros matrix\n// lunch is at noon",
    ],
)
def test_prose_code_and_literals_are_no_launch_lines(remark: str) -> None:
    found = plan(f"{remark}\n{LAUNCH}")
    assert [launch.kernel for launch in found.launches] == ["add"]
    assert found.steps == found.launches


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("// lauch add(a, b, c, n): grid=1 block=1", "first word is not `launch`"),
        ("// Launch add(a, b, c, n): grid=1 block=1", "first word is not `launch`"),
        ("// add(a, b, c, n): grid=1 block=1", "first word is not `launch`"),
        ("// launch add(a, b, c, n) grid=1 block=1", "without `:`"),
        ("// launch add(a, b, c, n)", "without `:`"),
        ("// launch add<<<1, 256>>>(a, b, c, n);", "after a colon"),
        ("// launch add(a, b, c, n: grid=1 block=1", "unbalanced parentheses"),
        ("// launch: add(a, b, c, n) grid=1 block=1", ""),
        ("// passes m=n until 1: add(src, dst): grid=1 block=1", "without `by`"),
        ("// pases m=n until 1 by m/2: add(src, dst): grid=1 block=1", "first word is not `passes`"),
        ("// scratch tmp float[n]", "without `:`"),
        ("// scratch tmp: float", "without `[`"),
        ("// scratch float tmp[n]", "without `:`"),
        ("// scrach tmp: float[n]", "first word is not `scratch`"),
        ("// zero: c", ""),
        ("// constant W <- a", "without `=`"),
        ("// zeor c", ""),
        ("// constnat W = a", ""),
    ],
)
def test_a_near_miss_is_an_error_with_line_text_and_example(line: str, why: str) -> None:
    found = complaint(f"// a remark\n{line}\n{LAUNCH}")
    assert found.message.startswith("this is nearly a launch line")
    assert why in found.message
    assert line.strip("/ ")[:30] in found.message
    assert (found.file, found.line, found.source) == ("add.cu", 2, line)
    assert "write it like // " in found.hint or "did you mean" in found.hint


@pytest.mark.parametrize("scope", ['extern "C" {', "namespace one {", "namespace {", "namespace a::b {"])
def test_braces_that_keep_file_scope_do_not_hide_a_launch_line(scope: str) -> None:
    assert len(plan(f"{scope}\n{LAUNCH}\n}}").launches) == 1


def test_a_launch_line_inside_a_function_is_an_error() -> None:
    found = complaint("__device__ void f() {\n  // launch add(a, b, c, n): grid=1 block=1\n}")
    assert "inside a function" in found.message
    assert found.line == 2


def test_braces_that_an_if_unbalances_do_not_hide_a_launch_line() -> None:
    lines = f"#ifdef FAST\nvoid f() {{\n#else\nvoid g() {{\n#endif\n}}\n{LAUNCH}"
    assert len(plan(lines).launches) == 1


def test_a_line_cannot_go_on_in_the_next() -> None:
    assert "one line" in complaint("// launch add(a, b, c, n): \\\n   grid=1 block=1").hint


def test_windows_line_ends_are_no_part_of_a_line() -> None:
    script = parse_launches("// launch add(a, b, c, n): grid=1 block=1\r\n" + CODE, file="add.cu")
    assert resolve_launches(script, ADD, {"n": 1}).launches[0].block == (1, 1, 1)


def test_without_a_launch_line_the_message_shows_the_one_to_write() -> None:
    found = complaint("// nothing here")
    assert "has no launch line" in found.message
    assert example_line(ADD) in found.hint
    assert example_line(ADD) == "// launch add(a, b, c, n, alpha): grid=cdiv(n, 256) block=256"


# --------------------------------------------------------------------------------------------------- options and limits


@pytest.mark.parametrize(
    ("options", "words", "hint"),
    [
        ("grid=1 block=2048", "block=2048 requests 2048 threads; a block has at most 1024", "more blocks"),
        ("grid=1 block=(64, 32)", "block=(64, 32) requests 2048 threads", "more blocks"),
        ("grid=1 block=(1, 1, 128)", "simulated A100 is 64", ""),
        ("grid=0 block=1", "grid=0; a launch has at least one block", ""),
        ("grid=-1 block=1", "grid=-1; a launch has at least one block", ""),
        ("grid=n/2000 block=1", "grid=n/2000 is 0 at n=1000", "cdiv(n, 256)"),
        ("grid=1 block=0", "a block has at least one thread", ""),
        ("grid=1 block=-32", "a block has at least one thread", ""),
        ("grid=(1, 70000) block=1", "70000 in y; the maximum of the simulated A100 is 65535", ""),
        ("grid=1 block=1 shared=300*1000", "requests 300000 bytes; a block of the simulated A100 has 166912", "bytes"),
        ("grid=1 block=1 shared=-4", "negative", ""),
        ("grid=1 block=12 8", "'12 8' is not an expression", ""),
        ("grid=N block=1", "there is no 'N'", "did you mean 'n'?"),
        ("grid=c block=1", "'c' is an array, not a number", ""),
        ("grid=n*0.5 block=1", "not an integer", "cdiv"),
        ("grid=(1, 2, 3, 4) block=1", "not a list of one to three numbers", "(x, y, z)"),
        ("grid=1 blok=1", "no option 'blok'", "did you mean 'block'?"),
        ("grid=1", "has no block=", "block=256"),
        ("grid=1 block=1 grid=2", "grid is given twice", ""),
        ("grid= block=1", "grid= has no value", ""),
        ("grid=1 block=1 cooperative=1", "cooperative has no value", ""),
        ("256 grid=1 block=1", "cannot read '256'", ""),
        ("grid=8 block=1 cluster=3", "not a multiple of the cluster's", ""),
        ("grid=32 block=1 cluster=16", "at most 8", ""),
    ],
)
def test_an_impossible_launch_is_explained(options: str, words: str, hint: str) -> None:
    found = complaint(f"// launch add(a, b, c, n): {options}")
    assert words in found.message
    assert hint in found.hint
    assert found.line == 1


def test_the_caret_stands_under_the_fault() -> None:
    found = complaint("  // launch add(a, b, c, n): grid=cdiv(nn, 256) block=1")
    assert found.source is not None
    assert found.column is not None
    assert found.source[found.column - 1 :].startswith("nn")


def compiled_for(**head: Any) -> Program:
    """The program with what the head of its kernel says."""
    (entry,) = ADD_PROGRAM.entries
    return replace(ADD_PROGRAM, entries=(replace(entry, **head),))


@pytest.mark.parametrize(
    ("head", "fits", "does_not", "why"),
    [
        ({"max_threads": 128}, "grid=1 block=(16, 8)", "grid=1 block=(16, 9)", "of at most 128"),
        ({"required_block": (64, 1, 1)}, "grid=1 block=64", "grid=1 block=(32, 2)", "for blocks of (64, 1, 1)"),
        ({"required_cluster": (2, 1, 1)}, "grid=4 block=64", "grid=3 block=64", "no whole number of clusters of 2"),
        ({"required_cluster": (2, 1, 1)}, "grid=4 block=64 cluster=2", "grid=4 block=64 cluster=4", "for clusters of"),
    ],
)
def test_a_launch_must_be_one_that_the_kernel_is_compiled_for(
    head: dict[str, Any], fits: str, does_not: str, why: str
) -> None:
    compiled = compiled_for(**head)
    assert plan(f"// launch add(a, b, c, n): {fits}", compiled=compiled).launches
    assert why in complaint(f"// launch add(a, b, c, n): {does_not}", compiled=compiled).message


def test_more_static_shared_memory_than_any_launch_allows_is_the_programs_fault() -> None:
    with pytest.raises(RefusedProgram, match="add declares 200000 bytes") as caught:
        plan("// launch add(a, b, c, n): grid=1 block=1 shared=16", compiled=compiled_for(static_shared_bytes=200_000))
    assert caught.value.verdict == "compile_error"


def test_static_shared_memory_counts_towards_the_limit() -> None:
    line = "// launch add(a, b, c, n): grid=1 block=1 shared=160*1024"
    assert plan(line, compiled=ADD_PROGRAM)
    compiled = program(POINTER, POINTER, POINTER, INT, static=4096)
    assert "declares 4096 bytes more" in complaint(line, compiled=compiled).message


def test_limits_are_those_of_the_device_at_hand() -> None:
    small = DeviceLimits(name="toy", max_threads_per_block=64, max_shared_bytes=100)
    with pytest.raises(SubmissionError, match="at most 64"):
        plan("// launch add(a, b, c, n): grid=1 block=65", limits=small)
    with pytest.raises(SubmissionError, match="block of the toy has 100"):
        plan("// launch add(a, b, c, n): grid=1 block=1 shared=101", limits=small)
    assert (
        plan("// launch add(a, b, c, n): grid=sm_count block=1", limits=DeviceLimits(sm_count=132)).launches[0].grid[0]
        == 132
    )


# -------------------------------------------------------------------------------------------------- names of the arrays


@pytest.mark.parametrize(
    ("lines", "words", "hint"),
    [
        ("// launch add(a, b, cc, n): grid=1 block=1", "no 'cc' to pass to add", "did you mean 'c'?"),
        ("// launch add(a, b, c, c + 1): grid=1 block=1", "is an array, not a number", ""),
        ("// launch add(a,, c, n): grid=1 block=1", "an expression is missing", ""),
        (f"// zero cc\n{LAUNCH}", "no array 'cc' to set to zero", "did you mean 'c'?"),
        (f"// zero padding\n{LAUNCH}", "no array 'padding'", "if this line is an ordinary comment"),
        (f"// zero a\n{LAUNCH}", "'a' is an input", ""),
        (f"// constant W = c\n{LAUNCH}", "'c' is not an input", ""),
        (f"// scratch a: float[1]\n{LAUNCH}", "already an array of the exercise", ""),
        (f"// scratch n: float[1]\n{LAUNCH}", "already a number of the exercise", ""),
        (f"// scratch t, t: float[1]\n{LAUNCH}", "already a scratch array", ""),
        (f"// scratch src: float[1]\n{LAUNCH}", "already the name of an array in passes lines", ""),
        (f"// scratch t: flaot[1]\n{LAUNCH}", "no type 'flaot'", "did you mean 'float'?"),
        (f"// scratch t: float[0]\n{LAUNCH}", "has 0 elements", ""),
        (f"// scratch t: float[n*n*n]\n{LAUNCH}", "more than 1 GiB", ""),
        (f"// scratch t, u: double[70*1000*1000]\n{LAUNCH}", "up to 'u' need more than 1 GiB", ""),
        ("#define Q blockDim.x\n// launch add(a, b, c, n): grid=Q block=1", "defined in line 1 as 'blockDim.x'", ""),
    ],
)
def test_a_name_that_means_nothing_here_is_explained(lines: str, words: str, hint: str) -> None:
    found = complaint(lines)
    assert words in found.message
    assert hint in found.hint


# ------------------------------------------------------------------------------------------------- against the program


def test_a_kernel_that_is_not_there_is_missed() -> None:
    found = complaint("// launch ad(a, b, c, n): grid=1 block=1", compiled=ADD_PROGRAM)
    assert "no kernel ad in add.cu" in found.message
    assert found.hint == "did you mean 'add'?"


def test_a_missing_extern_c_is_recognised() -> None:
    found = complaint(LAUNCH, compiled=program(POINTER, name="_Z3addPKfS0_Pfi"))
    assert 'is not extern "C": the compiler named it _Z3addPKfS0_Pfi' in found.message
    assert 'extern "C" __global__ void add(' in found.hint


def test_a_longer_mangled_name_is_not_taken_for_the_kernel() -> None:
    found = complaint(LAUNCH, compiled=program(POINTER, name="_Z6fadd23addx"))
    assert 'extern "C":' not in found.message


def test_a_file_without_kernels_says_so() -> None:
    empty = Program("add.cu", "", "", "sm_80", (), "")
    assert "add.cu has no kernel" in complaint(LAUNCH, compiled=empty).message


def test_the_number_of_arguments_must_be_the_kernels() -> None:
    found = complaint("// launch add(a, b, c): grid=1 block=1", compiled=ADD_PROGRAM)
    assert "add takes 4 parameters (const float* a, const float* b, float* c, int n)" in found.message
    assert "passes 3 (a, b, c)" in found.message


@pytest.mark.parametrize(
    ("args", "position", "declared", "passed"),
    [
        ("a, b, n, c", 3, "float* c", "1000, which is not an array"),
        ("a, b, c, c", 4, "int n", "the array c"),
        ("a, b, c, alpha", 4, "int n", "the number 2.5"),
        ("a, b, c, n*n*n*n", 4, "int n", "1000000000000, which does not fit its 32 bits"),
        ("a, alpha, c, n", 2, "const float* b", "the number 2.5, which is not an array"),
    ],
)
def test_an_argument_that_does_not_fit_names_position_and_both_sides(
    args: str, position: int, declared: str, passed: str
) -> None:
    found = complaint(f"// launch add({args}): grid=1 block=1", compiled=ADD_PROGRAM)
    assert found.message == f"parameter {position} of add is `{declared}`, but the launch line passes {passed}"


@pytest.mark.parametrize(
    ("parameters", "compiled", "says"),
    [
        ("float* c, int alpha", (POINTER, INT), "declare `float alpha`"),
        ("float c, float alpha", (FLOAT, FLOAT), "declare `float* c`"),
        ("float* c, const float *alpha", (POINTER, POINTER), "declare `float alpha`"),
        ("float* c, int n", (POINTER, INT), "in the kernel's order"),
    ],
)
def test_of_a_parameter_with_the_arguments_name_the_type_is_wrong(
    parameters: str, compiled: tuple[Parameter, ...], says: str
) -> None:
    code = f'extern "C" __global__ void add({parameters}) {{ }}\n'
    script = parse_launches(f"// launch add(c, alpha): grid=1 block=1\n{code}", file="add.cu")
    with pytest.raises(SubmissionError) as caught:
        resolve_launches(script, ADD, {"n": 9}, DeviceLimits(), program(*compiled))
    assert says in caught.value.diagnostics[0].hint


def test_an_integer_for_a_float_parameter_becomes_a_float() -> None:
    compiled = program(POINTER, POINTER, FLOAT, INT)
    args = only_launch("// launch add(a, b, 2, n): grid=1 block=1", compiled=compiled).args
    assert [type(arg) for arg in args] == [str, str, float, int]


def test_a_struct_cannot_be_passed() -> None:
    compiled = program(POINTER, POINTER, Parameter("b8", 16, 16), INT)
    assert "only arrays, integers, floats and tensor maps" in complaint(LAUNCH, compiled=compiled).message


def test_parameters_are_named_by_their_types_where_the_source_hides_them() -> None:
    compiled = program(POINTER, INT, name="hidden")
    found = complaint("// launch hidden(a, a): grid=1 block=1", compiled=compiled)
    assert found.message == "parameter 2 of hidden is `32-bit integer`, but the launch line passes the array a"


CONST = ".visible .const .align 4 .b8 W[4000];\n.const .align 4 .f32 FACTOR;\n"


def test_a_constant_array_must_exist_and_be_large_enough() -> None:
    compiled = program(POINTER, POINTER, POINTER, INT, ptx=CONST)
    assert plan(f"// constant W = a\n{LAUNCH}", compiled=compiled).constants[0].symbol == "W"
    assert (
        "W has 4000 bytes, but a has 1001 elements of 4"
        in complaint(f"// constant W = a\n{LAUNCH}", {"n": 1001}, compiled=compiled).message
    )
    assert "did you mean 'FACTOR'?" in complaint(f"// constant FACTR = a\n{LAUNCH}", compiled=compiled).hint


# ------------------------------------------------------------------------------------------------------- hostile texts

PIECES = (
    *(
        "// ",
        "launch ",
        "passes ",
        "scratch ",
        "zero ",
        "constant ",
        "add(",
        "a, b",
        ")",
        ":",
        " grid=",
        " block=",
        "1",
    ),
    *(
        " until ",
        " by ",
        "m=n",
        "[",
        "]",
        "{",
        "}",
        '"',
        "'",
        "\\",
        "\n",
        "/*",
        "*/",
        "#define X ",
        'R"(',
        "float",
        "=",
    ),
)


@given(st.lists(st.sampled_from(PIECES), max_size=25))
@settings(max_examples=300)
def test_any_text_is_a_plan_or_a_submission_error(pieces: list[str]) -> None:
    with suppress(SubmissionError):  # anything else would fail the test
        assert plan("".join(pieces), compiled=ADD_PROGRAM).launches


@pytest.mark.parametrize(
    "text",
    ["{" * 20_000, 'R"(' * 20_000, "const int a=" * 10_000, "#define A 2**62\n" * 10_000, "//" + "\\\n" * 20_000],
)
def test_repetition_is_read_in_one_pass(text: str) -> None:
    assert parse_launches(text, file="bomb.cu").lines == ()


def test_long_and_many_launch_lines_are_refused() -> None:
    assert "at most 1000" in complaint("// launch add(" + "a, " * 500 + "a): grid=1 block=1").message
    assert "more than 200 launch lines" in complaint("// zero c\n" * 201).message
