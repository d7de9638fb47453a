// Loads in order of memory, turns the records in shared memory, stores in order of memory.
// launch split_fields(particles, planes, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void split_fields(const float* particles, float* planes, int n)
{
    __shared__ float box[4][257];
    int begin = blockIdx.x * 256;
    int count = min(256, n - begin);
    for (int word = threadIdx.x; word < 4 * count; word += 256)
        box[word % 4][word / 4] = particles[4 * begin + word];
    __syncthreads();
    for (int f = 0; f < 4; ++f)
        if (threadIdx.x < count)
            planes[f * n + begin + threadIdx.x] = box[f][threadIdx.x];
}
