"""What is compiled again, and what is not, when one kernel of a file is edited."""

from __future__ import annotations

import pytest

from grader.simt.engine import code_cache
from grader.simt.engine.code_cache import CodeCache
from grader.simt.observers import OBSERVERS
from grader.simt.ptx import parse

HEAD = ".version 8.8\n.target sm_80\n.address_size 64\n"
KERNEL = """.visible .entry {name}(.param .u64 p)
{{
.reg .b32 %r<3>; .reg .b64 %rd<3>;
.loc 1 {line} 0
ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd2, %r1, 4, %rd1; add.s32 %r2, %r1, {add};
st.global.u32 [%rd2], %r2; ret;
}}
"""


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of kernels' own code that LLVM gets, of a process that has none yet."""
    texts: list[str] = []
    compile_text = code_cache.compile_text

    def count(text: str, *, quick: bool = False) -> bytes:
        texts.extend([text] * quick)
        return compile_text(text, quick=quick)

    monkeypatch.setattr(code_cache, "compile_text", count)
    monkeypatch.setattr(code_cache, "_OWN", {})
    return texts


def build(*, line: int, add: int) -> None:
    """The code of both kernels of a file, of which ``add`` changes the second one."""
    text = HEAD + '.file 1 "k.cu"\n' + KERNEL.format(name="first", line=line, add=1)
    module = parse(text + KERNEL.format(name="second", line=line + 9, add=add))
    cache = CodeCache(f"{line} {add}")
    for entry in ("first", "second"):
        cache.get(module, entry, frozenset(OBSERVERS))


def test_an_edit_compiles_the_kernel_that_it_changes_and_no_other(compiled: list[str]) -> None:
    build(line=5, add=2)
    assert len(compiled) == 2
    build(line=5, add=3)
    assert len(compiled) == 3


def test_lines_that_move_a_kernel_do_not_compile_it_again(compiled: list[str]) -> None:
    build(line=5, add=2)
    build(line=7, add=2)
    assert len(compiled) == 2


def test_code_of_old_edits_is_forgotten(compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_cache, "OWN_BYTES", 1)
    build(line=5, add=2)
    assert len(code_cache._OWN) == 1
    build(line=5, add=3)
    assert len(compiled) == 4
