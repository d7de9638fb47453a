// Stand-in for <string.h>: the two functions that device code has.
#ifndef WARPGRADE_STRING_H
#define WARPGRADE_STRING_H

#include <stddef.h>

namespace std {
using ::memcpy;
using ::memset;
}  // namespace std

#endif
