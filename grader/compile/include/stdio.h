// Stand-in for <stdio.h>: printf works in device code, and NVRTC declares it. There are no files on a GPU.
#ifndef WARPGRADE_STDIO_H
#define WARPGRADE_STDIO_H

#include <stddef.h>

namespace std {
using ::printf;
}  // namespace std

#endif
