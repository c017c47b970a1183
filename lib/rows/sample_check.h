/*
 * lib/rows/sample_check.h - checks of what is to be sampled
 *
 * Errors are those of philox_sample_rows(), and name the field.
 */
#ifndef LIB_ROWS_SAMPLE_CHECK_H
#define LIB_ROWS_SAMPLE_CHECK_H

#include <stdint.h>
#include <philox/sample.h>
#include "lib/base/status.h"
#include "lib/device/kernels.h"

/* sample_kernel() returns the kernel for logits of a dtype, or KERNEL_NONE. */
enum kernel sample_kernel(enum philox_dtype dtype);

/* sample_check_size() refuses NULL and a struct of another size. */
enum philox_status sample_check_size(const struct philox_sample *sample);

/* sample_check() checks all fields but the flags, for n entries. */
enum philox_status sample_check(const struct philox_sample *sample, uint64_t n);

#endif
