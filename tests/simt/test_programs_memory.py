"""Memory as programs use it: constants, initialised variables, shared memory split by hand, printf, inline assembly, wmma."""

from __future__ import annotations

import numpy as np

from tests.simt.kernels import body, run
from tests.simt.programs import Program, cases, check, ints

T = np.arange(64)


VARIABLES = [
    ints(
        "constant structs and arrays of structs",
        "x[i] = config.scale * t + table[t & 1].k[t & 3] + table[1].f;",
        [3 * t + [[1, 2, 3, 4], [5, 6, 7, 8]][t & 1][t & 3] + 2 for t in T],
        "struct Row { int k[4]; float f; };\n__constant__ struct { int scale; double d; } config = {3, 0.5};\n__constant__ Row table[2] = {{{1, 2, 3, 4}, 1.5f}, {{5, 6, 7, 8}, 2.5f}};\n",
    ),
    ints(
        "device variables with pointers in them",
        "x[i] = *pointers[t % 3] + names[t & 1][t % 3] + *next_one;",
        [[10, 20, 30][t % 3] + ord(["abc", "xyz"][t & 1][t % 3]) + 20 for t in T],
        '__device__ int a = 10, b = 20, c[2] = {25, 30};\n__device__ int* pointers[3] = {&a, &b, c + 1};\n__device__ const char* names[2] = {"abc", "xyz"};\n__device__ int* const next_one = &b;\n',
    ),
    ints(
        "device variables that kernels change",
        "atomicAdd(&total, t); flags[t] = t; __syncthreads(); x[i] = total + flags[63 - t];",
        2016 + 7 + 63 - T,
        "__device__ int total = 7;\n__device__ int flags[64];\n",
    ),
    ints(
        "one dynamic shared array split by hand",
        "extern __shared__ unsigned char raw[]; double* d = (double*)raw; int* n = (int*)(d + 32); short* s = (short*)(n + 64); if (t < 32) d[t] = t + 0.5; n[t] = t * 2; s[t] = t * 3; __syncthreads(); x[i] = (int)(2 * d[(t + 1) & 31]) + n[63 - t] + s[t ^ 1];",
        [2 * ((t + 1) & 31) + 1 + 2 * (63 - t) + 3 * (t ^ 1) for t in T],
        shared=32 * 8 + 64 * 4 + 64 * 2,
    ),
    ints(
        "static and dynamic shared arrays of many types",
        "__shared__ double d[9]; __shared__ char c[64]; __shared__ short2 p[64]; __shared__ int m[8][9]; c[t] = t; p[t] = make_short2(t, -t); m[t / 8][t % 8] = t; if (t < 9) d[t] = t / 2.0; __syncthreads(); x[i] = c[63 - t] + p[t ^ 3].y + m[t % 8][t / 8] + (int)(2 * d[t % 9]);",
        [(63 - t) - (t ^ 3) + (t % 8 * 8 + t // 8) + t % 9 for t in T],
    ),
    ints(
        "shared structs and unions",
        "struct Cell { float f; int n; char tag; }; __shared__ union { Cell cells[64]; int raw[192]; } u; u.cells[t].n = t; u.cells[t].tag = 'a' + t % 26; u.cells[t].f = 1.0f; __syncthreads(); x[i] = u.raw[3 * (63 - t) + 1] + u.cells[t ^ 1].tag;",
        [63 - t + 97 + (t ^ 1) % 26 for t in T],
    ),
    ints(
        "memcpy and memset in global and shared memory",
        "__shared__ int s[64]; if (t == 0) { memset(s, 1, 32 * 4); memset(s + 32, 0, 32 * 4); memcpy(s + 60, s, 16); } __syncthreads(); x[i] = s[t];",
        np.where((T < 32) | (T >= 60), 0x01010101, 0),
    ),
    ints(
        "volatile shared memory in one warp",
        "__shared__ volatile int s[64]; s[t] = t; __syncthreads(); if (t < 32) { s[t] += s[t + 32]; __syncwarp(); if (t < 16) s[t] += s[t + 16]; __syncwarp(); } __syncthreads(); x[i] = s[t & 15];",
        [4 * (t & 15) + 96 for t in T],
    ),
    ints(
        "pointers into three spaces at once",
        "__shared__ int s[64]; int mine[4] = {t, t + 1, t + 2, t + 3}; s[t] = 5; __syncthreads(); int* p = t % 3 == 0 ? s + t : t % 3 == 1 ? mine + (t & 3) : &g; x[i] = *p; if (t % 3 == 1) *p = 9; x[i] += mine[t & 3];",
        [5 + t + (t & 3) if t % 3 == 0 else t + (t & 3) + 9 if t % 3 == 1 else 77 + t + (t & 3) for t in T],
        "__device__ int g = 77;\n",
    ),
    ints(
        "a linked list in shared memory",
        "struct Node { int value; Node* next; }; __shared__ Node nodes[64]; nodes[t].value = t; nodes[t].next = t + 1 < 64 ? &nodes[t + 1] : nullptr; __syncthreads(); int s = 0; for (Node* n = &nodes[t]; n; n = n->next) s += n->value; x[i] = s;",
        [sum(range(t, 64)) for t in T],
    ),
    ints(
        "read-only loads and cache hints",
        "__shared__ int s[64]; s[t] = __ldg(table + 63 - t) + __ldcg(table + t) + __ldcs(table + 1) + __ldlu(table + 2); __stcs(x + t, s[t]); __stwt(x + t, s[t] + 1); __stcg(x + t, s[t] + 2);",
        66 + 2,
        "__device__ int table[64] = {" + ", ".join(map(str, range(64))) + "};\n",
    ),
    ints(
        "alignment attributes",
        "struct __align__(16) V { float a, b, c; }; __shared__ V v[8]; if (t < 8) { v[t].a = t; v[t].c = 2 * t; } __syncthreads(); x[i] = sizeof(V) + v[t & 7].a + v[t & 7].c;",
        [16 + 3 * (t & 7) for t in T],
    ),
    ints(
        "clocks go forward",
        "long long a = clock64(); unsigned c = clock(); int s = 0; for (int k = 0; k < t; ++k) s += k * t % 7; long long b = clock64(); x[i] = b > a && clock() - c < 1000000 ? 1 : s;",
        1,
    ),
    ints("the shape of the launch", "x[i] = warpSize + 100 * blockDim.x + 100000 * gridDim.x;", 32 + 6400 + 100000),
    ints(
        "a fence and a flag between warps",
        "__shared__ volatile int flag; __shared__ volatile int data; if (t == 0) flag = 0; __syncthreads(); if (t == 0) { data = 42; __threadfence_block(); flag = 1; } if (t == 32) { while (flag == 0) { } __threadfence_block(); x[0] = data; }",
        np.where(T == 0, 42, 0),
    ),
]


ASSEMBLY = [
    ints(
        "assembly with its own registers and scope",
        'int r; asm("{ .reg .s32 a; .reg .pred p; mul.lo.s32 a, %1, 3; setp.gt.s32 p, a, 30; @p sub.s32 a, a, 30; @!p add.s32 a, a, 1; mov.s32 %0, a; }" : "=r"(r) : "r"(t)); x[i] = r;',
        [3 * t - 30 if 3 * t > 30 else 3 * t + 1 for t in T],
    ),
    ints(
        "assembly with a backward label",
        'int r; asm volatile("{ .reg .pred p; .reg .s32 n; mov.s32 n, %1; mov.s32 %0, 0; LOOP: setp.le.s32 p, n, 0; @p bra DONE; add.s32 %0, %0, n; sub.s32 n, n, 1; bra LOOP; DONE: }" : "=&r"(r) : "r"(t)); x[i] = r;',
        [t * (t + 1) // 2 for t in T],
    ),
    ints(
        "assembly with a forward label",
        'int r = 1; asm volatile("{ .reg .pred p; setp.lt.s32 p, %1, 20; @p bra SKIP; add.s32 %0, %0, 5; SKIP: add.s32 %0, %0, 1; }" : "+r"(r) : "r"(t)); x[i] = r;',
        np.where(T < 20, 2, 7),
    ),
    ints(
        "the same assembly label twice",
        'int r = 0; for (int k = 0; k < 2; ++k) { asm volatile("{ .reg .pred p; setp.lt.s32 p, %1, 20; @p bra SKIP; add.s32 %0, %0, 5; SKIP: add.s32 %0, %0, 1; }" : "+r"(r) : "r"(t + k)); } x[i] = r;',
        [(1 if t < 20 else 6) + (1 if t + 1 < 20 else 6) for t in T],
    ),
    ints(
        "carries, selections and special registers by hand",
        'unsigned lo, hi, lane; asm("add.cc.u32 %0, %2, %3; addc.u32 %1, 0, 0;" : "=r"(lo), "=r"(hi) : "r"(0xfffffff0u), "r"((unsigned)t)); asm("mov.u32 %0, %%laneid;" : "=r"(lane)); x[i] = hi * 100 + lane;',
        [(t >= 16) * 100 + t % 32 for t in T],
    ),
    ints(
        "vector loads by hand",
        'int a, b; x[i] = t; __syncthreads(); asm volatile("ld.global.v2.s32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "l"(x + (t & ~1))); __syncthreads(); x[i] = a * 100 + b;',
        [(t & ~1) * 101 + 1 for t in T],
    ),
    ints(
        "predicated stores and shared addresses by hand",
        '__shared__ int s[64]; unsigned at = (unsigned)__cvta_generic_to_shared(s + t); asm volatile("{ .reg .pred p; setp.ge.s32 p, %1, 7; st.shared.s32 [%0], 3; @p st.shared.s32 [%0], %1; }" :: "r"(at), "r"(t) : "memory"); x[i] = s[t];',
        np.where(T >= 7, T, 3),
    ),
    ints(
        "a branch through a table",
        'int r; asm volatile("{ .reg .u32 k; and.b32 k, %1, 3; TS: .branchtargets L0, L1, L2, L3; brx.idx k, TS; L0: mov.s32 %0, 5; bra.uni END; L1: mov.s32 %0, 6; bra.uni END; L2: mov.s32 %0, 70; bra.uni END; L3: mov.s32 %0, 8; END: }" : "=r"(r) : "r"(t)); x[i] = r;',
        [[5, 6, 70, 8][t & 3] for t in T],
    ),
]


def _wmma(source: str, a: np.ndarray, b: np.ndarray, block: int = 32) -> Program:
    return Program(
        "wmma", source, {"a": a.astype(np.float16), "b": b.astype(np.float16), "c": np.zeros(a.shape[0] * b.shape[1], np.float32)},
        lambda _: {"c": a @ b}, block=block,
    )  # fmt: skip


A = np.random.default_rng(1).integers(-4, 5, (32, 32)).astype(np.float32)
B = np.random.default_rng(2).integers(-4, 5, (32, 32)).astype(np.float32)
MATRICES = [
    _wmma(
        """#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void k(const half* a, const half* b, float* c) {
__shared__ half sa[16 * 32], sb[32 * 16]; __shared__ float sc[4][256];
int w = threadIdx.x / 32, row = w / 2 * 16, col = w % 2 * 16;
for (int half_row = 0; half_row < 2; ++half_row) for (int half_col = 0; half_col < 2; ++half_col) {
  for (int k = threadIdx.x; k < 512; k += 128) { sa[k] = a[(half_row * 16 + k / 32) * 32 + k % 32]; sb[k] = b[(k / 16) * 32 + half_col * 16 + k % 16]; }
  __syncthreads();
  if (w == half_row * 2 + half_col) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa; wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc; wmma::fill_fragment(fc, 0.0f);
    for (int k = 0; k < 32; k += 16) { wmma::load_matrix_sync(fa, sa + k, 32); wmma::load_matrix_sync(fb, sb + k * 16, 16); wmma::mma_sync(fc, fa, fb, fc); }
    for (int e = 0; e < fc.num_elements; ++e) fc.x[e] *= 1.0f;
    wmma::store_matrix_sync(sc[w], fc, 16, wmma::mem_row_major); __syncwarp();
    for (int k = threadIdx.x % 32; k < 256; k += 32) c[(row + k / 16) * 32 + col + k % 16] = sc[w][k];
  }
  __syncthreads(); } }""",
        A,
        B,
        128,
    ),
]


@cases([*VARIABLES, *ASSEMBLY, *MATRICES])
def test_a_program_gives_what_its_reference_says(program: Program) -> None:
    check(program)


def test_printf_formats_as_c_does() -> None:
    statements = r"""if (t == 0) { const char* s = "word"; printf("%5d|%-5d|%05d|%+d|%x|%#X|%o|%u\n", 42, 42, 42, 42, 255u, 255u, 8u, 4000000000u);
    printf("%lld %llu %ld %zu %hd\n", -5000000000ll, 18446744073709551615ull, -7l, sizeof(int), (short)-3);
    printf("%f|%8.3f|%-8.2e|%g|%.0f|%F\n", 1.5, 3.14159, 12345.678, 0.0001, 2.5, 1.0f);
    printf("%s|%8s|%-6s|%.2s|%c|%%|%p\n", s, s, s, s, 'z', (void*)0x10); printf("%*d|%-*d|%.*f\n", 6, 1, 6, 2, 3, 2.0); printf("none\n"); printf("%d %d\n", t, 7); }"""
    printed = run(body(statements, "int* x"), {"x": np.zeros(32, np.int32)}).outcome.printed.splitlines()
    assert printed == [
        "   42|42   |00042|+42|ff|0XFF|10|4000000000", "-5000000000 18446744073709551615 -7 4 -3",
        "1.500000|   3.142|1.23e+04|0.0001|2|1.000000", "word|    word|word  |wo|z|%|0x10", "     1|2     |2.000", "none", "0 7",
    ]  # fmt: skip
