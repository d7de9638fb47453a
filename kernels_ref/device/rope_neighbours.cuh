// Neighbours belong together: elements 2i and 2i + 1 of a head.
__device__ inline long long pair_of(long long i, long long dim) { return i / 2; }
__device__ inline bool is_first(long long i, long long dim) { return i % 2 == 0; }
__device__ inline long long partner(long long i, long long dim) { return i ^ 1; }
