"""Barrier objects (`mbarrier`) and what is built on them: `cuda::barrier`, `cuda::pipeline`, `cuda::memcpy_async`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from forms import Form
from forms.values import words

GRID, WORDS, TILES = 3, 1024, 16
"""Blocks; words that each reads and writes: so many tiles of 64."""

HEAD = """#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;
__device__ unsigned near(void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void start(void* bar, unsigned count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(near(bar)), "r"(count) : "memory");
}
__device__ unsigned long long arrive(void* bar) {
  unsigned long long token;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(near(bar)) : "memory");
  return token;
}
__device__ bool ended(void* bar, unsigned long long token) {
  unsigned yes;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
               : "=r"(yes) : "r"(near(bar)), "l"(token) : "memory");
  return yes;
}
__device__ bool ended_parity(void* bar, unsigned parity) {
  unsigned yes;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
               : "=r"(yes) : "r"(near(bar)), "r"(parity) : "memory");
  return yes;
}
"""
KERNEL = """extern "C" __global__ void {kernel}(const unsigned* x, unsigned* d) {{
  __shared__ __align__(16) unsigned s[{words}];
  const int t = threadIdx.x;
  const auto block = cg::this_thread_block();
  x += blockIdx.x * {words};
  d += blockIdx.x * {words};
{statements}
}}
"""
OBJECT = "__shared__ Barrier bar; if (t == 0) init(&bar, blockDim.x); __syncthreads();\n"
RAW = "__shared__ unsigned long long bar; if (t == 0) start(&bar, blockDim.x); __syncthreads();\n"
PIPE = """__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
auto pipe = cuda::make_pipeline(block, &state{role});
"""


@dataclass(frozen=True)
class Body:
    """Statements of a kernel; ``n`` there is the number of tiles."""

    statements: str
    block: int = 64


BODIES = {
    "mbarrier, arrive and test_wait with a token": Body(
        RAW + "for (int k = 0; k < n; ++k) { s[64 * k + t] = x[64 * k + t]; unsigned long long token = arrive(&bar);\n"
        "while (!ended(&bar, token)); d[64 * k + t] = s[64 * k + 63 - t]; }"
    ),
    "mbarrier, test_wait.parity": Body(
        RAW + "for (int k = 0; k < n; ++k) { s[64 * k + t] = x[64 * k + t]; (void)arrive(&bar);\n"
        "while (!ended_parity(&bar, k & 1)); d[64 * k + t] = s[64 * k + 63 - t]; }"
    ),
    "mbarrier, one lane arrives for its warp": Body(
        RAW
        + """s[t] = x[t]; __syncwarp();
if (t % 32 == 0) asm volatile("{ .reg .b64 token; mbarrier.arrive.noComplete.shared.b64 token, [%0], 31; }"
                              :: "r"(near(&bar)) : "memory");
if (t % 32 == 0) (void)arrive(&bar);
while (!ended_parity(&bar, 0)); d[t] = s[63 - t];"""
    ),
    "mbarrier, arrive_drop": Body(
        RAW
        + """if (t >= 32) { asm volatile("{ .reg .b64 token; mbarrier.arrive_drop.shared.b64 token, [%0]; }"
                            :: "r"(near(&bar)) : "memory"); return; }
for (int k = 0; k < n; ++k) { s[32 * k + t] = x[32 * k + t]; unsigned long long token = arrive(&bar);
  while (!ended(&bar, token)); d[32 * k + t] = s[32 * k + 31 - t]; }"""
    ),
    # One lane of each warp arrives: of lanes that arrive together an H200 tells each the count before all of them.
    "mbarrier, pending_count and inval": Body(
        """__shared__ unsigned long long bar; if (t == 0) start(&bar, 2); __syncthreads();
unsigned left = 0;
if (t % 32 == 0) { unsigned long long token = arrive(&bar);
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(left) : "l"(token)); }
while (!ended_parity(&bar, 0)); s[t] = left; __syncthreads();
if (t == 0) { asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(near(&bar)) : "memory");
  d[0] = s[0] + s[32]; d[1] = max(s[0], s[32]); }"""
    ),
    "cp.async.mbarrier.arrive": Body(
        RAW
        + """asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.mbarrier.arrive.shared.b64 [%2];"
  :: "r"(near(s + t)), "l"(x + t), "r"(near(&bar)) : "memory");
(void)arrive(&bar); while (!ended_parity(&bar, 0)); d[t] = s[63 - t];"""
    ),
    "cp.async.mbarrier.arrive.noinc": Body(
        RAW
        + """asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.mbarrier.arrive.noinc.shared.b64 [%2];"
  :: "r"(near(s + t)), "l"(x + t), "r"(near(&bar)) : "memory");
while (!ended_parity(&bar, 0)); d[t] = s[63 - t];"""
    ),
    "cuda::barrier, arrive_and_wait": Body(
        OBJECT + "for (int k = 0; k < n; ++k) { s[t] = x[64 * k + t]; bar.arrive_and_wait();\n"
        "d[64 * k + t] = s[63 - t]; bar.arrive_and_wait(); }"
    ),
    "cuda::barrier, arrive and wait": Body(
        OBJECT + "s[t] = x[t]; auto token = bar.arrive(); unsigned own = x[64 + t]; bar.wait(std::move(token));\n"
        "d[t] = s[63 - t] ^ own;"
    ),
    "cuda::barrier, arrive_and_drop": Body(
        OBJECT + "if (t >= 32) { bar.arrive_and_drop(); return; }\nfor (int k = 0; k < n; ++k) { s[t] = x[32 * k + t]; "
        "bar.arrive_and_wait(); d[32 * k + t] = s[31 - t]; bar.arrive_and_wait(); }"
    ),
    "cuda::barrier, producers and consumers": Body(
        """__shared__ Barrier full, empty;
if (t == 0) { init(&full, blockDim.x); init(&empty, blockDim.x); } __syncthreads();
if (t < 32) for (int k = 0; k < n; ++k) {
  empty.arrive_and_wait(); for (int j = t; j < 64; j += 32) s[j] = x[64 * k + j]; (void)full.arrive();
} else { (void)empty.arrive(); for (int k = 0; k < n; ++k) {
  full.arrive_and_wait(); d[64 * k + t - 32] = s[95 - t]; (void)empty.arrive(); } }""",
        block=96,
    ),
    "cuda::memcpy_async of a thread, cuda::barrier": Body(
        OBJECT + "for (int k = 0; k < n; ++k) { cuda::memcpy_async(s + t, x + 64 * k + t, 4, bar);\n"
        "bar.arrive_and_wait(); d[64 * k + t] = s[63 - t]; bar.arrive_and_wait(); }"
    ),
    "cuda::memcpy_async of a block, cuda::barrier": Body(
        OBJECT + "cuda::memcpy_async(block, s, x, cuda::aligned_size_t<16>(4 * 64 * n), bar);\n"
        "bar.arrive_and_wait(); for (int k = 0; k < n; ++k) d[64 * k + t] = s[64 * k + 63 - t];"
    ),
    "cuda::memcpy_async, two stages, a cuda::barrier each": Body(
        """__shared__ Barrier bars[2]; if (t < 2) init(&bars[t], blockDim.x); __syncthreads();
cuda::memcpy_async(&s[t], x + t, 4, bars[0]);
for (int k = 0; k < n; ++k) {
  if (k + 1 < n) cuda::memcpy_async(&s[(k + 1) % 2 * 64 + t], x + 64 * (k + 1) + t, 4, bars[(k + 1) % 2]);
  bars[k % 2].arrive_and_wait();
  d[64 * k + t] = s[k % 2 * 64 + 63 - t];
  __syncthreads(); }"""
    ),
    "cuda::pipeline of each thread": Body(
        """auto pipe = cuda::make_pipeline(); int fetched = 0;
for (int k = 0; k < n; ++k) {
  for (; fetched < n && fetched < k + 2; ++fetched) { pipe.producer_acquire();
    cuda::memcpy_async(&s[fetched % 2 * 64 + t], x + 64 * fetched + t, 4, pipe); pipe.producer_commit(); }
  pipe.consumer_wait(); __syncthreads();
  d[64 * k + t] = s[k % 2 * 64 + 63 - t];
  pipe.consumer_release(); __syncthreads(); }"""
    ),
    "cuda::pipeline of the block, two stages": Body(
        PIPE.format(role="")
        + """int fetched = 0;
for (int k = 0; k < n; ++k) {
  for (; fetched < n && fetched < k + 2; ++fetched) { pipe.producer_acquire();
    cuda::memcpy_async(block, s + fetched % 2 * 64, x + 64 * fetched, 256, pipe); pipe.producer_commit(); }
  pipe.consumer_wait();
  d[64 * k + t] = s[k % 2 * 64 + 63 - t];
  pipe.consumer_release(); }"""
    ),
    "cuda::pipeline, producers and consumers": Body(
        PIPE.format(role=", t < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer")
        + """if (t < 32) for (int k = 0; k < n; ++k) { pipe.producer_acquire();
  for (int j = t; j < 64; j += 32) cuda::memcpy_async(&s[k % 2 * 64 + j], x + 64 * k + j, 4, pipe);
  pipe.producer_commit();
} else for (int k = 0; k < n; ++k) { pipe.consumer_wait();
  d[64 * k + t - 32] = s[k % 2 * 64 + 95 - t];
  pipe.consumer_release(); }""",
        block=96,
    ),
    "cooperative_groups::memcpy_async, wait_prior": Body(
        """cg::memcpy_async(block, s, x, 256); cg::memcpy_async(block, s + 64, x + 64, 256);
cg::wait_prior<1>(block); d[t] = s[63 - t]; cg::wait(block); d[64 + t] = s[127 - t];"""
    ),
}


def forms() -> Iterator[Form]:
    kernels = {name: f"objects_{n}" for n, name in enumerate(BODIES)}
    head = HEAD + f"constexpr int n = {TILES};\n"
    source = head + "".join(
        KERNEL.format(kernel=kernels[name], words=WORDS, statements=body.statements) for name, body in BODIES.items()
    )
    for name, body in BODIES.items():
        arrays = {"x": words(GRID * WORDS, 40), "d": np.zeros(GRID * WORDS, np.uint32)}
        yield Form(name, source, kernels[name], arrays, grid=GRID, block=body.block)
