// The grader's own kernels beside a submission: guard zones, the L2 cache, variables, and the control that watches the machine.

// Look for bytes of a guard zone that no longer hold `pattern`; *nearest becomes the least distance from the array.
// `after` says which end of the zone touches the array: its start (the zone after it) or its end (the zone before it).
extern "C" __global__ void find_changed(const unsigned char* zone, unsigned long long bytes, unsigned int pattern,
                                        int after, unsigned long long* nearest) {
    unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < bytes; i += step)
        if (zone[i] != pattern) atomicMin(nearest, after ? i : bytes - 1 - i);
}

// Read a clean buffer from end to end, which leaves nothing dirty in the L2. The sink is written only by a value that
// the buffer does not hold, and keeps the loads alive.
extern "C" __global__ void read_through(const uint4* clean, unsigned long long count, unsigned int never, unsigned int* sink) {
    unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    unsigned int seen = 0;
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < count; i += step) {
        uint4 v = clean[i];
        seen |= v.x | v.y | v.z | v.w;
    }
    if (seen == never) *sink = seen;
}

// The control kernel: a copy, one 16-byte element a thread. Its time is the machine's, not the submission's.
extern "C" __global__ void control_copy(const uint4* from, uint4* to, unsigned long long count) {
    unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    if (i < count) to[i] = from[i];
}

// Copy many small pieces, one block each: a submission's variables, to and from the copy that was put aside.
struct Piece { unsigned char* to; const unsigned char* from; unsigned long long bytes; };

extern "C" __global__ void copy_pieces(const Piece* pieces) {
    Piece piece = pieces[blockIdx.x];
    for (unsigned long long i = threadIdx.x; i < piece.bytes; i += blockDim.x) piece.to[i] = piece.from[i];
}
