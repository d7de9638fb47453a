// How fast is shared memory, as a tile that changes hands? Every thread stores four words and takes four that another warp
// has stored, then all go back through a second tile, a barrier each time: 64 bytes a thread and round, no bank conflict.

extern "C" __global__ void __launch_bounds__(256) shared_f32(long long rounds, float* sink)
{
    __shared__ float there[1024], back[1024];
    int mine = threadIdx.x, theirs = (threadIdx.x + 32) % 256;
    float word[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        word[k] = mine + k;
    for (long long round = 0; round < rounds; ++round) {
#pragma unroll
        for (int k = 0; k < 4; ++k)
            there[mine + 256 * k] = word[k];
        __syncthreads();  // all words are stored; the other tile's barrier comes before this one is used again
#pragma unroll
        for (int k = 0; k < 4; ++k)
            word[k] = there[theirs + 256 * k];
#pragma unroll
        for (int k = 0; k < 4; ++k)
            back[theirs + 256 * k] = word[k];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 4; ++k)
            word[k] = back[mine + 256 * k];
    }
    if (word[0] + word[1] + word[2] + word[3] == -1.0f)  // none is negative; it keeps the words alive
        *sink = word[0];
}
