// What a load costs while LOADS of each thread are in flight.
//
// Block 0 follows a chain: each load needs the value of the load before, so the time of one step is the latency. All
// other blocks stream: a thread has LOADS independent loads of 16 bytes in flight, and needs all of them before it
// issues the next. Every block works for `clocks` cycles of its own clock and counts what it did after the first tenth.
//
// x       pieces * 16 bytes, and LOADS * blockDim.x pieces more; pieces is a power of two
// chain   the next place of the chain, for each of `places` places; a place is a line of 128 bytes
// done    one for each block: loops of its threads, or steps of the chain; then, for block 0, nanoseconds
__device__ unsigned long long nanoseconds()
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

__device__ void follow(const unsigned* chain, long long clocks, unsigned long long* done)
{
    if (threadIdx.x)
        return;
    unsigned place = 0;
    long long begin = clock64();
    while (clock64() - begin < clocks / 10)
        place = chain[32ull * place];
    unsigned long long steps = 0, since = nanoseconds();
    while (clock64() - begin < clocks) {
        for (int k = 0; k < 8; ++k)
            place = chain[32ull * place];
        steps += 8;
    }
    done[gridDim.x] = nanoseconds() - since;
    done[0] = steps + (place == 0xFFFFFFFFu);
}

// One word of a piece, which is loaded whole: ptxas makes a load narrower whose other words nobody needs, unless it is
// volatile.
__device__ unsigned word_of_piece(const uint4* piece)
{
    unsigned x, y, z, w;
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(piece));
    return x;
}

template <int LOADS>
__device__ void stream(const uint4* x, long long pieces, long long clocks, unsigned long long* done)
{
    long long width = (long long)LOADS * blockDim.x;
    long long at = (blockIdx.x - 1) * width + threadIdx.x, step = (gridDim.x - 1) * width;
    unsigned long long loops = 0;
    long long begin = clock64(), now = begin;
    while (now - begin < clocks) {
        unsigned got[LOADS];
        for (int l = 0; l < LOADS; ++l)
            got[l] = word_of_piece(&x[(at & (pieces - 1)) + l * blockDim.x]);
        unsigned mixed = got[LOADS - 1]; // the last one first, and no sum: so none is used before all are issued
        for (int l = 0; l < LOADS - 1; ++l)
            mixed = (mixed ^ got[l]) * 5;
        at += step + (mixed == 0x9E3779B9u); // never equal, but only the loads can say so
        now = clock64();
        loops += now - begin > clocks / 10;
    }
    if (threadIdx.x == 0)
        done[blockIdx.x] = loops + (at < 0);
}

#define IN_FLIGHT(LOADS)                                                                                                \
    extern "C" __global__ void in_flight_##LOADS(const uint4* x, long long pieces, const unsigned* chain,               \
                                                 long long clocks, unsigned long long* done)                            \
    {                                                                                                                   \
        if (blockIdx.x == 0)                                                                                            \
            follow(chain, clocks, done);                                                                                \
        else                                                                                                            \
            stream<LOADS>(x, pieces, clocks, done);                                                                     \
    }
IN_FLIGHT(1)
IN_FLIGHT(2)
IN_FLIGHT(4)
IN_FLIGHT(8)
