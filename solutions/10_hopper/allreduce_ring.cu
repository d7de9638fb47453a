// allreduce_ring: what each GPU does when several train one model together. Nothing to change here, though you may: the
// ring is in allreduce_ring_host.py.
//
// Every GPU has the same parameters p, and data x of its own. In each round it works out its gradient, the gradients of
// all GPUs are added up, and every GPU takes the same step.

// p += rate / 16 · gradient, where the gradient is the sum of all GPUs' gradients; then this GPU's next one.
extern "C" __global__ void train(float* p, float* gradient, const float* x, float weight, float rate, int n)
{
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        float moved = p[i] + rate / 16.0f * gradient[i];
        p[i] = moved;
        gradient[i] = weight * (x[i] - moved);
    }
}

// mine += theirs. `theirs` is what a copy has brought to this GPU.
extern "C" __global__ void add(float* mine, const float* theirs, int count)
{
    int step = gridDim.x * blockDim.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    // Eight loads before the first store: none of them waits for another.
    for (; i + 3 * step < count; i += 4 * step) {
        float a = theirs[i], b = theirs[i + step], c = theirs[i + 2 * step], d = theirs[i + 3 * step];
        float e = mine[i], f = mine[i + step], g = mine[i + 2 * step], h = mine[i + 3 * step];
        mine[i] = e + a;
        mine[i + step] = f + b;
        mine[i + 2 * step] = g + c;
        mine[i + 3 * step] = h + d;
    }
    for (; i < count; i += step)
        mine[i] += theirs[i];
}
