// For machines with NVRTC but without CUDA's headers: NVRTC itself knows what kernels use of cuda_runtime.h.
#ifndef WARPGRADE_CUDA_RUNTIME_H
#define WARPGRADE_CUDA_RUNTIME_H
#include <warpgrade_prelude.h>
#endif
