from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from grader.compile import Program, assemble, assembly, ptxas
from grader.compile.ptxas import Resources, read_resources, source_line
from grader.compile.toolchain import Toolchain, find_toolchain
from grader.errors import RefusedProgram, SubmissionError, Unsupported

Compile = Callable[[str], Program]

pytestmark = pytest.mark.skipif(find_toolchain().ptxas is None, reason="ptxas is not installed")
KERNEL = """
__device__ __noinline__ float helper(float x) { return x * x + 1; }
extern "C" __global__ void k(float *a)
{
    __shared__ float s[64];
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = helper(s[63 - threadIdx.x]);
}
extern "C" __global__ void one(float *a) { *a = 1; }
"""


@pytest.fixture
def program(compiled: Compile) -> Program:
    return compiled(KERNEL)


@pytest.fixture
def other_ptxas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a shell script in the place of ptxas."""

    def install(script: str) -> None:
        path = tmp_path / "ptxas"
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        monkeypatch.setattr(ptxas, "find_toolchain", lambda: replace(find_toolchain(), ptxas=path))

    return install


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_one_ptx_is_assembled_for_each_architecture(program: Program, arch: str) -> None:
    made = assembly(program, arch)
    assert made.cubin.startswith(b"\x7fELF")
    assert set(made.resources) == {"k", "one"}
    assert made.resources["k"].static_shared_bytes == 256
    assert made.resources["one"].static_shared_bytes == 0
    assert 4 <= made.resources["one"].registers <= made.resources["k"].registers <= 255


def test_the_cubin_comes_from_the_cache_and_a_damaged_one_is_made_again(
    program: Program, cache_folder: Path, other_ptxas: Callable[[str], None]
) -> None:
    cubin = assemble(program, "sm_80")
    (entry,) = (cache_folder / "cubin").iterdir()
    assert assembly(program, "sm_80") == assembly(program, "sm_80")
    entry.write_bytes(entry.read_bytes()[:-9])
    assert assemble(program, "sm_80") == cubin


def test_another_architecture_program_or_assembler_is_another_cubin(
    program: Program, compiled: Compile, cache_folder: Path
) -> None:
    for made_of, arch in ((program, "sm_80"), (program, "sm_90"), (compiled(KERNEL + "\n"), "sm_80")):
        assemble(made_of, arch)
    assemble(compiled(KERNEL.replace("+ 1", "+ 2")), "sm_80")
    assert len(list((cache_folder / "cubin").iterdir())) == 3


def test_too_much_static_shared_memory_is_the_submissions_fault(compiled: Compile) -> None:
    program = compiled(
        'extern "C" __global__ void k(float *a) { __shared__ float s[20000]; s[(int)*a] = 1; *a = s[3]; }'
    )
    with pytest.raises(SubmissionError) as raised:
        assemble(program, "sm_80")
    assert raised.value.verdict == "compile_error"
    assert "k declares 80000 bytes of __shared__ arrays; the maximum is 49152, at kernel.cu:1" in raised.value.message
    assert raised.value.diagnostics[0].line == 1


AROUND = """#include <cuda_fp16.h>
extern "C" __global__ void other(int* x) { *x = 1; }
extern "C" __global__ void k(half* h, int* x)
{
    h[0] = __hadd(h[1], h[2]);
    STATEMENT
    x[1] = 2;
}
"""


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ('asm volatile("add.rn.s32 %0, %0, 1;" : "+r"(*x));', "Illegal rounding modifier"),
        ('asm volatile("bar.sync 17;");', "Barrier number '17' out of range"),
        ('asm volatile("barrier.cluster.arrive;");', "requires .target sm_90"),
        ('asm volatile(".pragma 3;");', "syntax error"),
        ('asm volatile("// gr\u00f6\u00dfe\\n");', "not ASCII"),
        ('for (int i = 0; i < 2; i++) asm volatile("L: add.s32 %0, %0, 1;" : "+r"(x[i]));', "label 'L'"),
        ('asm volatile("mov.u32 %0, %%nothing;" : "=r"(*x));', "Arguments mismatch"),
    ],
)
def test_what_ptxas_refuses_is_told_at_its_line_of_the_source(compiled: Compile, statement: str, words: str) -> None:
    with pytest.raises(RefusedProgram) as raised:
        assemble(compiled(AROUND.replace("STATEMENT", statement)), "sm_80")
    assert words in raised.value.message
    (found,) = raised.value.diagnostics
    assert (found.file, found.line, found.source) == ("kernel.cu", 6, f"    {statement}")


def test_a_line_of_a_headers_function_is_that_of_its_call(compiled: Compile) -> None:
    program = compiled(AROUND.replace("STATEMENT", ""))
    lines = program.ptx.split("\n")
    added = next(number for number, line in enumerate(lines, start=1) if "add.f16" in line)
    assert source_line(program, added) == 5
    assert source_line(program, 1) is None


def test_an_instruction_that_does_not_exist_is_the_submissions_fault(compiled: Compile) -> None:
    program = compiled('extern "C" __global__ void k(float *a) { asm volatile("frobnicate.f32;"); *a = 1; }')
    with pytest.raises(SubmissionError) as raised:
        assemble(program, "sm_80")
    assert raised.value.verdict == "compile_error"
    assert "frobnicate" in raised.value.message
    assert "program.ptx" not in raised.value.message


def test_an_assembler_older_than_the_ptx_is_unsupported_with_the_command_that_mends_it(program: Program) -> None:
    newer = replace(program, ptx=program.ptx.replace(".version ", ".version 9"), key="newer")
    with pytest.raises(Unsupported) as raised:
        assemble(newer, "sm_80")
    assert "older than NVRTC" in raised.value.message
    assert "pip install" in raised.value.hint


@pytest.mark.parametrize("arch", ["sm_999", "sm_70"])
def test_an_architecture_that_does_not_fit_is_unsupported(program: Program, arch: str) -> None:
    with pytest.raises(Unsupported):
        assemble(program, arch)


def test_without_an_assembler_the_command_that_installs_it_is_named(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ptxas, "find_toolchain", lambda: Toolchain(None, None, None, ()))
    with pytest.raises(Unsupported) as raised:
        assemble(program, "sm_80")
    assert "pip install" in raised.value.hint


@pytest.mark.parametrize(
    ("script", "verdict"),
    [("kill -SEGV $$", "limit"), ("kill -XCPU $$", "limit"), ("echo out of memory >&2; exit 1", "limit"),
     ("cat /etc/passwd; exit 1", "compile_error")],
)  # fmt: skip
def test_an_assembler_that_fails_otherwise_gives_a_verdict(
    program: Program, other_ptxas: Callable[[str], None], script: str, verdict: str
) -> None:
    other_ptxas(script)
    with pytest.raises(SubmissionError) as raised:
        assemble(program, "sm_80")
    assert raised.value.verdict == verdict
    assert "root:" not in raised.value.message


def test_the_temporary_folder_is_gone_afterwards(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assemble(program, "sm_80")
    assert not list(tmp_path.glob("warpgrade-*"))


def test_resources_are_read_from_what_ptxas_prints() -> None:
    output = (
        "ptxas info    : 8 bytes gmem\n"
        "ptxas info    : Compiling entry function 'a' for 'sm_80'\n"
        "ptxas info    : Function properties for a\n"
        "    40 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads\n"
        "ptxas info    : Used 255 registers, 40 bytes cumulative stack size, 1024 bytes smem, 368 bytes cmem[0]\n"
        "ptxas info    : Compiling entry function 'b' for 'sm_80'\n"
        "ptxas info    : Function properties for b\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 10 registers, used 1 barriers, 360 bytes cmem[0]\n"
    )
    assert read_resources(output) == {
        "a": Resources(255, 24, 32, 1024, 40),
        "b": Resources(10, 0, 0, 0),
    }
