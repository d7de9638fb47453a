// Ways to read frames of 1024 floats from mapped host memory. gpu_checks/zero_copy_sweep.py times every combination.

#define FRAME 1024
#define LOADS (FRAME / 4 / 32)  // float4 of a frame in each lane

__device__ float square(float4 v) { return v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w; }

__device__ void finish(float energy, float* out, int f, int lane)
{
    for (int s = 16; s > 0; s /= 2)
        energy += __shfl_down_sync(0xffffffff, energy, s);
    if (lane == 0)
        out[f] = energy;
}

// FLIGHT float4 of a lane on their way together: 4 is half a frame, 8 a frame, 16 and 32 several neighbouring frames.
template <int FLIGHT>
__device__ void visit(const float4* x, float* out, int first, int lane)
{
    const int FRAMES = FLIGHT < LOADS ? 1 : FLIGHT / LOADS;
    const int EACH = FLIGHT < LOADS ? FLIGHT : LOADS;
    float energy[FRAMES] = {};
#pragma unroll 1
    for (int part = 0; part < LOADS; part += EACH) {
        float4 v[FRAMES][EACH];
#pragma unroll
        for (int f = 0; f < FRAMES; ++f)
#pragma unroll
            for (int i = 0; i < EACH; ++i)
                v[f][i] = x[((size_t)(first + f) * LOADS + part + i) * 32 + lane];
#pragma unroll
        for (int f = 0; f < FRAMES; ++f)
#pragma unroll
            for (int i = 0; i < EACH; ++i)
                energy[f] += square(v[f][i]);
    }
#pragma unroll
    for (int f = 0; f < FRAMES; ++f)
        finish(energy[f], out, first + f, lane);
}

// CHUNKS: each warp has one contiguous stretch of frames; else the frames go round the warps of the grid.
template <int FLIGHT, bool CHUNKS>
__device__ void sweep(const float4* x, float* out, int frames)
{
    const int STEP = FLIGHT < LOADS ? 1 : FLIGHT / LOADS;
    int lane = threadIdx.x % 32;
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int warps = gridDim.x * blockDim.x / 32;
    int each = (frames / STEP + warps - 1) / warps * STEP;
    int begin = CHUNKS ? warp * each : warp * STEP;
    int end = CHUNKS ? min(begin + each, frames) : frames;
    int step = CHUNKS ? STEP : warps * STEP;
    for (int f = begin; f < end; f += step)  // frames is a multiple of STEP here
        visit<FLIGHT>(x, out, f, lane);
}

#define VARIANT(flight) \
    extern "C" __global__ void round_##flight(const float4* x, float* out, int frames) { sweep<flight, false>(x, out, frames); } \
    extern "C" __global__ void chunk_##flight(const float4* x, float* out, int frames) { sweep<flight, true>(x, out, frames); }
VARIANT(4)
VARIANT(8)
VARIANT(16)
VARIANT(32)

// The smallest kernel: what a launch and the wait for it cost.
extern "C" __global__ void nothing(const float4* x, float* out, int frames) {}
