"""Kernels whose result depends on an order that nothing promises: the usual run is right, an adversarial one is not."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from grader.simt.engine.schedule import ADVERSARIAL, ORDERS, USUAL, Order
from tests.simt.kernels import Array, Ran, body, run
from tests.simt.test_waiting_blocks import FENCE, SCAN, counted

BLOCKS, THREADS = 20, 64
N = BLOCKS * THREADS
INPUT = np.arange(N, dtype=np.int32) % 7

LOCKSTEP = """__shared__ volatile int s[64];
int r = 63 - t;
s[r] = in[i];
{first}
for (int d = 32; d > 0; d /= 2) {{
  if (r < d) s[r] += s[r + d];
  {barrier}
}}
if (r == 0) {add};
if (n < 0) __threadfence();"""
SUM = "int* in, int* sum, int n"


def lockstep(first: str, barrier: str, add: str = "atomicAdd(sum, s[0])") -> str:
    return body(LOCKSTEP.format(first=first, barrier=barrier, add=add), SUM)


TICKET = """__shared__ int last;
__shared__ int s[64];
s[t] = in[i];
__syncthreads();
for (int d = 32; d > 0; d /= 2) {{ if (t < d) s[t] += s[t + d]; __syncthreads(); }}
if (t == 0) {{
  ((volatile int*)parts)[blockIdx.x] = s[0];
  {fence}
  last = {last};
}}
__syncthreads();
if (last && t == 0) {{
  int total = 0;
  for (int b = 0; b < gridDim.x; b++) total += ((volatile int*)parts)[b];
  *sum = total;
}}"""
PARTS = "int* in, int* sum, int* parts, unsigned* ticket, int n"


def ticket(fence: str, last: str) -> str:
    return body(TICKET.format(fence=fence, last=last), PARTS)


HANDED_ON = """if (t == 0) {{
  unsigned b = blockIdx.x, seen = b > 0;
  int before = 0;
  {wait}
  for (int k = 0; k < 64; k++) before += in[i + k];
  {store}
  if (b == gridDim.x - 1) *sum = before;
}}"""
SEES = f"while (seen && *(volatile unsigned*)ticket < b) ; {FENCE} if (b) before = ((volatile int*)parts)[b - 1];"
PAIR = """int there = 0;
while (b && !there) asm volatile("ld.volatile.global.v2.s32 {%0, %1}, [%2];"
                                 : "=r"(before), "=r"(there) : "l"(parts + 2 * b - 2) : "memory");"""
PAIR_STORED = 'asm volatile("st.volatile.global.v2.s32 [%0], {%1, %2};" :: "l"(parts + 2 * b), "r"(before), "r"(1));'


def handed_on(fence: str, flag: str = "*(volatile unsigned*)ticket = b + 1;") -> str:
    """Each block adds its sum to that of the block before it; ``flag`` says that this is done."""
    store = f"((volatile int*)parts)[b] = before; {fence} {flag}"
    return body(HANDED_ON.format(wait=SEES, store=store), PARTS)


BLOCK_FENCE = "__threadfence_block();"
WARP_TO_WARP = """__shared__ volatile int s[64];
volatile int* words = {words};
__shared__ volatile int there;
if (t == 0) there = 0;
__syncthreads();
if (t == 40) {{
  int own = 0;
  for (int k = 0; k < 64; k++) own += in[i - t + k];
  words[0] = own;
  __threadfence_block();
  there = 1;
}} else if (t == 0) {{
  while (!there) ;
  __threadfence_block();
  atomicAdd(sum, words[0]);
}}"""
BY_ANOTHER = """__shared__ volatile int there;
int b = blockIdx.x;
if (t == 0) there = 0;
__syncthreads();
if (t == 40) {
  int before = 0;
  if (b) while (*(volatile unsigned*)ticket < b) ;
  __threadfence();
  if (b) before = ((volatile int*)parts)[b - 1];
  for (int k = 0; k < 64; k++) before += in[i - t + k];
  ((volatile int*)parts)[b] = before;
  if (b == gridDim.x - 1) *sum = before;
  __threadfence_block();
  there = 1;
} else if (t == 0) {
  while (!there) ;
  __threadfence();
  *(volatile unsigned*)ticket = b + 1;
}"""
BY_ATOMIC = "atomicAdd(ticket, 1) == gridDim.x - 1"

WRONG = {
    "a reduction in shared memory whose fence never runs": lockstep("", ""),
    "a reduction without its first barrier": lockstep("", "__syncthreads();"),
    "a reduction whose last warp trusts in lockstep": lockstep("__syncthreads();", "if (d > 32) __syncthreads();"),
    "a sum by volatile read and write": lockstep("__syncthreads();", "__syncthreads();", "*(volatile int*)sum += s[0]"),
    "a sum by two atomics": lockstep(
        "__syncthreads();", "__syncthreads();", "atomicExch(sum, atomicAdd(sum, 0) + s[0])"
    ),
    "the last block by its number": ticket(FENCE, "blockIdx.x == gridDim.x - 1"),
    "the last block by a volatile counter": ticket(
        FENCE, "(*(volatile unsigned*)ticket = *(volatile unsigned*)ticket + 1) == gridDim.x"
    ),
    "the last block by a ticket, without a fence": ticket("", BY_ATOMIC),
    "a sum handed on by two volatile stores without a fence": handed_on(""),
    "a sum handed on by an atomic without a fence": handed_on("", "atomicAdd(ticket, 1);"),
    "the last block by a ticket, with a fence of the block": ticket(BLOCK_FENCE, BY_ATOMIC),
    "a sum handed on with a fence of the block": handed_on(BLOCK_FENCE),
    "a sum handed on by an atomic with a fence of the block": handed_on(BLOCK_FENCE, "atomicAdd(ticket, 1);"),
    "the last block by a ticket, behind a fence that never runs": ticket(f"if (n < 0) {FENCE}", BY_ATOMIC),
}

RIGHT = {
    "a reduction with all its barriers": lockstep("__syncthreads();", "__syncthreads();"),
    "a reduction whose warp synchronises": lockstep(
        "__syncthreads();", "if (d > 32) __syncthreads(); else __syncwarp();"
    ),
    "a sum by compare and swap": lockstep(
        "__syncthreads();", "__syncthreads();",
        "{ int old = *sum, seen;\n"
        "do { seen = old; old = atomicCAS(sum, seen, seen + s[0]); } while (old != seen); }",
    ),
    "the last block by a ticket": ticket(FENCE, BY_ATOMIC),
    "a sum handed on by two volatile stores": handed_on(FENCE),
    "a sum handed on by an atomic": handed_on(FENCE, "atomicAdd(ticket, 1);"),
    "a sum handed on by an atomic that releases": handed_on(
        "", 'asm volatile("red.release.gpu.global.add.u32 [%0], 1;" :: "l"(ticket) : "memory");'
    ),
    "sums handed on between warps with a fence of the block": body(
        WARP_TO_WARP.format(words="(volatile int*)parts + blockIdx.x"), PARTS
    ),
    "sums handed on in shared memory with a fence of the block": body(WARP_TO_WARP.format(words="s"), PARTS),
    "a sum handed on by another warp, whose fence is of the device": body(BY_ANOTHER, PARTS),
    "a sum and its flag in one store": body(HANDED_ON.format(wait=PAIR, store=PAIR_STORED), PARTS),
}  # fmt: skip


def total(source: str, order: Order) -> Ran:
    zero = np.zeros(BLOCKS, np.int32)
    arrays: Mapping[str, Array] = {"in": INPUT, "sum": zero[:1]}
    if "parts" in source:
        arrays = {**arrays, "parts": np.zeros(2 * BLOCKS, np.int32), "ticket": zero[:1].astype(np.uint32)}
    return run(source, arrays, N, grid=BLOCKS, block=THREADS, order=order)


def is_right(ran: Ran) -> bool:
    return not ran.kinds and ran.arrays["sum"].tolist() == [INPUT.sum()]


@pytest.mark.parametrize("what", WRONG)
def test_what_only_the_usual_order_makes_right_is_shown_by_another(what: str) -> None:
    assert is_right(total(WRONG[what], USUAL))
    assert not all(is_right(total(WRONG[what], order)) for order in ADVERSARIAL.values())


@pytest.mark.parametrize("what", RIGHT)
def test_what_is_right_in_every_order_stays_right(what: str) -> None:
    assert all(is_right(total(RIGHT[what], order)) for order in ORDERS.values())


@pytest.mark.parametrize("order", ADVERSARIAL)
@pytest.mark.parametrize("look", ["*(volatile int*)count", "atomicAdd(count, 0)", "atomicCAS(count, -1, -1)"])
def test_a_barrier_of_the_grid_by_hand_ends_in_every_order(look: str, order: str) -> None:
    zeros = np.zeros(N, np.int32)
    arrays = {"a": zeros, "b": zeros, "count": zeros[:1]}
    ran = run(counted(look=look), arrays, N, grid=BLOCKS, block=THREADS, order=ADVERSARIAL[order])
    assert ran.kinds == []
    assert ran.arrays["b"].tolist() == ((np.arange(N) + 77) % N).tolist()


@pytest.mark.parametrize("order", ADVERSARIAL)
@pytest.mark.parametrize(
    ("number", "blocks"), [("blockIdx.x", 4000), ("atomicAdd(next, 1)", 4000), ("gridDim.x - 1 - blockIdx.x", 40)]
)
def test_a_scan_that_looks_back_ends_in_every_order(number: str, blocks: int, order: str) -> None:
    x = np.arange(64 * blocks, dtype=np.int32) % 7
    source = body(SCAN.format(number=number, release=FENCE, acquire=FENCE), "int* x, int* flags, int* sums, int* next")
    empty = np.zeros(blocks, np.int32)
    arrays = {"x": x, "flags": empty, "sums": empty, "next": empty[:1]}
    ran = run(source, arrays, grid=blocks, block=64, order=ADVERSARIAL[order])
    assert ran.kinds == []
    assert ran.arrays["x"].tolist() == np.cumsum(x).tolist()


def test_a_kernel_with_too_many_places_to_switch_runs_without_switches() -> None:
    many = "".join(f"atomicAdd(sum, in[(i + {k}) % n] * (atomicAdd(sum, 0) & 0));\n" for k in range(1100))
    ran = total(body(many + "atomicAdd(sum, in[i]);", SUM), ADVERSARIAL["after_atomics"])
    assert is_right(ran)
