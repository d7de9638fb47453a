"""Kernels that are right in one order of warps, blocks and stores, and in one launch."""

from __future__ import annotations

from attacks import attack

INC = "    ticket = atomicInc(&tickets, gridDim.x - 1);\n"
STORE = "    sums[blockIdx.x] = sum;\n"
FENCE = "    // Fence: whoever sees this ticket drawn sees the sum stored. Without it the ticket may overtake the sum.\n    __threadfence();\n"
VOLATILE_STORE = (STORE, "    ((volatile float*)sums)[blockIdx.x] = sum;\n")
READ = ("sum += sums[k];", "sum += ((volatile float*)sums)[k];")

for what, new in {
    "a volatile counter": "    volatile unsigned int* c = &tickets;\n    ticket = *c;\n    *c = ticket == gridDim.x - 1 ? 0 : ticket + 1;\n",
    "two atomics for one step": "    ticket = atomicAdd(&tickets, 0);\n    atomicExch(&tickets, ticket == gridDim.x - 1 ? 0 : ticket + 1);\n",
    "the block with the highest number": "    ticket = blockIdx.x;\n",
    "the block with the lowest number": "    ticket = blockIdx.x ? 0 : gridDim.x - 1;\n",
}.items():  # fmt: skip
    attack(
        "schedule",
        "reduce_v10",
        "sim=wrong" if "lowest" in what else "sim=race",
        (INC, new),
        VOLATILE_STORE,
        READ,
        what=what,
    )
attack("schedule", "reduce_v10", "sim=race", (FENCE, "    if (blockIdx.x > 1u << 30)\n        __threadfence();\n"), VOLATILE_STORE, READ, what="a fence that never runs")  # fmt: skip
attack("schedule", "reduce_v10", "sim=race", (FENCE, ""), VOLATILE_STORE, READ, what="no fence, and volatile sums")
attack("schedule", "reduce_v10", "sim=race", (FENCE, ""), what="no fence")
OF_BLOCK = (FENCE, "    __threadfence_block();\n")
attack("schedule", "reduce_v10", "sim=race", OF_BLOCK, what="a fence of the block")
attack("schedule", "reduce_v10", "sim=race", OF_BLOCK, VOLATILE_STORE, READ, what="a fence of the block, and volatile sums")  # fmt: skip
attack("schedule", "reduce_v10", "sim=race", (INC, INC.replace("atomicInc(", "atomicInc_block(")), what="an atomic of the block")  # fmt: skip
PUBLISHED = "                    published[scanned] = (unsigned long long)(launch + 1) << 32 | __float_as_uint(sum);\n"
IN_TWO = "{{ volatile unsigned int* word = (volatile unsigned int*)&published[scanned]; word[{}] = {}; {} word[{}] = {}; }}\n"
VALUE, TAG = "__float_as_uint(sum)", "launch + 1"
for what, words in {
    "the flag before the value": (1, TAG, "", 0, VALUE),
    "no fence between the value and the flag": (0, VALUE, "", 1, TAG),
    "a fence of the block between the value and the flag": (0, VALUE, "__threadfence_block();", 1, TAG),
}.items():
    attack("schedule", "scan_lookback", "sim=race", (PUBLISHED, IN_TWO.format(*words)), what=what)
WAITED_FOR = """    ticket = blockIdx.x;
    if (blockIdx.x < gridDim.x - 1)
        atomicAdd(&tickets, 1);
    else {
        while (*(volatile unsigned int*)&tickets < gridDim.x - 1)
            ;
        tickets = 0;
    }
"""
attack("schedule", "reduce_v10", "sim=race", (FENCE, ""), (INC, WAITED_FOR), VOLATILE_STORE, READ, what="a block that waits for the others, and no fence")  # fmt: skip

TREE = """    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        // Words t and t + s: neighbouring threads use neighbouring words, so the lanes of a warp meet 32 different
        // banks. Nobody writes word t + s in this step, because t + s >= s.
        if (t < s)
            partial[t] += partial[t + s];

        // Barrier: the next step reads sums that other warps make in this one. It stands outside the `if`,
        // because every thread of the block has to arrive.
        __syncthreads();
    }
"""
STORED = "    partial[t] = i < m ? src[i] : 0.0f;\n\n    // Barrier: from here on threads read words that other threads have stored.\n    __syncthreads();\n"
LAST = "        dst[blockIdx.x] = partial[0];"
DEAD_FENCE = "    if (m < 0)\n        __threadfence();\n"
for what, stored, tree in (
    ("the last warp in lockstep, volatile, behind a dead fence", STORED,
     DEAD_FENCE + "    volatile float* w = partial;\n    for (int s = 128; s > 0; s /= 2) {\n        if (t < s)\n            w[t] += w[t + s];\n        if (s > 32)\n            __syncthreads();\n    }\n"),
    ("no barrier before the tree, volatile, an index that suits the order",
     DEAD_FENCE + "    int r = 255 - t;\n    volatile float* w = partial;\n    w[r] = blockIdx.x * 256 + r < m ? src[blockIdx.x * 256 + r] : 0.0f;\n",
     "    for (int s = 128; s > 0; s /= 2) {\n        if (r < s)\n            w[r] += w[r + s];\n        __syncthreads();\n    }\n    t = r;\n"),
    ("no barrier at all, volatile, an index that suits the order",
     DEAD_FENCE + "    int r = 255 - t;\n    volatile float* w = partial;\n    w[r] = blockIdx.x * 256 + r < m ? src[blockIdx.x * 256 + r] : 0.0f;\n",
     "    for (int s = 128; s > 0; s /= 2)\n        if (r < s)\n            w[r] += w[r + s];\n    t = r;\n"),
):  # fmt: skip
    attack("schedule", "reduce_v3", "sim=race", (STORED, stored), (TREE, tree), what=what)
attack("schedule", "reduce_v3", "sim=race", ("partial[t] += partial[t + s];\n", "partial[t] += partial[t + s];\n        if (s <= 32)\n            continue;\n"), what="no barrier among the last 32")  # fmt: skip
attack("schedule", "reduce_v3", "sim=race", (STORED, STORED.replace("    __syncthreads();\n", "")), what="no barrier before the tree")  # fmt: skip
attack("schedule", "transpose_v4", "sim=race", ("    __syncthreads();\n", ""), what="no barrier before the columns")
attack(
    "schedule",
    "transpose_v4",
    "sim=race",
    ("    __syncthreads();\n", "    __syncwarp();\n"),
    what="a warp's barrier for a block's",
)

for what, new in {
    "tickets that are never reset": "    ticket = atomicAdd(&tickets, 1);\n",
    "tickets that wrap one too late": "    ticket = atomicInc(&tickets, gridDim.x);\n",
    "tickets that wrap at a constant": "    ticket = atomicInc(&tickets, gridDim.x == 1 ? 0 : 1000000);\n",
}.items():
    attack("state", "reduce_v10", "wrong", (INC, new), what=what)
