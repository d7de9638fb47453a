// One step of cooperative_grid, which a plain loop launches `steps` times: what the single launch is held against.

// launch cooperative_grid(x, out, heat, n): grid=cdiv(n, 1024) block=1024

// now: the rod's n temperatures. then: the same after one step. heat: the temperature left of the rod.
extern "C" __global__ void cooperative_grid(const float* now, float* then, const float* heat, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    // Nothing flows out of the right end: the last point is its own neighbour there.
    float left = i > 0 ? now[i - 1] : heat[0];
    float right = i < n - 1 ? now[i + 1] : now[i];
    then[i] = 0.25f * left + 0.5f * now[i] + 0.25f * right;
}
