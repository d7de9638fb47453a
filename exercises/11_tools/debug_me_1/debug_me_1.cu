// debug_me_1: the energy of each frame of an audio stream: the sum of the squares of its samples, one block a frame.
//
// bug: ?   YOUR CODE: the line of this file, as you got it, where the bug is. Fix the kernel below.

constexpr int THREADS = 128;

// launch frame_energy(x, energy, length): grid=frames block=THREADS

// The samples of one frame that belong to a thread: every 128th, so that neighbouring threads load neighbouring floats.
__device__ float energy_of(const float* frame, int length)
{
    float sum = 0.0f;
    for (int i = threadIdx.x; i < length; i += THREADS)
        sum += frame[i] * frame[i];
    return sum;
}

extern "C" __global__ void frame_energy(const float* x, float* energy, int length)
{
    __shared__ float part[THREADS];
    int t = threadIdx.x;

    float sum = energy_of(x + (size_t)blockIdx.x * length, length);
    part[t] = sum;

    // Barrier: the first warp now reads the words of the three others, which have nothing more to do.
    __syncthreads();
    if (t >= 32)
        return;

    // One warp is left, so a barrier of the warp is enough: all lanes store, then all lanes read their partner's word.
    sum = part[t] + part[t + 32] + part[t + 64] + part[t + 96];
    for (int s = 16; s > 0; s /= 2) {
        part[t] = sum;
        __syncwarp();
        sum += part[t + s];
    }

    if (t == 0)
        energy[blockIdx.x] = sum;
}
