/*
 * lib/sample.c - sampling tokens, checked and put on a stream
 */
#include <inttypes.h>
#include <philox/sample.h>
#include "options.h"
#include "rows.h"

/* The size of the struct's first version. */
#define SAMPLE_SIZE_FIRST \
	(offsetof(struct philox_sample, flags) + sizeof(uint32_t))

static const struct kind {
	enum philox_dtype dtype;
	enum kernel kernel;
	size_t size; /* of a logit */
} kinds[] = {
	{PHILOX_F32, KERNEL_sample_f32, 4},
	{PHILOX_BF16, KERNEL_sample_bf16, 2},
	{PHILOX_F16, KERNEL_sample_f16, 2},
};

/* --- checks --------------------------------------------------------------- */

static const struct kind *find_kind(enum philox_dtype dtype)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].dtype == dtype)
			return &kinds[i];
	status_set(PHILOX_ERROR_INVALID, "logits have no dtype %d", (int)dtype);
	return NULL;
}

static enum philox_status check_columns(const struct philox_sample *sample,
					uint64_t n, const struct kind *kind)
{
	const uint32_t most = 0x7fffffff;

	if (!sample->vocab || sample->vocab > most ||
	    sample->first > most - sample->vocab)
		return status_set(PHILOX_ERROR_INVALID,
				  "vocab %" PRIu32 " from first %" PRIu32
				  " on is not within 1 .. 2^31 - 1",
				  sample->vocab, sample->first);
	if (sample->pitch < sample->vocab && n > 1)
		return status_set(PHILOX_ERROR_INVALID,
				  "pitch %" PRIu64 " is below vocab %" PRIu32,
				  sample->pitch, sample->vocab);
	return rows_check_extent(n, sample->vocab, sample->pitch, kind->size);
}

static enum philox_status check_temperature(const struct philox_sample *sample)
{
	const double most = 3.4028234663852886e38; /* of f32 */

	if (sample->temperatures)
		return rows_check_array("temperatures", sample->temperatures,
					sizeof(*sample->temperatures));
	if (sample->temperature >= 0 && sample->temperature <= most)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "temperature is %g, not a finite number from 0 on",
			  sample->temperature);
}

static enum philox_status check_arrays(const struct philox_sample *sample,
				       const struct kind *kind)
{
	enum philox_status status;

	status = rows_check_array("logits", sample->logits, kind->size);
	if (status == PHILOX_OK && !sample->tokens && !sample->keys)
		status = status_set(PHILOX_ERROR_INVALID,
				    "tokens and keys are NULL");
	if (status == PHILOX_OK && sample->tokens)
		status = rows_check_array("tokens", sample->tokens,
					  sizeof(*sample->tokens));
	if (status == PHILOX_OK && sample->keys)
		status = rows_check_array("keys", sample->keys,
					  sizeof(*sample->keys));
	return status;
}

static enum philox_status check(const struct philox_sample *sample, uint64_t n,
				const struct kind **kind)
{
	enum philox_status status;

	*kind = find_kind(sample->dtype);
	if (!*kind)
		return PHILOX_ERROR_INVALID;
	status = check_columns(sample, n, *kind);
	if (status == PHILOX_OK)
		status = check_temperature(sample);
	return status == PHILOX_OK ? check_arrays(sample, *kind) : status;
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

/* A CUDA block for each entry. */
static struct kernel_call make_call(const struct sample_args *args,
				    const struct kind *kind)
{
	return (struct kernel_call){.kernel = kind->kernel,
				    .args = args,
				    .size = sizeof(*args),
				    .work = args->list.n * SAMPLE_THREADS};
}

static enum philox_status sample_rows(struct philox_rows *rows,
				      philox_stream stream,
				      const struct philox_row_list *list,
				      const struct philox_sample *sample)
{
	struct sample_args args = {.table = rows->table};
	const struct kind *kind;
	struct kernel_call call;
	enum philox_status status = rows_check_list(rows, list, &args.list);

	if (status == PHILOX_OK)
		status = rows_check_flags(sample->flags);
	if (status == PHILOX_OK)
		status = check(sample, args.list.n, &kind);
	if (status != PHILOX_OK)
		return status;
	set_args(&args, sample);
	args.words = sample->flags & PHILOX_ROWS_KEEP ? 0 : 4;
	call = make_call(&args, kind);
	return rows_launch_on(rows, stream, &call);
}

enum philox_status philox_sample_rows(struct philox_rows *rows,
				      philox_stream stream,
				      const struct philox_row_list *list,
				      const struct philox_sample *sample)
{
	enum philox_status status;

	if (!rows)
		return rows_null();
	status = check_size(sample);
	if (status == PHILOX_OK)
		status = sample_rows(rows, stream, list, sample);
	return rows_report(rows, status);
}

static enum philox_status check_states(const struct philox_state *states,
				       uint32_t n,
				       const struct philox_sample *sample)
{
	enum philox_status status = check_size(sample);

	if (status != PHILOX_OK)
		return status;
	if (!n || n > ROWS_COUNT_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "n %" PRIu32 " is not in 1 .. 2^24", n);
	if (sample->flags)
		return status_set(PHILOX_ERROR_INVALID, "unknown flags 0x%x",
				  sample->flags);
	return rows_check_array("states", states, sizeof(states->seed));
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
	const struct kind *kind;
	struct kernel_call call;
	enum philox_status status = check_states(states, n, sample);

	if (status == PHILOX_OK)
		status = check(sample, n, &kind);
	if (status != PHILOX_OK)
		return status_prefix(status, "sample: ");
	set_args(&args, sample);
	call = make_call(&args, kind);
	return device_launch(device, stream, &call);
}

enum philox_status philox_sample_states(struct philox_device *device,
					philox_stream stream,
					const struct philox_state *states,
					uint32_t n,
					const struct philox_sample *sample)
{
	if (!device)
		return status_set(PHILOX_ERROR_INVALID, "device is NULL");
	return sample_states(device, stream, states, n, sample);
}
