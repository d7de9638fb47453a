"""Right in every small case, at the secret sizes and at the simulated one, and not where the time is taken; and clocks.

The simulator's verdict shows that nothing before the timed launches gives them away.
"""

from __future__ import annotations

from attacks import ADD, LAUNCH, RIGHT, Edit, above, attack, inside

BIG = "n > 1 << 21"
"""At the timed sizes of vector_add, and in no case."""


def when_big(statements: str) -> Edit:
    """What vector_add's threads with an element do instead in timed launches."""
    return inside(f"if ({BIG}) {{ {statements} }} else {RIGHT}")


LATE = ("sim=pass gpu=wrong", "wrong")
"""Without a GPU, too, ``ALSO_LARGE`` run at a large size: with many blocks, or with more than 2^31 elements."""

ALSO_LARGE = ("reduce_v10", "gemv", "softmax_v1", "igemm_dp4a", "hgemm_wmma_v1")

HALF = above("#include <cuda_fp16.h>")
STDIO = above("#include <stdio.h>")
for what, word, *edits in (
    ("half of the elements", "wrong", when_big(f"if (i < n / 2) {RIGHT}")),
    ("one element in 32", "wrong", when_big(f"if (i % 32 == 0) {RIGHT}")),
    ("all but the last element", "wrong", when_big(f"if (i != n - 1) {RIGHT}")),
    ("all but one in the middle", "wrong", when_big(f"if (i != n / 3) {RIGHT}")),
    ("zeros", "wrong", when_big("c[i] = 0.0f;")),
    ("nothing", "wrong", when_big("")),
    ("a copy", "wrong", when_big("c[i] = a[i];")),
    ("half precision", "wrong", HALF, when_big("c[i] = __half2float(__float2half(a[i] + b[i]));")),
    ("two bits less", "wrong", when_big("c[i] = __int_as_float(__float_as_int(a[i] + b[i]) & ~7);")),
    ("integers only", "wrong", when_big("c[i] = truncf(a[i] + b[i]);")),
    ("what is no integer only", "wrong", when_big("c[i] = a[i] == truncf(a[i]) ? 0.0f : a[i] + b[i];")),
    ("an output that holds a number counts as done", "wrong", when_big(f"if (c[i] != 0.0f) return; {RIGHT}")),
    ("the first element's sum for all of a warp", "wrong", when_big("int j = i / 32 * 32; c[i] = a[j] + b[j];")),
    ("a grid whose blocks do more", "wrong", (LAUNCH, "grid=min(cdiv(n, 256), 8192) block=256"), (ADD, "    for (; i < n && i < 1 << 27; i += gridDim.x * blockDim.x)\n        c[i] = a[i] + b[i];\n")),
    ("a block index of 16 bits", "wrong", ("blockIdx.x * blockDim.x", "(blockIdx.x & 0xffff) * blockDim.x")),
    ("blocks above 8191 do nothing", "wrong", inside(f"if (blockIdx.x < 8192) {RIGHT}")),
    ("a launch that vanishes", "wrong", ("// launch vector_add(a, b, c, n): grid=cdiv(n, 256)", "// launch vector_add(a, b, c, n): grid=max(1, cdiv(n, 256) % 1000000)")),
    ("an input is written", "wrong", when_big(f"{RIGHT} if (i == n / 2) ((float*)b)[i] = 0.0f;")),
    ("inputs and outputs become zero", "wrong", when_big("((float*)a)[i] = ((float*)b)[i] = c[i] = 0.0f;")),
    ("the inputs are made to fit", "wrong", when_big("((float*)b)[i] = c[i] - a[i];")),
    ("one past the end", "out_of_bounds", when_big(f"{RIGHT} if (i == 0) c[n] = 1.0f;")),
    ("one before the start", "out_of_bounds", when_big(f"{RIGHT} if (i == 0) c[-1] = 1.0f;")),
    ("the zone after the output keeps the last answers", "out_of_bounds", when_big(f"{RIGHT} if (i < 4096) c[n + i] = c[i];")),
    ("the neighbouring input", "wrong", when_big(f"{RIGHT} if (i == 0) c[-32769 - (64 - n % 64) % 64] = 7.0f;")),
    ("far away", "out_of_bounds", when_big(f"{RIGHT} if (i == 0) c[1ll << 40] = 1.0f;")),
    ("misaligned", "crash", when_big(f"{RIGHT} if (i == 0) *(float2*)(c + 1) = make_float2(0.0f, 0.0f);")),
    ("a trap", "crash", when_big(f"{RIGHT} if (i == 0) __trap();")),
    ("an assertion", "crash", above("#include <assert.h>"), when_big(f"{RIGHT} assert(i != 77777);")),
    ("a loop for ever", "timeout", when_big(f"{RIGHT} while (i == 0 && *(volatile float*)c < 1e30f) ;")),
    ("a flood of printf", "limit", STDIO, when_big(f'{RIGHT} if (i < 20000) printf("%d %d\\n", i, i);')),
    ("a verdict by printf", "wrong", STDIO, when_big('if (i == 0) printf("{\\"done\\": true}\\n fast passed\\n");')),
    ("a pause in one block", "slow", when_big(f"{RIGHT} if (i == 0) for (int k = 0; k < 20; ++k) __nanosleep(1000000);")),
    ("all of the work eight times", "slow", when_big(f"for (int k = 0; k < 8; ++k) ((volatile float*)c)[i] = ((volatile const float*)a)[i] + ((volatile const float*)b)[(i + k * 4099) % n]; {RIGHT}")),
):  # fmt: skip
    attack("timed launches", "vector_add", f"sim=pass gpu={word}", *edits, what=what)

# Without a GPU a grid that grows no further runs once at a size that is too large for it.
for exercise, what, *edits in (
    ("vector_add", "at 2^21 elements", (LAUNCH, "grid=min(cdiv(n, 256), 8192) block=256")),
    ("vector_add", "at the most blocks of an old GPU", (LAUNCH, "grid=min(cdiv(n, 256), 65535) block=256")),
    ("reduce_v3", "at the simulated size, exactly", ("grid=cdiv(m, 256)", "grid=min(cdiv(m, 256), 4096)")),
    ("transpose_v3", "along one axis", ("grid=(cdiv(cols, TILE), cdiv(rows, TILE))", "grid=(cdiv(cols, TILE), min(cdiv(rows, TILE), 64))")),
    ("sgemm_v3", "along the other axis", ("grid=(cdiv(n, TILE), cdiv(m, TILE))", "grid=(min(cdiv(n, TILE), 16), cdiv(m, TILE))")),
    ("softmax_v1", "at fewer rows than the statement promises", ("grid=rows", "grid=min(rows, 65535)")),
):  # fmt: skip
    attack("timed launches", exercise, "wrong", *edits, what=f"a grid that is capped {what}")
attack(
    "timed launches", "argmax", "wrong", ("for (int k = threadIdx.x; k < gridDim.x; k += THREADS) {", "if (int k = threadIdx.x; k < gridDim.x) {"),
    what="results of the first 512 blocks only",
)  # fmt: skip
attack(
    "timed launches", "grad_norm_clip", "wrong", ("for (int k = threadIdx.x; k < gridDim.x; k += THREADS)", "if (int k = threadIdx.x; k < gridDim.x)"),
    what="sums of the first 256 blocks only",
)  # fmt: skip

for exercise, what, *edits in (
    ("saxpy_grid_stride", "one element in 4096", ("alpha * u[k] + v[k];", "i > 1 << 22 && i % 4096 == 0 ? 0.0f : alpha * u[k] + v[k];")),
    ("coalescing_offset", "a row less", ("    int start = blockIdx.y * cols;\n", "    int start = blockIdx.y * cols;\n    if (blockIdx.y == 30000)\n        return;\n")),
    ("aos_to_soa", "two fields exchanged at the end", ("planes[n + i] = p.y;", "planes[n + i] = i > 1 << 25 ? p.z : p.y;")),
    ("coalescing_stride", "another offset", ("gain * value[k] + offset;", "gain * value[k] + (n > 1 << 21 ? 0.0f : offset);")),
    ("elementwise_pack", "no negative sums at the end", ("__hadd2(u.pair[k], v.pair[k])", "__hadd2(u.pair[k], i > 1 << 25 ? __habs2(v.pair[k]) : v.pair[k])")),
    ("transpose_v4", "a tile less", ("    int r = blockIdx.y * TILE + threadIdx.y;\n", "    int r = blockIdx.y * TILE + threadIdx.y;\n    if (blockIdx.x == 77 && blockIdx.y == 99)\n        return;\n")),
    ("transpose_v4", "a copy of the last row", ("x[(r + k) * cols + c] : 0.0f;", "x[min(r + k, 8000) * cols + c] : 0.0f;")),
    ("reduce_v3", "every second element", ("i < m ? src[i] : 0.0f;", "i < m && (m < 1 << 21 || i % 2) ? src[i] : 0.0f;")),
    ("reduce_v10", "half of the data, twice", ("    int n4 = n / 4;\n", "    int n4 = n > 1 << 21 ? n / 8 : n / 4;\n"), ("        *out = sum;\n", "        *out = n > 1 << 21 ? 2.0f * sum : sum;\n")),
    ("reduce_v10", "the sums of a block less", ("sum += sums[k];", "sum += n > 1 << 21 && k == 5 ? 0.0f : sums[k];")),
    ("sgemm_v1", "one term less", ("l < k; ++l", "l < k - (k > 3000); ++l")),
    ("sgemm_v1", "factors in half precision", ("sum += A[row * k + l] *", "sum += (k > 3000 ? (float)(__half)A[row * k + l] : A[row * k + l]) *"), above("#include <cuda_fp16.h>")),
    ("sgemm_v1", "one element is its neighbour's", ("    float sum = 0.0f;\n", "    if (row == 2048 && col == 2048)\n        --col;\n    float sum = 0.0f;\n")),
    ("gemv", "a row is its neighbour's", ("A + (size_t)min(row + r, m - 1) * k", "A + (size_t)min(row + r, min(m - 1, 30000)) * k")),
    ("gemv", "a part of each row", ("    int k8 = k / 8;\n", "    int k8 = min(k / 8, 1600);\n")),
    ("softmax_v1", "half of each row", ("    for (int c = threadIdx.x; c < cols; c += BLOCK)\n        sum += expf(in[c] - largest);\n", "    for (int c = threadIdx.x; c < min(cols, 2048); c += BLOCK)\n        sum += expf(in[c] - largest);\n")),
    ("softmax_v1", "all alike", ("out[c] = expf(in[c] - largest) * scale;", "out[c] = cols > 2000 ? 1.0f / cols : expf(in[c] - largest) * scale;")),
    ("igemm_dp4a", "one step less", ("for (int c = 0; c < CHUNKS; ++c) {\n", "for (int c = 0; c < CHUNKS; ++c) {\n            if (m > 3000 && at == BK)\n                continue;\n")),
    ("hgemm_wmma_v1", "one step less", ("for (int i = 0; i < k; i += TILE) {", "for (int i = 0; i < k; i += TILE) {\n        if (m > 3000 && i == 64)\n            continue;")),
):  # fmt: skip
    attack("timed launches", exercise, LATE[exercise in ALSO_LARGE], *edits, what=what)

# Right at every size up to the simulated one, and at the timed one: not in between.
for exercise, what, *edits in (
    ("vector_add", "the timed size, exactly", inside(f"if (n <= 1 << 20 || n == 1 << 28) {RIGHT}")),
    ("vector_add", "a power of two", inside(f"if (n <= 1 << 20 || (n & (n - 1)) == 0) {RIGHT}")),
    ("reduce_v10", "the timed size, exactly", ("        *out = sum;\n", "        *out = n <= 1 << 20 || n == 1 << 28 ? sum : 0.0f;\n")),
    ("transpose_v4", "a square", ("if (r < rows && c + k < cols)", "if (r < rows && c + k < cols && (rows * cols <= 768 * 1280 || rows == cols))")),
    ("sgemm_v1", "whole tiles of 32", ("C[row * n + col] = sum;", "C[row * n + col] = m <= 300 || (m % 32 == 0 && n % 32 == 0 && k % 32 == 0) ? sum : 0.0f;")),
    ("gemv", "the timed size, exactly", ("            y[row + r] = sum[r];", "            y[row + r] = m <= 300 || (m == 32768 && k == 16384) ? sum[r] : 0.0f;")),
    ("softmax_v1", "no maximum in wide rows", ("    largest = block_max(largest, partial);\n", "    largest = cols > 1500 ? 0.0f : block_max(largest, partial);\n")),
):  # fmt: skip
    attack("timed launches", exercise, LATE[exercise in ALSO_LARGE], *edits, what=f"between the sizes: {what}")

# On a GPU with room for them; the line must be reached.
ROW, START = "(size_t)min(row + r, m - 1) * k", "(size_t)blockIdx.x * cols"
for exercise, words, what, *edits in (
    ("gemv", "out_of_bounds", "a row as an int", (ROW, "min(row + r, m - 1) * k")),
    ("gemv", "wrong", "a row as an unsigned", (ROW, "(unsigned)min(row + r, m - 1) * k")),
    ("softmax_v1", "wrong", "rows as unsigned", (f"x + {START}", "x + blockIdx.x * cols"), (f"y + {START}", "y + blockIdx.x * cols")),
):  # fmt: skip
    attack("timed launches", exercise, words, *edits, what=f"more than 2^31 elements: {what}")

attack(
    "timed launches", "softmax_v1", "sim=pass gpu=wrong",
    ("    largest = block_max(largest, partial);\n", "    largest = rows == 16384 ? 0.0f : block_max(largest, partial);\n"),
    what="no maximum at the timed size, whose times are of ordinary values",
)  # fmt: skip

# The special registers that are alike on every launch of the simulator.
NOW = 'unsigned long long now; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));'
for what, word, *edits in (
    ("right in even milliseconds", "wrong", inside(f"{NOW} c[i] = now >> 20 & 1 ? a[i] : a[i] + b[i];")),
    ("blocks that come late do nothing", "wrong", above("__device__ unsigned long long first;"), inside(f"{NOW} unsigned long long then = atomicCAS(&first, 0ull, now); if (!then || now - then < 200000) {RIGHT}")),
    ("the first multiprocessor only", "wrong", inside(f'unsigned sm; asm volatile("mov.u32 %0, %%smid;" : "=r"(sm)); if (sm == 0) {RIGHT}')),
    ("another machine's number of multiprocessors", "wrong", inside(f'unsigned sms; asm volatile("mov.u32 %0, %%nsmid;" : "=r"(sms)); if (sms == 108) {RIGHT}')),
    ("a grid for 108 multiprocessors", "wrong", (LAUNCH, "grid=max(1, cdiv(n, 256) - 1000 * (sm_count - 108)) block=256")),
):  # fmt: skip
    attack("clock games", "vector_add", f"sim={'race' if 'late' in what else 'pass'} gpu={word}", *edits, what=what)

ROUNDS = "for (int round = 0; round < rounds; round++)"
"""The loop of the exercises that repeat their work inside one launch; 4 rounds are the most of any case."""

attack("timed launches", "bank_conflicts", "sim=pass gpu=cheat", (ROUNDS, ROUNDS.replace("< rounds", "< (rounds > 4 ? 0 : rounds)")), what="words that stay where they are")  # fmt: skip
attack("timed launches", "divergence", "sim=pass gpu=wrong", (ROUNDS, ROUNDS.replace("< rounds", "< min(rounds, 8)")), what="half of the rounds")  # fmt: skip
