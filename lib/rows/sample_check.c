/*
 * lib/rows/sample_check.c - see lib/rows/sample_check.h
 */
#include <inttypes.h>
#include "lib/base/options.h"
#include "lib/dist/dtypes.h"
#include "lib/rows/check.h"
#include "lib/rows/sample_check.h"

/* The size of the struct's first version. */
#define SAMPLE_SIZE_FIRST OPTIONS_FIRST(struct philox_sample, reserved)
OPTIONS_NO_PADDING(struct philox_sample, reserved);

enum kernel sample_kernel(enum philox_dtype dtype)
{
	switch (dtype) {
	case PHILOX_F32:
		return KERNEL_sample_f32;
	case PHILOX_BF16:
		return KERNEL_sample_bf16;
	case PHILOX_F16:
		return KERNEL_sample_f16;
	default:
		return KERNEL_NONE;
	}
}

static enum philox_status check_dtype(const struct philox_sample *sample)
{
	enum philox_status status = fill_check_dtype("sample", sample->dtype);

	if (status != PHILOX_OK || sample_kernel(sample->dtype) != KERNEL_NONE)
		return status;
	return status_set(PHILOX_ERROR_INVALID,
			  "sample: dtype of logits is %s, not f32, bf16 or f16",
			  fill_dtype_name(sample->dtype));
}

static enum philox_status check_columns(const struct philox_sample *sample,
					uint64_t n)
{
	const uint32_t most = 0x7fffffff;

	if (!sample->vocab)
		return status_set(PHILOX_ERROR_INVALID, "sample: vocab is 0");
	if (sample->vocab > most || sample->first > most - sample->vocab)
		return status_set(PHILOX_ERROR_INVALID,
				  "sample: first %" PRIu32 " + vocab %" PRIu32
				  " is past 2^31 - 1",
				  sample->first, sample->vocab);
	if (sample->pitch < sample->vocab && n > 1)
		return status_set(PHILOX_ERROR_INVALID,
				  "sample: pitch is %" PRIu64
				  ", below vocab %" PRIu32,
				  sample->pitch, sample->vocab);
	return rows_check_extent("sample", n, "vocab", sample->vocab,
				 sample->pitch, sample->dtype);
}

static enum philox_status check_temperature(const struct philox_sample *sample)
{
	const double most = 3.4028234663852886e38; /* of f32 */

	if (sample->temperatures)
		return fill_check_array("sample", "temperatures",
					sample->temperatures, PHILOX_F32);
	if (sample->temperature >= 0 && sample->temperature <= most)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "sample: temperature is %g, not 0 or more and finite "
			  "in f32",
			  sample->temperature);
}

static enum philox_status check_sample_arrays(
	const struct philox_sample *sample, uint64_t n)
{
	enum philox_status status;

	if (!n)
		return PHILOX_OK;
	status = fill_check_array("sample", "logits", sample->logits,
				  sample->dtype);
	if (status == PHILOX_OK && !sample->tokens && !sample->keys)
		status = status_set(PHILOX_ERROR_INVALID,
				    "sample: tokens and keys are NULL");
	if (status == PHILOX_OK && sample->tokens)
		status = fill_check_array("sample", "tokens", sample->tokens,
					  PHILOX_I32);
	if (status == PHILOX_OK && sample->keys)
		status = fill_check_array("sample", "keys", sample->keys,
					  PHILOX_U64);
	return status;
}

enum philox_status sample_check(const struct philox_sample *sample, uint64_t n)
{
	enum philox_status status = check_dtype(sample);

	if (status == PHILOX_OK)
		status = check_columns(sample, n);
	if (status == PHILOX_OK)
		status = check_temperature(sample);
	return status == PHILOX_OK ? check_sample_arrays(sample, n) : status;
}

enum philox_status sample_check_size(const struct philox_sample *sample)
{
	enum philox_status status;

	if (!sample)
		return status_set(PHILOX_ERROR_INVALID, "sample is NULL");
	status = options_check_size("sample", sample, sample->size,
				    SAMPLE_SIZE_FIRST, sizeof(*sample));
	return status == PHILOX_OK
		       ? options_check_reserved("sample", sample->reserved)
		       : status;
}
