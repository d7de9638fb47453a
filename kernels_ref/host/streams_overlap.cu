// The same computation as streams_overlap, over the whole recording at once: how long computing takes by itself.
// launch streams_overlap(x, out, n): grid=cdiv(n, 256) block=256

#define HARMONICS 896  // harmonics 1 to 895
#define HIGHEST 512    // the first harmonic of the highest octave

// x and out: the recording's n samples and the results, in the GPU's memory.
extern "C" __global__ void streams_overlap(const float* x, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    // The sum of strength(k) · T_k(x[i]). As T_k(cos t) = cos(k·t), a sine wave gets its k-th harmonic. The harmonics
    // of an octave (1; 2, 3; 4 to 7; …) are equally strong, each octave half as strong as the one below. Clenshaw's
    // recurrence goes from the highest harmonic down: one subtraction and one multiply-add for each.
    float twice = 2.0f * x[i];
    float b1 = 0.0f, b2 = 0.0f;
    for (int first = HIGHEST; first > 0; first /= 2) {
        float strength = 1.0f / first;
        int width = min(first, HARMONICS - first);
#pragma unroll 16
        for (int k = 0; k < width; ++k) {
            float b = fmaf(twice, b1, strength - b2);
            b2 = b1;
            b1 = b;
        }
    }
    out[i] = fmaf(x[i], b1, -b2);
}
