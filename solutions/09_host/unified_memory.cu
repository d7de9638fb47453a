// unified_memory: clean the lines of a detector in three turns: the GPU, the host, the GPU again.
//
// The kernels are given, and right: nothing to change here, though you may. The exercise is unified_memory_host.py.

#define WIDTH 2048  // samples of a line
#define STRIP 64    // the first samples of a line, which see the background only

// Turn 1. clean = each sample, or the middle one of it and its two neighbours in the line: single spikes disappear.
// strip = the first STRIP samples of each line once more, close together, for the host.
extern "C" __global__ void despike(const float* lines, float* clean, float* strip, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count * WIDTH)
        return;
    int column = i % WIDTH;
    float value = lines[i];
    if (column > 0 && column < WIDTH - 1) {
        float left = lines[i - 1];
        float right = lines[i + 1];
        value = fmaxf(fminf(left, right), fminf(fmaxf(left, right), value));  // the middle one of three
    }
    clean[i] = value;
    if (column < STRIP)
        strip[i / WIDTH * STRIP + column] = value;
}

// Turn 3. result = clean less the background, whose strength in each line the host has found.
extern "C" __global__ void subtract(const float* clean, const float* profile, const float* strength, float* result,
                                    int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count * WIDTH)
        result[i] = clean[i] - strength[i / WIDTH] * profile[i % WIDTH];
}
