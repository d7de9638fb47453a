// warp_primitives: n messages of some sensors. counts[s] is the number of those of sensor s, and changes[i] is how
// much reading i differs from the last earlier one of the same sensor in its group of 32. A sensor below 0 is a gap: no
// message, and a change of 0.
//
// A thread has one message, so a group is a warp. The warp's lanes learn about each other without memory.

// launch zero(counts, bins): grid=cdiv(bins, 256) block=256
// launch warp_primitives(sensors, readings, counts, changes, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void zero(int* counts, int bins)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s < bins)
        counts[s] = 0;
}

extern "C" __global__ void warp_primitives(const int* sensors, const int* readings, int* counts, int* changes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32;

    int sensor = i < n ? sensors[i] : -1;
    int change = 0;

    // YOUR CODE: which lanes have a message? Ask while all 32 lanes are here.

    if (sensor >= 0) {
        int reading = readings[i];

        // YOUR CODE: which lanes have a message of the same sensor, and which of these come before this lane?

        // YOUR CODE: the reading of the last one before, and from it the change.

        // YOUR CODE: one lane of each sensor adds to counts, for all of them.
    }
    if (i < n)
        changes[i] = change;
}
