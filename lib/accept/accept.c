/*
 * lib/accept/accept.c - accepting drafts, checked and put on a stream
 */
#include <inttypes.h>
#include <philox/accept.h>
#include <philox/penalties.h>
#include "lib/base/float_mode.h"
#include "lib/dist/dist.h"
#include "lib/fill/fill.h"
#include "lib/rows/rows.h"
#include "lib/sample/sample.h"

#define ACCEPT_SIZE_FIRST OPTIONS_FIRST(struct philox_accept_desc, reserved)
OPTIONS_NO_PADDING(struct philox_accept_desc, reserved);

#define ACCEPT_DRAFTS_MAX    1023
#define ACCEPT_POSITIONS_MAX (1u << 24)

/* --- checks --------------------------------------------------------------- */

/* Results that a sample would have are NULL. */
static enum philox_status check_no_results(const struct philox_sample_desc *s)
{
	const char *given = s->tokens         ? "tokens"
			    : s->keys         ? "keys"
			    : s->cuts         ? "cuts"
			    : s->kept_counts  ? "kept_counts"
			    : s->kept         ? "kept"
			    : s->logprobs     ? "logprobs"
			    : s->raw_logprobs ? "raw_logprobs"
					      : NULL;

	if (given)
		return status_set(PHILOX_ERROR_INVALID,
				  "sample: %s is not NULL: nothing is written "
				  "there",
				  given);
	if (s->flags)
		return status_set(PHILOX_ERROR_INVALID,
				  "sample: flags is 0x%" PRIx32
				  ", not 0: nothing advances",
				  s->flags);
	if (s->penalties && s->penalties->drafts)
		return status_set(PHILOX_ERROR_INVALID,
				  "penalties: drafts is not NULL: those of "
				  "accept count");
	return PHILOX_OK;
}

/* One of the two samples, of n positions. */
static enum philox_status check_side(const char *name,
				     const struct philox_sample_desc *sample,
				     uint64_t n, uint64_t rows)
{
	enum philox_status status = sample_check_size(sample);

	if (status == PHILOX_OK)
		status = sample_check_inputs(sample, n, rows);
	if (status == PHILOX_OK)
		status = check_no_results(sample);
	return status == PHILOX_OK ? status
				   : status_prefix(status, "%s: ", name);
}

static enum philox_status check_is_same(const char *name, uint32_t draft,
					uint32_t target)
{
	if (draft == target)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "accept: %s is %" PRIu32 " of the draft, but %" PRIu32
			  " of the target",
			  name, draft, target);
}

static enum philox_status check_fit(const struct philox_accept_desc *accept)
{
	const struct philox_sample_desc *draft = accept->draft;
	const struct philox_sample_desc *target = accept->target;
	enum philox_status status = PHILOX_OK;

	if (!draft)
		return status;
	if (draft->dtype != target->dtype)
		status = status_set(
			PHILOX_ERROR_INVALID,
			"accept: dtype is %s of the draft, but %s of the "
			"target",
			fill_dtype_name(draft->dtype),
			fill_dtype_name(target->dtype));
	if (status == PHILOX_OK)
		status = check_is_same("vocab", draft->vocab, target->vocab);
	return status == PHILOX_OK
		       ? check_is_same("first", draft->first, target->first)
		       : status;
}

static enum philox_status check_arrays(const struct philox_accept_desc *accept,
				       uint64_t entries)
{
	enum philox_status status = PHILOX_OK;

	if (!entries)
		return status;
	if (accept->n_drafts)
		status = fill_check_array("accept", "drafts", accept->drafts,
					  PHILOX_DTYPE_I32);
	if (status == PHILOX_OK)
		status = fill_check_array("accept", "tokens", accept->tokens,
					  PHILOX_DTYPE_I32);
	return status == PHILOX_OK
		       ? fill_check_array("accept", "counts", accept->counts,
					  PHILOX_DTYPE_U32)
		       : status;
}

static enum philox_status check_size(const struct philox_accept_desc *accept)
{
	enum philox_status status;

	if (!accept)
		return status_set(PHILOX_ERROR_INVALID, "accept is NULL");
	status = options_check_size("accept", accept, accept->size,
				    ACCEPT_SIZE_FIRST, sizeof(*accept));
	if (status == PHILOX_OK)
		status = options_check_reserved("accept", accept->reserved);
	if (status == PHILOX_OK && accept->n_drafts > ACCEPT_DRAFTS_MAX)
		status = status_set(PHILOX_ERROR_INVALID,
				    "accept: n_drafts is %" PRIu32 ", above %d",
				    accept->n_drafts, ACCEPT_DRAFTS_MAX);
	return status;
}

static enum philox_status check_list(const struct rows_list *list,
				     uint32_t n_drafts)
{
	if (list->steps)
		return status_set(PHILOX_ERROR_INVALID,
				  "list: steps is not NULL: positions are "
				  "steps");
	if (list->n * (n_drafts + 1) > ACCEPT_POSITIONS_MAX)
		return status_set(PHILOX_ERROR_OVERFLOW,
				  "accept: %" PRIu64 " entries of %" PRIu32
				  " positions are more than 2^24 positions",
				  list->n, n_drafts + 1);
	return PHILOX_OK;
}

static enum philox_status accept_check(const struct philox_accept_desc *accept,
				       const struct rows_list *list,
				       uint64_t rows)
{
	const uint64_t n = list->n, drafts = n * accept->n_drafts;
	enum philox_status status = check_list(list, accept->n_drafts);

	if (status == PHILOX_OK)
		status = check_side("target", accept->target, n + drafts, rows);
	if (status == PHILOX_OK && accept->draft)
		status = check_side("draft", accept->draft, drafts, rows);
	if (status == PHILOX_OK)
		status = check_fit(accept);
	return status == PHILOX_OK ? check_arrays(accept, n) : status;
}

/* --- launches ------------------------------------------------------------- */

static const struct sample_names target_names = SAMPLE_NAMES("target");
static const struct sample_names draft_names = SAMPLE_NAMES("draft");

static void add_arrays(struct rows_arrays *arrays,
		       const struct accept_args *args, enum philox_dtype dtype)
{
	const struct sample_args *target = &args->target;
	const uint64_t n = target->list.n, drafts = n * args->n_drafts;

	rows_arrays_add_table(arrays, &target->table);
	rows_arrays_add_list(arrays, &target->list);
	sample_add_inputs(arrays, &target_names, target, dtype, n + drafts);
	sample_add_inputs(arrays, &draft_names, &args->draft, dtype, drafts);
	rows_arrays_read(arrays, "accept: drafts", args->drafts, drafts,
			 sizeof(*args->drafts));
	rows_arrays_written(arrays, "accept: tokens", args->tokens, n + drafts,
			    sizeof(*args->tokens));
	rows_arrays_written(arrays, "accept: counts", args->counts, n,
			    sizeof(*args->counts));
}

static enum kernel accept_kernel(enum philox_dtype dtype)
{
	return dtype == PHILOX_DTYPE_F32    ? KERNEL_accept_f32
	       : dtype == PHILOX_DTYPE_BF16 ? KERNEL_accept_bf16
					    : KERNEL_accept_f16;
}

static void set_args(struct accept_args *args,
		     const struct philox_accept_desc *accept)
{
	sample_set_args(&args->target, accept->target);
	args->target.parts = args->draft.parts = 1;
	args->draft.table.count = args->target.table.count;
	if (accept->draft && accept->n_drafts)
		sample_set_args(&args->draft, accept->draft);
	args->drafts = accept->n_drafts ? accept->drafts : NULL;
	args->tokens = accept->tokens;
	args->counts = accept->counts;
	args->n_drafts = accept->n_drafts;
}

static enum philox_status launch(struct philox_rows *rows, philox_stream stream,
				 const struct accept_args *args,
				 enum philox_dtype dtype)
{
	struct rows_arrays arrays = {.count = 0};
	struct kernel_arrays of_caller;
	const struct kernel_call call = {.kernel = accept_kernel(dtype),
					 .args = args,
					 .size = sizeof(*args),
					 .work = args->target.list.n *
						 (args->n_drafts + 1) *
						 SAMPLE_THREADS,
					 .arrays = &of_caller};
	enum philox_status status = PHILOX_OK;

	if (args->target.list.n) {
		add_arrays(&arrays, args, dtype);
		status = rows_arrays_check(&arrays);
	}
	rows_arrays_list(&arrays, &of_caller);
	return status == PHILOX_OK ? rows_launch_on(rows, stream, &call)
				   : status;
}

static enum philox_status accept_rows(struct philox_rows *rows,
				      philox_stream stream,
				      const struct philox_row_list *list,
				      const struct philox_accept_desc *accept)
{
	struct accept_args args = {.target = {.table = rows->table}};
	enum philox_status status = check_size(accept);

	if (status == PHILOX_OK)
		status = rows_check_list("row", rows->table.count, list,
					 &args.target.list);
	if (status == PHILOX_OK)
		status = accept_check(accept, &args.target.list,
				      rows->table.count);
	if (status != PHILOX_OK)
		return status;
	set_args(&args, accept);
	return launch(rows, stream, &args, accept->target->dtype);
}

enum philox_status philox_rows_accept(struct philox_rows *rows,
				      philox_stream stream,
				      const struct philox_row_list *list,
				      const struct philox_accept_desc *accept)
{
	enum philox_status status;
	struct float_mode mode;

	if (!rows)
		return context_null(NULL, "rows");
	mode = float_mode_set();
	status = accept_rows(rows, stream, list, accept);
	float_mode_restore(mode);
	return rows_report(rows, status);
}
