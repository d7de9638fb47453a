"""THREATS.md, "compiler as reader", "as bomb", "crash": each must end in its verdict, and tell nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.compile import Program, nvrtc
from grader.compile.nvrtc import LOG_BYTES
from grader.errors import SubmissionError
from grader.process import sandbox
from grader.process.child import Child, spawn
from grader.process.sandbox import Sandbox

Compile = Callable[[str], Program]
Refusal = Callable[[str | bytes], SubmissionError]

KERNEL = 'extern "C" __global__ void k(volatile long *a) {{ {} }}'
needs_landlock = pytest.mark.skipif(sandbox.available() == "none", reason="this kernel has no Landlock")


def told(error: SubmissionError) -> str:
    return "\n".join([error.message, error.hint, *(f"{d.message} {d.source} {d.hint}" for d in error.diagnostics)])


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "solution.cu"
    path.write_text("the secret solution;\n")
    return path


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "CPU_S", 2)
    monkeypatch.setattr(nvrtc, "MEMORY_BYTES", 768 << 20)


@needs_landlock
@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/etc/shadow", "/proc/self/environ", "/proc/self/maps", "/dev/zero", "/etc"]
)
def test_files_of_the_system_cannot_be_included(refused: Refusal, path: str) -> None:
    error = refused(f'#include "{path}"\n')
    assert error.verdict == "compile_error"
    assert error.message == f'kernel.cu, line 1: cannot open source file "{path}"'
    assert error.diagnostics[0].source == f'#include "{path}"'


@needs_landlock
def test_a_file_that_exists_and_one_that_does_not_look_the_same(refused: Refusal, secret: Path) -> None:
    there, missing = (told(refused(f'#include "{path}"\n')) for path in (secret, secret.with_name("solutiom.cu")))
    assert there == missing.replace("solutiom", "solution")


@needs_landlock
@pytest.mark.parametrize(
    "form",
    [
        '%:include "{path}"',
        '#inc\\\nlude "{path}"',
        '#define F "{path}"\n#include F',
        "#define S(x) #x\n#define T(x) S(x)\n#include T({path})",
        "#include <{path}>",
        '#include "../../../../../../../../../../../..{path}"',
        '#include_next "{path}"',
        '#pragma include_alias("x.h", "{path}")\n#include "x.h"',
        '#import "{path}"',
    ],
)
def test_no_way_of_writing_an_include_reads_a_file(refused: Refusal, secret: Path, form: str) -> None:
    assert "secret solution" not in told(refused(form.format(path=secret) + "\n"))


@needs_landlock
def test_has_include_is_no_oracle(refused: Refusal, compiled: Compile, secret: Path) -> None:
    for path in (secret, secret.with_name("missing.cu"), "/etc/passwd", "/proc/self/environ"):
        source = f'#if __has_include("{path}")\n#error it is there\n#endif\n' + KERNEL.format("*a = 1;")
        assert compiled(source).entries


def test_a_file_that_includes_itself_is_an_error(refused: Refusal) -> None:
    assert refused('#include "kernel.cu"\n').verdict == "compile_error"


def test_paths_of_this_machine_do_not_show_in_messages(refused: Refusal) -> None:
    error = refused('#include <cuda_fp16.h>\nextern "C" __global__ void k(float *a) { __hadd(a, 1, 2, 3); }')
    assert not re.search(r"/\w+/", told(error))


TEMPLATES = (
    "template <int N, int M> struct E { static constexpr long v = E<N - 1, 2 * M>::v + E<N - 1, 2 * M + 1>::v; };\n"
    "template <int M> struct E<0, M> { static constexpr long v = M; };\n"
)
MACROS = "".join(f"#define A{i + 1} {f'A{i} ' * 10}\n" for i in range(9)) + "#define A0 *a += 1;\n"


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize(
    ("source", "beyond"),
    [
        (TEMPLATES + KERNEL.format("*a = E<24, 1>::v;"), "memory|time"),
        (MACROS + KERNEL.format("A9"), "memory|time"),
        ("__device__ int big[1 << 28] = {1, 2, 3};\n" + KERNEL.format("*a = big[*a];"), "memory"),
        (KERNEL.format("*a = " + "a[1] + " * 50_000 + "a[2];"), "time"),
    ],
    ids=["templates", "macros", "initialised array", "one long expression"],
)
def test_a_bomb_ends_at_a_limit(refused: Refusal, source: str, beyond: str) -> None:
    error = refused(source)
    assert error.verdict == "limit"
    assert re.search(beyond, error.message)
    assert error.hint


def test_the_compiler_runs_closed_in_and_limited(compiled: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    boxes: list[Sandbox] = []

    def spy(module: str, *, sandbox: Sandbox, env: dict[str, str]) -> Child:
        boxes.append(sandbox)
        assert env == {}
        return spawn(module, sandbox=sandbox, env=env)

    monkeypatch.setattr(nvrtc, "spawn", spy)
    compiled(KERNEL.format("*a = 1;"))
    (box,) = boxes
    assert (box.files, box.processes, box.network) == (True, False, False)
    assert (box.write, box.execute, box.file_bytes) == ((), (), 0)
    assert (box.memory_bytes, box.cpu_s) == (2 << 30, 20)
    assert all("include" in Path(folder).parts or "nvrtc" in folder or "_cccl" in folder for folder in box.read)


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize(
    "source",
    [
        "template <class T> struct P {};\ntemplate <class T> struct X { typedef typename X<P<T>>::t t; };\n"
        + KERNEL.format("*a = sizeof(X<int>::t);"),
        "constexpr long f(long n) { long s = 0; for (long i = 0; i < n; i++) s += i; return s; }\n"
        "constexpr long v = f(100000000000);\n" + KERNEL.format("*a = v;"),
        "constexpr long f(long n) { return n ? f(n - 1) + f(n - 2) : 0; }\n"
        "constexpr long v = f(1000);\n" + KERNEL.format("*a = v;"),
    ],
    ids=["endless template", "endless constant expression", "deep constant expression"],
)
def test_what_the_compiler_itself_stops_is_a_compile_error_at_its_line(refused: Refusal, source: str) -> None:
    error = refused(source)
    assert error.verdict == "compile_error"
    assert error.diagnostics[0].line in (1, 2, 3)
    assert len(told(error)) < 20_000


def test_a_flood_of_errors_is_cut_and_counted(refused: Refusal) -> None:
    error = refused(KERNEL.format("\n".join(f"undeclared_{i} = 1;" for i in range(20_000))))
    assert error.verdict == "compile_error"
    assert "this is the first" in error.message
    assert len(error.diagnostics) == 20
    assert len(told(error)) < LOG_BYTES


def test_a_ptx_beyond_the_limit_is_refused(refused: Refusal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "PTX_BYTES", 500)
    error = refused(KERNEL.format("*a = 1; a[1] = 2;"))
    assert error.verdict == "limit"
    assert "PTX" in error.message


@pytest.mark.parametrize("text", ["(" * 100_000 + "1" + ")" * 100_000, "- " * 100_000 + "a[1]"])
def test_deep_nesting_does_not_kill_the_compiler(compiled: Compile, text: str) -> None:
    assert compiled(KERNEL.format(f"*a = {text};")).entries


def test_a_very_long_line_is_not_shown(refused: Refusal) -> None:
    error = refused(KERNEL.format("x = 1;") + "/*" + "x" * 100_000 + "*/")
    assert error.diagnostics[0].source is None
    assert len(told(error)) < 2000


@pytest.mark.usefixtures("small_limits")
def test_a_long_line_with_a_hundred_thousand_warnings_is_compiled_without_them(compiled: Compile) -> None:
    """NVRTC would write the line into each of them: 30 GB."""
    assert compiled("/* " * 100_000 + "*/\n" + KERNEL.format("*a = 1;")).log == ""
    assert "nested comment" in compiled("/* /* */\n" + KERNEL.format("*a = 1;")).log


def test_all_compilations_of_a_source_have_one_limit_of_time(refused: Refusal, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []
    really = nvrtc.run_nvrtc

    def counted(*given: Any) -> nvrtc.Compilation:
        runs.append(given)
        return replace(really(*given), cpu_s=nvrtc.CPU_S + 1.0)

    monkeypatch.setattr(nvrtc, "run_nvrtc", counted)
    error = refused("#include <cooperative_groups.h>\n" + KERNEL.format("x = 1;"))  # else compiled with libcu++, too
    assert (len(runs), error.verdict) == (1, "limit")
    assert error.message.startswith("compiling kernel.cu took more than")


@pytest.mark.usefixtures("small_limits")
def test_after_a_bomb_the_next_submission_is_compiled_as_usual(refused: Refusal, compiled: Compile) -> None:
    refused("__device__ int big[1 << 28] = {1};\n" + KERNEL.format("*a = big[*a];"))
    assert compiled(KERNEL.format("*a = 1;")).entries


def test_nothing_is_written_into_the_current_folder(
    compiled: Compile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "empty"
    place.mkdir()
    monkeypatch.chdir(place)
    compiled(KERNEL.format("*a = 1;"))
    assert list(place.iterdir()) == []
