// Included before the first line of every submission: what nvcc brings along by itself.
//
// nvcc includes cuda_runtime.h, and with it much of the C library. A file that relies on this must compile here too;
// the line numbers of the submission stay, since this comes in through an option and not as text.
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
