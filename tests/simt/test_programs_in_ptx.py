"""Operands of PTX instructions, as small PTX programs: widths, halves, guards, carries, vectors, addresses."""

from __future__ import annotations

import numpy as np
import pytest

from grader.compile import Program, assembly
from grader.compile.nvrtc import cache_key_of
from grader.compile.toolchain import find_toolchain
from grader.simt.engine.code_cache import CodeCache
from grader.simt.engine.flatten import UnsupportedPtx
from grader.simt.ptx import parse
from grader.simt.simulate import Call, Memory, Options, simulate
from tests.simt.kernels import Array

T = np.arange(32)
HEAD = """.version 8.8
.target sm_80
.address_size 64
.const .b32 table[4] = {10, 20, 30, 40};
.visible .entry k(.param .u64 k_param_0, .param .align 4 .b8 k_param_1[12])
{
.reg .b16 %h<9>; .reg .f16 %x<3>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<9>; .reg .f64 %fd<3>; .reg .pred %p<9>;
.reg .b8 %b<3>; .local .align 8 .b8 mine[64]; .shared .align 8 .b8 ours[512];
ld.param.u64 %rd1, [k_param_0]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 8; add.s64 %rd2, %rd1, %rd2;
"""


def run(body: str, result: str = "%r2", kind: str = "u32") -> Array:
    """32 threads run ``body``; gives each thread's ``result`` (zero-extended to 64 bits)."""
    end = f"\nst.global.{kind} [%rd2], {result}; ret; }}\n"
    memory = Memory("x", np.zeros(256, np.uint8), True)
    call = Call("k", (1, 1, 1), (32, 1, 1), 0, ("x", np.array([7, 8, 9], np.uint32).tobytes()))
    outcome = simulate(
        parse(HEAD + body + end), [memory], [call], cache=CodeCache(body + end), options=Options(observed=frozenset())
    )
    assert not outcome.events, outcome.events
    return outcome.memory["x"].view(np.uint64)


POLICY = "createpolicy.fractional.L2::evict_first.b64 %rd9, 1.0; "
CASES = {
    # cache policies
    "loads and stores with a cache policy": (POLICY + "st.global.L2::cache_hint.b32 [%rd2+4], %r1, %rd9; ld.global.L1::no_allocate.L2::cache_hint.L2::128B.b32 %r3, [%rd2+4], %rd9; ld.global.nc.L2::cache_hint.v2.b32 {%r4, %r5}, [%rd2], %rd9; add.u32 %r2, %r3, %r5; st.global.b32 [%rd2+4], 0;", 2 * T),
    # carry
    "a carry goes from one addition to the next": ("mov.u32 %r3, -16; add.cc.u32 %r4, %r3, %r1; addc.u32 %r2, 5, 0;", 5 + (T >= 16)),
    "a carry chain of three words": ("mov.u32 %r3, -1; add.cc.u32 %r4, %r3, %r1; addc.cc.u32 %r5, %r3, 0; addc.u32 %r2, 0, 0;", T >= 1),
    "a borrow goes from one subtraction to the next": ("sub.cc.u32 %r4, %r1, 16; subc.u32 %r2, 5, 0;", 5 - (T < 16)),
    "a sum takes the flag of a difference": ("mov.u32 %r3, 0x627ADF75; sub.cc.u32 %r4, %r3, 0x864CCEF5; addc.u32 %r5, 0, 0; sub.cc.u32 %r4, %r1, 16; addc.u32 %r2, %r5, 0;", T >= 16),
    "a difference takes the flag of a sum": ("mov.u32 %r3, -16; add.cc.u32 %r4, %r3, %r1; subc.u32 %r2, 5, 0;", 4 + (T >= 16)),
    "a difference of 64 bits takes the flag of a sum": ("mov.u64 %rd3, -16; cvt.u64.u32 %rd4, %r1; add.cc.u64 %rd4, %rd3, %rd4; subc.u64 %rd5, 5, 0; cvt.u32.u64 %r2, %rd5;", 4 + (T >= 16)),
    "a carry lives on in another basic block": ("mov.u32 %r3, -16; add.cc.u32 %r4, %r3, %r1; setp.lt.u32 %p1, %r1, 40; @%p1 bra L; mov.u32 %r9, 1; L: addc.u32 %r2, 0, 0;", T >= 16),
    "a guarded addition leaves the others' carry alone": ("mov.u32 %r3, -1; setp.lt.u32 %p1, %r1, 8; add.cc.u32 %r4, %r3, 1; @%p1 add.cc.u32 %r4, 0, 0; addc.u32 %r2, 0, 0;", T >= 8),
    "a product's carry lives on in another basic block": ("mov.u32 %r3, -1; mad.lo.cc.u32 %r4, %r3, 1, %r1; bra L; L: madc.hi.u32 %r2, %r3, 1, 7;", 7 + (T >= 1)),
    # guards
    "a guarded move keeps the other lanes": ("mov.u32 %r2, 5; setp.lt.u32 %p1, %r1, 9; @%p1 mov.u32 %r2, %r1;", np.where(T < 9, T, 5)),
    "a negated guard": ("mov.u32 %r2, 5; setp.lt.u32 %p1, %r1, 9; @!%p1 mov.u32 %r2, %r1;", np.where(T < 9, 5, T)),
    "a guarded predicate": ("setp.lt.u32 %p1, %r1, 9; setp.lt.u32 %p2, %r1, 20; @%p1 setp.eq.u32 %p2, %r1, 3; selp.u32 %r2, 1, 0, %p2;", np.where(T < 9, T == 3, T < 20)),
    "a guarded load reads for its lanes only": ("mov.u32 %r2, 1; setp.lt.u32 %p1, %r1, 2; mov.u64 %rd5, 0; @%p1 mov.u64 %rd5, %rd1; @%p1 ld.global.u32 %r2, [%rd5];", np.where(T < 2, 0, 1)),
    "a guarded exit": ("setp.ge.u32 %p1, %r1, 7; mov.u32 %r2, 3; @%p1 exit;", np.where(T < 7, 3, 0)),
    "a guarded branch that nobody takes": ("setp.gt.u32 %p1, %r1, 99; mov.u32 %r2, 3; @%p1 bra L; add.u32 %r2, %r2, 1; L:", 4 + 0 * T),
    "a guarded atomic": ("mov.u32 %r2, 0; setp.lt.u32 %p1, %r1, 4; mov.u64 %rd5, ours; @!%p1 bra L; st.shared.u32 [ours], 0; L: bar.sync 0; @%p1 atom.shared.add.u32 %r2, [%rd5], 1;", np.where(T < 4, T, 0)),
    # halves of registers, widths
    "an f16 register holds bits": ("cvt.rn.f16.u32 %x1, %r1; add.f16 %x2, %x1, %x1; mov.b16 %h1, %x2; cvt.u32.u16 %r2, %h1;", (2 * T).astype(np.float16).view(np.uint16)),
    "an f16 in a b16 register": ("cvt.rn.f16.u32 %h1, %r1; fma.rn.f16 %h2, %h1, %h1, %h1; cvt.rn.f32.u32 %f1, %r1; cvt.f32.f16 %f2, %h2; cvt.rzi.u32.f32 %r2, %f2;", T * T + T),
    "a pair of halves in one word": ("cvt.rn.f16.u32 %h1, %r1; mov.b32 %r3, {%h1, %h1}; add.f16x2 %r4, %r3, %r3; mov.b32 {%h2, %h3}, %r4; cvt.u32.u16 %r2, %h3;", (2 * T).astype(np.float16).view(np.uint16)),
    "a narrow write of a wide register": ("mov.u32 %r3, 511; st.shared.u8 [ours], %r3; ld.shared.u8 %r2, [ours];", 255 + 0 * T),
    "a signed byte in a wide register": ("mov.u32 %r3, 200; st.shared.u8 [ours], %r3; ld.shared.s8 %r4, [ours]; neg.s32 %r2, %r4;", 56 + 0 * T),
    "a byte register": ("mov.u32 %r3, 77; cvt.u8.u32 %b1, %r3; cvt.u32.u8 %r2, %b1;", 77 + 0 * T),
    "a double from its halves": ("mov.b64 %rd3, {%r1, 0x3ff00000}; mov.b64 %fd1, %rd3; add.f64 %fd2, %fd1, %fd1; mov.b64 {%r2, %r3}, %fd2;", T),
    "a float immediate for a double": ("mov.f64 %fd1, 0d4008000000000000; cvt.rzi.u32.f64 %r2, %fd1;", 3 + 0 * T),
    "bits of a float register": ("cvt.rn.f32.u32 %f1, %r1; mov.b32 %r3, %f1; shr.u32 %r2, %r3, 23;", T.astype(np.float32).view(np.uint32) >> 23),
    # vectors
    "a vector goes through memory in order": ("add.u32 %r3, %r1, 1; add.u32 %r4, %r1, 2; add.u32 %r5, %r1, 3; mul.wide.u32 %rd4, %r1, 16; mov.u64 %rd5, ours; add.u64 %rd6, %rd5, %rd4; st.shared.v4.u32 [%rd6], {%r1, %r3, %r4, %r5}; ld.shared.v2.u32 {%r6, %r7}, [%rd6+8]; mad.lo.u32 %r2, %r7, 100, %r6;", 100 * (T + 3) + T + 2),
    "a vector of bytes": ("mul.wide.u32 %rd4, %r1, 4; mov.u64 %rd5, ours; add.u64 %rd6, %rd5, %rd4; cvt.u16.u32 %h1, %r1; st.shared.v4.u8 [%rd6], {%h1, 2, 3, %h1}; ld.shared.u32 %r2, [%rd6];", T + (2 << 8) + (3 << 16) + (T << 24)),
    "an element that nobody wants": ("mov.u64 %rd5, ours; st.shared.v2.u32 [ours], {4, 5}; ld.shared.v2.u32 {_, %r2}, [ours];", 5 + 0 * T),
    "two results": ("shfl.sync.down.b32 %r3|%p1, %r1, 4, 31, -1; selp.u32 %r2, %r3, 99, %p1;", np.where(T < 28, T + 4, 99)),
    "a result that nobody wants": ("setp.lt.u32 %p1, %r1, 3; shfl.sync.bfly.b32 %r3|%p2, %r1, 1, 31, -1; selp.u32 %r2, 1, 0, %p2;", 1 + 0 * T),
    "a predicate and its complement": ("setp.lt.and.u32 %p1|%p2, %r1, 9, 1; selp.u32 %r3, 10, 0, %p1; selp.u32 %r4, 1, 0, %p2; add.u32 %r2, %r3, %r4;", np.where(T < 9, 10, 1)),
    # addresses
    "constants with an offset": ("ld.const.u32 %r2, [table+8];", 30 + 0 * T),
    "constants by register": ("and.b32 %r3, %r1, 3; mul.wide.u32 %rd4, %r3, 4; mov.u64 %rd5, table; add.u64 %rd6, %rd5, %rd4; ld.const.u32 %r2, [%rd6];", 10 + 10 * (T & 3)),
    "parameters with an offset": ("ld.param.u32 %r2, [k_param_1+4];", 8 + 0 * T),
    "parameters by register": ("and.b32 %r3, %r1, 1; mul.wide.u32 %rd4, %r3, 4; mov.b64 %rd5, k_param_1; add.u64 %rd6, %rd5, %rd4; ld.param.u32 %r2, [%rd6+4];", 8 + (T & 1)),
    "local memory of each thread": ("st.local.u32 [mine+4], %r1; mov.u64 %rd5, mine; ld.local.u32 %r2, [%rd5+4];", T),
    "a generic address of local memory": ("st.local.u32 [mine+8], %r1; mov.u64 %rd5, mine; cvta.local.u64 %rd6, %rd5; ld.u32 %r2, [%rd6+8];", T),
    "negative offsets": ("mov.u64 %rd5, ours; st.shared.u32 [ours+4], 6; ld.shared.u32 %r2, [%rd5+4]; add.u64 %rd6, %rd5, 12; ld.shared.u32 %r3, [%rd6+-8]; add.u32 %r2, %r2, %r3;", 12 + 0 * T),
    "an offset with two signs": ("st.shared.u32 [ours+-0], 6; ld.shared.u32 %r2, [ours+-(-0)];", 6 + 0 * T),
    "offsets that are computed": ("mov.u64 %rd5, ours; st.shared.u32 [ours + 2*4 + 4], 8; ld.shared.u32 %r2, [%rd5 + (1 << 4) - 0x8 + +4];", 8 + 0 * T),
    "an address of 32 bits that wraps": ("st.shared.u32 [ours+8], 5; mov.u32 %r3, ours; sub.u32 %r3, %r3, 128; ld.shared.u32 %r2, [%r3+136]; ld.shared.u32 %r4, [%r3+0x100000088]; add.u32 %r2, %r2, %r4;", 10 + 0 * T),
    "a negative offset of a name": ("mov.u64 %rd5, ours; st.shared.u32 [%rd5 + 4], 6; ld.shared.u32 %r2, [ours+8+ - 4];", 6 + 0 * T),
    "an offset of a warp's size": ("mov.u64 %rd5, ours; st.shared.u32 [%rd5 + 32], 7; ld.shared.u32 %r2, [ours+WARP_SZ];", 7 + 0 * T),
    "a name with an index": ("st.shared.u32 [ours+8], 9; ld.shared.u32 %r2, ours[8];", 9 + 0 * T),
    "an address of local memory that is a number": ("st.local.u32 [mine+8], %r1; ld.local.u32 %r2, [8];", T),
    "a plain load and store name a local variable": ("st.u32 [mine], 1; st.v2.u32 [mine+8], {%r1, 3}; ld.volatile.u32 %r3, [mine+12]; ld.u32 %r2, [mine+8]; add.u32 %r2, %r2, %r3;", T + 3),
    "a plain load and store name a shared variable": ("st.u32 [ours+4], 5; ld.u32 %r2, [ours+4]; add.u32 %r2, %r2, %r1;", T + 5),
    "a plain atomic names a shared variable": ("st.shared.u32 [ours], 0; bar.sync 0; atom.add.u32 %r2, [ours], 1;", T),
    "a plain load names a local variable of an inner scope": ("{ .local .align 4 .b8 mine[8]; st.u32 [mine+4], %r1; ld.u32 %r2, [mine+4]; }", T),
    "constants that are computed": ("add.u32 %r2, %r1, ((1 << 4) | 3) * 2 - 8 / 3 % 2 + (5 == 5) + ~0 + !4 + (-7 >> 1 & 0xF);", T + 50),
    "a constant in parentheses": ("mov.u32 %r2, (4);", 4 + 0 * T),
    "floats with an exponent alone": ("mov.f32 %f1, 1e2; cvt.rzi.u32.f32 %r2, %f1; mov.f32 %f2, .5; fma.rn.f32 %f1, %f2, %f1, %f1; cvt.rzi.u32.f32 %r2, %f1;", 150 + 0 * T),
    # modifiers apart, and in another order
    "modifiers after a blank": ("st.shared .v2 .u32 [ours], {4, 5}; ld .shared.u32 %r2, [ours+4]; add\t.u32 %r2, %r2, %r1;", T + 5),
    "a matrix with its count first": ("mul.wide.u32 %rd4, %r1, 16; mov.u64 %rd5, ours; add.u64 %rd6, %rd5, %rd4; st.shared.v4.u32 [%rd6], {%r1, %r1, %r1, %r1}; ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16 {%r2, %r3, %r4, %r5}, [%rd6]; ldmatrix.b16.shared.m8n8.trans.x4.aligned.sync {%r6, %r7, %r8, %r9}, [%rd6]; xor.b32 %r3, %r2, %r6; mov.u32 %r2, %r3;", 0 * T),
    "loads and stores": ("st.u32.shared.volatile [ours], 7; st.v2.shared.u32 [ours+8], {8, 9}; ld.u32.volatile.shared %r3, [ours]; ld.v2.u32.shared {%r4, %r5}, [ours+8]; ld.gpu.global.relaxed.u32 %r6, [%rd2]; add.u32 %r2, %r3, %r5;", 16 + 0 * T),
    "a narrow store with its space last": ("st.u8.shared [ours], 7; st.u8.shared [ours+1], 8; ld.u16.shared %r2, [ours];", 0x807 + 0 * T),
    "an atomic": ("st.shared.u32 [ours], 0; bar.sync 0; atom.u32.add.shared %r2, [ours], 1;", T),
    "a conversion with its rounding last": ("cvt.f32.u32.rn %f1, %r1; mul.f32.rn %f2, %f1, 0f3F000000; cvt.u32.f32.rzi %r2, %f2;", T // 2),
    "a comparison": ("setp.u32.and.lt %p1, %r1, 9, 1; selp.u32 %r2, 1, 0, %p1;", T < 9),
    "a shuffle and a vote": ("shfl.b32.down.sync %r3|%p1, %r1, 4, 31, -1; vote.ballot.sync.b32 %r4, %p1, -1; popc.b32 %r5, %r4; add.u32 %r2, %r3, %r5;", np.where(T < 28, T + 4, T) + 28),
    "a product that carries": ("mov.u32 %r3, -1; mad.lo.u32.cc %r4, %r3, 1, %r1; addc.u32.cc %r5, 0, 0; addc.u32 %r2, 0, %r5;", T >= 1),
    "a copy": ("mov.u64 %rd5, ours; cp.async.shared.ca.global [%rd5], [%rd1], 16; cp.async.wait_all; ld.shared.u32 %r2, [ours];", 0 * T),
    "the warp's size": ("mov.u32 %r2, WARP_SZ;", 32 + 0 * T),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_operands_mean_what_the_manual_says(name: str) -> None:
    body, want = CASES[name]
    assert run(body).tolist() == np.asarray(want).astype(np.uint64).tolist()


def test_the_assembler_takes_these_programs() -> None:
    """So that no test holds the simulator to PTX that no GPU gets to see."""
    if find_toolchain().ptxas is None:
        pytest.skip("no ptxas")
    module, entry = HEAD.split(".visible")
    text = module + "".join(
        f".visible{entry}{body} st.global.u32 [%rd2], %r2; ret; }}\n".replace("entry k(", f"entry k{i}(")
        for i, (body, _) in enumerate(CASES.values())
    )
    assembly(Program("k.cu", "", text, "sm_80", (), cache_key_of(text, "sm_80")), "sm_80")


@pytest.mark.parametrize(
    ("body", "word"),
    [("add.u32 %r2, %r1;", "add.u32"), ("mov.u32 %tid.x, %r1;", "%tid.x"), ("mov.u32 %r2, %nothing;", "%nothing"), ("mov.u64 %rd3, nowhere;", "nowhere"),
     ("ld.global.u32 %r2, %r1;", "address"), ("bra nowhere;", "label"), ("@%r1 mov.u32 %r2, 1;", "predicate"), ("add.u32 5, %r1, %r1;", "destination"),
     ("mov.u32 %p1, %r1;", "predicate"), ("ld.global.v2.u32 {%r2, %r3, %r4}, [%rd1];", "operands of ld.global.v2.u32"), ("brx.idx %r1, table;", "label"),
     ("frobnicate.b32 %r2, %r1;", "frobnicate.b32")],
)  # fmt: skip
def test_operands_that_make_no_sense_are_refused_with_their_name(body: str, word: str) -> None:
    with pytest.raises(UnsupportedPtx, match=word):
        run(body)


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("cp.async.cg.shared.global [%r1], [%rd1], 8;", "cp.async.cg of another size than 16 bytes"),
        ("cp.async.ca.shared.global [%r1], [%rd1], 12;", "another size than 4, 8 or 16 bytes"),
        ("cp.async.wait_group %r1;", "a number that is not constant"),
    ],
)
def test_copies_of_another_size_are_refused(body: str, word: str) -> None:
    with pytest.raises(UnsupportedPtx, match=word):
        run(body)


@pytest.mark.parametrize(
    "body",
    [
        "mbarrier.try_wait.shared.b64 %p1, [%r1], %rd3;",
        "mbarrier.arrive.expect_tx.shared.b64 %rd3, [%r1], 4;",
        "cp.async.bulk.commit_group;",
    ],
)
def test_an_instruction_of_a_newer_gpu_says_which(body: str) -> None:
    with pytest.raises(UnsupportedPtx) as refused:
        run(body)
    assert "sm_90" in refused.value.hint
