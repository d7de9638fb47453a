from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.compile import read_submission, source
from grader.compile.source import SOURCE_LIMIT, checked_source, smuggling
from grader.errors import SubmissionError, UsageError

KERNEL = 'extern "C" __global__ void k(float *a)\n{\n    a[threadIdx.x] = 1.0f;\n}\n'


def invalid(source: str | bytes) -> SubmissionError:
    with pytest.raises(SubmissionError) as raised:
        checked_source(source if isinstance(source, bytes) else source.encode(), "kernel.cu")
    assert raised.value.verdict == "invalid"
    assert raised.value.hint
    return raised.value


def usage_code(path: Path) -> str:
    with pytest.raises(UsageError) as raised:
        read_submission(path)
    assert raised.value.hint
    return raised.value.code


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "kernel.cu"
    path.write_bytes(KERNEL.encode())
    assert read_submission(path) == KERNEL.encode()


def test_a_missing_file_is_a_wrong_command(tmp_path: Path) -> None:
    assert usage_code(tmp_path / "missing.cu") == "not_found"
    assert usage_code(tmp_path / "no" / "folder.cu") == "not_found"
    assert usage_code(tmp_path / ("x" * 5000)) == "not_found"
    assert usage_code(Path("a\0b")) == "not_found"


def test_a_folder_is_a_wrong_command(tmp_path: Path) -> None:
    assert usage_code(tmp_path) == "is_a_directory"


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may read everything")
def test_a_file_without_permission_is_a_wrong_command(tmp_path: Path) -> None:
    path = tmp_path / "kernel.cu"
    path.write_text(KERNEL)
    path.chmod(0)
    assert usage_code(path) == "unreadable"


def test_a_named_pipe_is_a_wrong_command_and_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.cu")
    assert usage_code(tmp_path / "pipe.cu") == "unreadable"


def test_fifty_megabytes_are_refused_without_reading_them(tmp_path: Path) -> None:
    path = tmp_path / "large.cu"
    with open(path, "wb") as file:
        file.truncate(50_000_000)
    with pytest.raises(SubmissionError) as raised:
        read_submission(path)
    assert raised.value.verdict == "invalid"
    assert "50.0 MB" in raised.value.message


def test_a_large_text_is_refused_before_it_is_compiled() -> None:
    assert "1 MiB" in invalid(b"//" + b"x" * SOURCE_LIMIT).message


@pytest.mark.parametrize("source", [b"", b" \n\t\r\n", b"\n"])
def test_an_empty_file_is_invalid(source: bytes) -> None:
    assert "empty" in invalid(source).message


def test_bytes_that_are_no_utf8_are_invalid_and_named_with_their_line() -> None:
    error = invalid(KERNEL.encode() + b"// gr\xf6\xdfe")
    assert "0xf6" in error.message
    assert error.diagnostics[0].line == 5


def test_a_nul_character_is_invalid() -> None:
    assert invalid(KERNEL + "\n\0").diagnostics[0].line == 6


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert checked_source(b"\xef\xbb\xbf" + KERNEL.encode(), "kernel.cu") == KERNEL


def test_a_main_function_is_named_with_all_its_lines() -> None:
    main = (
        "#include <iostream>\n"
        + KERNEL
        + "int main()\n{\n    float *a;\n    cudaMalloc(&a, 4);\n    k<<<1, 1>>>(a);\n}\n"
    )
    error = invalid(main)
    assert "must be removed: line 1 (#include <iostream>), lines 6–11 (int main())" in error.message
    assert [d.line for d in error.diagnostics] == [1, 6]
    assert "// launch" in error.hint


@pytest.mark.parametrize(
    ("code", "named"),
    [
        ("void run(float *a) { k<<<1, 32>>>(a); }", "line 5 (void run(float *a))"),
        ("float *p = cudaMalloc(4);", "line 5 (cudaMalloc())"),
        ("__device__ void f() { cudaDeviceSynchronize ( ); }", "line 5 (cudaDeviceSynchronize())"),
        ("#include <vector>", "line 5 (#include <vector>)"),
        ('# include  "cublas_v2.h"', "line 5 (#include <cublas_v2.h>)"),
        ("static std::vector<float> v;", "line 5 (std::vector)"),
        ("static ::std::vector<float> v;", "line 5 (std::vector)"),
        ("#define CHECK(x) cudaGetErrorString(x)\n__device__ auto s = CHECK(1);", "line 5 (cudaGetErrorString())"),
        ("#define B cudaMalloc(0, 4)\n#define A B\n__device__ auto s = A;", "line 5 (cudaMalloc())"),
        ("#if SOMETHING\n#else\nint main() {}\n#endif", "line 7 (int main())"),
        ("#if N > 3\nint main() {}\n#endif", "line 6 (int main())"),
        ("#define MAIN 1\n#ifdef MAIN\nint main() {}\n#endif", "line 7 (int main())"),
        ("#if !(defined(A) && defined(B))\nint main() {}\n#endif", "line 6 (int main())"),
        ("#if defined __CUDACC__ && !GRADED\nint main() {}\n#endif", "line 6 (int main())"),
        ("#if 0\n#elif 0x10\nint main() {}\n#endif", "line 7 (int main())"),
        ("#if 0\n#else\nint main() {}\n#endif", "line 7 (int main())"),
        ("#if 0\n#endif\nint main() {}\n#endif", "line 7 (int main())"),
    ],
)
def test_host_code_is_named_where_it_stands(code: str, named: str) -> None:
    assert named in invalid(KERNEL + code).message


@pytest.mark.parametrize(
    "code",
    [
        "// int main() { k<<<1, 2>>>(a); cudaMalloc }",
        "/* std::vector<int> and cudaMemcpy(a, b) */",
        '__device__ const char *text = "int main() <<< cudaMalloc(";',
        "__device__ int domain(int maintain) { return maintain << 3; }",
        "#include <cuda_runtime.h>\n#include <stdio.h>\n#include <cuda_fp16.h>\n#include <algorithm>",
        "__device__ void f() { cudaGridDependencySynchronize(); }",
        "typedef cudaStream_t stream;",
        "__device__ float cudaAdd(float a) { return a; }\n__device__ float f() { return cudaAdd(1); }",
        "struct S { __device__ int cudaCount(); int n = cudaCount(); };",
        "#define cudaTwice(x) (2 * (x))\n__device__ int f() { return cudaTwice(3); }",
        "__device__ float curandNext(float a) { return a; }\n__device__ float f() { return curandNext(1); }",
        "__device__ cuda::std::chrono::seconds s; __device__ mine::std :: string t;",
        "#define CHECK(x) do { if ((x) != cudaSuccess) printf(cudaGetErrorString(x)); } while (0)",
        "#ifndef CHECK\n#define CHECK(x) \\\n  cudaDeviceSynchronize()\n#endif",
        "#define INNER cudaMalloc(&a, 4)\n#define OUTER INNER",
        "#if 0\n#include <vector>\nint main() { k<<<1, 2>>>(a); }\n#endif",
        "#ifndef __CUDACC_RTC__\nint main() { k<<<1, 2>>>(a); }\n#endif",
        "#ifdef __CUDA_ARCH__\n#define N 1\n#else\n#define N cudaGetLastError()\n#endif\n__device__ int n = N;",
        "#if 1\n#elif X\nint main() {}\n#else\n# if Y\nstd::string s;\n# endif\n#endif",
        "#if !defined ( __CUDACC__ )\n#include <iostream>\n#endif",
        "#ifdef STANDALONE\nint main() { k<<<1, 2>>>(a); }\n#endif",
        "#if defined(__NVCC__) || defined(__HIPCC__)\n#include <vector>\n#endif",
        "#if !defined(__CUDACC_RTC__) && !defined(GRADED)\n#include <vector>\n#endif",
        "#if USE_MAIN\nint main() {}\n#endif",
    ],
)
def test_words_in_comments_strings_and_names_are_no_host_code(code: str) -> None:
    assert checked_source((KERNEL + code).encode(), "kernel.cu") == KERNEL + code


def test_without_cuda_headers_every_name_like_the_runtimes_is_host_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "runtime_functions", lambda: None)
    assert "cudaWhatever()" in invalid(KERNEL + "int x = cudaWhatever(1);").message


def test_a_hundred_findings_are_counted_not_listed() -> None:
    error = invalid(KERNEL + "x = cudaMalloc(1);\n" * 100)
    assert "and 92 more" in error.message
    assert len(error.diagnostics) == 8


@pytest.mark.parametrize("directive", ["#line 1", '#line 7 "other.cu"', "  #  line 3", '# 3 "x.cu"', "%:line 3"])
def test_renumbering_lines_is_invalid(directive: str) -> None:
    assert invalid(f"{KERNEL}{directive}\n").diagnostics[0].line == 5


@pytest.mark.parametrize(
    "text",
    [
        "} .entry evil(.param .u64 p) { ret;",
        ".visible .func f() { ret; }",
        "ret; } {",
        "{ ret;",
        ".extern .func malloc;",
        "// inline asm",
    ],
)
def test_assembly_that_leaves_its_function_is_found(text: str) -> None:
    assert smuggling(text.replace("// ", ""))
    assert (
        "inline assembly" in invalid(KERNEL + f'__device__ void f() {{ asm("{text}"); }}').message
        or "inline asm" in text
    )


@pytest.mark.parametrize("text", ["add.f32 %0, %0, %0;", "{ .reg .b32 t; mov.b32 t, %0; }", "bar.sync 0; // } .entry"])
def test_ordinary_assembly_is_fine(text: str) -> None:
    assert smuggling(text) == ""


def test_assembly_in_pieces_escapes_and_raw_strings_is_read_whole() -> None:
    for text in (
        r'"} .en" "try evil() {"',
        r'"} \x2e" "entry evil() {"',
        r'"} \056entry evil() {"',
        'R"(} .entry evil() {)"',
    ):
        assert ".entry" in invalid(KERNEL + f"__device__ void f() {{ asm volatile ({text}); }}").message


def test_a_string_may_not_imitate_the_marks_around_assembly() -> None:
    assert "mark" in invalid(KERNEL + '__device__ void f() { asm("/" "/ end inline" " asm"); }').message
