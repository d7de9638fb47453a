// Blocks on a multiprocessor as the CUDA toolkit's own header counts them: one line of numbers in, one number out.
//   major minor warps shared shared_per_block reserved threads registers shared_bytes

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "cuda_occupancy.h"

int main()
{
    int major, minor, warps, threads, registers;
    size_t shared, per_block, reserved, bytes;
    while (std::scanf("%d %d %d %zu %zu %zu %d %d %zu", &major, &minor, &warps, &shared, &per_block, &reserved, &threads,
                      &registers, &bytes) == 9) {
        cudaOccDeviceProp device;
        device.computeMajor = major;
        device.computeMinor = minor;
        device.maxThreadsPerBlock = 1024;
        device.maxThreadsPerMultiprocessor = 32 * warps;
        device.regsPerBlock = device.regsPerMultiprocessor = 1 << 16;
        device.warpSize = 32;
        device.sharedMemPerBlock = 48 << 10;
        device.sharedMemPerMultiprocessor = shared;
        device.sharedMemPerBlockOptin = per_block;
        device.reservedSharedMemPerBlock = reserved;
        device.numSms = 1;
        cudaOccFuncAttributes kernel;
        kernel.maxThreadsPerBlock = 1024;
        kernel.numRegs = registers;
        kernel.sharedSizeBytes = 0;
        kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
        kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        kernel.maxDynamicSharedSizeBytes = per_block;
        cudaOccDeviceState state;
        state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
        cudaOccResult found;
        const int error = cudaOccMaxActiveBlocksPerMultiprocessor(&found, &device, &kernel, &state, threads, bytes);
        std::printf("%d\n", error ? -error : found.activeBlocksPerMultiprocessor);
    }
}
