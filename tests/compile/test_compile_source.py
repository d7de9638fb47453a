from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from grader.compile import Parameter, Program, compile_source, nvrtc
from grader.compile.toolchain import Toolchain
from grader.errors import GraderFault, SubmissionError, Unsupported

Compile = Callable[[str], Program]
Refusal = Callable[[str | bytes], SubmissionError]

KERNEL = """\
extern "C" __global__ void add(const float *a, float4 b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b.x;
}
"""


def test_a_kernel_becomes_ptx_with_lines_and_its_parameters(compiled: Compile) -> None:
    program = compiled(KERNEL)
    assert program.source == KERNEL
    assert ".target sm_80" in program.ptx
    assert ".loc\t1 4" in program.ptx
    (entry,) = program.entries
    assert entry.name == "add"
    assert entry.parameters == (
        Parameter("u64", 8, 8), Parameter("b8", 16, 16), Parameter("u64", 8, 8), Parameter("u32", 4, 4),
    )  # fmt: skip
    assert program.entry("add") is entry
    assert program.entry("sub") is None


GROUPS = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"


def test_cooperative_groups_bring_few_variables(compiled: Compile) -> None:
    body = 'extern "C" __global__ void k(int *a) { cg::this_thread_block().sync(); *a = 1; }\n'
    assert compiled(GROUPS + body).ptx.count("\n.global") < 100  # with libcu++ 1343, and a second of NVRTC's


@pytest.mark.slow
def test_who_takes_libcuxx_from_cooperative_groups_gets_it(compiled: Compile) -> None:
    body = 'extern "C" __global__ void k(int *a) { cuda::atomic_ref<int>(*a).fetch_add(1); }\n'
    assert "atom.add" in compiled(GROUPS + body).ptx


def test_the_path_of_the_source_file_is_not_in_the_ptx(compiled: Compile) -> None:
    assert '.file\t1 "/kernel.cu"' in compiled(KERNEL).ptx


def test_another_target_gives_another_program(compiled: Compile) -> None:
    program = compile_source(KERNEL.encode(), "kernel.cu", target="sm_90a", cache=False)
    assert ".target sm_90a" in program.ptx
    assert program.key != compiled(KERNEL).key


@pytest.mark.parametrize("target", ["sm_80; rm", "compute_80", "", "sm_20"])
def test_a_target_that_nvrtc_does_not_know_is_unsupported(compiled: Compile, target: str) -> None:
    with pytest.raises(Unsupported):
        compile_source(KERNEL.encode(), "kernel.cu", target=target, cache=False)


def test_helper_functions_need_no_annotation(compiled: Compile) -> None:
    program = compiled(
        'float twice(float x) { return 2 * x; }\nextern "C" __global__ void k(float *a) { *a = twice(*a); }'
    )
    assert [entry.name for entry in program.entries] == ["k"]


def test_static_shared_memory_is_counted_through_calls_and_dynamic_memory_is_not(compiled: Compile) -> None:
    program = compiled(
        "__shared__ float everybody[8];\n"
        "__device__ __noinline__ float inner(int i) { __shared__ float t[32]; t[i] = i; "
        "__syncthreads(); return t[31 - i]; }\n"
        "__device__ __noinline__ float outer(int i) { return inner(i) + 1; }\n"
        'extern "C" __global__ void calls(float *a) { extern __shared__ float d[]; __shared__ double s[4]; '
        "s[threadIdx.x] = a[0]; d[0] = 1; __syncthreads(); a[1] = outer(2) + s[3] + d[1]; }\n"
        'extern "C" __global__ void uses(float *a) { '
        "everybody[threadIdx.x] = 1; __syncthreads(); a[1] = everybody[3]; }\n"
        'extern "C" __global__ void none(float *a) { a[0] = 1; }\n'
    )
    assert {entry.name: entry.static_shared_bytes for entry in program.entries} == {
        "calls": 32 * 4 + 4 * 8, "uses": 8 * 4, "none": 0,
    }  # fmt: skip


def test_warnings_are_kept_in_terms_of_the_file(compiled: Compile) -> None:
    log = compiled('extern "C" __global__ void k(float *a)\n{\n\tint unused;\n\t*a = 1;\n}\n').log
    assert log == 'kernel.cu(3): warning: variable "unused" was declared but never referenced\n  int unused;\n      ^'


def test_two_compilations_give_the_same_key(compiled: Compile) -> None:
    assert compiled(KERNEL) == compiled(KERNEL)


def test_a_name_that_is_a_path_or_holds_odd_characters_shows_its_last_part_only(compiled: Compile) -> None:
    program = compile_source(KERNEL.encode(), "../secret/a\x1b[31m\u202eb(3).cu", cache=False)
    assert program.name == "a[31mb_3_.cu"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("-x.cu", "_x.cu"), ("--x.cu", "_-x.cu"), ("-", "_"), ("--", "_-"), ("-Detc/-Ietc", "_Ietc"), ("-D=1", "_D=1"),
        ("./-x.cu", "_x.cu"), ("@x.cu", "@x.cu"), ("+x-.cu", "+x-.cu"),
    ],
)  # fmt: skip
def test_a_name_that_looks_like_an_option_is_a_name(name: str, shown: str) -> None:
    assert compile_source(KERNEL.encode(), name, cache=False).name == shown


def test_no_kernel_is_invalid_and_shows_one(refused: Refusal) -> None:
    error = refused("__device__ float f(float x) { return x; }\n")
    assert error.verdict == "invalid"
    assert 'extern "C" __global__ void NAME(...)' in error.hint


def test_a_kernel_without_extern_c_is_invalid_and_shows_the_line_to_write(refused: Refusal) -> None:
    error = refused("\n__global__ void reduce(float *a) { *a = 1; }\n")
    assert error.verdict == "invalid"
    assert error.diagnostics[0].line == 2
    assert 'extern "C" __global__ void reduce(float *a)' in error.hint


def test_only_template_kernels_are_invalid_and_say_how_to_call_them(refused: Refusal) -> None:
    source = "template <int N> __global__ void t(float *a) { *a = N; }\n"
    for more in ("", "template __global__ void t<3>(float *);\n"):
        error = refused(source + more)
        assert error.verdict == "invalid"
        assert "template" in error.message


@pytest.mark.parametrize(
    ("body", "function"),
    [
        ("int *p = (int *)malloc(4); *p = 1; a[0] = *p;", "malloc"),
        ("float *p = new float; *p = 1; a[0] = *p;", "malloc"),
    ],
)
def test_device_memory_allocation_is_against_the_policy(refused: Refusal, body: str, function: str) -> None:
    error = refused(f'extern "C" __global__ void k(float *a)\n{{ {body} }}')
    assert error.verdict == "policy"
    assert function in error.message


def test_printf_and_assert_are_allowed_and_assert_knows_file_and_line(compiled: Compile) -> None:
    ptx = compiled('extern "C" __global__ void k(float *a)\n{\n    printf("%f", a[0]);\n    assert(a[1] > 0);\n}\n').ptx
    assert "__assertfail" in ptx
    assert "vprintf" in ptx
    assert text_bytes("kernel.cu") in ptx
    assert "mov.u32 \t%r" in ptx or ", 4;" in ptx


def test_a_function_without_a_body_is_a_compile_error_with_its_line(refused: Refusal) -> None:
    error = refused(
        '\nextern "C" __device__ float other(float);\nextern "C" __global__ void k(float *a) { *a = other(*a); }'
    )
    assert error.verdict == "compile_error"
    assert error.diagnostics[0].line == 2
    assert "defined nowhere" in error.message


def test_an_entry_that_inline_assembly_opens_is_invalid(refused: Refusal) -> None:
    error = refused(
        "#define TEXT(x) #x\n"
        "#define SMUGGLE(x) TEXT(x)\n"
        'extern "C" __global__ void k(float *a) { asm volatile(SMUGGLE(} .visible .entry evil() { ret;)); *a = 1; }'
    )
    assert error.verdict == "invalid"


ASSEMBLY = """#define CLOSE "}"
extern "C" __global__ void k(unsigned *a) {
    asm volatile(
#if __CUDA_ARCH__ >= 900
        "{ .reg .u32 t; add.u32 t, %0, 2; "
#else
        "{ .reg .u32 s; add.u32 s, %0, 1; "
#endif
        "add.u32 %0, %0, 1; " CLOSE : "+r"(a[0]));
}
"""


def test_assembly_may_differ_by_the_preprocessor(compiled: Compile) -> None:
    assert "add.u32 s" in compiled(ASSEMBLY).ptx


def test_assembly_that_a_condition_leaves_open_is_invalid(refused: Refusal) -> None:
    assert refused(ASSEMBLY.replace('#else\n        "{', '#else\n        "{ {')).verdict == "invalid"
    assert refused(ASSEMBLY.replace('CLOSE "}"', 'CLOSE "} }"')).verdict == "invalid"


def test_globals_beyond_the_limit_are_refused(refused: Refusal) -> None:
    error = refused('__device__ float big[20 << 20];\nextern "C" __global__ void k(float *a) { *a = big[(int)*a]; }')
    assert error.verdict == "limit"
    assert "81920 KiB" in error.message


def test_constants_beyond_the_limit_are_refused(refused: Refusal) -> None:
    error = refused('__constant__ float c[20000];\nextern "C" __global__ void k(float *a) { *a = c[(int)*a]; }')
    assert error.verdict == "limit"
    assert "__constant__" in error.message


def test_without_nvrtc_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "find_toolchain", lambda: Toolchain(None, None, None, ()))
    with pytest.raises(Unsupported) as raised:
        compile_source(KERNEL.encode(), "kernel.cu")
    assert "pip install 'warpgrade[cuda12]'" in raised.value.hint


@pytest.fixture
def dying_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compile child that does what the environment of the test says instead of compiling."""
    (tmp_path / "dying_compile_child.py").write_text(
        "import os, signal, sys\n"
        "from grader.process.channel import attach\n"
        "def main():\n"
        "    channel, _ = attach()\n"
        "    how = channel.receive(None)[0] and channel.receive(None)[0]['name']\n"
        "    if how == 'status.cu':\n"
        "        sys.exit('something else went wrong')\n"
        "    if how == 'memory.cu':\n"
        "        print('LLVM ERROR: out of memory', file=sys.stderr, flush=True)\n"
        "        os.abort()\n"
        "    os.kill(os.getpid(), getattr(signal, how.removesuffix('.cu')))\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(nvrtc, "CHILD", "dying_compile_child")


@pytest.mark.usefixtures("dying_child")
@pytest.mark.parametrize(
    ("how", "verdict", "words"),
    [
        ("SIGSEGV", "compile_error", "the compiler itself crashed (SIGSEGV)"),
        ("SIGABRT", "compile_error", "the compiler itself crashed (SIGABRT)"),
        ("SIGXCPU", "limit", "processor time"),
        ("SIGKILL", "limit", "memory"),
        ("memory", "limit", "memory"),
    ],
)
def test_a_compile_child_that_dies_gives_the_verdict_of_its_signal(
    refused: Refusal, how: str, verdict: str, words: str
) -> None:
    with pytest.raises(SubmissionError) as raised:
        compile_source(KERNEL.encode(), f"{how}.cu", cache=False)
    assert raised.value.verdict == verdict
    assert words in raised.value.message


@pytest.mark.usefixtures("dying_child")
def test_a_compile_child_that_fails_otherwise_is_the_graders_fault(refused: Refusal) -> None:
    with pytest.raises(GraderFault, match="something else went wrong"):
        compile_source(KERNEL.encode(), "status.cu", cache=False)


def test_the_compile_child_is_gone_afterwards(compiled: Compile) -> None:
    others = psutil.Process().children()
    compiled(KERNEL)
    assert psutil.Process().children() == others


def text_bytes(text: str) -> str:
    """``text`` as PTX writes the bytes of a string."""
    return ", ".join(str(byte) for byte in text.encode())
