// Element i of a head's first half belongs to element i of its second half.
__device__ inline long long pair_of(long long i, long long dim) { return i % (dim / 2); }
__device__ inline bool is_first(long long i, long long dim) { return i < dim / 2; }
__device__ inline long long partner(long long i, long long dim) { return i < dim / 2 ? i + dim / 2 : i - dim / 2; }
