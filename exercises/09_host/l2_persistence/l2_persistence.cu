// l2_persistence: searches walk through an index, 128 dependent steps at a time; in between, a long scan passes.
//
// The kernels are given, and right: nothing to change here, though you may. The exercise is l2_persistence_host.py.

#define BRANCHES 8    // successors of a node, in 32 bytes: one sector
#define STEPS 128     // steps of a search in one round
#define NUMBERS 4096  // the log holds numbers below this one
#define PERIOD 12288  // entries of the log until it repeats
#define SCAN_BLOCK 256

// The index stands for one that nobody could compute: branch b of node n leads to node next[n * BRANCHES + b].
extern "C" __global__ void build(unsigned* next, unsigned nodes)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nodes * BRANCHES)
        return;
    unsigned mixed = i * 0x9E3779B1u;
    mixed = (mixed ^ (mixed >> 15)) * 0x85EBCA77u;
    next[i] = __umulhi(mixed ^ (mixed >> 13), nodes);  // scaled to [0, nodes)
}

// The log stands for what was recorded long ago: some numbers occur often, some never.
extern "C" __global__ void record(unsigned* log, unsigned entries)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < entries) {
        unsigned mixed = i % PERIOD * 0x9E3779B1u;
        log[i] = (mixed ^ (mixed >> 15)) * 0x85EBCA77u >> 20;
    }
}

// One round of the searches. Where a search stands after round r is places[r * searches + search]. It goes on from
// there, moved on by as many nodes as the scan has found; the bits of its key tell which branches it takes.
extern "C" __global__ void walk(const unsigned* next, const unsigned* keys, const unsigned* found, unsigned* places,
                                unsigned nodes, unsigned searches, unsigned round)
{
    unsigned search = blockIdx.x * blockDim.x + threadIdx.x;
    if (search >= searches)
        return;
    unsigned key = keys[search] + round;
    unsigned node = __umulhi(key, nodes);
    if (round > 0)
        node = (places[(round - 1) * searches + search] + found[round - 1]) % nodes;
    for (int step = 0; step < STEPS; ++step) {
        key = key * 1664525u + 1013904223u;
        node = next[node * BRANCHES + (key >> 29)];  // nobody knows the next address before this one has been read
    }
    places[round * searches + search] = node;
}

// Somebody else's kernel, as it comes with a library: how often does the number that search 0 has arrived at occur in
// the log? Each entry is read once.
extern "C" __global__ void __launch_bounds__(SCAN_BLOCK)
scan(const uint4* log, const unsigned* places, unsigned* found, unsigned quads, unsigned searches, unsigned round)
{
    unsigned wanted = places[round * searches] % NUMBERS;
    unsigned count = 0;
#pragma unroll 4
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x) {
        uint4 four = log[i];
        count += (four.x == wanted) + (four.y == wanted) + (four.z == wanted) + (four.w == wanted);
    }
    for (int offset = 16; offset > 0; offset /= 2)
        count += __shfl_down_sync(0xFFFFFFFFu, count, offset);
    if (threadIdx.x % 32 == 0 && count > 0)
        atomicAdd(&found[round], count);
}
