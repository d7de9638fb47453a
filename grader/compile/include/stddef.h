// Stand-in for <stddef.h>: NVRTC knows size_t, ptrdiff_t and NULL by itself.
#ifndef WARPGRADE_STDDEF_H
#define WARPGRADE_STDDEF_H

#ifndef NULL
#define NULL 0
#endif

// NVRTC has no __builtin_offsetof; the address of a member of an object at zero is what it would compute.
#ifndef offsetof
#define offsetof(type, member) ((size_t) & (((type *)0)->member))
#endif

typedef struct alignas(16) {
    long long align_integer;
    double align_double;
} max_align_t;

namespace std {
using ::max_align_t;
using ::ptrdiff_t;
using ::size_t;
typedef decltype(nullptr) nullptr_t;
}  // namespace std

#endif
