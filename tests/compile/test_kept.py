"""Compilers that stay give what a process of their own gives, and fall back to one."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

from grader.compile import Program, compile_source
from grader.compile.nvrtc import slow_headers
from grader.compile.parsing import Part
from grader.compile.ptxas import Assembly, assembly
from grader.compile.toolchain import find_toolchain
from grader.errors import SubmissionError
from grader.grading.source_view import parsed
from grader.paths import cache_folder
from grader.process import kept as kept_module
from grader.process.channel import ChannelTimeout
from grader.process.child import PooledChild
from grader.process.kept import children_kept

KERNEL = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] = 1; }\n'
SLOW = "#include <cuda/std/cstdint>\n"

pytestmark = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")


@pytest.fixture
def kept() -> Iterator[None]:
    with children_kept():
        yield


def compiled(source: str, name: str = "k.cu") -> Program:
    return compile_source(source.encode(), name, cache=False)


def idle() -> list[PooledChild]:
    assert kept_module.KEPT is not None
    return [used for pool in kept_module.KEPT._pools.values() for used in pool._idle]


def idle_after_compiling() -> tuple[Program, list[PooledChild] | None]:
    program = compiled(KERNEL)
    return program, idle() if kept_module.KEPT else None


def test_a_compiler_that_stays_gives_the_same_program_with_the_headers_compiled_once() -> None:
    sources = [f"// {name}\n{SLOW}#define N {n}\n{KERNEL}" for n, name in enumerate(("first", "second"))]
    alone = [compiled(source) for source in sources]
    with children_kept():
        assert [compiled(source) for source in sources] == alone
        (used,) = idle()
        assert (used.programs, len(used.holds)) == (2, 1)
    assert used.child.returncode is not None


def test_a_wrong_source_is_told_as_ever_and_the_compiler_stays(kept: None) -> None:
    with pytest.raises(SubmissionError, match="line 2") as raised:
        compiled(SLOW + "int wrong = ;\n" + KERNEL)
    assert raised.value.verdict == "compile_error"
    compiled(KERNEL)
    assert [used.programs for used in idle()] == [2]


def test_a_compiler_that_has_died_is_replaced_by_a_process_of_its_own(kept: None) -> None:
    compiled(KERNEL)
    idle()[0].child.kill()
    assert compiled(KERNEL).entries[0].name == "k"
    assert idle() == []


def test_assemblers_and_parsers_that_stay_answer_the_same_and_are_replaced_when_they_have_died() -> None:
    programs = [compiled(f"#define N {n}\n{KERNEL}", f"k{n}.cu") for n in range(3)]
    alone = [(assembled(program), read(program)) for program in programs]
    with children_kept():
        assert [(assembled(program), read(program)) for program in programs] == alone
        assert [used.programs for used in idle()] == [3, 3]
        for used in idle():
            used.child.kill()
        assert (assembled(programs[0]), read(programs[0])) == alone[0]
        assert idle() == []


def assembled(program: Program) -> Assembly:
    for made in cache_folder("cubin").glob("*"):
        made.unlink()
    return assembly(program, "sm_80")


def read(program: Program) -> tuple[Part, ...]:
    parsed.cache_clear()
    return parsed(program.source)


def test_a_text_that_takes_a_parser_long_is_judged_by_the_limits_of_a_process_of_its_own(
    kept: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.process.kept.asked", late)
    assert read(compiled(KERNEL))[0].kind == "kernel"
    assert [used.programs for used in idle()] == [1]  # the compiler


def late(used: PooledChild, request: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    if "log_limit" not in request:
        raise ChannelTimeout("the other side did not answer in time")
    used.child.channel.send(request)
    return dict(used.child.channel.receive(60.0)[0])


def test_a_fork_has_compilers_of_its_own(kept: None) -> None:
    alone = compiled(KERNEL)
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as fork:
        assert fork.submit(idle_after_compiling).result() == (alone, None)
    assert [used.programs for used in idle()] == [1]


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        (KERNEL, ""),
        ("#include <cuda_fp16.h>\n" + KERNEL, ""),
        ("// a line\n/* and\nmore */\n" + SLOW + "#include <mma.h>\n" + KERNEL, SLOW),
        ("#include <mma.h>\n" + SLOW + KERNEL, "#include <mma.h>\n" + SLOW),
        ("#define N 4\n" + SLOW + KERNEL, ""),
        (KERNEL + SLOW, ""),
    ],
)
def test_headers_are_compiled_apart_where_a_file_begins_with_slow_ones(text: str, headers: str) -> None:
    assert slow_headers(text) == headers
