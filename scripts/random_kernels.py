"""Random CUDA C kernels whose result is the same bits on every machine: for comparing the simulator with a GPU.

    kernel(seed) -> `extern "C" __global__ void k_SEED(const unsigned* in, unsigned* out)`

Integers of 8 to 64 bits, half, float and double; branches and loops that diverge, local and shared arrays, shuffles,
votes, atomics whose order does not matter, calls. Nothing is undefined: shifts and indices are masked, divisors are not
0, barriers and shuffles stand where all threads pass, conversions of floats are bounded. Floating-point operations are
those that IEEE 754 rounds correctly, each by its intrinsic, so that no compiler contracts two of them; a NaN is stored
as one pattern. With the macro `V` defined as `volatile`, variables live in memory: another PTX of the same kernel.
"""

from __future__ import annotations

import random
from collections.abc import Callable

THREADS = 64
BLOCKS = 2
WORDS = 8
"""32-bit words that a thread reads from ``in`` (WORDS · thread on), and that it writes to ``out``."""

PRELUDE = """\
#include <cuda_fp16.h>
#ifndef V
#define V
#endif
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef __half f16;
typedef float f32;
typedef double f64;

__device__ u32 bits(f16 x) { return __hisnan(x) ? 0x7fffu : __half_as_ushort(x); }
__device__ u32 bits(f32 x) { return isnan(x) ? 0x7fffffffu : __float_as_uint(x); }
__device__ u32 bits(f64 x)
{
    u64 b = isnan(x) ? 0x7fffffffffffffffull : (u64)__double_as_longlong(x);
    return (u32)b ^ (u32)(b >> 32) * 0x9e3779b1u;
}
__device__ u32 bits(i8 x) { return x; }
__device__ u32 bits(u8 x) { return x; }
__device__ u32 bits(i16 x) { return x; }
__device__ u32 bits(u16 x) { return x; }
__device__ u32 bits(i32 x) { return x; }
__device__ u32 bits(u32 x) { return x; }
__device__ u32 bits(i64 x) { return (u32)x ^ (u32)((u64)x >> 32) * 0x9e3779b1u; }
__device__ u32 bits(u64 x) { return (u32)x ^ (u32)(x >> 32) * 0x9e3779b1u; }
// A NaN's sign is not specified.
__device__ f32 with_sign(f32 x, f32 of) { return copysignf(x, isnan(of) ? 1.0f : of); }
// NVRTC takes __mul24(x, x) for a number that is not negative.
__device__ i32 product24(i32 a, i32 b) { i32 d; asm("mul24.lo.s32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b)); return d; }
__device__ u32 uproduct24(u32 a, u32 b) { u32 d; asm("mul24.lo.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b)); return d; }
__device__ u32 mix(u32 h, u32 x) { return (h ^ x) * 0x01000193u + (h >> 15); }
"""

INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
FLOATS = ("f16", "f32", "f64")
WIDE = ("i32", "u32", "i64", "u64")
BITS = {"i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "u32": 32, "i64": 64, "u64": 64}


class _Kernel:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.pick = random.Random(seed)
        self.variables: dict[str, str] = {}  # name -> type
        self.lines: list[str] = []
        self.functions: list[str] = []
        self.depth = 1
        self.assignable = True

    def source(self) -> str:
        choose = self.pick
        self.add("const u32 t = threadIdx.x, g = blockIdx.x * blockDim.x + t, lane = t & 31;")
        self.add(f"const u32* mine = in + {WORDS} * g;")
        self.add("u32 h = 0x811c9dc5u;")
        self.add(f"__shared__ u32 words[{THREADS}];")
        self.add("__shared__ u32 sums[8];")
        self.add("V u32 local[8];")
        self.add(f"for (int i = 0; i < 8; ++i) local[i] = mine[i] * {choose.randrange(1, 1 << 20)}u;")
        for i in range(choose.randrange(4, 9)):
            self.declare(choose.choice(INTEGERS if choose.random() < 0.65 else FLOATS), i)
        for _ in range(choose.randrange(5, 12)):
            choose.choice((self.assign, self.assign, self.assign, self.branch, self.loop, self.whole, self.array))()
        for name in self.variables:
            self.add(f"h = mix(h, bits({self.value(name)}));")
        for i in range(WORDS - 1):
            name = choose.choice(tuple(self.variables))
            self.add(f"out[{WORDS} * g + {i}] = bits({self.value(name)}) + local[{i}];")
        self.add(f"out[{WORDS} * g + {WORDS - 1}] = h;")
        body = "\n".join(self.lines)
        return (
            "\n".join(self.functions)
            + f'\nextern "C" __global__ void k_{self.seed}(const u32* in, u32* out)\n{{\n{body}\n}}\n'
        )

    # -- statements -------------------------------------------------------------------------------------------------
    def add(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def declare(self, kind: str, i: int) -> None:
        word = f"mine[{i % WORDS}]"
        first = {
            "f16": f"__ushort2half_rn({word} & 0x3ff)",
            "f32": f"__int2float_rn((i32){word})",
            "f64": f"__int2double_rn((i32){word})",
            "i64": f"(i64)((u64){word} << 32 | mine[{(i + 1) % WORDS}])",
            "u64": f"(u64){word} << 32 | mine[{(i + 3) % WORDS}]",
        }.get(kind, f"({kind}){word}")
        self.add(f"V {kind} v{i} = {first};" if kind != "f16" else f"{kind} v{i} = {first};")
        self.variables[f"v{i}"] = kind

    def assign(self) -> None:
        name = self.pick.choice(tuple(self.variables))
        self.add(f"{name} = {self.expression(self.variables[name], 3)};")

    def _block(self, count: int) -> None:
        self.depth += 1
        for _ in range(count):
            self.pick.choice((self.assign, self.assign, self.array))()
        self.depth -= 1

    def branch(self) -> None:
        """Threads of one warp go different ways."""
        self.add(f"if ({self.condition()}) {{")
        self._block(self.pick.randrange(1, 4))
        if self.pick.random() < 0.6:
            self.add("} else {")
            self._block(self.pick.randrange(1, 3))
        self.add("}")

    def loop(self) -> None:
        """As many rounds as the thread's data say."""
        rounds = self.pick.choice((f"({self.expression('u32', 1)}) & 7", str(self.pick.randrange(1, 6)), "lane & 3"))
        self.add(f"for (u32 i = 0, n = {rounds}; i < n; ++i) {{")
        self._block(self.pick.randrange(1, 3))
        if self.pick.random() < 0.3:
            self.add(f"    if ({self.condition()}) break;")
        self.add("}")

    def array(self) -> None:
        """A local array with an index that only the run knows."""
        index, other = self.expression("u32", 1), self.expression("u32", 1)
        self.add(f"local[({index}) & 7] {self.pick.choice(('=', '+=', '^='))} {self.expression('u32', 2)};")
        if self.pick.random() < 0.5:
            self.add(f"h = mix(h, local[({other}) & 7]);")

    def whole(self) -> None:
        """What all threads execute together: shuffles, votes, shared memory, atomics."""
        choose = self.pick
        integers = [name for name, kind in self.variables.items() if kind in WIDE]
        value = self.expression("u32", 2)
        some = choose.randrange(5)
        if some == 0:
            kind = choose.choice(("i32", "u32", "i64", "u64", "f32", "f64"))
            source = self.expression(kind, 2)
            lane = choose.choice(
                (f"{choose.randrange(32)}", "(lane * 5 + 3) & 31", f"{self.expression('u32', 1)} & 31")
            )
            width = choose.choice((8, 16, 32))
            shuffle = choose.choice((
                f"__shfl_sync(~0u, {kind}({source}), {lane}, {width})",
                f"__shfl_up_sync(~0u, {kind}({source}), {choose.randrange(1, 9)}, {width})",
                f"__shfl_down_sync(~0u, {kind}({source}), {choose.randrange(1, 9)}, {width})",
                f"__shfl_xor_sync(~0u, {kind}({source}), {choose.randrange(1, 32)})",
            ))  # fmt: skip
            self.add(f"h = mix(h, bits(({kind}){shuffle}));")
        elif some == 1:
            vote = choose.choice((
                f"__ballot_sync(~0u, {self.condition()})",
                f"(u32)__any_sync(~0u, {self.condition()})",
                f"(u32)__all_sync(~0u, {self.condition()})",
                f"__match_any_sync(~0u, ({value}) & 7)",
                f"__reduce_add_sync(~0u, (u32)({value}))",
                f"(u32)__reduce_max_sync(~0u, (i32)({value}))",
                f"__reduce_xor_sync(~0u, (u32)({value}))",
            ))  # fmt: skip
            self.add(f"h = mix(h, {vote});")
        elif some == 2:
            self.add(f"words[t] = {value};")
            self.add("__syncthreads();")
            step = choose.choice((1, 3, 5, 7, 33))
            self.add(f"h = mix(h, words[(t * {step} + {choose.randrange(THREADS)}) & {THREADS - 1}]);")
            self.add("__syncthreads();")
        elif some == 3:
            operation = choose.choice(("Add", "Min", "Max", "And", "Or", "Xor"))
            self.add("if (t < 8) sums[t] = mine[t & 7];")
            self.add("__syncthreads();")
            self.add(f"atomic{operation}(&sums[({self.expression('u32', 1)}) & 7], (u32)({value}));")
            self.add("__syncthreads();")
            self.add("h = mix(h, sums[t & 7]);")
            self.add("__syncthreads();")
        else:
            count = len(self.functions)
            kind = choose.choice(INTEGERS + FLOATS)
            inside = _Kernel(choose.randrange(1 << 30))
            inside.variables = {"a": kind, "b": "i32"}
            attribute = choose.choice(("__noinline__", "__forceinline__"))
            self.functions.append(
                f"__device__ {attribute} {kind} f_{self.seed}_{count}({kind} a, i32 b)\n"
                f"{{\n    if ({inside.condition()})\n        return {inside.expression(kind, 2)};\n"
                f"    return {inside.expression(kind, 3)};\n}}"
            )
            second = f"(i32)({value})"
            self.add(f"h = mix(h, bits(f_{self.seed}_{count}({self.expression(kind, 1)}, {second})));")
        if integers and choose.random() < 0.5:
            name = choose.choice(integers)
            self.add(f"{name} ^= h;")

    # -- expressions ------------------------------------------------------------------------------------------------
    def value(self, name: str) -> str:
        """A variable, read as a value: overloads do not take volatile ones."""
        return f"({self.variables[name]}){name}"

    def condition(self) -> str:
        kind = self.pick.choice(INTEGERS + FLOATS)
        left, right = self.expression(kind, 2), self.expression(kind, 1)
        sign = self.pick.choice(("<", "<=", ">", ">=", "==", "!="))
        if kind == "f16":
            return f"{_HALF_COMPARISONS[sign]}({left}, {right})"
        return f"({left}) {sign} ({right})"

    def expression(self, kind: str, depth: int) -> str:
        """An expression of exactly this type."""
        if depth == 0 or self.pick.random() < 0.15:
            return self.leaf(kind)
        return self.operation(kind, depth) if self.pick.random() < 0.8 else self.conversion(kind, depth)

    def leaf(self, kind: str) -> str:
        same = [name for name, own in self.variables.items() if own == kind]
        if same and self.pick.random() < 0.8:
            return self.value(self.pick.choice(same))
        others = [name for name, own in self.variables.items() if own in INTEGERS]
        if kind in INTEGERS and others and self.pick.random() < 0.7:
            return f"({kind})({self.value(self.pick.choice(others))})"
        if kind in FLOATS:
            number = self.pick.choice((0.0, -0.0, 1.0, -1.5, 0.1, 3.25, 1e-3, 1000.0, 65504.0))
            return {"f16": f"__float2half_rn({number}f)", "f32": f"{number}f", "f64": f"{number}"}[kind]
        bits = BITS[kind]
        top = 1 << bits
        number = self.pick.choice((0, 1, 2, 5, 31, top - 1, top // 2, top // 2 - 1, self.pick.randrange(top)))
        return f"({kind}){number}ull"

    def conversion(self, kind: str, depth: int) -> str:
        """From another type; a float becomes an integer by an intrinsic that saturates."""
        source = self.pick.choice([other for other in INTEGERS + FLOATS if other != kind])
        inner = self.expression(source, depth - 1)
        rounding = self.pick.choice(("rn", "rz", "ru", "rd"))
        if kind in INTEGERS and source in INTEGERS:
            return f"({kind})({inner})"
        if kind in INTEGERS:
            name = {"f16": "half", "f32": "float", "f64": "double"}[source]
            to = {"i64": "ll", "u64": "ull"}.get(kind, "uint" if kind[0] == "u" else "int")
            return f"({kind})__{name}2{to}_{rounding}({inner})"
        if source in INTEGERS:
            to = {"f16": "half", "f32": "float", "f64": "double"}[kind]
            wide = "i64" if source[0] == "i" else "u64"
            name = "ll" if source[0] == "i" else "ull"
            return f"__{name}2{to}_{rounding}(({wide})({inner}))"
        if kind == "f64":
            return f"(f64)({inner})" if source == "f32" else f"(f64)__half2float({inner})"
        if kind == "f32":
            return f"__half2float({inner})" if source == "f16" else f"__double2float_{rounding}({inner})"
        return f"__float2half_{rounding}({inner})" if source == "f32" else f"__double2half({inner})"

    def operation(self, kind: str, depth: int) -> str:
        a, b, c = (self.expression(kind, depth - 1) for _ in range(3))
        if self.pick.random() < 0.12:
            return f"(({self.condition()}) ? ({a}) : ({b}))"
        if kind in FLOATS:
            return self.pick.choice(_FLOAT_OPERATIONS[kind])(a, b, c)
        if kind in WIDE and self.pick.random() < 0.35:
            return self.pick.choice(_INTRINSICS[kind])(a, b, c)
        unsigned, mask = "u" + kind[1:], BITS[kind] - 1
        # A signed divisor is positive, so that no quotient overflows.
        positive = f"(({kind})(({b}) & {(1 << (BITS[kind] - 2)) - 1}) + 1)"
        least = positive if kind[0] == "i" else f"(({b}) | 1)"
        operations: tuple[str, ...] = (
            *(f"({kind})(({unsigned})({a}) {sign} ({unsigned})({b}))" for sign in ("+", "-", "*", "&", "|", "^")),
            f"({kind})(({unsigned})({a}) << (({b}) & {mask}))",
            f"({kind})(({a}) >> (({b}) & {mask}))",
            f"({kind})(({a}) / {least})",
            f"({kind})(({a}) % {least})",
            f"({kind})~({a})",
            f"({kind})(({a}) < ({b}) ? ({a}) : ({c}))",
        )
        return self.pick.choice(operations)


Operation = Callable[[str, str, str], str]


def _calls(*names: str, count: int = 2, cast: str = "") -> tuple[Operation, ...]:
    def call(name: str) -> Operation:
        return lambda a, b, c: f"{cast}{name}({', '.join((a, b, c)[:count])})"

    return tuple(call(name) for name in names)


_HALF_COMPARISONS = {"<": "__hlt", "<=": "__hle", ">": "__hgt", ">=": "__hge", "==": "__heq", "!=": "__hneu"}
_FLOAT_OPERATIONS: dict[str, tuple[Operation, ...]] = {
    "f16": (
        *_calls("__hadd_rn", "__hsub_rn", "__hmul_rn", "__hmin", "__hmax"),
        *_calls("__hfma", count=3),
        *_calls("__hneg", "__habs", count=1),
    ),
    "f32": (
        *_calls("__fadd_rn", "__fadd_rz", "__fsub_rn", "__fmul_rn", "__fmul_ru", "__fmul_rd", "__fdiv_rn",
                "fminf", "fmaxf"),
        *_calls("__fmaf_rn", "__fmaf_rz", count=3),
        *_calls("__fsqrt_rn", "fabsf", "floorf", "ceilf", "truncf", "rintf", "__frcp_rn", "-", count=1),
        *_calls("with_sign"),
    ),
    "f64": (
        *_calls("__dadd_rn", "__dadd_rd", "__dsub_rn", "__dmul_rn", "__dmul_rz", "__ddiv_rn", "fmin", "fmax"),
        *_calls("__fma_rn", "__fma_ru", count=3),
        *_calls("__dsqrt_rn", "fabs", "floor", "ceil", "trunc", "rint", "-", count=1),
    ),
}  # fmt: skip
_INTRINSICS: dict[str, tuple[Operation, ...]] = {
    "i32": (
        *_calls("min", "max", "__mulhi", "__hadd", "__rhadd", "product24"), *_calls("__dp4a", count=3),
        *_calls("__sad", count=3, cast="(i32)"), *_calls("__ffs", "__clz", count=1),
    ),
    "u32": (
        *_calls("min", "max", "__umulhi", "__uhadd", "__urhadd", "uproduct24", "__vadd4", "__vsub2", "__vmaxs2",
                "__vavgu4",
                "__vabsdiffu4", "__vcmpgtu4"),
        *_calls("__byte_perm", "__funnelshift_l", "__funnelshift_r", "__funnelshift_lc", "__usad", "__dp4a", count=3),
        *_calls("__brev", count=1), *_calls("__popc", count=1, cast="(u32)"),
    ),
    "i64": (
        *_calls("min", "max", "__mul64hi"), *_calls("__ffsll", "__clzll", count=1, cast="(i64)"),
    ),
    "u64": (
        *_calls("min", "max", "__umul64hi"), *_calls("__brevll", count=1), *_calls("__popcll", count=1, cast="(u64)"),
    ),
}  # fmt: skip


def kernel(seed: int) -> str:
    """The text of kernel ``k_SEED``, with the functions that it calls; always the same for one seed."""
    return _Kernel(seed).source()


def module(seeds: range) -> str:
    """One file with the kernels of these seeds."""
    return PRELUDE + "\n".join(map(kernel, seeds))
