/*
 * lib/base/source.c - philox/kernel.h as a string
 *
 * lib/base/source.awk writes the array at build time.
 */
#include <philox/interop.h>

static const char source[] = {
#include "kernel_source.h"
};

const char *philox_kernel_source(void)
{
	return source;
}
