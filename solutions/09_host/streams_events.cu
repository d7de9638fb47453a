// streams_events: an echo, 4096 samples late, and harmonics. Each chunk needs the end of the chunk before it.
//
// Nothing has to be changed here, though you may. The launches are in streams_events_host.py: one for each chunk.

#define DELAY 4096     // samples from a sound to its echo
#define HARMONICS 896  // harmonics 1 to 895
#define HIGHEST 512    // the first harmonic of the highest octave

// x: the chunk's n samples. before: the DELAY samples that come before them in the recording.
extern "C" __global__ void streams_events(const float* x, const float* before, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    // A sound is heard again DELAY samples later. The first DELAY samples of a chunk hear what is in the chunk before.
    float echo = i >= DELAY ? x[i - DELAY] : before[i];
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
