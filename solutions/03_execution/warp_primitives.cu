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

    // All 32 lanes vote. Those with a message are the mask of all that follows: the others do not come there.
    unsigned present = __ballot_sync(0xffffffff, sensor >= 0);
    if (sensor >= 0) {
        int reading = readings[i];

        // The lanes with a message of the same sensor, this one included; and those of them that come before it.
        unsigned peers = __match_any_sync(present, sensor);
        unsigned before = peers & ((1u << lane) - 1);

        // The last one before is the highest set bit. The shuffle stands in no further branch: every lane of its mask
        // takes part, and a lane without an earlier peer reads itself.
        int source = before ? 31 - __clz(before) : lane;
        int earlier = __shfl_sync(present, reading, source);
        change = before ? reading - earlier : reading;

        // The lowest peer is the leader: it adds for all of them.
        if (lane == __ffs(peers) - 1)
            atomicAdd(&counts[sensor], __popc(peers));
    }
    if (i < n)
        changes[i] = change;
}
