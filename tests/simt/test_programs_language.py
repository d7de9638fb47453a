"""C++ as courses write it: control flow, structs, templates, device functions, local arrays."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.simt.kernels import body
from tests.simt.programs import Arrays, Program, cases, check

F = np.arange(64, dtype=np.float32)


def _collatz(n: int) -> int:
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def _nested(t: int) -> int:
    total = 0
    for a in range(t):
        if a % 3 == 2:
            continue
        for b in range(10):
            if b > a:
                break
            total += a * b
        if total > 200:
            break
    return total


def _goto(t: int) -> int:
    n = t
    while n < 40:
        n += 7
        if n % 5 == 0:
            break
    return n + 1 if n < 40 else n


def _wrapped(value: int, bits: int) -> int:
    """The value in a signed integer of so many bits."""
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def _switch(t: int) -> int:
    k = t % 13
    table = {
        0: 5,
        1: 11,
        2: 13 + 100,
        3: 100,
        4: 7 * t,
        5: t * t,
        6: -t,
        7: 1 << (t & 7),
        8: t ^ 21,
        9: t // 3,
        10: t % 5,
    }
    return table.get(k, -1)


def _binary_search(t: int) -> int:
    low, high = 0, 64
    while low < high:
        mid = (low + high) // 2
        if mid * 3 < t * 2:
            low = mid + 1
        else:
            high = mid
    return low


def _primes(t: int) -> int:
    return int(t > 1 and all(t % d for d in range(2, t)))


def _fib(n: int) -> int:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def _sort8(t: int) -> list[int]:
    return sorted((t * 37 + k * 101) % 64 for k in range(8))


def each(function: Callable[[int], int]) -> Callable[[Arrays], Arrays]:
    return lambda _: {"x": np.array([function(t) for t in range(64)])}


def ints(name: str, statements: str, function: Callable[[int], int], before: str = "", **more: Any) -> Program:
    """A kernel that writes an int for each of 64 threads of two warps."""
    return Program(
        name, body(statements, "int* x", before), {"x": np.zeros(64, np.int32)}, each(function), block=64, **more
    )


PROGRAMS = [
    ints(
        "a while loop with different trip counts",
        "int n = t, s = 0; while (n > 1) { n = n & 1 ? 3 * n + 1 : n / 2; ++s; } x[i] = s;",
        _collatz,
    ),
    ints(
        "nested loops with break and continue",
        "int s = 0; for (int a = 0; a < t; ++a) { if (a % 3 == 2) continue; for (int b = 0; b < 10; ++b) { if (b > a) break; s += a * b; } if (s > 200) break; } x[i] = s;",
        _nested,
    ),
    ints(
        "a goto out of a loop",
        "int n = t; while (n < 40) { n += 7; if (n % 5 == 0) goto out; } goto end; out: if (n < 40) ++n; end: x[i] = n;",
        _goto,
    ),
    ints(
        "a dense switch with fall-through and default",
        """int r; switch (t % 13) { case 0: r = 5; break; case 1: r = 11; break; case 2: r = 13; case 3: r = (t % 13 == 2 ? r : 0) + 100; break;
         case 4: r = 7 * t; break; case 5: r = t * t; break; case 6: r = -t; break; case 7: r = 1 << (t & 7); break; case 8: r = t ^ 21; break;
         case 9: r = t / 3; break; case 10: r = t % 5; break; default: r = -1; } x[i] = r;""",
        _switch,
    ),
    ints(
        "a switch that calls a function in each case",
        """switch (t & 7) { case 0: x[i] = f(t, 1); break; case 1: x[i] = f(t, 20) - 3; break; case 2: x[i] = f(9, t); return; case 3: x[i] = -f(t, t); break;
         case 4: x[i] = f(1, 2); break; case 5: x[i] = 5; break; case 6: x[i] = f(t, 6); break; case 7: x[i] = f(t, 7) * 2; }""",
        lambda t: [t + 1, t + 400 - 3, 9 + t * t, -(t + t * t), 5, 5, t + 36, (t + 49) * 2][t & 7],
        "__device__ __noinline__ int f(int a, int b) { return a + b * b; }\n",
    ),
    ints(
        "chars, shorts and bools as parameters and results of functions",
        "x[i] = c((signed char)(t * 37), t) + s((short)(t * 9001), t) + b(t % 3 == 0, t);",
        lambda t: (
            _wrapped(_wrapped(t * 37, 8) * 3 - t, 8)
            + _wrapped(_wrapped(t * 9001, 16) * 3 - t, 16)
            + ((t % 3 == 0) != (t > 9))
        ),
        "__device__ __noinline__ signed char c(signed char v, int n) { return v * 3 - n; }\n"
        "__device__ __noinline__ short s(short v, int n) { return v * 3 - n; }\n"
        "__device__ __noinline__ bool b(bool v, int n) { return v != (n > 9); }\n",
    ),
    ints(
        "a do-while with a divergent exit",
        "int n = t; do { n = n * 3 % 64; } while (n > 20 && n != t); x[i] = n;",
        lambda t: next(n for n in _orbit(t) if not (n > 20 and n != t)),
    ),
    ints(
        "early returns inside loops",
        "for (int k = 0; k < 9; ++k) { if (k * 7 == t) { x[i] = k; return; } if (k > t) { x[i] = -k; return; } } x[i] = 99;",
        lambda t: next((k if k * 7 == t else -k for k in range(9) if k * 7 == t or k > t), 99),
    ),
    ints(
        "short-circuit conditions with side effects",
        "int c = 0; bool b = (t & 1 && ++c > 0) || (t & 2 && (c += 10) > 5) || (c += 100, false); x[i] = c + b * 1000;",
        lambda t: (1 if t & 1 else 10 if t & 2 else 100) + (1000 if t & 3 else 0),
    ),
    ints(
        "nested ternaries",
        "x[i] = t < 8 ? t & 1 ? 1 : 2 : t < 16 ? 3 : t % 3 == 0 ? 4 : 5;",
        lambda t: (1 if t & 1 else 2) if t < 8 else 3 if t < 16 else 4 if t % 3 == 0 else 5,
    ),
    ints(
        "a binary search",
        "int lo = 0, hi = 64; while (lo < hi) { int m = (lo + hi) / 2; if (m * 3 < t * 2) lo = m + 1; else hi = m; } x[i] = lo;",
        _binary_search,
    ),
    ints(
        "a prime sieve by trial division",
        "int p = t > 1; for (int d = 2; d < t && p; ++d) p = t % d != 0; x[i] = p;",
        _primes,
    ),
    ints(
        "templates with values, types and specialisations",
        "x[i] = Fib<10>::value + apply<3>(t) + pick<int, Twice>(t);",
        lambda t: 55 + t * 3 + 2 * t,
        """template <int N> struct Fib { static const int value = Fib<N - 1>::value + Fib<N - 2>::value; };
template <> struct Fib<0> { static const int value = 0; }; template <> struct Fib<1> { static const int value = 1; };
template <int N> __device__ int apply(int v) { int s = 0;
#pragma unroll
for (int k = 0; k < N; ++k) s += v; return s; }
struct Twice { __device__ int operator()(int v) const { return 2 * v; } };
template <typename T, typename F> __device__ T pick(T v) { return F()(v); }
""",
    ),
    ints(
        "lambdas and references",
        "int a = t; auto add = [&](int k) { a += k; }; for (int k = 0; k < 4; ++k) add(k); int& r = a; r *= 2; x[i] = a;",
        lambda t: 2 * (t + 6),
    ),
    ints(
        "a device function that returns a struct",
        "Pair p = split(t); Pair q = swap(p); x[i] = p.a * 100 + q.a;",
        lambda t: (t // 7) * 100 + t % 7,
        """struct Pair { int a, b; };
__device__ __noinline__ Pair split(int v) { Pair p; p.a = v / 7; p.b = v % 7; return p; }
__device__ __noinline__ Pair swap(Pair p) { int t = p.a; p.a = p.b; p.b = t; return p; }
""",
    ),
    ints(
        "a device function that returns a large struct in memory",
        "Big b = fill(t); x[i] = sum(b, t & 7);",
        lambda t: sum((k + t) * k for k in range(12)) + (t & 7) + t,
        """struct Big { int v[12]; };
__device__ __noinline__ Big fill(int t) { Big b; for (int k = 0; k < 12; ++k) b.v[k] = (k + t) * k; return b; }
__device__ __noinline__ int sum(Big b, int k) { int s = k + t_of(b) ; for (int j = 0; j < 12; ++j) s += b.v[j]; return s; }
""".replace("t_of(b)", "(b.v[1] - 1)"),
    ),
    ints(
        "pointers to locals go into functions",
        "int a = t, b = 64 - t; order(&a, &b); x[i] = a * 100 + b;",
        lambda t: min(t, 64 - t) * 100 + max(t, 64 - t),
        "__device__ __noinline__ void order(int* a, int* b) { if (*a > *b) { int t = *a; *a = *b; *b = t; } }\n",
    ),
    ints(
        "a local array with dynamic indices, sorted",
        """int a[8]; for (int k = 0; k < 8; ++k) a[k] = (t * 37 + k * 101) % 64;
         for (int k = 1; k < 8; ++k) { int v = a[k], j = k; while (j > 0 && a[j - 1] > v) { a[j] = a[j - 1]; --j; } a[j] = v; }
         int s = 0; for (int k = 0; k < 8; ++k) s = s * 3 + a[(k + t) & 7]; x[i] = s;""",
        lambda t: _fold(_sort8(t), t),
    ),
    ints(
        "a large local array",
        "int a[300]; for (int k = 0; k < 300; ++k) a[k] = k * t; int s = 0; for (int k = 0; k < 300; k += 7) s += a[(k * 11 + t) % 300]; x[i] = s;",
        lambda t: sum((k * 11 + t) % 300 * t for k in range(0, 300, 7)),
    ),
    ints(
        "memcpy and memset of locals",
        "int a[9], b[9]; memset(a, 0, sizeof a); a[t % 9] = t; memcpy(b, a, sizeof a); int s = 0; for (int k = 0; k < 9; ++k) s += b[(k + t) % 9] * (k + 1); x[i] = s;",
        lambda t: t,
    ),
    ints(
        "a union reads other bits",
        "union { float f; unsigned u; unsigned char c[4]; } v; v.f = t; x[i] = (v.u >> 20) + v.c[t & 3];",
        lambda t: (_bits(t) >> 20) + (_bits(t) >> 8 * (t & 3) & 255),
    ),
    ints(
        "bit fields",
        "struct { unsigned a : 3, b : 7; int c : 5; } s; s.a = t; s.b = t * 3; s.c = t; x[i] = s.a + 10 * s.b + 10000 * s.c;",
        lambda t: (t & 7) + 10 * (t * 3 & 127) + 10000 * ((t & 31) - 32 * (t >> 4 & 1)),
    ),
    ints(
        "an enum class, constexpr and static tables",
        "x[i] = table[t & 3] + (int)Kind::b + cube(3) + primes[t % 5];",
        lambda t: [4, 3, 2, 1][t & 3] + 7 + 27 + [2, 3, 5, 7, 11][t % 5],
        "enum class Kind { a = 5, b = 7 }; constexpr int cube(int v) { return v * v * v; }\n__constant__ int table[4] = {4, 3, 2, 1};\n__device__ const int primes[5] = {2, 3, 5, 7, 11};\n",
    ),
    ints(
        "classes with members, constructors and inheritance",
        "Counter c(t); c.add(3); c.add(t); Base& b = c; x[i] = b.total + c.calls;",
        lambda t: 2 * t + 3 + 2,
        "struct Base { int total; __device__ Base(int v) : total(v) {} };\nclass Counter : public Base { public: int calls = 0; __device__ Counter(int v) : Base(v) {} __device__ void add(int v) { total += v; ++calls; } };\n",
    ),
    ints(
        "operators of a complex number",
        "C a(t, 1), b(2, -t); C c = a * b + a; x[i] = c.re * 1000 + c.im;",
        lambda t: (2 * t + t + t) * 1000 + (2 - t * t + 1),
        "struct C { int re, im; __device__ C(int r, int i) : re(r), im(i) {} };\n__device__ C operator*(C a, C b) { return C(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re); }\n__device__ C operator+(C a, C b) { return C(a.re + b.re, a.im + b.im); }\n",
    ),
    ints(
        "an unrolled loop over a register array",
        "int a[16];\n#pragma unroll\nfor (int k = 0; k < 16; ++k) a[k] = t + k;\n#pragma unroll\nfor (int k = 1; k < 16; ++k) a[k] += a[k - 1];\nx[i] = a[15];",
        lambda t: 16 * t + 120,
    ),
    ints(
        "a state machine",
        "int s = 0, v = t; for (int k = 0; k < 6; ++k, v >>= 1) { if (s == 0) s = v & 1 ? 1 : 2; else if (s == 1) s = v & 1 ? 3 : 0; else if (s == 2) s = v & 1 ? 0 : 3; else s = v & 1 ? 2 : 1; } x[i] = s;",
        lambda t: _machine(t),
    ),
    ints(
        "divergent loops around a function call",
        "int s = 0; for (int k = 0; k < (t & 5); ++k) s += g(k, t); x[i] = s;",
        lambda t: sum(k * k + t if t & 1 else k - t for k in range(t & 5)),
        "__device__ __noinline__ int g(int k, int t) { if (t & 1) return k * k + t; return k - t; }\n",
    ),
    ints(
        "launch bounds and inline hints",
        "x[i] = h(t);",
        lambda t: t + 1,
        "static __device__ __forceinline__ int h(int v) { return v + 1; }\n",
    ),
    Program(
        "a struct by value as a kernel parameter",
        'struct Box { char a; short b; int n[3]; double w; float* p; };\nextern "C" __global__ void k(float* x, Box s) { int t = threadIdx.x; x[t] = s.a + s.b * 2 + s.n[t % 3] + s.w; }',
        {"x": F},
        lambda a: {"x": [3 + 2 * 500 + [7, 8, 9][t % 3] + 0.5 for t in range(32)] + list(range(32, 64))},
        (struct.pack("<bxh3idQ", 3, 500, 7, 8, 9, 0.5, 0),),
    ),
]


def _orbit(n: int) -> Iterator[int]:
    while True:
        n = n * 3 % 64
        yield n


def _fold(a: list[int], t: int) -> int:
    s = 0
    for k in range(8):
        s = s * 3 + a[(k + t) & 7]
    return s


def _bits(v: float) -> int:
    return int.from_bytes(struct.pack("<f", v), "little")


def _machine(v: int) -> int:
    s = 0
    for _ in range(6):
        s = [[2, 1], [0, 3], [3, 0], [1, 2]][s][v & 1]
        v >>= 1
    return s


@cases(PROGRAMS)
def test_a_program_gives_what_its_reference_says(program: Program) -> None:
    check(program)
