"""Kinds of instructions: which counters a mnemonic belongs to, and what launches and lines count."""

from __future__ import annotations

import numpy as np
import pytest

from grader.simt.units import counted
from tests.simt.kernels import body, run

SPECIAL, DOUBLE = "special_function_instructions", "f64_instructions"
SLOW, INTEGER, PRODUCTS = "slow_divisions", "integer_instructions", "wmma_instructions"


@pytest.mark.parametrize(
    ("names", "counters"),
    [
        ("ex2.approx.ftz.f32 lg2.approx.f32 sin.approx.f32 tanh.approx.f32 rsqrt.approx.f32", {SPECIAL: 1}),
        ("rcp.approx.ftz.f32 sqrt.approx.f32 div.approx.f32 div.full.f32 ex2.approx.f16", {SPECIAL: 1}),
        ("ex2.approx.f16x2 tanh.approx.bf16x2", {SPECIAL: 2}),
        ("div.rn.f32 rcp.rn.ftz.f32 sqrt.rn.f32 sqrt.rz.f32", {SPECIAL: 1, SLOW: 1}),
        ("div.rn.f64 rcp.rn.f64 sqrt.rn.f64", {SPECIAL: 1, SLOW: 1, DOUBLE: 1}),
        ("add.f64 fma.rn.f64 setp.lt.f64 max.f64", {DOUBLE: 1}),
        ("div.s32 rem.u64", {SLOW: 1, INTEGER: 1}),
        ("add.s32 mad.lo.s32 mul.wide.u16 add.cc.u32 setp.lt.and.s32 selp.b32 min.u64 dp4a.s32.u32", {INTEGER: 1}),
        ("and.b32 lop3.b32 shf.l.wrap.b32 popc.b32 vabsdiff4.u32.u32.u32.add shl.b64", {INTEGER: 1}),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 wmma.mma.sync.aligned.row.col.m16n16k16", {PRODUCTS: 1}),
        ("bra bra.uni", {"branches": 1}),
        ("bar.sync barrier.sync.aligned bar.red.popc.u32", {"barriers": 1}),
        (
            "bar.warp.sync wmma.load.a.sync vote.sync.ballot.b32 and.pred not.pred mov.b32 ld.f64 prmt.b32 brev.b32",
            {},
        ),
        ("add.f32 fma.rn.f16x2 selp.f32 setp.lt.f32 neg.f32 set.lt.s32.f32", {}),
        ("cvt.f64.f32 cvt.rn.f32.s32 cvt.u64.u32", {}),
    ],
)
def test_a_mnemonic_belongs_to_the_counters_of_its_kind(names: str, counters: dict[str, int]) -> None:
    assert {name: dict(counted(name)) for name in names.split()} == dict.fromkeys(names.split(), counters)


def test_special_functions_and_divisions_count_per_warp_at_their_line() -> None:
    source = body("float v = x[i];\nv = __expf(v);\nif (t < 8)\nv = 1.0f / v;\nx[i] = v;")
    ran = run(source, {"x": np.ones(128, np.float32)}, 0, block=64, grid=2)
    assert (ran.total[SPECIAL], ran.total[SLOW]) == (4 + 2, 2)  # all four warps; each block's first one
    lines = ran.outcome.counters[0].lines
    assert (lines[5][SPECIAL], lines[7][SLOW]) == (4, 2)
    assert DOUBLE not in ran.total


def test_a_constant_without_f_costs_an_instruction_of_double_precision() -> None:
    single, double = (
        run(body(f"x[i] = x[i] * {factor};"), {"x": np.ones(32, np.float32)}, 0) for factor in ("1.1f", "1.1")
    )
    assert DOUBLE not in single.total
    assert double.total[DOUBLE] == 1


@pytest.mark.parametrize("lanes", [32, 5])
def test_local_bytes_are_those_of_active_lanes(lanes: int) -> None:
    source = body(
        f"int kept[8];\nif (t < {lanes}) {{\n"
        '_Pragma("unroll 1") for (int k = 0; k < 8; ++k) kept[(k + n) & 7] = k + t;\n'
        "int v = kept[x[i] & 7];\nx[i] = v; }",
        "int* x, int n",
    )
    ran = run(source, {"x": np.arange(32, dtype=np.int32)}, 3)
    assert list(ran.arrays["x"][:lanes]) == [(t - 3) % 8 + t for t in range(lanes)]
    assert ran.total["local_bytes"] == 4 * lanes * (8 + 1)
    assert ran.total["global_load_bytes"] == 4 * lanes


def test_local_memory_behind_a_generic_address_counts_as_local() -> None:
    source = body(
        "int kept[4] = {1, 2, 3, 4};\nint* p = (n & 1) ? x : kept;\nint v = *(volatile int*)(p + (i & 3));\nx[i] = v;",
        "int* x, int n",
    )
    ran = run(source, {"x": np.arange(32, dtype=np.int32)}, 2)
    assert ran.total["local_bytes"] == 32 * 4 * (4 + 1)
    assert "global_load_bytes" not in ran.total


def test_integer_instructions_of_an_unpacking_by_lop3() -> None:
    unpacking = 'asm("lop3.b32 %0, %0, 0x000f000f, 0x64006400, 0xea;" : "+r"(v));'
    ran = run(body(f"unsigned v = x[i];\n{unpacking}\nx[i] = v;", "unsigned* x"), {"x": np.arange(32, dtype=np.uint32)})
    assert ran.outcome.counters[0].lines[5][INTEGER] == 1
    assert list(ran.arrays["x"][[0, 17]]) == [0x64006400, 0x64006401]
