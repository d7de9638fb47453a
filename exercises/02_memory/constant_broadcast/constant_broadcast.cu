// constant_broadcast: a sensor's reading, corrected by the curve of all sensors and by the offset of this one.
//
//     out[i] = curve[0] + curve[1] · x[i] + … + curve[7] · x[i]⁷ + offset[sensor[i]]
//
// Two small tables. At the curve all lanes read the same place at the same time; at the offsets each has its own place.

#define TERMS 8      // of the curve
#define SENSORS 256  // and offsets
#define ITEMS 8      // of a thread

__constant__ float CURVE[TERMS];

// constant CURVE = curve
// launch corrected(x, sensor, offset, out, n): grid=cdiv(n, 256 * ITEMS) block=256

extern "C" __global__ void corrected(const float* x, const unsigned char* sensor, const float* offset, float* out, int n)
{
    // YOUR CODE: the offsets, where lanes can read different places at once.

    for (int k = 0; k < ITEMS; ++k) {
        int i = (blockIdx.x * ITEMS + k) * blockDim.x + threadIdx.x;
        if (i >= n)
            return;

        // YOUR CODE: the curve at x[i], from CURVE; plus the offset of sensor[i].
    }
}
