// The same computation as streams_events, over the whole recording at once: how long computing takes by itself.
// launch streams_events(x, out, n): grid=cdiv(n, 256) block=256

#define DELAY 4096     // samples from a sound to its echo
#define HARMONICS 896  // harmonics 1 to 895
#define HIGHEST 512    // the first harmonic of the highest octave

extern "C" __global__ void streams_events(const float* x, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    // A sound is heard again DELAY samples later. Before the recording there is silence.
    float echo = i >= DELAY ? x[i - DELAY] : 0.0f;
    float sound = fminf(fmaxf(x[i] + echo, -1.0f), 1.0f);

    // Harmonics as in streams_overlap: the sum of strength(k) · T_k(sound), from the highest harmonic down.
    float twice = 2.0f * sound;
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
    out[i] = fmaf(sound, b1, -b2);
}
