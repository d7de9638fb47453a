// expect: wrong
// Each step gets its heat as a number: the graph keeps the numbers that were there when it was captured.

// cuda_graph: one step of the heat that goes through a rod. A microsecond of work, and many such steps.
//
// Nothing has to be changed here, though you may. The launches are in cuda_graph_host.py.

// now: the rod's n temperatures. then: the same after one step. heat: the temperature left of the rod.
extern "C" __global__ void cuda_graph(const float* now, float* then, float heat, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    // Nothing flows out of the right end: the last point is its own neighbour there.
    float left = i > 0 ? now[i - 1] : heat;
    float right = i < n - 1 ? now[i + 1] : now[i];
    then[i] = 0.25f * left + 0.5f * now[i] + 0.25f * right;
}
