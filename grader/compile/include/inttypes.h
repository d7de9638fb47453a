// Stand-in for <inttypes.h>: the types, and the formats for printf that are used.
#ifndef WARPGRADE_INTTYPES_H
#define WARPGRADE_INTTYPES_H

#include <stdint.h>

#define PRId32 "d"
#define PRIu32 "u"
#define PRIx32 "x"
#define PRId64 "lld"
#define PRIu64 "llu"
#define PRIx64 "llx"

#endif
