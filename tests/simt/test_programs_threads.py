"""Threads together: warp intrinsics, cooperative groups, barriers, atomics, launches of every shape."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.simt.kernels import Array, body
from tests.simt.programs import Arrays, Program, cases, check, ints

T = np.arange(64)
LANE = T % 32
BASE = T // 32 * 32
CG = "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\nnamespace cg = cooperative_groups;\n"


def _shuffled(source: Array) -> Array:
    return np.where(source >= 0, 10 * source, 10 * T)


def _segment(width: int) -> Array:
    return T // width * width


WARPS = [
    ints(
        "shuffles by index within segments",
        "x[i] = __shfl_sync(~0u, 10 * t, t * 3, 8);",
        10 * (_segment(8) + T * 3 % 8),
    ),
    ints(
        "shuffles up within segments",
        "x[i] = __shfl_up_sync(~0u, 10 * t, 3, 16);",
        10 * np.where(T % 16 >= 3, T - 3, T),
    ),
    ints(
        "shuffles down within segments",
        "x[i] = __shfl_down_sync(~0u, 10 * t, 1, 4);",
        10 * np.where(T % 4 < 3, T + 1, T),
    ),
    ints(
        "butterflies",
        "int v = t; for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(~0u, v, d); x[i] = v;",
        np.where(T < 32, 496, 1520),
    ),
    ints(
        "shuffles of 64 bits, floats and doubles",
        "long long a = __shfl_sync(~0u, (long long)t << 33, t ^ 1); double d = __shfl_down_sync(~0u, t + 0.5, 2); float f = __shfl_up_sync(~0u, t * 1.5f, 1); x[i] = (int)(a >> 33) + (int)(d * 2) + (int)(f * 2);",
        (T ^ 1) + (2 * np.where(LANE < 30, T + 2, T) + 1) + 3 * np.where(LANE, T - 1, T),
    ),
    ints(
        "shuffles of halves",
        "x[i] = (int)__half2float(__shfl_xor_sync(~0u, __float2half((float)t), 5));",
        T ^ 5,
        "#include <cuda_fp16.h>\n",
    ),
    ints(
        "an inclusive scan of a warp",
        "int v = t + 1; for (int d = 1; d < 32; d <<= 1) { int w = __shfl_up_sync(~0u, v, d); if (t % 32 >= d) v += w; } x[i] = v;",
        [sum(range(b + 1, t + 2)) for t, b in zip(T, BASE, strict=True)],
    ),
    ints(
        "votes of all lanes",
        "x[i] = __all_sync(~0u, t < 40) + 2 * __any_sync(~0u, t == 40) + 4 * __uni_sync_(t);",
        np.where(T < 32, 1 + 4, 2),
        '__device__ int __uni_sync_(int t) { int r; asm("{ .reg .pred p, q; setp.lt.s32 p, %1, 40; vote.sync.uni.pred q, p, -1; selp.s32 %0, 1, 0, q; }" : "=r"(r) : "r"(t)); return r; }\n',
    ),
    ints(
        "ballots of part of a warp",
        "if (t & 1) x[i] = __popc(__ballot_sync(0xaaaaaaaa, t % 8 == 3)); else x[i] = __ballot_sync(0x55555555, t % 32 == 2);",
        np.where(T & 1, 4, 4),
    ),
    ints(
        "the mask of active lanes",
        "if (t % 3 == 0) x[i] = __popc(__activemask()); else x[i] = -1;",
        np.where(T % 3 == 0, np.where(T < 32, 11, 11), -1),
    ),
    ints(
        "matches of equal values",
        "int all; unsigned a = __match_any_sync(~0u, t % 5), b = __match_all_sync(~0u, t / 32, &all); x[i] = __popc(a) + 100 * all + (b == ~0u);",
        [sum(1 for q in range(b, b + 32) if q % 5 == t % 5) + 101 for t, b in zip(T, BASE, strict=True)],
    ),
    ints(
        "reductions of a warp",
        "x[i] = __reduce_add_sync(~0u, t) + 10000 * __reduce_max_sync(~0u, t) - 100000 * __reduce_min_sync(~0u, t) + (__reduce_or_sync(~0u, t) & __reduce_and_sync(~0u, t | 4));",
        np.where(T < 32, 496 + 10000 * 31 + 4, 1520 + 10000 * 63 - 3200000 + (63 & 36)),
    ),
    ints(
        "reductions of the groups of a match",
        "x[i] = __reduce_add_sync(__match_any_sync(~0u, t % 5), t) - __reduce_max_sync(t & 4 ? 0xf0f0f0f0u : 0x0f0f0f0fu, -t);",
        [sum(q for q in range(b, b + 32) if q % 5 == t % 5) + b + (t & 4) for t, b in zip(T, BASE, strict=True)],
    ),
    ints(
        "a warp reduction of the lanes that are left",
        "int v = 0; if (t % 32 < 20) { v = 1; unsigned m = __activemask(); for (int d = 16; d > 0; d >>= 1) { int w = __shfl_down_sync(m, v, d); if (t % 32 + d < 20) v += w; } } x[i] = t % 32 == 0 ? v : 0;",
        np.where(LANE == 0, 20, 0),
        kinds=("inactive_lane",),
    ),
    ints(
        "the lane masks",
        'unsigned lt, ge; asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt)); asm("mov.u32 %0, %%lanemask_ge;" : "=r"(ge)); x[i] = __popc(lt) + 100 * __popc(ge);',
        LANE + 100 * (32 - LANE),
    ),
    ints(
        "warps that aggregate their atomics",
        "__shared__ int n; if (t == 0) n = 0; __syncthreads(); if (t % 3) { unsigned m = __activemask(); int leader = __ffs(m) - 1, rank = __popc(m & ((1u << (t & 31)) - 1)), base; if (rank == 0) base = atomicAdd(&n, __popc(m)); base = __shfl_sync(m, base, leader); x[base + rank] = 1; }",
        np.arange(64) < sum(1 for t in T if t % 3),
    ),
]


GROUPS = [
    ints(
        "a thread block group",
        "cg::thread_block b = cg::this_thread_block(); __shared__ int s[64]; s[b.thread_rank()] = t; b.sync(); x[i] = s[b.size() - 1 - t] + b.group_index().x;",
        63 - T,
        CG,
    ),
    ints(
        "tiles of a warp",
        "auto w = cg::tiled_partition<32>(cg::this_thread_block()); x[i] = w.thread_rank() + 100 * w.meta_group_rank() + 1000 * w.meta_group_size();",
        LANE + 100 * (T // 32) + 2000,
        CG,
    ),
    ints(
        "tiles of sixteen lanes",
        "auto g = cg::tiled_partition<16>(cg::this_thread_block()); int v = t; for (int d = g.size() / 2; d > 0; d /= 2) v += g.shfl_down(v, d); x[i] = g.shfl(v, 0);",
        [sum(range(t // 16 * 16, t // 16 * 16 + 16)) for t in T],
        CG,
    ),
    ints(
        "reductions of a tile",
        "auto w = cg::tiled_partition<32>(cg::this_thread_block()); x[i] = cg::reduce(w, t, cg::plus<int>()) + cg::reduce(w, t, cg::greater<int>());",
        np.where(T < 32, 496 + 31, 1520 + 63),
        CG,
    ),
    ints(
        "reductions of a tile of eight, in floats",
        "auto w = cg::tiled_partition<8>(cg::this_thread_block()); x[i] = (int)cg::reduce(w, (float)t, cg::plus<float>());",
        [sum(range(t // 8 * 8, t // 8 * 8 + 8)) for t in T],
        CG,
    ),
    ints(
        "a coalesced group in a branch",
        "x[i] = -1; if (t % 4 == 1) { cg::coalesced_group g = cg::coalesced_threads(); x[i] = g.thread_rank() + 100 * g.size() + 1000 * g.shfl(t, 0); }",
        [-1 if t % 4 != 1 else (t % 32) // 4 + 800 + 1000 * (t // 32 * 32 + 1) for t in T],
        CG,
    ),
    ints(
        "votes and syncs of tiles",
        "auto g = cg::tiled_partition<4>(cg::this_thread_block()); g.sync(); x[i] = g.any(t == 5) + 2 * g.all(t < 6) + 4 * __popc(g.ballot(t & 1));",
        [(t // 4 == 1) + 2 * (t // 4 == 0) + 8 for t in T],
        CG,
    ),
    ints(
        "a labeled partition",
        "auto w = cg::tiled_partition<32>(cg::this_thread_block()); auto g = cg::labeled_partition(w, t % 3); x[i] = g.size() * 100 + g.thread_rank();",
        [
            100 * sum(1 for q in range(b, b + 32) if q % 3 == t % 3) + sum(1 for q in range(b, t) if q % 3 == t % 3)
            for t, b in zip(T, BASE, strict=True)
        ],
        CG,
    ),
    ints(
        "scans of a tile",
        "auto w = cg::tiled_partition<32>(cg::this_thread_block()); x[i] = cg::inclusive_scan(w, 1) + 100 * cg::exclusive_scan(w, t % 32);",
        [k + 1 + 100 * (k * (k - 1) // 2) for k in LANE],
        CG + "#include <cooperative_groups/scan.h>\n",
    ),
]


BARRIERS = [
    ints(
        "named barriers of half the block",
        """__shared__ int s[2]; if (t < 32) { if (t == 0) s[0] = 7; asm volatile("bar.sync 1, 32;" ::: "memory"); x[i] = s[0]; }
         else { if (t == 32) s[1] = 9; asm volatile("barrier.sync 2, 32;" ::: "memory"); x[i] = s[1]; }""",
        np.where(T < 32, 7, 9),
    ),
    ints(
        "a producer warp and a consumer warp",
        """__shared__ int s[32]; if (t < 32) { for (int k = 0; k < 3; ++k) { s[t] = t + k; asm volatile("bar.arrive 1, 64;" ::: "memory"); asm volatile("bar.sync 2, 64;" ::: "memory"); } x[i] = 0; }
         else { int v = 0; for (int k = 0; k < 3; ++k) { asm volatile("bar.sync 1, 64;" ::: "memory"); v += s[63 - t]; asm volatile("bar.arrive 2, 64;" ::: "memory"); } x[i] = v; }""",
        np.where(T < 32, 0, 3 * (63 - T) + 3),
    ),
    ints(
        "barriers that count and vote",
        "x[i] = __syncthreads_count(t % 3 == 0) + 100 * __syncthreads_and(t < 64) + 1000 * __syncthreads_or(t > 64);",
        22 + 100,
    ),
    ints(
        "a barrier in a uniform loop",
        "__shared__ int s[64]; s[t] = t; for (int d = 1; d < 64; d <<= 1) { __syncthreads(); int v = t >= d ? s[t - d] : 0; __syncthreads(); s[t] += v; } x[i] = s[t];",
        [t * (t + 1) // 2 for t in T],
    ),
    ints(
        "a spin lock between warps",
        "__shared__ int lock, n; if (t == 0) lock = n = 0; __syncthreads(); if (t % 32 == 0) { while (atomicCAS(&lock, 0, 1) != 0); __threadfence_block(); volatile int* p = &n; *p = *p + 1; __threadfence_block(); atomicExch(&lock, 0); } __syncthreads(); x[i] = n;",
        2,
    ),
    ints(
        "a spin lock taken by every lane",
        "__shared__ int lock, n; if (t == 0) lock = n = 0; __syncthreads(); for (bool done = false; !done;) { if (atomicCAS(&lock, 0, 1) == 0) { volatile int* p = &n; *p = *p + t; __threadfence_block(); atomicExch(&lock, 0); done = true; } } __syncthreads(); x[i] = n;",
        2016,
    ),
]


def _atomic(
    name: str, kind: str, dtype: str, statement: str, start: float, want: float, before: str = "", space: str = "global"
) -> Program:
    code = (
        statement
        if space == "global"
        else f"__shared__ {kind} s[1]; if (t == 0) s[0] = *p; __syncthreads(); {{ {kind}* p = s; {statement} }} __syncthreads(); if (t == 0) *p = s[0];"
    )
    return Program(
        f"{name} in {space} memory",
        body(code, f"{kind}* p", before),
        {"p": np.array([start], dtype)},
        lambda _: {"p": [want]},
        block=64,
    )


ATOMICS = [
    _atomic(name, kind, dtype, statement, start, want, before, space)
    for space in ("global", "shared")
    for name, kind, dtype, statement, start, want, before in (
        (
            "int additions",
            "int",
            "i4",
            "atomicAdd(p, t); atomicSub(p, 1); atomicMax(p, t); atomicMin(p, 100000);",
            5,
            2016 - 64 + 5,
            "",
        ),
        (
            "unsigned wrap-around counters",
            "unsigned",
            "u4",
            "atomicInc(p, 10); atomicInc(p, 10); atomicDec(p, 3);",
            0,
            None,
            "",
        ),
        (
            "64-bit additions",
            "unsigned long long",
            "u8",
            "atomicAdd(p, (unsigned long long)t << 30); atomicMax(p, 7ull); atomicOr(p, 1ull); atomicXor(p, 2ull);",
            1 << 40,
            (1 << 40) + (2016 << 30) + 1,
            "",
        ),
        ("signed 64-bit minima", "long long", "i8", "atomicMin(p, -(long long)t << 33);", 0, -(63 << 33), ""),
        ("float additions", "float", "f4", "atomicAdd(p, t + 0.5f);", 0, 2016 + 32, ""),
        ("double additions", "double", "f8", "atomicAdd(p, t + 0.25);", 0, 2016 + 16, ""),
        ("half additions", "half", "f2", "atomicAdd(p, __float2half(1.0f));", 2, 66, "#include <cuda_fp16.h>\n"),
        (
            "a compare-and-swap loop for a float product",
            "float",
            "f4",
            "int* q = (int*)p; int old = *(volatile int*)q, seen; do { seen = old; old = atomicCAS(q, seen, __float_as_int(__int_as_float(seen) * (t < 10 ? 2.0f : 1.0f))); } while (old != seen);",
            1,
            1024,
            "",
        ),
        (
            "a 64-bit compare-and-swap loop",
            "double",
            "f8",
            "unsigned long long* q = (unsigned long long*)p; unsigned long long old = *(volatile unsigned long long*)q, seen; do { seen = old; old = atomicCAS(q, seen, (unsigned long long)__double_as_longlong(fmax(__longlong_as_double(seen), t * 1.5))); } while (old != seen);",
            0,
            63 * 1.5,
            "",
        ),
        (
            "a 16-bit compare-and-swap",
            "unsigned short",
            "u2",
            "unsigned short old = *(volatile unsigned short*)p, seen; do { seen = old; old = atomicCAS(p, seen, (unsigned short)(seen + 2)); } while (old != seen);",
            3,
            131,
            "",
        ),
        ("scoped atomics", "int", "i4", "atomicAdd_block(p, 1); atomicAdd_system(p, 2);", 0, 192, ""),
        (
            "exchanges and bit operations",
            "int",
            "i4",
            "atomicExch(p, 0xff); atomicAnd(p, ~(1 << (t & 3)));",
            0,
            None,
            "",
        ),
    )
    if want is not None
]
PAIRS = [
    Program(
        "half2 additions",
        body("atomicAdd(p, __floats2half2_rn(1.0f, 2.0f));", "half2* p", "#include <cuda_fp16.h>\n"),
        {"p": np.zeros(2, np.float16)},
        lambda _: {"p": [64, 128]},
        block=64,
    ),
    Program(
        "bfloat162 additions",
        body("atomicAdd(p, __floats2bfloat162_rn(1.0f, 2.0f));", "__nv_bfloat162* p", "#include <cuda_bf16.h>\n"),
        {"p": np.zeros(2, np.uint16)},
        lambda _: {"p": [0x4280, 0x4300]},
        block=64,
    ),
    Program(
        "libcu++ atomics",
        body(
            "cuda::atomic_ref<int, cuda::thread_scope_device> r(*p); r.fetch_add(t, cuda::memory_order_relaxed); r.fetch_max(7);",
            "int* p",
            "#include <cuda/atomic>\n",
        ),
        {"p": np.zeros(1, np.int32)},
        lambda _: {"p": [2016]},
        block=64,
    ),
]


@cases([*WARPS, *GROUPS, *BARRIERS, *ATOMICS, *PAIRS])
def test_threads_together_give_what_their_reference_says(program: Program) -> None:
    check(program)


def _identity(grid: tuple[int, int, int], block: tuple[int, int, int]) -> Callable[[Arrays], Arrays]:
    size = [g * b for g, b in zip(grid, block, strict=True)]
    z, y, x = np.meshgrid(*(np.arange(n) for n in reversed(size)), indexing="ij")
    return lambda _: {"o": (x + 1000 * y + 1000000 * z).astype(np.int32)}


@pytest.mark.parametrize(
    ("grid", "block"),
    [((1, 1, 1), (1, 1, 1)), ((3, 1, 1), (1024, 1, 1)), ((1, 1, 1), (37, 1, 1)), ((2, 3, 4), (5, 7, 3)), ((300, 1, 1), (33, 1, 1)), ((1, 5, 1), (1, 200, 1)),
     ((1, 1, 9), (4, 4, 64)), ((7, 2, 1), (31, 33, 1)), ((40000, 1, 1), (1, 1, 1))],
)  # fmt: skip
def test_every_thread_of_a_launch_runs_once(grid: tuple[int, int, int], block: tuple[int, int, int]) -> None:
    source = """extern "C" __global__ void k(int* o) {
int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
atomicAdd(&o[(z * gridDim.y * blockDim.y + y) * gridDim.x * blockDim.x + x], x + 1000 * y + 1000000 * z); }"""
    count = int(np.prod(grid) * np.prod(block))
    check(Program("shape", source, {"o": np.zeros(count, np.int32)}, _identity(grid, block), grid=grid, block=block))
