// profile_reading_3: the temperature of bodies that cool down to that of the room, in 48 steps.
//
// bound: ?   YOUR CODE: what limits the kernel: memory, shared, instructions, special, double or shuffles
// predict: ?   YOUR CODE: the counter that the statement names, when CHANGED is defined

// launch cool(start, out, n): grid=cdiv(n, 256) block=256

constexpr int STEPS = 48;
constexpr double RATE = 0.05;

// The next version has a constant without a fraction in single precision.
#ifdef CHANGED
constexpr float ROOM = 20.0f;
#else
constexpr double ROOM = 20.0;
#endif

extern "C" __global__ void cool(const float* start, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float t = start[i];
    for (int step = 0; step < STEPS; step++)
        t += RATE * (ROOM - t);
    out[i] = t;
}
