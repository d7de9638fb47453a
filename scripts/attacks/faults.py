"""Stray accesses, hangs, faults, and launches that no GPU starts."""

from __future__ import annotations

from attacks import LAUNCH, RIGHT, above, attack, inside

GUARD = "    if (i < n)\n"
KERNEL = "__global__ void vector_add"
ONCE = RIGHT + " if (i == 0) "

for what, edit, words in (
    ("no bound", (GUARD, "    if (true)\n"), "out_of_bounds"),
    ("one too many", (GUARD, "    if (i <= n)\n"), "out_of_bounds"),
    ("before the start", inside("c[i - 1] = a[i] + b[i]; " + RIGHT), "out_of_bounds"),
    ("far away", inside(ONCE + "c[1ll << 40] = 0.0f;"), "out_of_bounds"),
    ("an address made of a number", inside(ONCE + "*(float*)0x700000000000ull = 1.0f;"), "out_of_bounds"),
    ("a null pointer", inside(ONCE + "*(float*)0 = 1.0f;"), "crash"),
    ("a null pointer that no compiler sees", inside(ONCE + "*(float*)(size_t)(n < 0) = 1.0f;"), "out_of_bounds"),
    ("an atomic one past the end", inside(ONCE + "atomicExch(c + n, 1.0f);"), "out_of_bounds"),
    ("a vector that sticks out", inside(ONCE + "if (n % 4) ((float4*)c)[n / 4] = make_float4(0, 0, 0, 0);"), "out_of_bounds"),
    ("the middle of the zone between two arrays", inside(ONCE + "c[n + 16000] = 1.0f;"), "out_of_bounds"),
    ("60 kB before an output", inside(ONCE + "c[-15000] = 1.0f;"), "out_of_bounds"),
    # On a GPU 128 KiB lie between two arrays, which begin at multiples of 256 bytes.
    ("the neighbouring input", inside(RIGHT + " if (i == 0) c[-32769 - (64 - n % 64) % 64] = 7.0f;"), "sim=out_of_bounds gpu=wrong"),
    ("an input through another one", inside(RIGHT + " if (i == 0) ((float*)a)[(n + 63) / 64 * 64 + 32768] += 1.0f;"), "sim=out_of_bounds gpu=wrong"),
    ("the zone after an output is a memory", inside("c[n + 64 + i % 8192] = a[i]; c[i] = c[n + 64 + i % 8192] + b[i];"), "out_of_bounds"),
    # A guard's value is secret, but whoever reads it can write it back: on a GPU alone nobody would see that.
    ("a guard is written as it was", inside(ONCE + "((volatile float*)c)[n] = ((volatile float*)c)[n];"), "sim=out_of_bounds"),
    ("a read before the start", inside("c[i] = a[i] + b[i] + 0.0f * a[i - 1];"), "sim=out_of_bounds"),
    ("the answer is looked for behind the output", inside("c[i] = c[n + 64 + i % 4096];"), "sim=out_of_bounds gpu=wrong"),
    ("the answer is looked for before the inputs", inside("c[i] = a[i % 4096 - 8192];"), "sim=out_of_bounds gpu=wrong"),
    ("the answer is looked for in the next megabytes", inside("c[i] = c[i + (1ll << 36)];"), "out_of_bounds"),
    ("shared memory beyond its end", inside("__shared__ float s[256]; s[threadIdx.x + 1] = a[i]; __syncwarp(__activemask()); c[i] = s[threadIdx.x + 1] + b[i];"), "sim=out_of_bounds"),
    ("shared memory far beyond its end", inside("__shared__ volatile float s[256]; s[threadIdx.x + 40000] = a[i]; " + RIGHT), "sim=out_of_bounds"),
    ("local memory beyond its end", inside("float s[8]; for (int k = 0; k < 8; ++k) s[k] = a[i]; s[n + 4000000] = 1.0f; c[i] = s[n % 8] + b[i];"), "sim=out_of_bounds"),
):  # fmt: skip
    attack("stray access", "vector_add", words, edit, what=what)
attack("stray access", "transpose_v4", "out_of_bounds", ("if (r < rows && c + k < cols)", "if (r < rows || c + k < cols)"), what="a tile that sticks out")  # fmt: skip
attack("stray access", "reduce_v3", "out_of_bounds", ("dst[blockIdx.x] = partial[0];", "dst[blockIdx.x + (m == 1)] = partial[0];"), what="a scratch array that is too short")  # fmt: skip

for what, new in {
    "misaligned": "if (i == 8) c[i] = *(float*)((char*)a + 1);",
    "a vector at an odd place": "if (i == 0 && n > 40) *(float4*)(c + 1) = make_float4(0, 0, 0, 0);",
    "a trap": "if (i == 3) __trap();",
    "an assertion": "assert(i != 2);",
}.items():
    edits = (above("#include <assert.h>"),) if "assert(" in new else ()
    attack("faults", "vector_add", "crash", inside(f"{RIGHT} {new}"), *edits, what=what)
attack("faults", "vector_add", "limit", above("__device__ char big[1u << 31];"), inside(RIGHT + " big[i] = 1;"), what="2 GiB of variables")  # fmt: skip
attack("faults", "vector_add", "limit", above("__constant__ float big[1 << 20];"), inside("c[i] = a[i] + b[i] + big[i];"), what="4 MiB of constants")  # fmt: skip
attack("faults", "vector_add", "invalid", ("// launch", "// scratch big: float[n * 0 + 300000000]\n// launch"), what="more scratch than there may be")  # fmt: skip
attack("faults", "vector_add", "sim=unsupported", above("__device__ __noinline__ int deep(int n) { volatile int a[64]; a[n % 64] = n; return n ? deep(n + 1) + a[3] : 0; }"), inside(RIGHT + " if (deep(n)) c[i] = 0.0f;"), what="a stack that overflows")  # fmt: skip

for what, new in {
    "one thread for ever": 'if (i == 0) while (true) asm volatile("");',
    "all threads for ever": "volatile int go = 1; while (go) ;",
    "a barrier that half of a warp passes": "if (threadIdx.x < 16) __syncthreads(); c[i] += 0.0f; __syncthreads();",
    "blocks that wait for a flag that nobody sets": "if (i == 0) while (*(volatile float*)c != 12345.0f) ;",
    "a warp that waits for its own lane": "if (i % 32 == 1) while (*(volatile float*)(c + i - 1) != 1e9f) ; ",
    "a lock that nobody gives back": "while (atomicCAS(&lock, 0, 1)) ;",
    "nanoseconds for ever": "while (*(volatile float*)c != 12345.0f) __nanosleep(1000000);",
}.items():
    words = "timeout" if "flag" in what else "sim=timeout"
    edits = (above("__device__ int lock;"),) if "lock" in new else ()
    attack("hangs", "vector_add", words, inside(f"{RIGHT} {new}"), *edits, what=what)
attack("hangs", "vector_add", "wrong", inside("for (int k = 0; k < 10; k += n < 0) c[i] = 0.0f;"), what="a counter that stands still")  # fmt: skip
attack("hangs", "reduce_v3", "sim=timeout", ("s > 0; s /= 2", "s >= 0; s /= 2"), what="a step of zero for ever")
attack("hangs", "transpose_v4", "sim=timeout", ("    __syncthreads();\n", "    if (threadIdx.y < 4)\n        __syncthreads();\n    while (threadIdx.y >= 4 && x[0] == x[0])\n        asm volatile(\"\");\n"), what="half of a block at a barrier")  # fmt: skip

for what, words, *edits in (
    ("240 KB of static shared memory", "sim=compile_error", inside("__shared__ float s[60000]; s[threadIdx.x] = a[i]; c[i] = s[threadIdx.x] + b[i];")),
    ("2048 threads in a block", "invalid", (LAUNCH, "grid=cdiv(n, 2048) block=2048")),
    ("128 threads along z", "invalid", (LAUNCH, "grid=cdiv(n, 256) block=(2, 1, 128)")),
    ("70000 blocks along y", "sim=invalid", (LAUNCH, "grid=(1, 70000) block=256")),
    ("all blocks of the timed size along y", "invalid", (LAUNCH, "grid=(1, cdiv(n, 256)) block=256")),
    ("no threads", "invalid", (LAUNCH, "grid=cdiv(n, 256) block=n-n")),
    ("more threads than the launch bounds", "invalid", (KERNEL, "__global__ void __launch_bounds__(128) vector_add")),
    ("more registers than a multiprocessor has", "invalid", (LAUNCH, "grid=cdiv(n, 1024) block=1024"), inside("float v[100]; for (int k = 0; k < 100; ++k) v[k] = ((volatile const float*)a)[(i + k) % n]; float s = 0.0f; for (int k = 0; k < 100; ++k) for (int j = 0; j < 100; ++j) s += v[k] * v[j]; c[i] = a[i] + b[i] + 0.0f * s;")),
    ("asm that is not ASCII", "sim=compile_error", inside(RIGHT + ' asm volatile("// caf\\u00e9");')),
    ("an instruction that does not exist", "sim=compile_error", inside(RIGHT + ' asm volatile("add.u17 %%r1, %%r2, %%r3;");')),
    ("a barrier with number 17", "sim=compile_error", inside(RIGHT + ' asm volatile("bar.sync 17;");')),
    ("an instruction of a newer GPU", "sim=compile_error", inside(RIGHT + ' asm volatile("fence.proxy.async;");')),
    ("500 KB of dynamic shared memory", "invalid", (LAUNCH, "grid=(1, cdiv(n, 256)) block=256 shared=500000")),
    ("a cooperative grid that does not fit", "limit", (LAUNCH, LAUNCH + " cooperative")),
    ("a cluster of 16 blocks", "invalid", (LAUNCH, "grid=16*cdiv(n, 256) block=256 cluster=16")),
    ("a cluster that does not divide the grid", "invalid", (LAUNCH, "grid=8*cdiv(n, 256)+1 block=256 cluster=8")),
):  # fmt: skip
    attack("what no GPU can start", "vector_add", words, *edits, what=what)
