"""PTX as text: what people write into assembly, and what attackers do. Reading it ends, in a Module or in one error."""

from __future__ import annotations

import contextlib
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.compile import compile_source
from grader.simt.engine.codegen import generate
from grader.simt.engine.flatten import UnsupportedPtx
from grader.simt.observers import OBSERVERS, observer_set
from grader.simt.ptx import Address, Immediate, Instruction, Module, PtxSyntaxError, Register, Symbol, parse
from grader.simt.ptx.reader import integer

HEAD = ".version 8.8\n.target sm_80\n.address_size 64\n"
ENTRY = HEAD + ".visible .entry k(.param .u64 k_param_0)\n{\n.reg .b32 %r<9>; .reg .pred %p<3>; .reg .b64 %rd<4>;\n"
SAMPLE = """#include <cuda_fp16.h>
#include <assert.h>
struct P { int a, b; float f[3]; };
__device__ __noinline__ P make(int t, float* q) { P p; p.a = t; p.b = 2 * t; for (int k = 0; k < 3; ++k) p.f[k] = q[k]; return p; }
__constant__ float C[4] = {1, 2, 3, 4}; __device__ int G; __device__ int* PG = &G;
extern "C" __global__ void k(float* x, half* h, unsigned char* c, double* d, P s, int n) {
__shared__ float sm[64]; extern __shared__ int dyn[]; int t = threadIdx.x; float local[8]; for (int k = 0; k < 8; ++k) local[k] = x[t + k];
sm[t] = local[(t * 3) & 7]; __syncthreads(); float4 v = ((float4*)x)[t]; v.x += __shfl_down_sync(~0u, v.y, 1, 8); v.z = __ballot_sync(~0u, t & 1);
atomicAdd(&x[0], v.x); atomicCAS((int*)x, 1, 2); if (t == 3) printf("%d %f\\n", t, 1.5); assert(n > 0);
h[t] = __hadd(h[t], h[t + 1]); c[t] = c[t] / 3; d[t] = sqrt(d[t]) / 3.0; P p = make(t, x);
x[t] = p.a + p.f[t % 3] + __sinf(v.w) + C[t & 3] + *PG + s.f[t % 3] + __syncthreads_count(t);
asm volatile("{ .reg .pred p; .reg .b32 q<2>; TS: .branchtargets A, B; setp.lt.s32 p, %0, 4; @p bra A; mov.b32 q0, %0; brx.idx q0, TS; A: bar.sync 1, 32; B: }" :: "r"(t & 1));
dyn[t] = __clz(t) + __popc(t) + __byte_perm(t, n, 3); x[t + 1] = dyn[t ^ 1]; }
"""  # fmt: skip
_PIECE = re.compile(r"[%$\w.]+|\s+|.")


@pytest.fixture(scope="module")
def pieces() -> list[str]:
    return _PIECE.findall(compile_source(SAMPLE.encode(), "k.cu").ptx)


def entry_of(body: str) -> tuple[Instruction, ...]:
    function = parse(ENTRY + body + "\nret;\n}\n").functions["k"]
    return tuple(i for i in function.body or () if isinstance(i, Instruction))


def translate(module: Module) -> None:
    """As far as the simulator goes without LLVM."""
    for function in module.functions.values():
        if function.is_entry and function.body is not None:
            generate(module, function.name, observer_set(frozenset(OBSERVERS)))


SPLICES = [
    ";",
    ",",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "|",
    "!",
    "@",
    "-",
    "+",
    '"',
    "/*",
    ".",
    ":",
    "::",
    "%",
    "9" * 30,
    "0x",
    "_",
    "\0",
    "é",
]
EDITS = st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(["drop", "copy", "swap", "twice", "splice"]), st.integers(0, 10**6)), min_size=1, max_size=4)  # fmt: skip


@settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(edits=EDITS)
def test_damaged_ptx_is_read_or_refused(pieces: list[str], edits: list[tuple[int, str, int]]) -> None:
    text = list(pieces)
    for where, how, what in edits:
        i, j = where % len(text), what % len(text)
        if how == "swap":
            text[i], text[j] = text[j], text[i]
        else:
            text[i] = {
                "drop": "",
                "copy": text[j],
                "twice": f"{text[i]} {text[i]}",
                "splice": text[i] + SPLICES[what % len(SPLICES)],
            }[how]
    with contextlib.suppress(PtxSyntaxError, UnsupportedPtx):
        translate(parse("".join(text), "k.cu"))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(text=st.text(alphabet='.%{}[]()<>;:,|!@-+"/* \nabr01xLfdU_$é', max_size=60))
def test_text_that_means_nothing_is_refused(text: str) -> None:
    for prefix in (HEAD, ENTRY):
        with contextlib.suppress(PtxSyntaxError):
            parse(prefix + text)


BROKEN = {
    "a body without end": ENTRY + "add.s32 %r1, %r1, 1;",
    "a list without end": ENTRY + "mov.b64 {%r1, ",
    "an address without end": ENTRY + "ld.global.u32 %r1, [%rd1",
    "brackets that nest for ever": ENTRY + "ld.global.u32 %r1, " + "[" * 5000,
    "braces that nest for ever": ENTRY + "mov.b32 %r1, " + "{" * 5000,
    "a comment without end": ENTRY + "/* " * 200000,
    "a number of a million digits": ENTRY + "mov.u32 %r1, " + "9" * 1_000_000 + ";",
    "parentheses that nest for ever": ENTRY + "mov.b32 %r1, " + "(" * 5000,
    "signs without end": ENTRY + "mov.b32 %r1, " + "-" * 1_000_000,
    "a division by zero": ENTRY + "mov.b32 %r1, 1 / (2 - 2);",
    "a sum of floats": ENTRY + "mov.f32 %r1, 1.0 + 2.0;",
    "a float as an offset": ENTRY + "ld.global.u32 %r1, [%rd1+1.0];",
    "an offset that is no number": ENTRY + "ld.global.u32 %r1, [%rd1+%r2];",
    "parameters without end": HEAD + ".visible .entry k(.param .u64 a",
    "an alignment of zero": HEAD + ".global .align 0 .b8 x[4];",
    "a variable of no size that fits": HEAD + ".global .b8 x[99999999999999];",
    "more values than elements": HEAD + ".global .b8 x[2] = {1, 2, 3};",
    "an address in a byte": HEAD + ".global .b8 x[2] = {y};",
    "a guard that is a number": ENTRY + "@5 bra L; L: ret; }",
    "a label twice": ENTRY + "L: L: ret; }",
    "an unknown word": HEAD + ".nothing",
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_text_is_refused_at_once(name: str) -> None:
    with pytest.raises(PtxSyntaxError):
        parse(BROKEN[name])


def test_many_blank_lines_are_read_in_proportion_to_their_number() -> None:
    entry = ".entry k()\n{\nret;\n}\n"
    assert list(parse("\n" * 1_000_000 + HEAD + entry).functions) == ["k"]  # the square of it would take an hour


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("017", 15),
        ("0x1F", 31),
        ("0b101", 5),
        ("42U", 42),
        ("08", None),
        (str(2**64), None),
        (str(2**64 - 1), 2**64 - 1),
    ],
)
def test_integers_are_read_in_all_notations(text: str, value: int | None) -> None:
    assert integer(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("+-0", 0), ("- -4", 4), ("~0", -1), ("!4", 0), ("!0", 1), ("-(4)", -4), ("(4)", 4), ("(3) * (2)", 6), ("WARP_SZ * 2", 64),
     ("-9 / 2", -4), ("-9 % 4", 3), ("9 % -4", 9), ("-7 >> 1", -4), ("1 << 65", 2), ("-1 < 1", 1), ("3 - 5 < 0", 1),
     ("-1 == 0xffffffffffffffff", 1), ("0xffffffffffffffff / 2", 2**63 - 1), ("9223372036854775807 + 1", -(2**63)),
     ("2 & 3 == 3", 0), ("1 | 2 ^ 3 & 1", 3), ("7 & -2 % 4", 2), ("10 - 4 - 3", 3), ("2 + 3 * 4 << 1", 28), ("5 != 5", 0)],
)  # fmt: skip
def test_constant_expressions_give_what_ptxas_gives(text: str, value: int) -> None:
    (mov, load, _) = entry_of(f"mov.u64 %rd2, {text}; ld.global.u32 %r1, [%rd1 + {text}];")
    assert mov.operands[1] == Immediate(value)
    assert load.operands[1] == Address(Register("%rd1"), value)


def test_negative_floats_flip_their_sign_bit() -> None:
    (mov, _) = entry_of("mov.f32 %r1, -0f3F800000;")
    assert mov.operands[1].value == 0xBF800000  # type: ignore[union-attr]  # an Immediate


def test_names_of_inner_scopes_are_their_own() -> None:
    first, second, outer, _ = entry_of("{ .reg .b32 a; mov.u32 a, 1; } { .reg .b64 a; mov.u64 a, 2; } mov.u32 %r1, a;")
    names = [i.operands[0] for i in (first, second)]
    assert all(isinstance(n, Register) for n in names)
    assert names[0] != names[1]
    assert outer.operands[1] == Symbol("a")


def test_ranges_of_registers_need_no_percent_sign() -> None:
    function = parse(ENTRY + "{ .reg .b64 t<4>; mov.u64 t3, 2; }\nret;\n}").functions["k"]
    assert function.body is not None
    (target, _) = function.body[0].operands  # type: ignore[union-attr]  # an instruction
    assert function.register_type(target.name) == "b64"  # type: ignore[union-attr]  # a register


def test_labels_are_known_before_they_stand() -> None:
    function = parse(ENTRY + "{ @%p1 bra E; add.s32 %r1, %r1, 1; E: } { @%p1 bra E; E: }\nret;\n}").functions["k"]
    targets = [i.operands[0].name for i in function.body or () if isinstance(i, Instruction) and i.opcode == "bra"]  # type: ignore[union-attr]  # such operands have names
    labels = [i.name for i in function.body or () if not isinstance(i, Instruction)]
    assert targets == labels
    assert len(set(labels)) == 2


def test_offsets_add_up_with_their_signs() -> None:
    a, b, _ = entry_of("ld.global.u32 %r1, [%rd1+-8]; ld.global.u32 %r1, [%rd1-8];")
    assert a.operands[1] == b.operands[1] == Address(Register("%rd1"), -8)


@pytest.mark.parametrize("place", ["opcode", "register", "label", "symbol"])
def test_no_name_of_the_ptx_becomes_code(place: str) -> None:
    """Names go into tables; the IR's own names are made of numbers and of words of the engine."""
    name = "evil_name_of_mine"
    text = {
        "opcode": f"{name}.b32 %r1, %r2;", "register": f".reg .b32 {name}; mov.u32 {name}, 1; mov.u32 %r1, {name};",
        "label": f"bra {name}; {name}:", "symbol": f"mov.u64 %rd1, {name};",
    }[place]  # fmt: skip
    module = parse(ENTRY.replace(".visible", f".global .b32 {name};\n.visible") + text + "\nret;\n}")
    try:
        made, _ = generate(module, "k", observer_set(frozenset(OBSERVERS)))
    except UnsupportedPtx:
        assert place == "opcode"
    else:
        assert name not in str(made)


def test_a_parameter_is_read_within_its_bounds_only() -> None:
    """An offset behind the parameters must not read the simulator's own memory."""
    from grader.simt.engine.code_cache import CodeCache
    from grader.simt.simulate import Call, Memory, simulate

    body = "ld.param.u64 %rd1, [k_param_0]; ld.param.u32 %r1, [k_param_0+4096]; st.global.u32 [%rd1], %r1; ret; }"
    memory = Memory("x", np.zeros(64, np.uint8), True)
    call = Call("k", (1, 1, 1), (1, 1, 1), 0, ("x",))
    outcome = simulate(parse(ENTRY + body), [memory], [call], cache=CodeCache("parameter"))
    assert "out_of_bounds" in [event.kind for event in outcome.events]
    assert not outcome.memory["x"].any()
