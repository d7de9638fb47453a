// Stand-in for <stdlib.h>: what of it means something in device code.
#ifndef WARPGRADE_STDLIB_H
#define WARPGRADE_STDLIB_H

#include <stddef.h>

#ifndef EXIT_SUCCESS
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#endif

typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong;

namespace std {
using ::abs;
using ::free;
using ::malloc;
}  // namespace std

#endif
