// For machines with NVRTC but without CUDA's headers: NVRTC itself knows what kernels use of device_launch_parameters.h.
#ifndef WARPGRADE_DEVICE_LAUNCH_PARAMETERS_H
#define WARPGRADE_DEVICE_LAUNCH_PARAMETERS_H
#include <warpgrade_prelude.h>
#endif
