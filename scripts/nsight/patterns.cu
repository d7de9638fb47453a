// Memory access patterns with known addresses, to read the hardware's rules off Nsight Compute's counters.
//
//   nvcc -O3 -arch=native -o patterns patterns.cu
//   ./patterns --list            the patterns as JSON lines, in launch order
//   ./patterns [blocks rounds]   launch each of them once: `blocks` warps (one a block), `rounds` requests a warp
//
// Every lane's element index comes from constant memory, which the load/store counters do not see, so each counted
// request is one that the pattern names. One warp a block keeps arbitration between warps out of the wavefront counts.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

__constant__ int lane_index[32];
__constant__ unsigned active_lanes;

struct Word2 { uint16_t x; };
struct Word4 { uint32_t x; };
struct Word8 { uint32_t x, y; };
struct Word16 { uint32_t x, y, z, w; };

// Inline assembly, because a request must neither be split nor merged nor dropped by the compiler.
__device__ uint32_t global_read(const Word2* p) {
    uint16_t v;
    asm volatile("ld.global.u16 %0, [%1];" : "=h"(v) : "l"(p));
    return v;
}
__device__ uint32_t global_read(const Word4* p) {
    uint32_t v;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
}
__device__ uint32_t global_read(const Word8* p) {
    uint32_t x, y;
    asm volatile("ld.global.v2.u32 {%0,%1}, [%2];" : "=r"(x), "=r"(y) : "l"(p));
    return x ^ y;
}
__device__ uint32_t global_read(const Word16* p) {
    uint32_t x, y, z, w;
    asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(p));
    return x ^ y ^ z ^ w;
}
__device__ void global_write(Word2* p, uint32_t v) {
    asm volatile("st.global.u16 [%0], %1;" ::"l"(p), "h"((uint16_t)v) : "memory");
}
__device__ void global_write(Word4* p, uint32_t v) { asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }
__device__ void global_write(Word8* p, uint32_t v) {
    asm volatile("st.global.v2.u32 [%0], {%1,%1};" ::"l"(p), "r"(v) : "memory");
}
__device__ void global_write(Word16* p, uint32_t v) {
    asm volatile("st.global.v4.u32 [%0], {%1,%1,%1,%1};" ::"l"(p), "r"(v) : "memory");
}
__device__ uint32_t shared_read(const Word2*, uint32_t address) {
    uint16_t v;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(v) : "r"(address));
    return v;
}
__device__ uint32_t shared_read(const Word4*, uint32_t address) {
    uint32_t v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(address));
    return v;
}
__device__ uint32_t shared_read(const Word8*, uint32_t address) {
    uint32_t x, y;
    asm volatile("ld.shared.v2.u32 {%0,%1}, [%2];" : "=r"(x), "=r"(y) : "r"(address));
    return x ^ y;
}
__device__ uint32_t shared_read(const Word16*, uint32_t address) {
    uint32_t x, y, z, w;
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"(address));
    return x ^ y ^ z ^ w;
}
__device__ void shared_write(const Word2*, uint32_t address, uint32_t v) {
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"((uint16_t)v) : "memory");
}
__device__ void shared_write(const Word4*, uint32_t address, uint32_t v) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(v) : "memory");
}
__device__ void shared_write(const Word8*, uint32_t address, uint32_t v) {
    asm volatile("st.shared.v2.u32 [%0], {%1,%1};" ::"r"(address), "r"(v) : "memory");
}
__device__ void shared_write(const Word16*, uint32_t address, uint32_t v) {
    asm volatile("st.shared.v4.u32 [%0], {%1,%1,%1,%1};" ::"r"(address), "r"(v) : "memory");
}

// Round r of block b starts at its own 128-byte line, `span` bytes apart, so that sectors do not repeat between rounds.
template <typename T>
__device__ T* round_base(char* memory, long long span, int round) {
    return reinterpret_cast<T*>(memory + span * (blockIdx.x + (long long)round * gridDim.x));
}

// `never` is a value that the zero-filled memory cannot give: the store keeps the loads alive and never happens.
template <typename T>
__global__ void global_load(char* memory, long long span, int rounds, uint32_t never, uint32_t* sink) {
    if (!(active_lanes >> threadIdx.x & 1)) return;
    uint32_t seen = 0;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round)
        seen |= global_read(round_base<T>(memory, span, round) + lane_index[threadIdx.x]);
    if (seen == never) *sink = seen;
}
template <typename T>
__global__ void global_store(char* memory, long long span, int rounds, uint32_t, uint32_t*) {
    if (!(active_lanes >> threadIdx.x & 1)) return;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round)
        global_write(round_base<T>(memory, span, round) + lane_index[threadIdx.x], 0u);
}
template <typename T>
__global__ void shared_load(char*, long long, int rounds, uint32_t never, uint32_t* sink) {
    extern __shared__ __align__(128) char tile[];
    if (!(active_lanes >> threadIdx.x & 1)) return;
    uint32_t address = (uint32_t)__cvta_generic_to_shared(tile) + lane_index[threadIdx.x] * (uint32_t)sizeof(T);
    uint32_t seen = 0;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) seen += shared_read((const T*)0, address) | 1u;
    if (seen == never) *sink = seen;
}
template <typename T>
__global__ void shared_store(char*, long long, int rounds, uint32_t, uint32_t*) {
    extern __shared__ __align__(128) char tile[];
    if (!(active_lanes >> threadIdx.x & 1)) return;
    uint32_t address = (uint32_t)__cvta_generic_to_shared(tile) + lane_index[threadIdx.x] * (uint32_t)sizeof(T);
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) shared_write((const T*)0, address, (uint32_t)round);
}

using Kernel = void (*)(char*, long long, int, uint32_t, uint32_t*);
using Index = std::function<int(int)>;

struct Pattern {
    std::string name, space, operation;
    int width;
    Kernel kernel;
    int index[32];
    unsigned active;
};

static std::vector<Pattern> patterns;

static Kernel kernel_of(const std::string& space, const std::string& operation, int width) {
    bool load = operation == "load";
    if (space == "global") {
        if (width == 2) return load ? global_load<Word2> : global_store<Word2>;
        if (width == 4) return load ? global_load<Word4> : global_store<Word4>;
        if (width == 8) return load ? global_load<Word8> : global_store<Word8>;
        return load ? global_load<Word16> : global_store<Word16>;
    }
    if (width == 2) return load ? shared_load<Word2> : shared_store<Word2>;
    if (width == 4) return load ? shared_load<Word4> : shared_store<Word4>;
    if (width == 8) return load ? shared_load<Word8> : shared_store<Word8>;
    return load ? shared_load<Word16> : shared_store<Word16>;
}

static void add(const std::string& name, const std::string& space, const std::string& operation, int width,
                const Index& index, unsigned active = ~0u) {
    Pattern pattern{name, space, operation, width, kernel_of(space, operation, width), {}, active};
    for (int lane = 0; lane < 32; ++lane) pattern.index[lane] = index(lane);
    patterns.push_back(pattern);
}

// A linear congruential generator of our own: the same random patterns on every machine.
static unsigned random_state;
static unsigned random_below(unsigned limit) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % limit;
}

static void add_subsets(const std::string& space, const std::string& operation, int width) {
    Index own = [](int lane) { return lane; };
    add("lanes 0-15 only", space, operation, width, own, 0x0000ffffu);
    add("lanes 16-31 only", space, operation, width, own, 0xffff0000u);
    add("lanes 0-7 only", space, operation, width, own, 0x000000ffu);
    add("even lanes only", space, operation, width, own, 0x55555555u);
    add("every 4th lane", space, operation, width, own, 0x11111111u);
    add("lane 5 only", space, operation, width, own, 1u << 5);
}

static void add_global(const std::string& operation, int width) {
    const char* space = "global";
    if (width == 4 && operation == "load")
        for (int s = 1; s <= 32; ++s)
            add("stride " + std::to_string(s), space, operation, width, [s](int lane) { return lane * s; });
    else
        for (int s : {1, 2, 3, 4, 8, 16, 32})
            add("stride " + std::to_string(s), space, operation, width, [s](int lane) { return lane * s; });
    for (int offset : {1, 2, 3, 4, 7, 8, 31})
        add("offset " + std::to_string(offset), space, operation, width, [offset](int lane) { return lane + offset; });
    add("all lanes the same", space, operation, width, [](int) { return 5; });
    add("reversed", space, operation, width, [](int lane) { return 31 - lane; });
    add("pairs share", space, operation, width, [](int lane) { return lane / 2; });
    add("lane mod 4", space, operation, width, [](int lane) { return lane % 4; });
    add_subsets(space, operation, width);
    if (operation == "store") return;
    for (int seed = 1; seed <= 4; ++seed) {
        random_state = seed;
        add("random of 256, seed " + std::to_string(seed), space, operation, width, [](int) { return (int)random_below(256); });
    }
}

// Wide loads take fewer wavefronts where lanes l and l ^ 1, or l and l ^ 2, share: who must share, and what of idle lanes?
static void add_partners(const std::string& space, const std::string& operation, int width) {
    Index pairs = [](int lane) { return lane / 2; };
    Index alternating = [](int lane) { return lane % 2 + lane / 4 * 2; };
    add("alternating share", space, operation, width, alternating);
    add("lane mod 4 in groups of 8", space, operation, width, [](int lane) { return lane % 4 + lane / 8 * 4; });
    add("pairs below 16, alternating above", space, operation, width,
        [=](int lane) { return lane < 16 ? pairs(lane) : alternating(lane); });
    add("pairs and alternating by fours", space, operation, width,
        [=](int lane) { return lane / 4 % 2 ? alternating(lane) : pairs(lane); });
    add("pairs, lane 0 idle", space, operation, width, pairs, 0xfffffffeu);
    add("pairs, lane 9 differs", space, operation, width, [=](int lane) { return lane == 9 ? 40 : pairs(lane); });
    add("pairs, lane 9 differs, lane 8 idle", space, operation, width,
        [=](int lane) { return lane == 9 ? 40 : pairs(lane); }, 0xfffffeffu);
    add("one lane of each pair", space, operation, width, pairs, 0x66996699u);
    for (int seed = 1; seed <= 6; ++seed) {  // lanes of a pair or an alternating pair share; the elements collide by chance
        int elements[32], distance = seed % 2 + 1;
        random_state = seed * 15485863u;
        for (int lane = 0; lane < 32; ++lane) elements[lane] = (int)random_below(64);
        unsigned mask = seed <= 2 ? ~0u : random_below(1u << 16) | random_below(1u << 16) << 16 | 1u;
        add("random, l and l ^ " + std::to_string(distance) + " share, seed " + std::to_string(seed), space, operation, width,
            [&elements, distance](int lane) { return elements[lane & ~distance]; }, mask);
    }
}

static void add_shared(const std::string& operation, int width) {
    const char* space = "shared";
    for (int s : {1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33})
        add("stride " + std::to_string(s), space, operation, width, [s](int lane) { return lane * s; });
    add("all lanes the same", space, operation, width, [](int) { return 5; });
    add("reversed", space, operation, width, [](int lane) { return 31 - lane; });
    for (int d : {2, 4, 8, 16})
        add("lane / " + std::to_string(d), space, operation, width, [d](int lane) { return lane / d; });
    for (int m : {2, 4, 8, 16}) {
        add("lane mod " + std::to_string(m), space, operation, width, [m](int lane) { return lane % m; });
        // Groups of m lanes that hit the same banks at different addresses: shows which lanes are served together.
        add("groups of " + std::to_string(m) + " alias", space, operation, width,
            [m](int lane) { return lane % m + lane / m * 64; });
        add("neighbours 1/" + std::to_string(m) + " alias", space, operation, width,
            [m](int lane) { return lane / m + lane % m * 64; });
    }
    add("xor 1", space, operation, width, [](int lane) { return lane ^ 1; });
    add("two words, halves", space, operation, width, [](int lane) { return lane / 16 * 64; });
    add("two words, even and odd", space, operation, width, [](int lane) { return lane % 2 * 64; });
    add("two words, lanes 0-7 against the rest", space, operation, width, [](int lane) { return lane < 8 ? 0 : 64; });
    add("two words, lane 0 against the rest", space, operation, width, [](int lane) { return lane ? 64 : 0; });
    add_partners(space, operation, width);
    add_subsets(space, operation, width);
    add("stride 32, even lanes", space, operation, width, [](int lane) { return lane * 32; }, 0x55555555u);
    add("stride 32, lanes 0-7", space, operation, width, [](int lane) { return lane * 32; }, 0xffu);
    for (unsigned limit : {32u, 64u, 128u})
        for (int seed = 1; seed <= 6; ++seed) {
            random_state = seed * 7919u;
            add("random of " + std::to_string(limit) + ", seed " + std::to_string(seed), space, operation, width,
                [limit](int) { return (int)random_below(limit); });
        }
    for (int seed = 1; seed <= 4; ++seed) {  // lanes 0-15 ordered, the rest random; and sparse active masks
        random_state = seed * 104729u;
        unsigned mask = random_below(1u << 16) | random_below(1u << 16) << 16;
        add("random of 64, random lanes, seed " + std::to_string(seed), space, operation, width,
            [](int) { return (int)random_below(64); }, mask ? mask : 1u);
    }
}

static void print_list() {
    for (const Pattern& p : patterns) {
        printf("{\"name\": \"%s\", \"space\": \"%s\", \"operation\": \"%s\", \"width\": %d, \"active\": %u, \"index\": [",
               p.name.c_str(), p.space.c_str(), p.operation.c_str(), p.width, p.active);
        for (int lane = 0; lane < 32; ++lane) printf("%s%d", lane ? ", " : "", p.index[lane]);
        printf("]}\n");
    }
}

static void check(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    fprintf(stderr, "patterns: %s: %s\n", what, cudaGetErrorString(status));
    exit(1);
}

int main(int argc, char** argv) {
    for (const char* operation : {"load", "store"})
        for (int width : {2, 4, 8, 16}) add_global(operation, width);
    for (const char* operation : {"load", "store"})
        for (int width : {2, 4, 8, 16}) add_shared(operation, width);
    if (argc > 1 && !strcmp(argv[1], "--list")) return print_list(), 0;

    int blocks = argc > 1 ? atoi(argv[1]) : 132, rounds = argc > 2 ? atoi(argv[2]) : 16;
    const int shared_bytes = 48 << 10;  // the largest index is 33 * 31 or 15 * 64 + 16, of 16 bytes: 16.4 KB
    const long long span = 17 << 10;    // the largest global reach is 32 * 31 * 16 + 16 bytes
    char* memory;
    uint32_t* sink;
    check(cudaMalloc(&memory, span * blocks * rounds + (1 << 20)), "allocate");
    check(cudaMemset(memory, 0, span * blocks * rounds + (1 << 20)), "clear");
    check(cudaMalloc(&sink, 4), "allocate");
    for (const Pattern& p : patterns) {
        check(cudaMemcpyToSymbol(lane_index, p.index, sizeof p.index), "lane_index");
        check(cudaMemcpyToSymbol(active_lanes, &p.active, sizeof p.active), "active_lanes");
        p.kernel<<<blocks, 32, p.space == "shared" ? shared_bytes : 0>>>(memory, span, rounds, 0xdeadbeefu, sink);
        check(cudaDeviceSynchronize(), p.name.c_str());
    }
    printf("%zu patterns\n", patterns.size());
    return 0;
}
