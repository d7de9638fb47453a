// Stand-in for <limits.h>: integers of Linux on a 64-bit machine, where long has 64 bits.
#ifndef WARPGRADE_LIMITS_H
#define WARPGRADE_LIMITS_H

#ifndef INT_MAX
#define CHAR_BIT 8
#define SCHAR_MAX 127
#define SCHAR_MIN (-128)
#define UCHAR_MAX 255
#define SHRT_MAX 32767
#define SHRT_MIN (-SHRT_MAX - 1)
#define USHRT_MAX 65535
#define INT_MAX 0x7fffffff
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 0xffffffff
#define LONG_MAX 0x7fffffffffffffffL
#define LONG_MIN (-LONG_MAX - 1)
#define ULONG_MAX 0xffffffffffffffffUL
#define LLONG_MAX 0x7fffffffffffffffLL
#define LLONG_MIN (-LLONG_MAX - 1)
#define ULLONG_MAX 0xffffffffffffffffULL
#endif

// A plain char follows the host: signed on x86-64, unsigned on aarch64.
#ifndef CHAR_MAX
#define CHAR_MIN ((char)-1 < 0 ? SCHAR_MIN : 0)
#define CHAR_MAX ((char)-1 < 0 ? SCHAR_MAX : UCHAR_MAX)
#endif

#endif
