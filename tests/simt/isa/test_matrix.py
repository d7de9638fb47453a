"""Matrix forms: layouts against the manual and against ptxas's machine code, products against exact arithmetic."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from lanes import Traced, Warp, instruction, registers, run

from grader.simt.isa.fragments import Fragment, MmaShape, accumulator, operand, requests
from grader.simt.ptx import Address, Register

Matrix = npt.NDArray[Any]
SHAPES = ("m16n16k16", "m8n32k16", "m32n8k16")
PITCH = 48
"""Elements from one row of a test matrix to the next: a multiple of 16 bytes, and not of 128."""


def to_bits(values: Matrix, kind: str) -> Matrix:
    """Numbers as elements of a PTX type, in an unsigned integer of its width."""
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    dtype = {"f16": np.float16, "f32": np.float32, "tf32": np.float32, "s32": np.int32, "s8": np.int8, "u8": np.uint8}[
        kind
    ]
    return values.astype(dtype).view(f"u{np.dtype(dtype).itemsize}")


def numbers(shape: tuple[int, int], kind: str, seed: int) -> Matrix:
    """Random numbers that ``kind`` holds exactly; floats between 2^-6 and 8, so that f64 sums of products are exact."""
    rng = np.random.default_rng(seed)
    if kind in ("s8", "u8", "s32"):
        low, high = {"s8": (-128, 128), "u8": (0, 256), "s32": (-(10**6), 10**6)}[kind]
        return rng.integers(low, high, shape)
    size = 2.0 ** rng.uniform(-6, 3, shape) * rng.choice([-1, 1], shape)
    keep = {"f16": 0xFFFFE000, "bf16": 0xFFFF0000, "tf32": 0xFFFFE000, "f32": 0xFFFFFFFF}[kind]
    return (size.astype(np.float32).view(np.uint32) & np.uint32(keep)).view(np.float32).astype(np.float64)


def packed(matrix: Matrix, fragment: Fragment, kind: str) -> list[npt.NDArray[np.uint32]]:
    """The registers of a fragment that holds the matrix."""
    raw = to_bits(matrix, kind)
    lanes = np.array([[raw[fragment.place(lane, e)] for e in range(fragment.elements)] for lane in range(32)])
    return list(np.ascontiguousarray(lanes).view(np.uint32).T)


def unpacked(warp: Warp, name: str, fragment: Fragment, kind: str, shape: tuple[int, int]) -> Matrix:
    """The matrix of which registers ``name0 …`` are the fragment; all copies must agree."""
    words = np.array([warp.registers[f"{name}{i}"] for i in range(fragment.registers)]).T
    lanes = np.ascontiguousarray(words).view(f"u{fragment.bits // 8}")
    result = np.zeros(shape, lanes.dtype)
    for lane, e in product(range(32), range(fragment.elements)):
        result[fragment.place(lane, e)] = lanes[lane, e]
    for lane, e in product(range(32), range(fragment.elements)):
        assert result[fragment.place(lane, e)] == lanes[lane, e]
    return result.view({"f16": np.float16, "f32": np.float32, "s32": np.int32}.get(kind, result.dtype))


def chained(a: Matrix, b: Matrix, c: Matrix) -> npt.NDArray[np.float32]:
    """c + a·b by one fused step for each k: the sum is exact in double precision, then rounded to single."""
    total = c.astype(np.float32)
    for k in range(a.shape[1]):
        total = (a[:, k : k + 1] * b[k : k + 1] + total.astype(np.float64)).astype(np.float32)
    return total


def sizes(shape: str, role: str) -> tuple[int, int]:
    s = MmaShape.parse(shape)
    return {"a": (s.m, s.k), "b": (s.k, s.n), "c": (s.m, s.n), "d": (s.m, s.n)}[role]


def fragment_of(role: str, shape: str, kind: str, *, wmma: bool = True) -> Fragment:
    return (
        accumulator(MmaShape.parse(shape), kind)
        if role in "cd"
        else operand(role, MmaShape.parse(shape), kind, wmma=wmma)
    )


def multiply(
    text: str, shape: str, kinds: tuple[str, str, str, str], *, wmma: bool, seed: int = 1
) -> tuple[Matrix, list[Matrix]]:
    """Run one product of random matrices; gives d, and a, b, c as numbers."""
    matrices = [
        numbers(sizes(shape, role), kind, seed + i) for i, (role, kind) in enumerate(zip("abc", kinds, strict=False))
    ]
    return multiply_these(text, shape, kinds, matrices, wmma=wmma), matrices


def multiply_these(
    text: str, shape: str, kinds: tuple[str, str, str, str], matrices: list[Matrix], *, wmma: bool
) -> Matrix:
    fragments = {role: fragment_of(role, shape, kind, wmma=wmma) for role, kind in zip("abcd", kinds, strict=True)}
    given = {}
    for role, kind, matrix in zip("abc", kinds, matrices, strict=False):
        given |= {f"{role}{i}": r for i, r in enumerate(packed(matrix, fragments[role], kind))}
    operands = [registers(role, fragments[role].registers) for role in "dabc"]
    warp = run([instruction(text, *operands)], given)
    return unpacked(warp, "d", fragments["d"], kinds[3], sizes(shape, "d"))


# -- products ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("d", "c"), [*product(("f32", "f16"), repeat=2)])
def test_half_products_accumulate_in_single_precision(shape: str, d: str, c: str) -> None:
    text = f"wmma.mma.sync.aligned.row.col.{shape}.{d}.{c}"
    got, (a, b, start) = multiply(text, shape, ("f16", "f16", c, d), wmma=True)
    wanted = chained(a, b, start).astype(np.float16 if d == "f16" else np.float32)
    assert got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(("shape", "kind"), [*product(SHAPES, ("bf16",)), ("m16n16k8", "tf32")])
def test_wide_range_products_accumulate_in_single_precision(shape: str, kind: str) -> None:
    text = f"wmma.mma.sync.aligned.col.row.{shape}.f32.{kind}.{kind}.f32"
    got, (a, b, c) = multiply(text, shape, (kind, kind, "f32", "f32"), wmma=True)
    assert got.tobytes() == chained(a, b, c).tobytes()


@pytest.mark.parametrize(("shape", "kind"), [*product(SHAPES, ("s8", "u8"))])
def test_byte_products_are_exact(shape: str, kind: str) -> None:
    text = f"wmma.mma.sync.aligned.row.col.{shape}.s32.{kind}.{kind}.s32"
    got, (a, b, c) = multiply(text, shape, (kind, kind, "s32", "s32"), wmma=True)
    assert (got == a @ b + c).all()


@pytest.mark.parametrize(
    ("shape", "modifiers", "kinds"),
    [
        ("m16n8k8", "f32.f16.f16.f32", ("f16", "f16", "f32", "f32")),
        ("m16n8k8", "f16.f16.f16.f16", ("f16", "f16", "f16", "f16")),
        ("m16n8k16", "f32.f16.f16.f32", ("f16", "f16", "f32", "f32")),
        ("m16n8k16", "f16.f16.f16.f16", ("f16", "f16", "f16", "f16")),
        ("m16n8k8", "f32.bf16.bf16.f32", ("bf16", "bf16", "f32", "f32")),
        ("m16n8k16", "f32.bf16.bf16.f32", ("bf16", "bf16", "f32", "f32")),
        ("m16n8k4", "f32.tf32.tf32.f32", ("tf32", "tf32", "f32", "f32")),
        ("m16n8k8", "f32.tf32.tf32.f32", ("tf32", "tf32", "f32", "f32")),
        ("m8n8k16", "s32.s8.s8.s32", ("s8", "s8", "s32", "s32")),
        ("m8n8k16", "s32.u8.s8.s32", ("u8", "s8", "s32", "s32")),
        ("m16n8k16", "s32.s8.u8.s32", ("s8", "u8", "s32", "s32")),
        ("m16n8k16", "s32.u8.u8.s32", ("u8", "u8", "s32", "s32")),
        ("m16n8k32", "s32.s8.s8.s32", ("s8", "s8", "s32", "s32")),
        ("m16n8k32", "s32.u8.s8.s32", ("u8", "s8", "s32", "s32")),
    ],
)
def test_mma_multiplies_its_documented_fragments(shape: str, modifiers: str, kinds: tuple[str, str, str, str]) -> None:
    got, (a, b, c) = multiply(f"mma.sync.aligned.{shape}.row.col.{modifiers}", shape, kinds, wmma=False)
    wanted = a @ b + c if kinds[3] == "s32" else chained(a, b, c).astype(got.dtype)
    assert (got == wanted).all()


def test_a_half_accumulator_is_rounded_once_for_each_product() -> None:
    """1 added 16 times to 4096, where halves are 4 apart: rounding every step would lose all of it."""
    ones = np.ones((16, 16))
    text = "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16"
    got = multiply_these(text, "m16n16k16", ("f16",) * 4, [ones, ones, 4096 * ones], wmma=True)
    assert (got == 4112).all()


def test_satfinite_clamps_and_its_absence_wraps() -> None:
    a, b, c = np.full((16, 16), 127), np.full((16, 16), 127), np.full((16, 16), 2**31 - 5)
    text, kinds = "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32", ("s8", "s8", "s32", "s32")
    assert (multiply_these(f"{text}.satfinite", "m16n16k16", kinds, [a, b, c], wmma=True) == 2**31 - 1).all()
    assert (multiply_these(text, "m16n16k16", kinds, [a, b, c], wmma=True) == 2**31 - 5 + 16 * 127**2 - 2**32).all()


def test_tf32_ignores_the_low_13_bits_of_its_operands() -> None:
    whole = np.full((16, 8), 1.0)
    noisy = np.full((16, 8), 1.0 + 2.0**-11)
    text, kinds = "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", ("tf32", "tf32", "f32", "f32")
    got = multiply_these(text, "m16n16k8", kinds, [noisy, whole.T, np.zeros((16, 16))], wmma=True)
    assert (got == 8.0).all()


# -- layouts ----------------------------------------------------------------------------------------------------------
def every_wmma_fragment() -> list[tuple[str, str, str]]:
    operands = [*product("ab", SHAPES, ("f16", "bf16", "s8")), *product("ab", ("m16n16k8",), ("tf32",))]
    return [*operands, *product("c", (*SHAPES, "m16n16k8"), ("f32",)), *product("c", SHAPES, ("f16", "s32"))]


@pytest.mark.parametrize(("role", "shape", "kind"), every_wmma_fragment())
def test_every_element_of_a_matrix_is_held_equally_often(role: str, shape: str, kind: str) -> None:
    fragment = fragment_of(role, shape, kind)
    places = [fragment.place(lane, e) for lane in range(32) for e in range(fragment.elements)]
    rows, columns = sizes(shape, role)
    assert set(places) == set(product(range(rows), range(columns)))
    assert {places.count(p) for p in set(places)} == {fragment.copies}
    if kind == "f16" and role in "ab":
        assert fragment.elements == 16  # fragment<…, half>::num_elements


def test_operands_of_mma_lie_as_the_manual_draws_them() -> None:
    a, b = fragment_of("a", "m16n8k16", "f16", wmma=False), fragment_of("b", "m16n8k16", "f16", wmma=False)
    c = fragment_of("c", "m16n8k16", "f32")
    for lane, e in product(range(32), range(8)):
        group, thread = lane >> 2, lane % 4
        row = group if e in (0, 1, 4, 5) else group + 8
        assert a.place(lane, e) == (row, thread * 2 + (e & 1) + (8 if e >= 4 else 0))
        if e < 4:
            assert b.place(lane, e) == (thread * 2 + (e & 1) + (8 if e >= 2 else 0), group)
            assert c.place(lane, e) == (group + (8 if e >= 2 else 0), thread * 2 + (e & 1))
    small, sums = fragment_of("a", "m8n8k16", "s8", wmma=False), fragment_of("c", "m8n8k16", "s32")
    assert [small.place(5, e) for e in range(4)] == [(1, 4), (1, 5), (1, 6), (1, 7)]
    assert fragment_of("b", "m8n8k16", "s8", wmma=False).place(5, 2) == (6, 1)
    assert [sums.place(5, e) for e in range(2)] == [(1, 2), (1, 3)]
    wide, bytes_ = fragment_of("a", "m16n8k8", "tf32", wmma=False), fragment_of("a", "m16n8k32", "s8", wmma=False)
    assert [wide.place(5, e) for e in range(4)] == [(1, 1), (9, 1), (1, 5), (9, 5)]
    assert [bytes_.place(5, e) for e in range(0, 16, 4)] == [(1, 4), (9, 4), (1, 20), (9, 20)]


# Where lane 0's elements lie, as ptxas's machine code loads them; the other lanes follow by lane / 4 and lane % 4.
MACHINE_CODE = {
    ("a", "m16n16k16", "f16"): [(0, 0), (0, 1), (8, 0), (8, 1), (0, 8), (0, 9), (8, 8), (8, 9)] * 2,
    ("b", "m16n16k16", "f16"): [(0, 0), (1, 0), (8, 0), (9, 0), (0, 8), (1, 8), (8, 8), (9, 8)] * 2,
    ("a", "m8n32k16", "f16"): [(0, 0), (0, 1), (0, 8), (0, 9)] * 4,
    ("b", "m8n32k16", "bf16"): [(0, 0), (1, 0), (0, 8), (1, 8), (8, 0), (9, 0), (8, 8), (9, 8),
                                (0, 16), (1, 16), (0, 24), (1, 24), (8, 16), (9, 16), (8, 24), (9, 24)],
    ("b", "m32n8k16", "bf16"): [(0, 0), (1, 0), (8, 0), (9, 0)],
    ("a", "m32n8k16", "s8"): [(g, t) for g in (0, 8, 16, 24) for t in range(4)],
    ("b", "m16n16k16", "s8"): [(t, g) for g in (0, 8) for t in range(4)],
    ("b", "m16n16k8", "tf32"): [(0, 0), (4, 0), (0, 8), (4, 8)],
    ("c", "m16n16k16", "f32"): [(0, 0), (0, 1), (8, 0), (8, 1), (0, 8), (0, 9), (8, 8), (8, 9)],
    ("c", "m8n32k16", "f32"): [(0, 0), (1, 0), (0, 8), (1, 8), (0, 16), (1, 16), (0, 24), (1, 24)],
    ("c", "m32n8k16", "f16"): [(0, 0), (0, 1), (8, 0), (8, 1), (16, 0), (16, 1), (24, 0), (24, 1)],
}  # fmt: skip


@pytest.mark.parametrize(("role", "shape", "kind"), MACHINE_CODE)
def test_wmma_fragments_are_those_of_the_machine_code(role: str, shape: str, kind: str) -> None:
    fragment = fragment_of(role, shape, kind)
    assert [fragment.place(0, e) for e in range(fragment.elements)] == MACHINE_CODE[role, shape, kind]
    for lane in range(32):
        shift = (fragment.step * (lane % 4), lane // 4)
        g, t = shift[::-1] if not fragment.across else shift
        moved = [(row + g, column + t) for row, column in MACHINE_CODE[role, shape, kind]]
        assert [fragment.place(lane, e) for e in range(fragment.elements)] == moved


# -- memory -----------------------------------------------------------------------------------------------------------
def in_memory(matrix: Matrix, kind: str, layout: str) -> Matrix:
    """The matrix's elements with a pitch, as bytes of memory."""
    raw = to_bits(matrix if layout == "row" else matrix.T, kind)
    memory = np.zeros((raw.shape[0], PITCH), raw.dtype)
    memory[:, : raw.shape[1]] = raw
    return memory


def load(role: str, shape: str, kind: str, layout: str, space: str, memory: Matrix) -> Warp:
    fragment = fragment_of(role, shape, kind)
    text = f"wmma.load.{role}.sync.aligned.{layout}.{shape}{space}.{kind}"
    step = instruction(text, registers("r", fragment.registers), Address(Register("p")), Register("ld"))
    return run([step], {"p": np.zeros(1), "ld": np.array([PITCH])}, memory)


@pytest.mark.parametrize("layout", ["row", "col"])
@pytest.mark.parametrize("space", [".global", ".shared", ""])
@pytest.mark.parametrize(("role", "shape", "kind"), every_wmma_fragment())
def test_a_load_fills_the_fragment(role: str, shape: str, kind: str, space: str, layout: str) -> None:
    matrix = numbers(sizes(shape, role), kind, 3)
    warp = load(role, shape, kind, layout, space, in_memory(matrix, kind, layout))
    got = unpacked(warp, "r", fragment_of(role, shape, kind), "", sizes(shape, role))
    assert got.tobytes() == to_bits(matrix, kind).tobytes()


@pytest.mark.parametrize("layout", ["row", "col"])
@pytest.mark.parametrize(("shape", "kind"), [*product(SHAPES, ("f16", "f32", "s32"))])
def test_a_store_writes_the_tile_and_nothing_else(shape: str, kind: str, layout: str) -> None:
    matrix = numbers(sizes(shape, "d"), kind, 4)
    fragment = fragment_of("d", shape, kind)
    wanted = in_memory(matrix, kind, layout)
    memory = np.zeros_like(wanted)
    given = {f"r{i}": r for i, r in enumerate(packed(matrix, fragment, kind))}
    step = instruction(f"wmma.store.d.sync.aligned.{layout}.{shape}.global.{kind}", Address(Register("p")),
                       registers("r", fragment.registers), Register("ld"))  # fmt: skip
    run([step], {"p": np.zeros(1), "ld": np.array([PITCH]), **given}, memory)
    assert memory.tobytes() == wanted.tobytes()


def test_without_a_stride_rows_follow_each_other() -> None:
    matrix = numbers((16, 16), "f16", 5)
    memory = to_bits(matrix, "f16")
    step = instruction("wmma.load.a.sync.aligned.row.m16n16k16.global.f16", registers("r", 8), Address(Register("p")))
    warp = run([step], {"p": np.zeros(1)}, memory)
    assert unpacked(warp, "r", fragment_of("a", "m16n16k16", "f16"), "f16", (16, 16)).tobytes() == memory.tobytes()


def sectors(request: Traced) -> int:
    return len({a // 32 for start in request.addresses for a in (start, start + request.bytes - 1)})


# Requests of each load in the machine code of ptxas 12.9 for sm_80: how many, bytes of each lane, lanes that take part,
# and (for global memory) the distinct sectors of each with a pitch of 48 elements from an aligned start.
REQUESTS: dict[tuple[str, ...], tuple[int, ...]] = {
    ("a", "m16n16k16", "f16", "row", ".global"): (4, 4, 32, 8),
    ("a", "m16n16k16", "f16", "col", ".global"): (4, 4, 32, 8),
    ("b", "m16n16k16", "f16", "row", ".global"): (4, 4, 32, 8),
    ("b", "m8n32k16", "f16", "col", ".global"): (8, 4, 32, 8),
    ("a", "m16n16k16", "f16", "row", ".shared"): (1, 16, 32),
    ("b", "m16n16k16", "f16", "row", ".shared"): (1, 16, 32),
    ("a", "m32n8k16", "f16", "col", ".shared"): (2, 16, 32),
    ("b", "m32n8k16", "bf16", "col", ".shared"): (1, 16, 16),
    ("a", "m16n16k16", "s8", "row", ".global"): (2, 4, 32, 8),
    ("a", "m16n16k16", "s8", "col", ".global"): (8, 1, 32, 4),
    ("a", "m8n32k16", "s8", "row", ".shared"): (1, 16, 8),
    ("a", "m32n8k16", "s8", "row", ".shared"): (2, 16, 16),
    ("b", "m16n16k16", "s8", "row", ".shared"): (8, 1, 32),
    ("a", "m16n16k8", "tf32", "row", ".shared"): (4, 4, 32),
    ("c", "m16n16k16", "f32", "row", ".global"): (4, 8, 32, 8),
    ("c", "m16n16k16", "f32", "col", ".global"): (8, 4, 32, 4),
    ("c", "m8n32k16", "f32", "col", ".shared"): (4, 8, 32),
    ("c", "m16n16k16", "f16", "col", ".shared"): (4, 4, 32),
}


@pytest.mark.parametrize("case", REQUESTS, ids=" ".join)
def test_a_load_makes_the_requests_of_the_machine_code(case: tuple[str, ...]) -> None:
    role, shape, kind, layout, space = case
    memory = in_memory(np.zeros(sizes(shape, role)), kind, layout)
    made = load(role, shape, kind, layout, space, memory).requests
    count, width, lanes, *distinct = REQUESTS[role, shape, kind, layout, space]
    assert len(made) == count
    assert {(r.kind, r.space, r.bytes, len(r.addresses)) for r in made} == {("load", space[1:], width, lanes)}
    if distinct:
        assert [sectors(r) for r in made] == distinct * count


def test_lanes_address_a_row_major_tile_as_the_machine_code_does() -> None:
    """`(lane >> 2) · ld/2 + (lane & 3)` words, then 16 bytes and 8 rows further."""
    memory = in_memory(np.zeros((16, 16)), "f16", "row")
    made = load("a", "m16n16k16", "f16", "row", ".global", memory).requests
    base = [(lane >> 2) * PITCH * 2 + (lane & 3) * 4 for lane in range(32)]
    assert [list(r.addresses) for r in made] == [
        [b + off for b in base] for off in (0, 16 * PITCH, 16, 16 * PITCH + 16)
    ]


def test_rows_of_blocks_are_read_from_shared_memory_in_lane_order() -> None:
    memory = in_memory(np.zeros((16, 16)), "f16", "row")
    (made,) = load("a", "m16n16k16", "f16", "row", ".shared", memory).requests
    assert list(made.addresses) == [(lane % 16) * PITCH * 2 + (lane // 16) * 16 for lane in range(32)]


def test_a_store_of_halves_by_columns_exchanges_lanes_first() -> None:
    fragment = fragment_of("c", "m16n16k16", "f16")
    assert all(r.transposed and r.bytes == 4 for r in requests(fragment, "col", rows=False))
    assert not any(r.transposed for r in requests(fragment, "row", rows=False))


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("trans", ["", ".trans"])
def test_ldmatrix_gives_each_lane_two_neighbours_of_its_row(count: int, trans: str) -> None:
    memory = np.arange(32 * 24, dtype=np.uint16).reshape(32, 24)
    rows = np.arange(32)[::-1].copy()  # lane 8k + r reads row 31 - (8k + r), so that the order counts
    step = instruction(
        f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16", registers("r", count), Address(Register("p"))
    )
    warp = run([step], {"p": (rows * 48).astype(np.uint32)}, memory)
    for k in range(count):
        block = memory[rows[8 * k : 8 * k + 8], :8]
        block = block.T if trans else block
        got = warp.registers[f"r{k}"].view(np.uint16).reshape(8, 8)
        assert (got == block).all()
    assert len(warp.requests[0].addresses) == 8 * count


def test_movmatrix_transposes_a_block() -> None:
    block = np.arange(64, dtype=np.uint16)
    step = instruction("movmatrix.sync.aligned.m8n8.trans.b16", Register("d"), Register("a"))
    warp = run([step], {"a": block.view(np.uint32)})
    assert (warp.registers["d"].view(np.uint16).reshape(8, 8) == block.reshape(8, 8).T).all()
