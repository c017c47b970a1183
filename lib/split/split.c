/*
 * lib/split/split.c - samples of a vocabulary that is split, checked and put on
 * a stream in rounds
 */
#include <inttypes.h>
#include <philox/penalties.h>
#include <philox/split.h>
#include "lib/base/float_mode.h"
#include "lib/dist/dist.h"
#include "lib/fill/fill.h"
#include "lib/rows/rows.h"
#include "lib/sample/sample.h"
#include "lib/split/split.h"

#define SPLIT_SIZE_FIRST OPTIONS_FIRST(struct philox_split_desc, round)
OPTIONS_NO_PADDING(struct philox_split_desc, round);
#define INFO_SIZE_FIRST OPTIONS_FIRST(struct philox_split_info, reserved)
OPTIONS_NO_PADDING(struct philox_split_info, reserved);

#define PARTS_MAX 1024
#define SLOTS_MAX \
	65536 /* of first tokens, which are compared with each other */

/* --- rounds --------------------------------------------------------------- */

enum { ROUNDS_MAX = 31 };

/* The rounds of a sample, in their order. */
struct split_plan {
	struct split_round rounds[ROUNDS_MAX];
	uint32_t count;
};

static void add_round(struct split_plan *plan, enum split_kind kind,
		      uint32_t searches, uint32_t level)
{
	plan->rounds[plan->count++] = (struct split_round){
		.kind = kind, .searches = searches, .level = level};
}

/* The first level has steps; the others have bits of what a key may be. */
static void add_levels(struct split_plan *plan, uint32_t searches,
		       uint32_t index_bits)
{
	const uint32_t bits = 32 + index_bits;

	if (!searches)
		return;
	for (uint32_t i = 0; i <= (bits + SPLIT_BITS - 1) / SPLIT_BITS; i++)
		add_round(plan, SPLIT_LEVEL, searches, i);
}

/* In JOINT order both searches are among all; otherwise one after the other. */
static void make_plan(const struct philox_sample_desc *sample,
		      uint32_t index_bits, struct split_plan *plan)
{
	const uint32_t by_count = !!(sample->filters & PHILOX_FILTER_TOP_K)
				  << SPLIT_BY_COUNT;
	const uint32_t by_mass = !!(sample->filters & PHILOX_FILTER_TOP_P)
				 << SPLIT_BY_MASS;
	const struct philox_logprob_desc *processed = sample->logprobs;
	const struct philox_logprob_desc *raw = sample->raw_logprobs;

	plan->count = 0;
	add_round(plan, SPLIT_FIRST, 0, 0);
	if (sample->filter_order == PHILOX_FILTER_ORDER_JOINT) {
		add_levels(plan, by_count | by_mass, index_bits);
	} else {
		add_levels(plan, by_count, index_bits);
		add_levels(plan, by_mass, index_bits);
	}
	add_round(plan, SPLIT_DRAW, 0, 0);
	if ((processed && processed->drawn) || (raw && raw->drawn))
		add_round(plan, SPLIT_TOKEN, 0, 0);
	add_round(plan, SPLIT_END, 0, 0);
}

/* How many bits an index below `vocab` has. */
static uint32_t count_bits(uint32_t vocab)
{
	uint32_t bits = 0;

	while ((vocab - 1) >> bits)
		bits++;
	return bits;
}

/* --- memory --------------------------------------------------------------- */

/* Numbers of entries: of one round, and the most of any. */
struct split_sizes {
	uint64_t sums, maxima;
};

static struct split_sizes most_of(const struct split_args *args,
				  const struct split_plan *plan)
{
	struct split_sizes most = {0, 0};

	for (uint32_t i = 0; i < plan->count; i++) {
		const uint64_t sums = split_sums(args, &plan->rounds[i]);
		const uint64_t maxima = split_maxima(args, &plan->rounds[i]);

		most.sums = sums > most.sums ? sums : most.sums;
		most.maxima = maxima > most.maxima ? maxima : most.maxima;
	}
	return most;
}

/* What is known of n entries; then numbers of one round, and of the next. */
static uint64_t work_size(const struct split_sizes *most, uint64_t n)
{
	return n * (sizeof(struct split_entry) +
		    2 * (most->sums + most->maxima) * sizeof(uint64_t));
}

/* Where a round writes, if there is memory; it reads what that before it has. */
static struct split_round place_round(const struct split_args *args,
				      const struct split_plan *plan,
				      uint32_t round, uint64_t n)
{
	const struct split_sizes most = most_of(args, plan);
	struct split_round of = plan->rounds[round];

	if (!args->work || !n)
		return of;
	of.sums = (uint64_t *)((struct split_entry *)args->work + n) +
		  round % 2 * n * (most.sums + most.maxima);
	of.maxima = of.sums + n * most.sums;
	return of;
}

/* --- checks --------------------------------------------------------------- */

static enum philox_status check_parts(const struct philox_split_desc *split)
{
	if (!split->n_parts || split->n_parts > PARTS_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "split: n_parts is %" PRIu32
				  ", not in 1 .. %d",
				  split->n_parts, PARTS_MAX);
	if (split->part >= split->n_parts)
		return status_set(PHILOX_ERROR_INVALID,
				  "split: part is %" PRIu32
				  ", not below n_parts %" PRIu32,
				  split->part, split->n_parts);
	if (!split->vocab || split->vocab > 0x7fffffff)
		return status_set(PHILOX_ERROR_INVALID,
				  "split: vocab is %" PRIu32
				  ", not in 1 .. 2^31 - 1",
				  split->vocab);
	return PHILOX_OK;
}

static enum philox_status check_top(const char *what,
				    const struct philox_logprob_desc *logprobs,
				    uint32_t n_parts)
{
	if (!logprobs || logprobs->n_top <= SLOTS_MAX / n_parts)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "%s: n_top %" PRIu32 " of %" PRIu32
			  " parts are more than %d tokens",
			  what, logprobs->n_top, n_parts, SLOTS_MAX);
}

/* What is only so for a sample in rounds. */
static enum philox_status check_limits(const struct philox_split_desc *split)
{
	const struct philox_sample_desc *sample = split->sample;
	const struct philox_penalty_desc *penalties = sample->penalties;

	if (sample->kept)
		return status_set(PHILOX_ERROR_INVALID,
				  "sample: kept is not NULL: no part has the "
				  "list of all, but cuts say the same");
	if (sample->vocab > split->vocab ||
	    sample->first > split->vocab - sample->vocab)
		return status_set(PHILOX_ERROR_INVALID,
				  "sample: first %" PRIu32 " + vocab %" PRIu32
				  " is past the split's vocab, %" PRIu32,
				  sample->first, sample->vocab, split->vocab);
	if (penalties && penalties->history->vocab < split->vocab)
		return status_set(PHILOX_ERROR_INVALID,
				  "history: vocab is %" PRIu32
				  ", below the split's, %" PRIu32,
				  penalties->history->vocab, split->vocab);
	return PHILOX_OK;
}

static enum philox_status check_sample(const struct philox_split_desc *split,
				       uint64_t n, uint64_t rows)
{
	const struct philox_sample_desc *sample = split->sample;
	enum philox_status status = sample_check_size(sample);

	if (status == PHILOX_OK)
		status = sample_check(sample, n, rows);
	if (status == PHILOX_OK)
		status =
			check_top("logprobs", sample->logprobs, split->n_parts);
	if (status == PHILOX_OK)
		status = check_top("raw_logprobs", sample->raw_logprobs,
				   split->n_parts);
	return status == PHILOX_OK ? check_limits(split) : status;
}

/* For n entries of a table; a plan has no use for arrays, and so for entries. */
static enum philox_status check_split(const struct philox_split_desc *split,
				      uint64_t n, uint64_t rows)
{
	enum philox_status status;

	if (!split)
		return status_set(PHILOX_ERROR_INVALID, "split is NULL");
	status = options_check_size("split", split, split->size,
				    SPLIT_SIZE_FIRST, sizeof(*split));
	if (status == PHILOX_OK)
		status = check_parts(split);
	return status == PHILOX_OK ? check_sample(split, n, rows) : status;
}

static enum philox_status check_round(const struct philox_split_desc *split,
				      const struct split_plan *plan)
{
	if (split->round < plan->count)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "split: round is %" PRIu32 ", not below the %" PRIu32
			  " of the sample",
			  split->round, plan->count);
}

/* --- plans ---------------------------------------------------------------- */

/* Of a split that is checked. */
static void set_args(struct split_args *args,
		     const struct philox_split_desc *split,
		     struct split_plan *plan)
{
	sample_set_args(&args->sample, split->sample);
	args->sample.parts = 1;
	args->work = split->work;
	args->part = split->part;
	args->n_parts = split->n_parts;
	args->index_bits = count_bits(split->vocab);
	make_plan(split->sample, args->index_bits, plan);
}

/* What a round gives to the others: nothing past the last. */
static void set_numbers(const struct split_args *args,
			const struct split_plan *plan,
			const struct philox_split_desc *split, uint32_t count,
			struct philox_split_info *info)
{
	struct split_round round;

	info->n_sums = info->n_maxima = 0;
	info->sums = info->maxima = NULL;
	if (split->round >= plan->count)
		return;
	round = place_round(args, plan, split->round, count);
	info->n_sums = count * split_sums(args, &round);
	info->n_maxima = count * split_maxima(args, &round);
	if (info->n_sums)
		info->sums = round.sums;
	if (info->n_maxima)
		info->maxima = round.maxima;
}

enum philox_status philox_split_plan(const struct philox_split_desc *split,
				     uint32_t count,
				     struct philox_split_info *info)
{
	struct split_args args = {.part = 0};
	struct split_plan plan;
	struct split_sizes most;
	enum philox_status status = check_split(split, 0, 0);

	if (status == PHILOX_OK && !info)
		status = status_set(PHILOX_ERROR_INVALID, "info is NULL");
	if (status == PHILOX_OK)
		status = options_check_size("info", info, info->size,
					    INFO_SIZE_FIRST, sizeof(*info));
	if (status == PHILOX_OK && count > ROWS_COUNT_MAX)
		status = status_set(PHILOX_ERROR_INVALID,
				    "count is %" PRIu32 ", above 2^24", count);
	if (status != PHILOX_OK)
		return status;
	set_args(&args, split, &plan);
	most = most_of(&args, &plan);
	info->n_rounds = plan.count;
	info->work_bytes = work_size(&most, count);
	set_numbers(&args, &plan, split, count, info);
	return PHILOX_OK;
}

/* --- launches ------------------------------------------------------------- */

static enum kernel split_kernel(enum philox_dtype dtype)
{
	return dtype == PHILOX_DTYPE_F32    ? KERNEL_split_f32
	       : dtype == PHILOX_DTYPE_BF16 ? KERNEL_split_bf16
					    : KERNEL_split_f16;
}

static enum philox_status launch(struct philox_rows *rows, philox_stream stream,
				 const struct philox_split_desc *split,
				 struct split_args *args)
{
	struct rows_arrays arrays = {.count = 0};
	struct kernel_arrays of_caller;
	struct split_plan plan;
	const uint64_t n = args->sample.list.n;
	const struct kernel_call call = {
		.kernel = split_kernel(split->sample->dtype),
		.args = args,
		.size = sizeof(*args),
		.work = n * SAMPLE_THREADS,
		.arrays = &of_caller};
	struct split_sizes most;
	enum philox_status status;

	set_args(args, split, &plan);
	status = check_round(split, &plan);
	if (status != PHILOX_OK)
		return status;
	args->now = place_round(args, &plan, split->round, n);
	if (split->round)
		args->before = place_round(args, &plan, split->round - 1, n);
	most = most_of(args, &plan);
	if (n) {
		sample_add_arrays(&arrays, &args->sample, split->sample->dtype);
		rows_arrays_written(&arrays, "split: work", args->work, 1,
				    work_size(&most, n));
		status = rows_arrays_check(&arrays);
	}
	rows_arrays_list(&arrays, &of_caller);
	return status == PHILOX_OK ? rows_launch_on(rows, stream, &call)
				   : status;
}

static enum philox_status sample_round(struct philox_rows *rows,
				       philox_stream stream,
				       const struct philox_row_list *list,
				       const struct philox_split_desc *split)
{
	struct split_args args = {.sample = {.table = rows->table}};
	struct rows_list *rows_list = &args.sample.list;
	enum philox_status status =
		rows_check_list("row", rows->table.count, list, rows_list);

	if (status == PHILOX_OK)
		status = check_split(split, rows_list->n, rows->table.count);
	if (status == PHILOX_OK)
		status = rows_check_flags("sample", split->sample->flags,
					  rows_list);
	if (status == PHILOX_OK && rows_list->n)
		status = fill_check_array("split", "work", split->work,
					  PHILOX_DTYPE_U64);
	if (status != PHILOX_OK)
		return status;
	args.sample.words = split->sample->flags & PHILOX_ROWS_KEEP ? 0 : 4;
	return launch(rows, stream, split, &args);
}

enum philox_status philox_rows_sample_round(
	struct philox_rows *rows, philox_stream stream,
	const struct philox_row_list *list,
	const struct philox_split_desc *split)
{
	enum philox_status status;
	struct float_mode mode;

	if (!rows)
		return context_null(NULL, "rows");
	mode = float_mode_set();
	status = sample_round(rows, stream, list, split);
	float_mode_restore(mode);
	return rows_report(rows, status);
}
