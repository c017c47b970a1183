/*
 * lib/rows/sample.c - sampling tokens, checked and put on a stream
 */
#include <inttypes.h>
#include <philox/sample.h>
#include "lib/base/float_mode.h"
#include "lib/base/options.h"
#include "lib/fill/dtypes.h"
#include "lib/rows/check.h"
#include "lib/rows/rows.h"

/* The size of the struct's first version. */
#define SAMPLE_SIZE_FIRST \
	(offsetof(struct philox_sample, flags) + sizeof(uint32_t))

/* --- checks --------------------------------------------------------------- */

/* The kernel for logits of a dtype; KERNEL_NONE if there is none. */
static enum kernel kernel_of(enum philox_dtype dtype)
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

	if (status != PHILOX_OK || kernel_of(sample->dtype) != KERNEL_NONE)
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

static enum philox_status check_sample(const struct philox_sample *sample,
				       uint64_t n)
{
	enum philox_status status = check_dtype(sample);

	if (status == PHILOX_OK)
		status = check_columns(sample, n);
	if (status == PHILOX_OK)
		status = check_temperature(sample);
	return status == PHILOX_OK ? check_sample_arrays(sample, n) : status;
}

static enum philox_status check_size(const struct philox_sample *sample)
{
	if (!sample)
		return status_set(PHILOX_ERROR_INVALID, "sample is NULL");
	return options_check_size("sample", sample, sample->size,
				  SAMPLE_SIZE_FIRST, sizeof(*sample));
}

/* --- samples -------------------------------------------------------------- */

static void set_args(struct sample_args *args,
		     const struct philox_sample *sample)
{
	args->logits = sample->logits;
	args->pitch = sample->pitch;
	args->vocab = sample->vocab;
	args->first = sample->first;
	args->temperatures = sample->temperatures;
	args->temperature =
		sample->temperatures ? 0.0f : (float)sample->temperature;
	args->tokens = sample->tokens;
	args->keys = sample->keys;
}

/*
 * How many CUDA blocks share an entry: one without a table, since there is no
 * place to combine their keys; no block has less than a quad for each thread.
 */
static uint32_t count_parts(const struct sample_args *args)
{
	uint32_t most = (args->vocab - 1) / (4 * SAMPLE_THREADS) + 1, parts;

	if (!args->table.control || !args->list.n ||
	    args->list.n > SAMPLE_SHARED_MAX)
		return 1;
	parts = (uint32_t)(SAMPLE_BLOCKS / args->list.n);
	return parts < most ? parts : most;
}

static struct kernel_call make_call(struct sample_args *args,
				    enum philox_dtype dtype)
{
	args->parts = count_parts(args);
	return (struct kernel_call){.kernel = kernel_of(dtype),
				    .args = args,
				    .size = sizeof(*args),
				    .work = args->list.n * args->parts *
					    SAMPLE_THREADS};
}

static enum philox_status sample_rows(struct philox_rows *rows,
				      philox_stream stream,
				      const struct philox_row_list *list,
				      const struct philox_sample *sample)
{
	struct sample_args args = {.table = rows->table};
	struct kernel_call call;
	enum philox_status status = rows_check_list(rows, list, &args.list);

	if (status == PHILOX_OK)
		status = rows_check_flags("sample", sample->flags);
	if (status == PHILOX_OK)
		status = check_sample(sample, args.list.n);
	if (status != PHILOX_OK)
		return status;
	set_args(&args, sample);
	args.words = sample->flags & PHILOX_ROWS_KEEP ? 0 : 4;
	call = make_call(&args, sample->dtype);
	return rows_launch_on(rows, stream, &call);
}

enum philox_status philox_sample_rows(struct philox_rows *rows,
				      philox_stream stream,
				      const struct philox_row_list *list,
				      const struct philox_sample *sample)
{
	enum philox_status status;
	struct float_mode mode;

	if (!rows)
		return context_null(NULL, "rows");
	status = check_size(sample);
	mode = float_mode_set();
	if (status == PHILOX_OK)
		status = sample_rows(rows, stream, list, sample);
	float_mode_restore(mode);
	return rows_report(rows, status);
}

static enum philox_status check_states(const struct philox_state *states,
				       uint32_t n,
				       const struct philox_sample *sample)
{
	enum philox_status status = check_size(sample);

	if (status != PHILOX_OK)
		return status;
	if (n > ROWS_COUNT_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "sample: n is %" PRIu32 ", above 2^24", n);
	if (sample->flags)
		return status_set(PHILOX_ERROR_INVALID,
				  "sample: flags is 0x%" PRIx32 ", not 0",
				  sample->flags);
	return n ? fill_check_array("sample", "states", states, PHILOX_U64)
		 : PHILOX_OK;
}

static enum philox_status sample_states(struct philox_device *device,
					philox_stream stream,
					const struct philox_state *states,
					uint32_t n,
					const struct philox_sample *sample)
{
	struct sample_args args = {
		.table = {.states = (struct philox_state *)states, .count = n},
		.list = {.n = n}};
	struct kernel_call call;
	enum philox_status status = check_states(states, n, sample);

	if (status == PHILOX_OK)
		status = check_sample(sample, n);
	if (status != PHILOX_OK)
		return status;
	set_args(&args, sample);
	call = make_call(&args, sample->dtype);
	return n ? device_launch(device, stream, &call) : PHILOX_OK;
}

enum philox_status philox_sample_states(struct philox_device *device,
					philox_stream stream,
					const struct philox_state *states,
					uint32_t n,
					const struct philox_sample *sample)
{
	enum philox_status status;
	struct float_mode mode;

	if (!device)
		return context_null(NULL, "device");
	mode = float_mode_set();
	status = sample_states(device, stream, states, n, sample);
	float_mode_restore(mode);
	return status;
}
