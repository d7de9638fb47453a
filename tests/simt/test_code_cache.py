"""What is compiled again, and what is not, when one kernel of a file is edited."""

from __future__ import annotations

from functools import partial

import pytest

from grader.simt.engine import code_cache, codegen
from grader.simt.engine.code_cache import CodeCache
from grader.simt.engine.ir import units
from grader.simt.observers import OBSERVERS, observer_set
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


BODIES = {
    "words": "st.global.u32 [%rd2], %r2;",
    "bytes": "st.global.u8 [%rd2], %r2;",
    "atomics": "atom.global.add.u32 %r2, [%rd2], %r2;",
    "copies": "cp.async.ca.shared.global [%r1], [%rd2], 4; cp.async.wait_all; st.global.u32 [%rd2], %r2;",
    "a warp": "shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1; bar.sync 0; ld.global.u32 %r2, [%rd2];",
    "a long form": "bfi.b32 %r2, %r1, %r2, 3, 7; shf.l.wrap.b32 %r2, %r1, %r2, %r1; st.global.u32 [%rd2], %r2;",
    "waiting": "again: ld.volatile.global.u32 %r2, [%rd2]; setp.eq.u32 %p1, %r2, 0; @%p1 bra again;",
}


def generated(body: str, *, adversarial: bool, alone: bool, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The texts of a kernel's outlined functions, in a process that has no other kernels' (``alone``) or has them."""
    text = KERNEL.format(name="k", line=1, add=1).replace(".reg", ".reg .pred %p<2>; .reg", 1)
    module = parse(f'{HEAD}.file 1 "k.cu"\n' + text.replace("st.global.u32 [%rd2], %r2;", body))
    with monkeypatch.context() as patched:
        if alone:
            patched.setattr(codegen, "_OUTLINED", {})
        made, _ = codegen.generate(module, "k", observer_set(frozenset(OBSERVERS)), adversarial=adversarial)
        return set(units(made, code_cache.UNIT_LINES)[1])


@pytest.mark.parametrize("adversarial", [False, True])
def test_functions_that_kernels_share_are_those_that_each_would_have_alone(
    adversarial: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codegen, "_OUTLINED", {})
    make = partial(generated, adversarial=adversarial, monkeypatch=monkeypatch)
    together = {name: make(body, alone=False) for name, body in BODIES.items()}
    assert together == {name: make(body, alone=True) for name, body in BODIES.items()}
    assert len(set.union(*together.values())) < sum(map(len, together.values()))
