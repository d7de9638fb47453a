"""Compilers that stay give what a process of their own gives, and fall back to one."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest

from grader.compile import Program, compile_source
from grader.compile.nvrtc import slow_headers
from grader.compile.toolchain import find_toolchain
from grader.errors import SubmissionError
from grader.process import kept as kept_module
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
