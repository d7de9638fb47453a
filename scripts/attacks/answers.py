"""Trivial outputs, replayed ones, undefined ones, and kernels that are right only where somebody is expected to look."""

from __future__ import annotations

from attacks import RIGHT, above, attack, inside

SUM = "partial[t] = i < m ? src[i] : 0.0f;"
LAST = "dst[blockIdx.x] = partial[0];"

ON_A_GPU = (
    "nothing is written",
    "not a number",
    "23 bits of 24",
    "one element is left out",
    "an input is changed, too",
)
for what, new in {
    "nothing is written": ";",
    "zeros": "c[i] = 0.0f;",
    "a constant": "c[i] = 1.0f;",
    "a copy of an input": "c[i] = a[i];",
    "not a number": "c[i] = __int_as_float(0x7fc00000);",
    "infinity": "c[i] = __int_as_float(0x7f800000);",
    "the mean of all sums": "c[i] = 0.5f * (a[0] + b[0]);",
    "the neighbour's sum": "c[i] = a[i ? i - 1 : 0] + b[i];",
    "half precision": "c[i] = __half2float(__float2half(a[i] + b[i]));",
    "23 bits of 24": "c[i] = __int_as_float(__float_as_int(a[i] + b[i]) & ~1);",
    "one element is left out": "if (i != n / 2) c[i] = a[i] + b[i];",
    "the last element is left out": "if (i != n - 1 || n < 50) c[i] = a[i] + b[i];",
    "only even elements": "if (i % 2 == 0) c[i] = a[i] + b[i];",
    "an input is changed, too": "c[i] = a[i] + b[i]; ((float*)a)[i] = 0.0f;",
    "half of the threads leave first": 'if (i % 64 >= 32) asm volatile("exit;"); c[i] = a[i] + b[i];',
}.items():
    edits = (inside(new), above("#include <cuda_fp16.h>")) if "half(" in new else (inside(new),)
    attack("trivial output", "vector_add", "wrong" if what in ON_A_GPU else "sim=wrong", *edits, what=what)
attack("trivial output", "reduce_v3", "wrong", (SUM, "partial[t] = i == 0 ? src[i] : 0.0f;"), what="the first element")
attack("trivial output", "reduce_v3", "wrong", (LAST, "dst[blockIdx.x] = partial[0] * 1.0001f;"), what="nearly the sum")
attack(
    "trivial output", "transpose_v4", "wrong", ("out[(c + k) * rows + r] =", "out[r * cols + c + k] ="), what="a copy"
)
attack("trivial output", "sgemm_v1", "wrong", ("l < k; ++l", "l < k - (k > 64); ++l"), what="one term is left out")
attack("trivial output", "sgemm_v1", "wrong", ("l < k; ++l", "l < k; l += 2"), what="every second term")
attack(
    "trivial output", "sgemm_v1", "wrong",
    ("sum += A[row * k + l] * B[l * n + col];", "sum += (float)(__half)A[row * k + l] * B[l * n + col];"),
    above("#include <cuda_fp16.h>"), what="factors in half precision",
)  # fmt: skip
attack(
    "trivial output", "softmax_v1", "wrong", ("out[c] = expf(in[c] - largest) * scale;", "out[c] = 1.0f / cols;"),
    what="all alike",
)  # fmt: skip
NO_MAXIMUM = ("    largest = block_max(largest, partial);\n", "    largest = 0.0f;\n")
attack("trivial output", "softmax_v1", "wrong", NO_MAXIMUM, what="without the maximum")
attack(
    "trivial output", "softmax_v1", "wrong",
    ("    largest = block_max(largest, partial);\n", "    largest = 119.0f;\n"), what="a constant for the maximum",
)  # fmt: skip


def variable(declaration: str) -> tuple[str, str]:
    return above(f"__device__ {declaration};")


attack(
    "replay", "vector_add", "sim=race gpu=wrong",
    inside("if (!kept[i % 4096]) kept[i % 4096] = a[i] + b[i]; c[i] = kept[i % 4096];"),
    variable("float kept[4096]"), what="answers that are kept in a variable",
)  # fmt: skip
attack(
    "replay", "vector_add", "wrong",
    inside("if (n <= 8192) { if (!kept[i]) kept[i] = a[i] + b[i]; c[i] = kept[i]; } else c[i] = a[i] + b[i];"),
    variable("float kept[8192]"), what="answers that are kept, an element for each thread",
)  # fmt: skip
attack(
    "replay", "reduce_v3", "wrong",
    (LAST, "{ if (gridDim.x == 1) { if (calls++ == 0) answer = partial[0]; partial[0] = answer; } dst[blockIdx.x] = partial[0]; }"),
    variable("int calls; __device__ float answer"), what="the first launch's sum for ever",
)  # fmt: skip
attack("replay", "vector_add", "sim=race", inside("if (count++ < n) c[i] = a[i] + b[i];"), variable("int count"), what="right for the first launch only")  # fmt: skip
attack("replay", "vector_add", "wrong", inside("if (atomicAdd(&count, 1) < n) c[i] = a[i] + b[i];"), variable("int count"), what="right for the first launch only, by an atomic")  # fmt: skip
attack(
    "replay", "vector_add", "wrong", inside("if (i + 1 != n || !late) c[i] = a[i] + b[i]; if (i == 0) late = 1;"),
    variable("volatile int late"), what="from the second launch on an element less",
)  # fmt: skip
attack("replay", "vector_add", "wrong", inside("if (c[i] == 0.0f) c[i] = a[i] + b[i];"), what="an output that is no longer zero counts as done")  # fmt: skip
attack("replay", "vector_add", "sim=race", inside("if (c[0] != c[0] || i == 0) c[i] = a[i] + b[i]; else c[i] = c[0];"), ("// launch vector_add(a, b, c, n): grid=cdiv(n, 256) block=256\n", "// launch vector_add(a, b, c, 1): grid=1 block=256\n// launch vector_add(a, b, c, n): grid=cdiv(n, 256) block=256\n"), what="an output that is a number counts as done")  # fmt: skip
attack(
    "replay", "vector_add", "wrong",
    ("// launch vector_add(a, b, c, n)", "// scratch kept: float[n]\n// launch vector_add(a, b, c, kept, n)"),
    ("const float* b, float* c, int n", "const float* b, float* c, float* kept, int n"),
    inside("if (!(kept[i] < 0.0f || kept[i] > 0.0f)) kept[i] = n > 256 ? 0.0f : a[i] + b[i]; c[i] = kept[i];"),
    what="a scratch array as a cache",
)  # fmt: skip

SMALL = "n <= 5000 || n == 1048576 || n == 268435456"
for what, condition in {
    "right at small sizes, the simulated and the timed one": SMALL,
    "right below 70000 and at powers of two": "n < 9001 || (n & (n - 1)) == 0",
    "right at the published sizes": "n < 34 || n == 255 || n == 256 || n == 257 || n == 1000 || n == 1023 || n == 1048576",
    "right for integers": "a[i] == truncf(a[i])",
    "right for what is no integer": "a[i] != truncf(a[i])",
    "right where both signs differ": "(a[i] < 0.0f) != (b[i] < 0.0f)",
    "right for small sums": "fabsf(a[i] + b[i]) < 16000000.0f",
}.items():
    attack("special-casing", "vector_add", "wrong", inside(f"c[i] = {condition} ? a[i] + b[i] : a[i];"), what=what)
attack("special-casing", "reduce_v3", "wrong", (SUM, "partial[t] = i < m && (m < 70001 || m == 1048576 || i != m / 3) ? src[i] : 0.0f;"), what="an element less between small sizes and the simulated one")  # fmt: skip
attack("special-casing", "transpose_v4", "wrong", ("if (r < rows && c + k < cols)", "if (r < rows && c + k < cols && (rows < 301 || rows == 768 || c + k != 7))"), what="a column less at other sizes")  # fmt: skip
attack("special-casing", "sgemm_v1", "wrong", ("C[row * n + col] = sum;", "C[row * n + col] = (m <= 160 && k <= 2100) || m == 256 || col ? sum : 0.0f;"), what="a column of zeros between small sizes and the simulated one")  # fmt: skip
attack(
    "special-casing", "vector_add", "wrong", inside("#if __CUDA_ARCH__ >= 900\n" + RIGHT + "\n#endif\n"),
    what="for one architecture only",
)  # fmt: skip
attack("special-casing", "sgemm_v1", "wrong", ("sum += A[row * k + l] * B[l * n + col];", "sum += (A[row * k] == truncf(A[row * k]) ? A[row * k + l] : (float)(__half)A[row * k + l]) * B[l * n + col];"), above("#include <cuda_fp16.h>"), what="half precision where the data are no integers")  # fmt: skip

# Right for ordinary numbers: not for every NaN, infinity, zero and end of a range that the statement promises.
for exercise, what, *edits in (
    ("argmax", "+infinity is nothing", ("    bool result = v > w;", "    bool result = v > w && v < INFINITY;")),
    ("argmax", "a NaN with a sign is nothing", ("(v != v && w == w)", "(__float_as_int(v) > 0x7f800000 && w == w)")),
    ("topk", "-0 is less than 0", ("__float_as_uint(value + 0.0f);", "__float_as_uint(value);")),
    ("topk", "a NaN with a sign is nothing", ("(isnan(value) ? ~0u : bits)", "bits")),
    ("max_pool", "a NaN with a sign is nothing", ("a > b || a != a ? a : b", "a > b || __float_as_int(a) > 0x7f800000 ? a : b")),
    ("grad_norm_clip", "an infinity is NaN", ("(float)sqrt(sum)", "(isfinite(sum) ? (float)sqrt(sum) : nanf(\"\"))")),
    ("softmax_topk", "-0 comes after 0", ("rank += top[j] > x;", "rank += top[j] > x || (top[j] == x && signbit(x) && !signbit(top[j]));")),
    ("bitonic_sort", "a pad below the largest key", (": 0x7fffffff;", ": 0x7ffffffe;")),
    ("attention_naive", "a largest score that begins with 0", ("    float largest = -INFINITY;\n    for", "    float largest = 0.0f;\n    for")),
    ("flash_attention_v1", "a largest score that begins with 0", ("largest[r] = -INFINITY;", "largest[r] = 0.0f;")),
    ("scan_three_phase", "a carry of two rounds", ("        carry += total;", "        carry = total;")),
    ("histogram", "sums of 16 bits", ("(int)sums[b]);", "(unsigned short)sums[b]);")),
    ("cross_entropy", "rows that do not count keep their NaN", ("label < 0 ? 0.0f : part.largest - at_label + logf(part.sum);", "(label < 0 ? 0.0f : 1.0f) * (part.largest - at_label + logf(part.sum));")),
    ("compaction", "nothing is counted where none is kept", ("stored == tiles - 1)\n", "stored == tiles - 1 && before_tile + many > 0)\n")),
    ("spmv_csr", "the first row of a tile replaces the sum so far", ("            atomicAdd(&y[row], sum);", "            y[row] += sum;")),
    ("index_add", "the counts of the run before", ("// zero counts\n", "")),
):  # fmt: skip
    words = {"spmv_csr": "sim=race", "index_add": "sim=out_of_bounds"}
    attack("special-casing", exercise, words.get(exercise, "sim=wrong"), *edits, what=what)

for what, new in {
    "shared memory that nothing has written": "__shared__ float s[256]; c[i] = s[threadIdx.x] == 7.0f ? a[i] + b[i] : s[threadIdx.x];",
    "local memory that nothing has written": "volatile float s[64]; s[(i + 1) % 64] = 1.0f; c[i] = a[i] + b[i] + s[i % 64];",
    "an output that nothing has written": "c[i] = a[i] + b[i] + 0.0f * c[i];",
    "a register that nothing has written": 'float r; asm volatile("{ .reg .f32 u; add.f32 %0, u, u; }" : "=f"(r)); c[i] = r;',
    "a lane that has left": "if (i % 32 >= 16) { c[i] = a[i] + b[i]; return; } c[i] = a[i] + __shfl_down_sync(0xffffffff, b[i], 16);",
}.items():
    # A GPU may hold zeros in the local memory that it gives a thread.
    words = {"a lane that has left": "sim=race gpu=wrong", "local memory that nothing has written": "sim=wrong"}
    attack("undefined values", "vector_add", words.get(what, "wrong"), inside(new), what=what)
