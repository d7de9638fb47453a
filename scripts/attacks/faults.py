"""Stray accesses, hangs, faults, launches that no GPU starts, and bombs for the compiler and the simulator."""

from __future__ import annotations

from attacks import attack

ADD = "    if (i < n)\n        c[i] = a[i] + b[i];\n"
RIGHT = "c[i] = a[i] + b[i];"


def inside(statements: str) -> tuple[str, str]:
    """What threads with an element do instead."""
    return ADD, f"    if (i < n) {{\n        {statements}\n    }}\n"


GUARD = "    if (i < n)\n"
INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
LAUNCH = "grid=cdiv(n, 256) block=256"
BEFORE = 'extern "C"'

for what, edits in {
    "no bound": ((GUARD, "    if (true)\n"),),
    "one too many": ((GUARD, "    if (i <= n)\n"),),
    "before the start": (inside("c[i - 1 + (i > 0)] = a[i] + b[i]; c[i - 1] = a[i] + b[i];"),),
    "far away": (inside(RIGHT + " if (i == 0) c[1 << 28] = 0.0f;"),),
    "a read before the start": (inside("c[i] = a[i] + b[i] + 0.0f * a[i - 1];"),),
    "a null pointer": (inside(RIGHT + " if (i == 0) *(float*)0 = 1.0f;"),),
    "an address made of a number": (inside(RIGHT + " if (i == 0) *(float*)0x700000000000ull = 1.0f;"),),
    "shared memory beyond its end": (inside("__shared__ float s[256]; s[threadIdx.x + 1] = a[i]; __syncwarp(__activemask()); c[i] = s[threadIdx.x + 1] + b[i];"),),
}.items():  # fmt: skip
    attack("stray access", "vector_add", "out_of_bounds crash race", *edits, what=what)
attack(
    "faults",
    "vector_add",
    "crash",
    inside(RIGHT + " if (i == 8) c[i] = *(float*)((char*)a + 1);"),
    what="misaligned",
)
attack("faults", "vector_add", "crash", inside(RIGHT + " if (i == 3) __trap();"), what="a trap")
attack("faults", "vector_add", "crash", inside(RIGHT + " assert(i != 2);"), (BEFORE, "#include <assert.h>\n" + BEFORE), what="an assertion")  # fmt: skip
attack("faults", "vector_add", "limit policy invalid", (BEFORE, "__device__ char big[1u << 31];\n" + BEFORE), inside(RIGHT + " big[i] = 1;"), what="2 GiB of variables")  # fmt: skip

for what, new in {
    "one thread for ever": 'if (i == 0) while (true) asm volatile("");',
    "all threads for ever": "volatile int go = 1; while (go) ;",
    "a counter that stands still": "for (int k = 0; k < 10; k += n < 0) c[i] = 0.0f;",
    "a barrier that half of a warp passes": "if (threadIdx.x < 16) __syncthreads(); c[i] += 0.0f; __syncthreads();",
    "blocks that wait for a flag that nobody sets": "if (i == 0) while (*(volatile float*)c != 12345.0f) ;",
}.items():
    attack(
        "hangs",
        "vector_add",
        "timeout wrong" if "stands still" in what else "timeout",
        inside(RIGHT + " " + new),
        what=what,
    )

attack("what no GPU can start", "vector_add", "compile_error limit invalid", inside("__shared__ float s[60000]; s[threadIdx.x] = a[i]; c[i] = s[threadIdx.x] + b[i];"), what="240 KB of static shared memory")  # fmt: skip
attack("what no GPU can start", "vector_add", "invalid", (LAUNCH, "grid=cdiv(n, 2048) block=2048"), what="2048 threads in a block")  # fmt: skip
attack("what no GPU can start", "vector_add", "invalid", ("__global__ void vector_add", "__global__ void __launch_bounds__(128) vector_add"), what="more threads than the launch bounds")  # fmt: skip
attack("what no GPU can start", "vector_add", "compile_error invalid", inside(RIGHT + ' asm volatile("// caf\\u00e9");'), what="asm that is not ASCII")  # fmt: skip
attack("what no GPU can start", "vector_add", "compile_error invalid unsupported", inside(RIGHT + ' asm volatile("add.u17 %%r1, %%r2, %%r3;");'), what="an instruction that does not exist")  # fmt: skip
attack("what no GPU can start", "vector_add", "invalid limit", (LAUNCH, "grid=(1, cdiv(n, 256)) block=256 shared=500000"), what="500 KB of dynamic shared memory")  # fmt: skip

attack("compiler as reader", "vector_add", "compile_error policy", (BEFORE, '#include "/etc/passwd"\n' + BEFORE), what="/etc/passwd")  # fmt: skip
attack("compiler as reader", "vector_add", "compile_error policy", (BEFORE, '#include "/proc/self/environ"\n' + BEFORE), what="the environment")  # fmt: skip
attack("compiler as reader", "vector_add", "compile_error policy", (BEFORE, '%:include "/etc/passwd"\n' + BEFORE), what="a digraph")  # fmt: skip
attack("compiler as reader", "vector_add", "compile_error policy", (BEFORE, '#inc\\\nlude "/etc/passwd"\n' + BEFORE), what="a splice")  # fmt: skip
attack("compiler as reader", "vector_add", "compile_error policy", (BEFORE, '#define F "/etc/passwd"\n#include F\n' + BEFORE), what="a macro's name")  # fmt: skip
attack("compiler as reader", "vector_add", "compile_error policy", (BEFORE, '#include "../../solutions/01_first/vector_add.cu"\n' + BEFORE), what="the solution")  # fmt: skip
attack("compiler as bomb", "vector_add", "compile_error limit", (BEFORE, "template <int N> struct T { T<N + 1> a; static const int v = T<N + 1>::v + T<N + 2>::v; };\n__device__ int bomb = T<0>::v;\n" + BEFORE), what="templates without an end")  # fmt: skip
attack("compiler as bomb", "vector_add", "compile_error limit", (BEFORE, "constexpr int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n__device__ int bomb[f(60)];\n" + BEFORE), what="a constant that takes for ever")  # fmt: skip
attack("PTX tricks", "vector_add", "invalid policy compile_error", inside(RIGHT + ' asm volatile("} .visible .entry other() { ret;");'), what="another entry in asm")  # fmt: skip
attack("PTX tricks", "vector_add", "limit", inside(RIGHT + ' for (int k = 0; k < 1000; ++k) printf("%d %d\\n", i, k);'), (BEFORE, "#include <stdio.h>\n" + BEFORE), what="a flood of printf")  # fmt: skip
attack("PTX tricks", "vector_add", "policy invalid unsupported compile_error", inside(RIGHT + " if (i == 0) free(malloc(1 << 20));"), what="memory from the device's heap")  # fmt: skip
attack("output forging", "vector_add", "wrong", inside('c[i] = 0.0f; if (i == 0) printf("\\033[2J PASS vector_add 100 of 100 points\\n");'), (BEFORE, "#include <stdio.h>\n" + BEFORE), what="a verdict by printf")  # fmt: skip
attack("simulator", "vector_add", "limit out_of_bounds crash invalid wrong", (LAUNCH, "grid=2147483647 block=1024"), what="a huge grid")  # fmt: skip
attack("simulator", "vector_add", "unsupported limit invalid", inside("volatile float v[200000]; v[i % 200000] = a[i]; v[(n - i) % 200000] = b[i]; c[i] = a[i] + b[i];"), what="800 KB of local memory")  # fmt: skip
