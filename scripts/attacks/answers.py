"""Trivial outputs, replayed ones, and kernels that are right only where somebody is expected to look."""

from __future__ import annotations

from attacks import attack

ADD = "    if (i < n)\n        c[i] = a[i] + b[i];\n"
RIGHT = "c[i] = a[i] + b[i];"


def inside(statements: str) -> tuple[str, str]:
    """What threads with an element do instead."""
    return ADD, f"    if (i < n) {{\n        {statements}\n    }}\n"


SUM = "partial[t] = i < m ? src[i] : 0.0f;"
LAST = "dst[blockIdx.x] = partial[0];"

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
    "one element is left out": "if (i != n / 2) c[i] = a[i] + b[i];",
    "the last element is left out": "if (i != n - 1 || n < 50) c[i] = a[i] + b[i];",
    "only even elements": "if (i % 2 == 0) c[i] = a[i] + b[i];",
    "an input is changed, too": "c[i] = a[i] + b[i]; ((float*)a)[i] = 0.0f;",
}.items():
    before = "#include <cuda_fp16.h>\n" if "half" in new else ""
    attack("trivial output", "vector_add", "wrong", inside(new), ('extern "C"', before + 'extern "C"'), what=what)
attack("trivial output", "reduce_v3", "wrong", (SUM, "partial[t] = i == 0 ? src[i] : 0.0f;"), what="the first element")
attack("trivial output", "reduce_v3", "wrong", (LAST, "dst[blockIdx.x] = partial[0] * 1.0001f;"), what="nearly the sum")
attack(
    "trivial output", "transpose_v3", "wrong", ("out[(c + k) * rows + r] =", "out[r * cols + c + k] ="), what="a copy"
)
attack("trivial output", "sgemm_v1", "wrong", ("l < k; ++l", "l < k - (k > 64); ++l"), what="one term is left out")
attack("trivial output", "sgemm_v1", "wrong", ("l < k; ++l", "l < k; l += 2"), what="every second term")
attack(
    "trivial output", "softmax_v1", "wrong", ("out[c] = expf(in[c] - largest) * scale;", "out[c] = 1.0f / cols;"),
    what="all alike",
)  # fmt: skip
attack("trivial output", "softmax_v1", "wrong", ("- largest) * scale", ") * scale"), ("sum += expf(in[c] - largest)", "sum += expf(in[c])"), what="without the maximum")  # fmt: skip

attack(
    "replay", "vector_add", "wrong race", inside("static_cast<void>(0); if (!kept[i % 4096]) kept[i % 4096] = a[i] + b[i]; c[i] = kept[i % 4096];"),
    ("extern \"C\"", "__device__ float kept[4096];\nextern \"C\""), what="answers that are kept in a variable",
)  # fmt: skip
attack(
    "replay", "reduce_v3", "wrong",
    (LAST, "{ if (gridDim.x == 1) { if (calls++ == 0) answer = partial[0]; partial[0] = answer; } dst[blockIdx.x] = partial[0]; }"),
    ("extern \"C\"", "__device__ int calls; __device__ float answer;\nextern \"C\""), what="the first launch's sum for ever",
)  # fmt: skip
attack("replay", "vector_add", "wrong race", inside("if (count++ < n) c[i] = a[i] + b[i];"), ("extern \"C\"", "__device__ int count;\nextern \"C\""), what="right for the first launch only")  # fmt: skip
attack(
    "replay", "vector_add", "wrong race", inside("if (i + 1 != n || !late) c[i] = a[i] + b[i]; if (i == 0) late = 1;"),
    ("extern \"C\"", "__device__ volatile int late;\nextern \"C\""), what="from the second launch on an element less",
)  # fmt: skip

SMALL = "n <= 5000 || n == 1048576 || n == 268435456"
for what, condition in {
    "right at small sizes, the simulated and the timed one": SMALL,
    "right below 70000 and at powers of two": "n < 9001 || (n & (n - 1)) == 0",
    "right at the published sizes": "n < 34 || n == 255 || n == 256 || n == 257 || n == 1000 || n == 1023 || n == 1048576",
}.items():
    attack("special-casing", "vector_add", "wrong", inside(f"c[i] = {condition} ? a[i] + b[i] : a[i];"), what=what)
attack("special-casing", "reduce_v3", "wrong", (SUM, "partial[t] = i < m && (m < 70001 || m == 1048576 || i != m / 3) ? src[i] : 0.0f;"), what="an element less between small sizes and the simulated one")  # fmt: skip
attack("special-casing", "transpose_v3", "wrong", ("if (r < rows && c + k < cols)", "if (r < rows && c + k < cols && (rows < 301 || rows == 768 || c + k != 7))"), what="a column less at other sizes")  # fmt: skip
attack("special-casing", "sgemm_v1", "wrong", ("C[row * n + col] = sum;", "C[row * n + col] = (m <= 160 && k <= 2100) || m == 256 || col ? sum : 0.0f;"), what="a column of zeros between small sizes and the simulated one")  # fmt: skip
