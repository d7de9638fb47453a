"""The names of launch lines have the values that the compiler gives them, and the PTX stays as it is without them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from grader.compile import Program, compile_source, nvrtc
from grader.compile.constants import names_in_launch_lines as asked
from grader.errors import SubmissionError
from grader.launch import parse_launches, resolve_launches
from tests.launch.test_launch import ADD

Compile = Callable[[str], Program]
Refusal = Callable[[str | bytes], SubmissionError]

KERNEL = 'extern "C" __global__ void add(const float* a, const float* b, float* c, int n) { c[n] = a[n] + b[n]; }\n'


def line(*names: str) -> str:
    return f"// launch add(a, b, c, n): grid=1 block={' + '.join(names) or 256}\n"


DEFINED = """\
#if __CUDA_ARCH__ >= 800
#define BRANCH 128
#else
#define BRANCH 256
#endif
#if 0
#define OFF 512
constexpr int GONE = 512;
#else
#define OFF 64
constexpr int GONE = 64;
#endif
#define AGAIN 512
#undef AGAIN
#define AGAIN 32
#ifndef GIVEN
#define GIVEN 96
#endif
%:define DIGRAPH 48
#define SUM 1 + 1
#define TEXTUAL SUM * 2
#define BYTES (sizeof(float4) * 4)
enum { FIRST, SECOND = 7, THIRD };
enum class Scoped { INSIDE = 5 };
const unsigned BRACES{40u}, LIST = 5;
int constexpr OTHER_ORDER = 1'024;
template <int K> constexpr int square = K * K;
constexpr int twice(int k) { return 2 * k; }
constexpr auto CALLED = twice(square<4>);
constexpr bool YES = true;
constexpr float HALF = 0.5f;
#define NOTHING
"""
VALUES = {
    "BRANCH": 128, "OFF": 64, "GONE": 64, "AGAIN": 32, "GIVEN": 96, "DIGRAPH": 48, "TEXTUAL": 3, "BYTES": 64,
    "FIRST": 0, "SECOND": 7, "THIRD": 8, "BRACES": 40, "LIST": 5, "OTHER_ORDER": 1024, "CALLED": 32, "YES": 1,
}  # fmt: skip


def test_the_compiler_says_what_a_name_is(compiled: Compile) -> None:
    names = (*VALUES, "HALF", "INSIDE", "a", "n", "absent")
    program = compiled(line(*names) + DEFINED + KERNEL)
    assert dict(program.constants) == {**VALUES, "add.AGAIN": 32}


def test_one_name_that_is_no_expression_leaves_the_others_their_values(compiled: Compile) -> None:
    source = line("KIND", "BLOCK", "HIDDEN", "Tag") + "#define KIND float\nenum { BLOCK = 128 };\nstruct Tag { };\n"
    assert compiled(source + "namespace { constexpr int HIDDEN = 4; }\n" + KERNEL).constants == {"BLOCK": 128}


def test_the_ptx_and_the_warnings_are_those_of_the_file_alone(
    compiled: Compile, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = f"{{ int unused; c[0] = own++ + {' + '.join(VALUES)};"
    source = line(*VALUES) + DEFINED + "static __device__ int own = 4;\n" + KERNEL.replace("{", body)
    told = compiled(source)
    monkeypatch.setattr(nvrtc, "names_in_launch_lines", lambda source: ())
    alone = compiled(source)
    assert (told.ptx, told.log, told.key) == (alone.ptx, alone.log, alone.key)
    assert "unused" in told.log
    assert not alone.constants


def test_a_constant_that_only_a_launch_line_uses_is_not_unused(compiled: Compile) -> None:
    assert compiled(line("BLOCK") + "constexpr int BLOCK = 64;\n" + KERNEL).log == ""


def test_a_file_without_constants_in_its_launch_lines_gets_no_tail() -> None:
    kernel = KERNEL.replace("{", "{ int i = 0, block(256); float grid{}; ")
    assert asked(line() + kernel) == ()
    assert asked("#define BLOCK 128\n// so many threads: BLOCK\n" + line() + kernel) == ()
    assert asked("#define cdiv(a, b) ((a) / (b))\n" + line("cdiv(n, 4)", "sizeof(float)") + kernel) == ()
    assert asked("// passes m=n until 1 by cdiv(m, BLOCK): add(src, dst, m): grid=1 block=1\n#define BLOCK 4\n") == (
        "BLOCK",
    )


@pytest.mark.parametrize(
    "broken",
    [
        "#define BLOCK float\n", "#define BLOCK(x) x\n", "#define BLOCK )\n", "int BLOCK = 4;\n", "struct BLOCK { };\n",
        "#define BLOCK 4\n#define namespace\n", "#define BLOCK 4\n#define warpgrade_names 3\n",
    ],
)  # fmt: skip
def test_what_the_compiler_cannot_evaluate_is_left_to_the_reader_of_the_text(compiled: Compile, broken: str) -> None:
    source = broken + line("BLOCK") + KERNEL
    program = compiled(source)
    assert not program.constants
    assert "warpgrade" not in program.ptx


@pytest.mark.parametrize(
    "rest", ["#if 1\n", "namespace inner {\n", "/* open\n", 'const char* s = R"(open\n', "int f() {\n"]
)
def test_an_error_at_the_end_of_the_file_is_told_as_without_a_tail(
    refused: Refusal, monkeypatch: pytest.MonkeyPatch, rest: str
) -> None:
    source = line("BLOCK") + "#define BLOCK 128\n" + KERNEL + rest
    told = refused(source)
    monkeypatch.setattr(nvrtc, "names_in_launch_lines", lambda source: ())
    assert told.diagnostics == refused(source).diagnostics


def test_an_error_in_the_file_costs_no_second_compilation(refused: Refusal, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []
    really = nvrtc.run_nvrtc
    monkeypatch.setattr(nvrtc, "run_nvrtc", lambda *given: runs.append(given) or really(*given))
    error = refused(line("BLOCK") + "#define BLOCK 128\n" + KERNEL.replace("c[n]", "d[n]"))
    assert (len(runs), len(error.diagnostics), error.diagnostics[0].line) == (1, 1, 3)


def test_constants_are_kept_with_the_program() -> None:
    source = (line("BLOCK") + "enum { BLOCK = 128 };\n" + KERNEL).encode()
    first, again = (compile_source(source, "add.cu") for _ in range(2))
    assert first == again
    assert again.constants == {"BLOCK": 128}


def test_the_launch_has_the_compilers_value_and_a_size_stays_the_exercises(compiled: Compile) -> None:
    source = line("BLOCK", "n") + "#if 1\nconstexpr int n = 7, BLOCK = 24;\n#else\n#define BLOCK 999\n#endif\n" + KERNEL
    program = compiled(source)
    assert program.constants == {"BLOCK": 24, "n": 7}
    plan = resolve_launches(parse_launches(source, file="add.cu"), ADD, {"n": 8}, program=program)
    assert plan.launches[0].block == (32, 1, 1)


def test_a_name_that_only_the_compiler_understands_is_no_longer_refused(compiled: Compile) -> None:
    source = line("BLOCK") + "constexpr int of(int k) { return 32 * k; }\nconstexpr int BLOCK = of(2);\n" + KERNEL
    program = compiled(source)
    assert resolve_launches(parse_launches(source, file="add.cu"), ADD, {"n": 8}, program=program).launches[
        0
    ].block == (64, 1, 1)


TWO_KERNELS = """\
// launch first(a, n): grid=1 block=TILE
// launch second(a, n): grid=1 block=TILE
// launch third(a, n): grid=1 block=TILE
#define TILE 16
extern "C" __global__ void first(const float* a, int n) { __shared__ float s[TILE]; s[n] = a[n]; }
#undef TILE
#define TILE 32
extern "C" {
__global__ void __launch_bounds__(TILE) second(const float* a, int n) { __shared__ float s[TILE]; s[n] = a[n]; }
}
#undef TILE
#define TILE 64
extern "C" __global__ void third(const float* a, int n) { }
"""


def test_a_name_that_is_defined_anew_has_its_value_at_each_kernel(
    compiled: Compile, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compiled(TWO_KERNELS)
    plan = resolve_launches(parse_launches(TWO_KERNELS, file="add.cu"), ADD, {"n": 8}, program=program)
    assert [launch.block for launch in plan.launches] == [(16, 1, 1), (32, 1, 1), (64, 1, 1)]
    monkeypatch.setattr(nvrtc, "names_in_launch_lines", lambda source: ())
    assert compiled(TWO_KERNELS).ptx == program.ptx


def test_a_name_that_a_kernel_does_not_know_has_its_value_at_the_end(compiled: Compile) -> None:
    source = TWO_KERNELS.replace("#define TILE 16\n", "").replace("s[TILE]", "s[9]", 1)
    assert compiled(source).constants == {"TILE": 64}
