"""The technique for the counters only: accesses that no answer needs, or at the counted size alone."""

from __future__ import annotations

from attacks import ADD, BEFORE, LAUNCH, attack

# Each thread takes 16 neighbouring elements: a request touches 16 times the sectors that it needs.
STRIDED = "    for (int k = 16 * i; k < min(16 * i + 16, n); ++k)\n        c[k] = a[k] + b[k];\n"
FEWER = (LAUNCH, "grid=cdiv(n, 4096) block=256")
for what, *edits in (
    ("nothing hidden", (ADD, STRIDED), FEWER),
    ("loads that all threads share", (ADD, "    float s = 0.0f;\n    for (int k = 0; k < 64; ++k)\n        s += ((volatile const float*)a)[0];\n" + STRIDED.replace("= a[k]", "= 0.0f * s + a[k]")), FEWER),
    ("loads that nobody needs", (ADD, "    for (int k = i; k < n; k += 1 << 16)\n        (void)((volatile const float*)a)[k];\n" + STRIDED), FEWER),
    ("results by atomics", (ADD, STRIDED.replace("c[k] = a[k] + b[k];", "atomicExch(c + k, a[k] + b[k]);")), FEWER),
    ("everything by atomics", (ADD, STRIDED.replace("c[k] = a[k] + b[k];", "atomicExch(c + k, atomicAdd((float*)a + k, 0.0f) + atomicAdd((float*)b + k, 0.0f));")), FEWER),
    ("only at the published size", (ADD, "    if (n == 1 << 20) {\n        for (int k = i; k < n; k += gridDim.x * blockDim.x)\n            c[k] = a[k] + b[k];\n        return;\n    }\n" + STRIDED), FEWER),
    ("only for a grid of the published size", (ADD, "    if (gridDim.x == 256) {\n        for (int k = i; k < n; k += gridDim.x * blockDim.x)\n            c[k] = a[k] + b[k];\n        return;\n    }\n" + STRIDED), FEWER),
    ("a right launch, and then a strided one", (f"// launch vector_add(a, b, c, n): {LAUNCH}\n", f"// launch plain(a, b, c, n): {LAUNCH}\n// launch vector_add(a, b, c, n): grid=cdiv(n, 4096) block=256\n"), (ADD, STRIDED), (BEFORE, "extern \"C\" __global__ void plain(const float* a, const float* b, float* c, int n)\n{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        c[i] = a[i] + b[i];\n}\n\nextern \"C\"")),
):  # fmt: skip
    attack("technique by padding", "vector_add", "sim=technique", *edits, what=what)

LAST = "    if (threadIdx.x == 0)\n        last = draw_ticket(sums, sum) == gridDim.x - 1;\n"
attack("technique by padding", "reduce_v10", "sim=technique", ("// launch reduce_v10(x, sums, out, n)", "// zero out\n// launch reduce_v10(x, sums, out, n)"), (LAST, "    if (threadIdx.x == 0)\n        atomicAdd(out, sum);\n    return;\n"), what="atomics alone")  # fmt: skip
attack("technique by padding", "transpose_v4", "sim=technique", ("float tile[TILE][TILE + 1];", "float tile[TILE][TILE];"), what="no padding, and other banks")  # fmt: skip
attack("technique by padding", "gemv", "sim=technique", ("sum[r] = add_products(a[r][u], v, sum[r]);", "sum[r] = add_products(make_uint4(*(const unsigned*)(a8[r] + start + 32 * u + lane), a[r][u].y, a[r][u].z, a[r][u].w), v, sum[r]);"), what="each row is read once more")  # fmt: skip
attack("technique by padding", "elementwise_pack", "sim=technique", ("        u.whole = reinterpret_cast<const uint4*>(a)[i];\n", "        for (int k = 0; k < 4; ++k)\n            u.pair[k] = reinterpret_cast<const __half2*>(a)[4 * i + k];\n"), what="one array in pieces")  # fmt: skip
attack("technique by padding", "reduce_v10", "sim=technique", ("// launch reduce_v10(x, sums, out, n)", "// zero out\n// launch reduce_v10(x, sums, out, n)"), (LAST, "    if (threadIdx.x == 0) {\n        sums[blockIdx.x] = sum;\n        atomicAdd(out, sum);\n    }\n    return;\n"), what="atomics, and a store that nobody reads")  # fmt: skip
attack("technique by padding", "bank_conflicts", "sim=technique", ("            planes[16 * rows * (j / 512) + pair] = word[k];", "            planes[16 * rows * (j / 512) + pair] = word[k] == 1e38f ? 0.0f : x[2 * pair + j / 512];"), what="a tile that no result needs")  # fmt: skip
attack("technique by padding", "argmax", "sim=technique", ("        float4 a = x4[i];\n", "        float4 a = {x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]};\n"), what="one wide load among narrow ones")  # fmt: skip
attack("technique by padding", "histogram", "sim=technique", ("            count(column, v[i].x);\n            count(column, v[i].y);\n", "            atomicAdd(&counts[v[i].x], 1);\n            atomicAdd(&counts[v[i].y], 1);\n"), what="half of the keys by atomics on the result")  # fmt: skip
