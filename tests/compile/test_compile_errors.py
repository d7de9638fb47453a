from __future__ import annotations

from collections.abc import Callable

import pytest

from grader.compile import Program
from grader.compile.log import read_log, telling
from grader.errors import SubmissionError

Compile = Callable[[str], Program]
Refusal = Callable[[str | bytes], SubmissionError]


def test_an_error_names_line_column_and_source(refused: Refusal) -> None:
    error = refused('extern "C" __global__ void k(float *a)\n{\n\tif (a)\n\t  a[0] = lenght;\n}\n')
    assert error.verdict == "compile_error"
    assert error.message == 'kernel.cu, line 4: identifier "lenght" is undefined'
    (diagnostic,) = error.diagnostics
    assert (diagnostic.kind, diagnostic.severity, diagnostic.file) == ("compile_error", "error", "kernel.cu")
    assert (diagnostic.line, diagnostic.source) == (4, "\t  a[0] = lenght;")
    assert diagnostic.column == diagnostic.source.index("lenght") + 1


@pytest.mark.parametrize(
    "between",
    ["\n", "\n\n    // a comment\n", " // a comment\n", "\n#pragma unroll\n", "\r\n"],
)
def test_what_a_line_lacks_at_its_end_is_not_blamed_on_the_next(refused: Refusal, between: str) -> None:
    text = "    __shared__ float part[32]"
    error = refused(f'extern "C" __global__ void k(float *a)\n{{\n{text}{between}    for (;;) a[0] = part[1];\n}}\n')
    (diagnostic,) = error.diagnostics
    assert (diagnostic.message, diagnostic.line, diagnostic.column) == ('expected a ";"', 3, len(text) + 1)
    assert (diagnostic.source or "").startswith(text)


def test_what_is_missing_within_a_line_stays_there(refused: Refusal) -> None:
    error = refused('extern "C" __global__ void k(float *a)\n{\n    a[0] = 1 int i;\n}\n')
    assert (error.diagnostics[0].line, error.diagnostics[0].column) == (3, 14)


def test_several_errors_are_all_there_in_order(refused: Refusal) -> None:
    error = refused('extern "C" __global__ void k(float *a)\n{\n    x = 1;\n    y = 2;\n    z = 3;\n}\n')
    assert "3 errors" in error.message
    assert [d.line for d in error.diagnostics] == [3, 4, 5]


def test_a_note_follows_its_error(refused: Refusal) -> None:
    error = refused('extern "C" __global__ void k(float *a)\n{\n    *a = 1;\n')
    assert [d.severity for d in error.diagnostics] == ["error", "note"]
    assert "end of the file" in error.diagnostics[0].message
    assert error.diagnostics[1].line == 2


def test_what_the_message_goes_on_with_stays_with_it(refused: Refusal) -> None:
    error = refused(
        'void f(int, int);\nvoid f(float);\nextern "C" __global__ void k(float *a)\n{\n    f(a, a, a);\n}\n'
    )
    assert error.diagnostics[0].line == 5
    assert "argument types are: (float *, float *, float *)" in error.message


def test_an_error_inside_a_template_names_the_templates_line(refused: Refusal) -> None:
    error = refused(
        "template <class T> T f(T x)\n{\n    return x.member;\n}\n"
        'extern "C" __global__ void k(float *a) { *a = f(*a); }'
    )
    assert error.diagnostics[0].line == 3


def test_an_error_inside_a_header_is_told_at_the_line_that_led_there(refused: Refusal) -> None:
    error = refused(
        "#include <cuda_fp16.h>\n#include <mma.h>\nusing namespace nvcuda;\n"
        'extern "C" __global__ void k(float *a)\n{\n'
        "    wmma::fragment<wmma::matrix_a, 3, 3, 3, __half, wmma::row_major> f;\n"
        "    wmma::fill_fragment(f, 1.0f);\n}\n"
    )
    assert error.diagnostics[0].line in (6, 7)
    assert all(d.file in (None, "kernel.cu") for d in error.diagnostics)
    assert not any("/" in d.message.replace("operator/", "") for d in error.diagnostics)


def test_a_static_assertion_in_a_header_keeps_its_text(refused: Refusal) -> None:
    error = refused(
        '#include <cooperative_groups.h>\nextern "C" __global__ void k(float *a)\n{\n'
        "    auto block = cooperative_groups::this_thread_block();\n"
        "    *a = cooperative_groups::tiled_partition<33>(block).size();\n}\n"
    )
    assert error.diagnostics[0].line == 5
    assert "(in <cooperative_groups.h>)" in error.message
    assert error.diagnostics[0].source == "    *a = cooperative_groups::tiled_partition<33>(block).size();"


def test_control_characters_and_bidirectional_marks_never_come_out(refused: Refusal) -> None:
    error = refused(
        'extern "C" __global__ void k(float *a)\n{\n    x; // \x1b[31m \u202e evil \x07\n#error \x1b]0;title\x07\n}'
    )
    shown = "".join(f"{d.message}{d.source}{d.hint}" for d in error.diagnostics) + error.message
    assert not set("\x1b\x07\u202e") & set(shown)


def test_windows_line_ends_do_not_show(refused: Refusal) -> None:
    error = refused('extern "C" __global__ void k(float *a)\r\n{\r\n    x = 1;\r\n}\r\n')
    assert (error.diagnostics[0].line, error.diagnostics[0].source) == (3, "    x = 1;")


@pytest.mark.parametrize(
    ("code", "header"),
    [
        ("__half h;", "cuda_fp16.h"), ("half2 h;", "cuda_fp16.h"), ("__nv_bfloat16 h;", "cuda_bf16.h"),
        ("auto g = cooperative_groups::this_grid();", "cooperative_groups.h"), ("this_grid();", "cooperative_groups.h"),
        ("cuda::atomic_ref<float> r(*a);", "cuda/atomic"), ("nvcuda::wmma::matrix_a *m;", "mma.h"),
    ],
)  # fmt: skip
def test_a_name_that_needs_a_header_tells_which(refused: Refusal, code: str, header: str) -> None:
    assert refused(kernel(code)).hint == f"add `#include <{header}>` at the top"


INCLUDE, USING = "#include <mma.h>\n", "using namespace nvcuda;\n"
BOTH = "add `#include <mma.h>` at the top, and below it `using namespace nvcuda;`"
ONLY_USING = "add `using namespace nvcuda;` below `#include <mma.h>`, or write `nvcuda::wmma`"


@pytest.mark.parametrize(
    ("head", "name", "hint"),
    [
        ("", "wmma::accumulator", BOTH),
        ("// " + INCLUDE, "wmma::accumulator", BOTH),
        (USING, "wmma::accumulator", "add `#include <mma.h>` at the top"),
        (INCLUDE, "wmma::accumulator", ONLY_USING),
        (INCLUDE + "// " + USING, "wmma::accumulator", ONLY_USING),
        (INCLUDE + "using namespace wmma;\n", "wmma::accumulator", ONLY_USING),
        (INCLUDE, "accumulator", ONLY_USING),
        (INCLUDE + USING, "accumulator", "write `wmma::accumulator`"),
        ("", "accumulator", ""),  # perhaps a variable of theirs
    ],
)
def test_wmma_lacks_its_header_or_its_namespace_and_the_hint_says_which(
    refused: Refusal, head: str, name: str, hint: str
) -> None:
    assert refused(head + kernel(f"{name} *c;")).diagnostics[0].hint == hint


def test_the_hints_for_wmma_lead_to_a_file_that_compiles(compiled: Compile) -> None:
    assert compiled(INCLUDE + USING + kernel("wmma::accumulator *c = 0; a[0] = !c;"))
    assert compiled(INCLUDE + kernel("nvcuda::wmma::accumulator *c = 0; a[0] = !c;"))


def test_a_fragment_that_wmma_does_not_have_is_told_so(refused: Refusal) -> None:
    error = refused(INCLUDE + USING + kernel("wmma::fragment<wmma::matrix_a, 16, 16, 16, float> f;"))
    assert "row_major or col_major" in error.hint


def test_an_alias_of_cooperative_groups_needs_its_declaration(refused: Refusal) -> None:
    error = refused("#include <cooperative_groups.h>\n" + kernel("cg::this_grid();"))
    assert error.hint == "add `namespace cg = cooperative_groups;` below the #include"
    reduce = "namespace cg = cooperative_groups;\n" + kernel("cg::reduce(cg::this_grid(), 1, 2);")
    assert refused("#include <cooperative_groups.h>\n" + reduce).hint.count("cooperative_groups/reduce.h") == 1


def kernel(statement: str) -> str:
    return f'extern "C" __global__ void k(float *a)\n{{\n    {statement}\n}}\n'


def test_a_flood_of_warnings_does_not_hide_the_error_behind_it(refused: Refusal) -> None:
    error = refused('extern "C" __global__ void k(float *a)\n{\n' + "    { int unused; }\n" * 5000 + "    x = 1;\n}\n")
    assert error.diagnostics[0].line == 5003


def test_only_the_students_own_file_is_warned_about() -> None:
    log = (
        "/opt/cuda/std/x.h(7): warning #186-D: pointless comparison\n   if (n < 0)\n       ^\n"
        '          detected during instantiation of "f" at line 2 of k.cu\n\n'
        'k.cu(2): warning #177-D: variable "b" was declared but never referenced\n  int b;\n      ^\n'
    )
    assert read_log(log, "k.cu", "int a;\nint b;\n").warnings.count("warning:") == 1


def test_a_warning_names_no_folder_of_this_machine(compiled: Compile) -> None:
    log = compiled("#include <limits.h>\n#define CHAR_MIN 3\n" + kernel("*a = CHAR_MIN;")).log
    assert "(declared at line 26 of <limits.h>)" in log
    assert "/include/" not in log


def test_warnings_are_limited(compiled: Compile) -> None:
    log = compiled(
        'extern "C" __global__ void k(float *a)\n{\n' + "    { int unused; }\n" * 500 + "    *a = 1;\n}\n"
    ).log
    assert log.count("warning") == 20


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        ("int i = blockIdx.x * blockDim + threadIdx.x;", "did you mean `blockDim.x`? blockDim has three parts"),
        ("int i = threadIdx;", "did you mean `threadIdx.x`? threadIdx has three parts"),
        ("_syncthreads();", "did you mean `__syncthreads`?"),
        ("float v = src[threadidx.x];", "did you mean `threadIdx`?"),
        ("src[0] += 1;", "`src` points to const: inputs must not be changed"),
        ("int s = 1; s =* 2;", "did you mean `*=`?"),
    ],
)
def test_common_slips_are_recognised(refused: Refusal, statement: str, hint: str) -> None:
    error = refused(f'extern "C" __global__ void k(const float* src, float* dst)\n{{\n    {statement}\n}}\n')
    assert error.diagnostics[0].hint.startswith(hint)


@pytest.mark.parametrize("slashes", ["", "/ "])
def test_a_launch_line_without_its_slashes_is_recognised(refused: Refusal, slashes: str) -> None:
    error = refused(f'{slashes}launch k(a): grid=1 block=1\nextern "C" __global__ void k(float* a)\n{{\n}}\n')
    assert error.diagnostics[0].hint == "a launch line is a comment: begin it with `// launch`"


def test_name_that_resembles_nothing_gets_no_advice(refused: Refusal) -> None:
    assert refused('extern "C" __global__ void k(float* a)\n{\n    lenght = 1;\n}\n').diagnostics[0].hint == ""


def test_types_of_operands_stand_apart_from_the_message(refused: Refusal) -> None:
    error = refused('extern "C" __global__ void k(int* a)\n{\n    a[0] = 1 + blockDim;\n}\n')
    assert "matches these operands; operand types are: int + const dim3" in error.diagnostics[0].message


def test_unused_variables_of_the_stub_are_no_news_and_explain_nothing() -> None:
    unused = 'k.cu(4): warning: variable "{}" was declared but never referenced\n  float {};\n        ^'
    both = "\n".join(unused.format(name, name) for name in ("given", "own"))
    kept, may_explain = telling(both, "float given;  // own")
    assert '"own"' in kept
    assert '"given"' not in kept
    assert not may_explain
    assert telling("k.cu(4): warning: a value is used before it is set", "") == (
        "k.cu(4): warning: a value is used before it is set",
        True,
    )
