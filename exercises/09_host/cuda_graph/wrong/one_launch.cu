// expect: sim=technique gpu=slow
// Right, but one block makes all steps in one launch: no graph is needed, and one multiprocessor does all the work.

// cuda_graph: all steps in one launch of one block, which can wait for itself.

extern "C" __global__ void cuda_graph(float* rod, float* other, const float* heat, int steps, int n)
{
    for (int step = 0; step < steps; ++step) {
        const float* now = step % 2 ? other : rod;
        float* then = step % 2 ? rod : other;
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            float left = i > 0 ? now[i - 1] : heat[step];
            float right = i < n - 1 ? now[i + 1] : now[i];
            then[i] = 0.25f * left + 0.5f * now[i] + 0.25f * right;
        }
        __syncthreads();
    }
}
