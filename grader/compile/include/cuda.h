// Stand-in for <cuda.h>: what a kernel needs of the driver's header is the tensor map; all else there is host code.
#ifndef WARPGRADE_CUDA_H
#define WARPGRADE_CUDA_H

// libcu++ declares it under these names.
typedef struct alignas(64) CUtensorMap_st {
    unsigned long long opaque[16];
} CUtensorMap;

#endif
