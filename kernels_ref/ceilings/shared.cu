// How fast is shared memory, as a tile that changes hands? Every thread stores a word and takes the one that another warp
// has stored, with a barrier after each: 8 bytes a thread and round, and no bank conflict.

extern "C" __global__ void __launch_bounds__(256) shared_f32(long long rounds, float* sink)
{
    __shared__ float tile[256];
    float mine = threadIdx.x, theirs = 0.0f;
    for (long long round = 0; round < rounds; ++round) {
        tile[threadIdx.x] = mine;
        __syncthreads();  // the words of all warps are stored
        theirs = tile[(threadIdx.x + 32) % 256];
        __syncthreads();  // all of them are loaded, and may be overwritten
    }
    if (theirs == -1.0f)  // no thread has that number; it keeps the loads alive
        *sink = theirs;
}
