from __future__ import annotations

from collections.abc import Callable

import pytest

from grader.compile import Program
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
    [("__half h;", "cuda_fp16.h"), ("__nv_bfloat16 h;", "cuda_bf16.h")],
)
def test_a_type_that_needs_a_header_names_it(refused: Refusal, code: str, header: str) -> None:
    assert header in refused(f'extern "C" __global__ void k(float *a) {{ {code} }}').hint


def test_a_flood_of_warnings_does_not_hide_the_error_behind_it(refused: Refusal) -> None:
    error = refused('extern "C" __global__ void k(float *a)\n{\n' + "    { int unused; }\n" * 5000 + "    x = 1;\n}\n")
    assert error.diagnostics[0].line == 5003


def test_warnings_are_limited(compiled: Compile) -> None:
    log = compiled(
        'extern "C" __global__ void k(float *a)\n{\n' + "    { int unused; }\n" * 500 + "    *a = 1;\n}\n"
    ).log
    assert log.count("warning") == 20
