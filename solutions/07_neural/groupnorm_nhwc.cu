// groupnorm_nhwc: each group of channels of each sample gets mean 0 and variance 1, then times gamma, plus beta. The
// channels of a pixel are neighbours in memory. x is read twice, the second time from the L2 cache.
//
// A slice is a few pixels of one sample, with all of their channels. Even blocks measure slices, in order. Odd blocks
// normalise slices in the same order, LAG samples later: what they read was read a moment ago, and is still in the L2.

#define AIM 320   // threads of a block: as many pixels side by side as fit
#define DEEP 8    // pixels of a thread that are in flight together
#define ROUNDS 2  // of so many pixels: a block pays for its barriers and its fence once
#define LAG 4     // samples between measuring and normalising

// Sums of x and of x² for each group, of each slice; mean and scale for each group, of each sample; of each sample the
// number of slices that are measured, and one more when its results are there.
// scratch sums: double[2 * samples * groups * cdiv(pixels, ROUNDS * DEEP * (4 * AIM / (groups * width)))]
// scratch results: float[2 * samples * groups]
// scratch done: int[samples]
// zero done
// launch groupnorm_nhwc(x, gamma, beta, y, sums, results, done, samples, pixels, groups, width, eps): grid=2 * (samples + LAG) * cdiv(pixels, ROUNDS * DEEP * (4 * AIM / (groups * width))) block=(groups * width / 4, 4 * AIM / (groups * width)) shared=8 * groups * width * (4 * AIM / (groups * width)) + 16 * groups * width

__device__ float4 operator+(float4 u, float4 v) { return {u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w}; }
__device__ float4 operator-(float4 u, float4 v) { return {u.x - v.x, u.y - v.y, u.z - v.z, u.w - v.w}; }
__device__ float4 operator*(float4 u, float4 v) { return {u.x * v.x, u.y * v.y, u.z * v.z, u.w * v.w}; }
__device__ float4 operator*(float4 v, float s) { return {v.x * s, v.y * s, v.z * s, v.w * s}; }
__device__ double2 operator+(double2 u, double2 v) { return {u.x + v.x, u.y + v.y}; }


// Mean and scale of a sample's groups from the sums of all of its slices. All threads of one block call it.
__device__ void combine(const double2* sums, float2* results, double2* shared, int slices, int groups, double count,
                        float eps)
{
    int t = threadIdx.y * blockDim.x + threadIdx.x;
    int threads = blockDim.x * blockDim.y;
    int parts = max(1, threads / groups);  // shares of the slices, added up side by side

    for (int i = t; i < parts * groups; i += threads) {
        double2 sum = {};
#pragma unroll 2
        for (int s = i / groups; s < slices; s += parts)
            sum = sum + __ldcg(sums + s * groups + i % groups);
        shared[i] = sum;
    }
    __syncthreads();  // all shares are there
    for (int g = t; g < groups; g += threads) {
        double2 sum = {};
        for (int p = 0; p < parts; ++p)
            sum = sum + shared[p * groups + g];
        // The difference of two nearly equal numbers if the mean is large: as doubles they have enough digits.
        double mean = sum.x / count;
        double variance = sum.y / count - mean * mean;
        results[g] = {(float)mean, rsqrtf((float)variance + eps)};
    }
}

extern "C" __global__ void __launch_bounds__(AIM, 3)
groupnorm_nhwc(const float4* x, const float4* gamma, const float4* beta, float4* y, double2* sums, float2* results,
               int* done, int samples, int pixels, int groups, int width, float eps)
{
    extern __shared__ double2 space[];
    __shared__ bool last;
    int quad = threadIdx.x;  // of channels, the same in all pixels of a thread
    int quads = blockDim.x;
    int rows = blockDim.y;
    int t = threadIdx.y * quads + quad;
    int slices = (pixels + ROUNDS * DEEP * rows - 1) / (ROUNDS * DEEP * rows);

    // Measuring blocks and normalising ones take turns, so that both are at work at any time.
    bool late = blockIdx.x % 2;
    int index = blockIdx.x / 2 - (late ? LAG * slices : 0);
    if (index < 0 || index >= samples * slices)
        return;
    int sample = index / slices;
    int first = index % slices * ROUNDS * DEEP * rows;
    int count = min(ROUNDS * DEEP * rows, pixels - first);
    size_t start = ((size_t)sample * pixels + first) * quads + quad;

    // All loads of a round first, so that they are in flight together; those of the first one also while the block waits.
    // Neighbouring lanes have neighbouring channels, whatever groups these belong to.
    float4 v[DEEP];
    auto load = [&](int from) {
#pragma unroll
        for (int k = 0; k < DEEP; ++k) {
            int p = from + k * rows + threadIdx.y;
            v[k] = p < count ? x[start + (size_t)p * quads] : float4{};
        }
    };
    load(0);

    if (late) {
        // Blocks begin in ascending order: all that this one waits for have begun before, and wait for nobody.
        if (t == 0) {
            while (*(volatile int*)(done + sample) <= slices)
                ;
            __threadfence();  // the results are not read before
        }
        __syncthreads();  // nobody goes on before thread 0 has seen them

        const float2* of_groups = results + (size_t)sample * groups;
        int c = 4 * quad;
        float2 r0 = __ldcg(of_groups + c / width);
        float2 r1 = __ldcg(of_groups + (c + 1) / width);
        float2 r2 = __ldcg(of_groups + (c + 2) / width);
        float2 r3 = __ldcg(of_groups + (c + 3) / width);
        float4 mean = {r0.x, r1.x, r2.x, r3.x};
        float4 scale = gamma[quad] * float4{r0.y, r1.y, r2.y, r3.y};
        float4 shift = beta[quad];
        for (int from = 0; from < count; from += DEEP * rows) {
            if (from)
                load(from);
#pragma unroll
            for (int k = 0; k < DEEP; ++k)
                if (int p = from + k * rows + threadIdx.y; p < count)
                    y[start + (size_t)p * quads] = (v[k] - mean) * scale + shift;
        }
        return;
    }

    // Each channel by itself: of each round the mean of the thread's pixels, then the squares around it.
    float2* of_channels = reinterpret_cast<float2*>(space + 4 * quads);
    float4 mean = {};
    float4 squares = {};
    int n = 0;
    for (int from = 0; from < count; from += DEEP * rows) {
        if (from)
            load(from);
        int more = min(DEEP, (count - from - (int)threadIdx.y + rows - 1) / rows);
        if (more <= 0)
            break;
        float4 m = {};
#pragma unroll
        for (int k = 0; k < DEEP; ++k)
            m = m + v[k];
        m = m * (1.0f / more);
        // Chan's formula combines the round with those before it: the distance of the two means counts, too.
        float4 d = m - mean;
        float part = (float)more / (n + more);
        squares = squares + d * d * (n * part);
#pragma unroll
        for (int k = 0; k < DEEP; ++k)
            if (k < more)
                squares = squares + (v[k] - m) * (v[k] - m);
        mean = mean + d * part;
        n += more;
    }
    of_channels[4 * t] = {mean.x, squares.x};
    of_channels[4 * t + 1] = {mean.y, squares.y};
    of_channels[4 * t + 2] = {mean.z, squares.z};
    of_channels[4 * t + 3] = {mean.w, squares.w};
    __syncthreads();  // a channel has pixels of several threads

    // A thread for each channel: sums of x and of x², as doubles, over the rows of threads.
    for (int c = t; c < 4 * quads; c += quads * rows) {
        double2 sum = {};
        for (int row = 0; row < rows; ++row) {
            double n = (count - row + rows - 1) / rows;
            float2 m = of_channels[row * 4 * quads + c];
            sum = sum + double2{n * m.x, m.y + n * m.x * m.x};
        }
        space[c] = sum;
    }
    __syncthreads();  // a group has channels of several threads

    // A thread for each group.
    double2* of_slices = sums + (size_t)sample * slices * groups;
    for (int g = t; g < groups; g += quads * rows) {
        double2 sum = {};
        for (int c = g * width; c < (g + 1) * width; ++c)
            sum = sum + space[c];
        of_slices[index % slices * groups + g] = sum;
    }
    __syncthreads();  // all groups of this slice are stored, and all threads have read `space`

    // The block that is the last of its sample combines them, as in reduce_v10, and says so.
    if (t == 0) {
        __threadfence();  // whoever sees the count sees the sums
        last = atomicAdd(done + sample, 1) == slices - 1;
        __threadfence();  // no sums of another block are read before
    }
    __syncthreads();  // all threads learn it
    if (!last)
        return;
    combine(of_slices, results + (size_t)sample * groups, space, slices, groups, (double)pixels * width, eps);
    __syncthreads();  // all results are stored
    if (t == 0) {
        __threadfence();  // whoever sees the count sees the results
        atomicAdd(done + sample, 1);
    }
}
