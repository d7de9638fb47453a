"""Asynchronous copies of single threads: `cp.async` with its sizes, zero-fill and groups, and `<cuda_pipeline.h>`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from forms import Form
from forms.values import words

BLOCK, GRID = 64, 3
WORDS = 1024
"""Of shared memory, and what each block reads and writes of the arrays."""

HEAD = """#include <cuda_pipeline.h>
#define WAIT_ALL asm volatile("cp.async.wait_all;" ::: "memory")
#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory")
#define CA(to, from, size) asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" \\
    :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "n"(size) : "memory")
#define CG(to, from) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" \\
    :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory")
#define FILL(cache, to, from, size, given) asm volatile("cp.async." cache ".shared.global [%0], [%1], %2, %3;" \\
    :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "n"(size), "r"(given) : "memory")
"""
KERNEL = """extern "C" __global__ void {kernel}(const unsigned* x, unsigned* d) {{
  __shared__ __align__(16) unsigned s[{words}];
  const int t = threadIdx.x;
  x += blockIdx.x * {words};
  d += blockIdx.x * {words};
  for (int k = t; k < {words}; k += {block}) s[k] = 7 * k;
  __syncthreads();
{statements}
}}
"""
ALL_OUT = f"\n__syncthreads();\nfor (int k = t; k < {WORDS}; k += {BLOCK}) d[k] = s[k];"
"""Every word of shared memory: what a copy must not touch, too."""

SIZED = {
    f"cp.async.{cache}, {size} bytes": f"{call}; WAIT_ALL;{ALL_OUT}"
    for cache, size, call in (
        *(("ca", size, f"CA(s + 4 * t, x + 4 * (63 - t), {size})") for size in (4, 8, 16)),
        ("cg", 16, "CG(s + 4 * t, x + 4 * (63 - t))"),
    )
}
FILLED = {
    f"cp.async.{cache}, {size} bytes with a source size of 0 to {size}": (
        f'FILL("{cache}", s + 4 * t, x + 4 * (63 - t), {size}, t % {size + 1}); WAIT_ALL;{ALL_OUT}'
    )
    for cache, size in (*product(("ca",), (4, 8, 16)), ("cg", 16))
}
IGNORED = {
    "cp.async with a predicate that ignores the source": (
        'asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; cp.async.ca.shared.global [%0], [%1], 8, p; }" '
        ':: "r"((unsigned)__cvta_generic_to_shared(s + 4 * t)), "l"(x + 4 * t), "r"(t % 3) : "memory"); WAIT_ALL;'
        + ALL_OUT
    )
}
HINTED = {
    "cp.async with a prefetch": f"""
asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;"
  :: "r"((unsigned)__cvta_generic_to_shared(s + 4 * t)), "l"(x + 4 * (63 - t)) : "memory"); WAIT_ALL;{ALL_OUT}""",
    "cp.async with a cache hint": f"""
asm volatile("{{ .reg .b64 c; createpolicy.fractional.L2::evict_last.b64 c, 1.0; "
  "cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, c; }}"
  :: "r"((unsigned)__cvta_generic_to_shared(s + 4 * t)), "l"(x + 4 * (63 - t)) : "memory"); WAIT_ALL;{ALL_OUT}""",
}
FOUR_GROUPS = "for (int g = 0; g < 4; ++g) { CA(s + 64 * g + t, x + 64 * g + t, 4); COMMIT; }\n"
GROUPS = {
    f"cp.async, 4 groups, wait_group {newest}": FOUR_GROUPS
    + f"WAIT({newest}); __syncthreads();\n"
    + f"for (int g = 0; g < {4 - newest}; ++g) d[64 * g + t] = s[64 * g + 63 - t];"
    for newest in range(4)
} | {
    "cp.async, 4 groups, waited for one by one": FOUR_GROUPS
    + "".join(f"WAIT({3 - g}); __syncthreads(); d[{64 * g} + t] = s[{64 * g} + 63 - t];\n" for g in range(4)),
    "cp.async, wait_all with a copy in no group": FOUR_GROUPS + "CA(s + 256 + t, x + 256 + t, 4); WAIT_ALL;" + ALL_OUT,
}
DIVERGENT = {
    "cp.async, odd lanes close one group more": """CA(s + t, x + t, 4); COMMIT;
if (t % 2) COMMIT;
CA(s + 64 + t, x + 64 + t, 4); COMMIT;
if (t % 2) { WAIT(2); d[t] = s[t]; } else { WAIT(1); d[t] = s[t]; }
WAIT_ALL; __syncthreads();
d[64 + t] = s[63 - t]; d[128 + t] = s[127 - t];""",
    "cp.async, half a warp copies for the other half": """
if (t % 32 < 16) { CA(s + 2 * t, x + 2 * t, 8); COMMIT; WAIT(0); }
__syncwarp(); d[t] = s[t / 32 * 64 + 31 - t % 32];""",
    "cp.async, as many groups as the lane's number": """
for (int g = 0; g < t % 8; ++g) { CA(s + 64 * g + t, x + 64 * g + t, 4); COMMIT; }
WAIT(1);
for (int g = 0; g + 1 < t % 8; ++g) d[64 * g + t] = s[64 * g + t];
WAIT(0);
if (t % 8) d[512 + t] = s[64 * (t % 8 - 1) + t];""",
}
PIPELINE = {
    f"__pipeline_memcpy_async, {size} bytes": f"__pipeline_memcpy_async(s + 4 * t, x + 4 * (63 - t), {size}); "
    f"__pipeline_commit(); __pipeline_wait_prior(0);{ALL_OUT}"
    for size in (4, 8, 16)
} | {
    "__pipeline_memcpy_async with zero-fill": "__pipeline_memcpy_async(s + 4 * t, x + 4 * t, 16, t % 17); "
    f"__pipeline_commit(); __pipeline_wait_prior(0);{ALL_OUT}",
    "__pipeline_memcpy_async, two stages": """__pipeline_memcpy_async(s + t, x + t, 4); __pipeline_commit();
for (int k = 0; k < 16; ++k) {
  if (k + 1 < 16) __pipeline_memcpy_async(s + (k + 1) % 2 * 64 + t, x + 64 * (k + 1) + t, 4);
  __pipeline_commit();
  __pipeline_wait_prior(1);
  __syncthreads();
  d[64 * k + t] = s[k % 2 * 64 + 63 - t];
  __syncthreads();
}""",
}
STATEMENTS = SIZED | FILLED | IGNORED | HINTED | GROUPS | DIVERGENT | PIPELINE


def forms() -> Iterator[Form]:
    kernels = {name: f"copies_{n}" for n, name in enumerate(STATEMENTS)}
    source = HEAD + "".join(
        KERNEL.format(kernel=kernels[name], words=WORDS, block=BLOCK, statements=statements)
        for name, statements in STATEMENTS.items()
    )
    for name, kernel in kernels.items():
        arrays = {"x": words(GRID * WORDS, 30), "d": np.zeros(GRID * WORDS, np.uint32)}
        yield Form(name, source, kernel, arrays, grid=GRID, block=BLOCK)
