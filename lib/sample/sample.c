/*
 * lib/sample/sample.c - sampling tokens, checked and put on a stream
 */
#include <inttypes.h>
#include <philox/rows.h>
#include "lib/base/float_mode.h"
#include "lib/dist/dist.h"
#include "lib/rows/rows.h"
#include "lib/change/change.h"
#include "lib/change/changes.h"
#include "lib/sample/logprob.h"
#include "lib/sample/sample.h"

/* The sizes of the structs' first versions. */
#define SEEDS_SIZE_FIRST OPTIONS_FIRST(struct philox_seed_list, reserved)
OPTIONS_NO_PADDING(struct philox_seed_list, reserved);
#define SAMPLE_SIZE_FIRST OPTIONS_FIRST(struct philox_sample_desc, reserved)
OPTIONS_NO_PADDING(struct philox_sample_desc, reserved);
#define LOGPROB_SIZE_FIRST OPTIONS_FIRST(struct philox_logprob_desc, n_top)
OPTIONS_NO_PADDING(struct philox_logprob_desc, n_top);

/* --- checks --------------------------------------------------------------- */

static enum kernel sample_kernel(enum philox_dtype dtype, int filters)
{
	switch (dtype) {
	case PHILOX_DTYPE_F32:
		return filters ? KERNEL_filter_f32 : KERNEL_sample_f32;
	case PHILOX_DTYPE_BF16:
		return filters ? KERNEL_filter_bf16 : KERNEL_sample_bf16;
	case PHILOX_DTYPE_F16:
		return filters ? KERNEL_filter_f16 : KERNEL_sample_f16;
	default:
		return KERNEL_NONE;
	}
}

static enum philox_status check_dtype(const struct philox_sample_desc *sample)
{
	enum philox_status status = fill_check_dtype("sample", sample->dtype);

	if (status != PHILOX_OK ||
	    sample_kernel(sample->dtype, 0) != KERNEL_NONE)
		return status;
	return status_set(PHILOX_ERROR_INVALID,
			  "sample: dtype of logits is %s, not f32, bf16 or f16",
			  fill_dtype_name(sample->dtype));
}

static enum philox_status check_columns(const struct philox_sample_desc *sample,
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

static enum philox_status check_temperature(
	const struct philox_sample_desc *sample)
{
	const double most = 3.4028234663852886e38; /* of f32 */

	if (sample->temperatures)
		return fill_check_array("sample", "temperatures",
					sample->temperatures, PHILOX_DTYPE_F32);
	if (sample->temperature >= 0 && sample->temperature <= most)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "sample: temperature is %g, not 0 or more and finite "
			  "in f32",
			  sample->temperature);
}

/* The words of an entry's mask. */
static uint32_t allowed_words(uint32_t first, uint32_t vocab)
{
	return (first + (vocab - 1)) / 32 + 1;
}

static enum philox_status check_allowed(const struct philox_sample_desc *sample,
					uint64_t n)
{
	const uint32_t words = allowed_words(sample->first, sample->vocab);
	enum philox_status status;

	if (!sample->allowed || !n)
		return PHILOX_OK;
	status = fill_check_array("sample", "allowed", sample->allowed,
				  PHILOX_DTYPE_U32);
	if (status != PHILOX_OK || !sample->allowed_pitch)
		return status;
	if (sample->allowed_pitch < words && n > 1)
		return status_set(PHILOX_ERROR_INVALID,
				  "sample: allowed_pitch is %" PRIu64
				  ", neither 0 nor %" PRIu32
				  " words or more, as first + vocab needs",
				  sample->allowed_pitch, words);
	return rows_check_extent("sample", n, "allowed", words,
				 sample->allowed_pitch, PHILOX_DTYPE_U32);
}

/* A filter that is not used has no value, and one that is a good array. */
static enum philox_status check_filter(const struct philox_sample_desc *sample,
				       uint32_t filter, const char *name,
				       double value, const char *array_name,
				       const void *array)
{
	if (!(sample->filters & filter) && (array || value != 0))
		return status_set(PHILOX_ERROR_INVALID,
				  "sample: %s is given, but its filter is not "
				  "in filters (0x%" PRIx32 ")",
				  array ? array_name : name, sample->filters);
	if (!array || !(sample->filters & filter))
		return PHILOX_OK;
	return fill_check_array("sample", array_name, array,
				filter == PHILOX_FILTER_TOP_K
					? PHILOX_DTYPE_U32
					: PHILOX_DTYPE_F32);
}

static enum philox_status check_share(const char *name, double value,
				      const void *array)
{
	if (array || (value >= 0 && value <= 1))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "sample: %s is %g, not in [0, 1]", name, value);
}

static enum philox_status check_order(const struct philox_sample_desc *sample)
{
	const uint32_t known =
		PHILOX_FILTER_TOP_K | PHILOX_FILTER_TOP_P | PHILOX_FILTER_MIN_P;

	if (sample->filters & ~known)
		return status_set(PHILOX_ERROR_INVALID,
				  "sample: filters is 0x%" PRIx32
				  ", with bits that enum philox_filters lacks",
				  sample->filters);
	if (sample->filter_order > PHILOX_FILTER_ORDER_MKP)
		return status_set(PHILOX_ERROR_INVALID,
				  "sample: filter_order is %" PRIu32
				  ", not in enum philox_filter_order",
				  sample->filter_order);
	return PHILOX_OK;
}

/* Of what is kept: where it is written. */
static enum philox_status check_kept(const struct philox_sample_desc *sample,
				     uint64_t n)
{
	enum philox_status status = PHILOX_OK;

	if (sample->kept_counts)
		status =
			fill_check_array("sample", "kept_counts",
					 sample->kept_counts, PHILOX_DTYPE_U32);
	if (status != PHILOX_OK || !sample->kept)
		return status;
	if (!sample->kept_counts)
		return status_set(PHILOX_ERROR_INVALID,
				  "sample: kept_counts is NULL, but kept is "
				  "not");
	if (!sample->kept_pitch)
		return status_set(PHILOX_ERROR_INVALID,
				  "sample: kept_pitch is 0");
	status = fill_check_array("sample", "kept", sample->kept,
				  PHILOX_DTYPE_I32);
	return status == PHILOX_OK
		       ? rows_check_extent("sample", n, "kept_pitch",
					   sample->kept_pitch,
					   sample->kept_pitch, PHILOX_DTYPE_I32)
		       : status;
}

static enum philox_status check_filters(const struct philox_sample_desc *s,
					uint64_t n)
{
	enum philox_status status = check_order(s);

	if (status == PHILOX_OK)
		status = check_filter(s, PHILOX_FILTER_TOP_K, "top_k", s->top_k,
				      "top_ks", s->top_ks);
	if (status == PHILOX_OK)
		status = check_filter(s, PHILOX_FILTER_TOP_P, "top_p", s->top_p,
				      "top_ps", s->top_ps);
	if (status == PHILOX_OK)
		status = check_filter(s, PHILOX_FILTER_MIN_P, "min_p", s->min_p,
				      "min_ps", s->min_ps);
	if (status == PHILOX_OK)
		status = check_share("top_p", s->top_p, s->top_ps);
	if (status == PHILOX_OK)
		status = check_share("min_p", s->min_p, s->min_ps);
	if (status == PHILOX_OK && s->cuts)
		status = fill_check_array("sample", "cuts", s->cuts,
					  PHILOX_DTYPE_U64);
	return status == PHILOX_OK ? check_kept(s, n) : status;
}

/* An array that is one of a pair with a number of elements for each entry. */
static enum philox_status check_logprob_array(const char *what,
					      const char *name,
					      const void *array,
					      enum philox_dtype dtype,
					      const char *number, uint32_t n)
{
	if (!array && !n)
		return PHILOX_OK;
	if (!n)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: %s is 0, but %s is not NULL", what,
				  number, name);
	return fill_check_array(what, name, array, dtype);
}

static enum philox_status check_logprob_arrays(
	const char *what, const struct philox_logprob_desc *l)
{
	enum philox_status status = PHILOX_OK;

	if (l->drawn)
		status = fill_check_array(what, "drawn", l->drawn,
					  PHILOX_DTYPE_F32);
	if (status == PHILOX_OK)
		status = check_logprob_array(what, "ids", l->ids,
					     PHILOX_DTYPE_I32, "n_ids",
					     l->n_ids);
	if (status == PHILOX_OK)
		status = check_logprob_array(what, "of_ids", l->of_ids,
					     PHILOX_DTYPE_F32, "n_ids",
					     l->n_ids);
	if (status == PHILOX_OK)
		status = check_logprob_array(what, "top", l->top,
					     PHILOX_DTYPE_I32, "n_top",
					     l->n_top);
	return status == PHILOX_OK
		       ? check_logprob_array(what, "of_top", l->of_top,
					     PHILOX_DTYPE_F32, "n_top",
					     l->n_top)
		       : status;
}

static enum philox_status check_logprobs(const char *what,
					 const struct philox_logprob_desc *l,
					 uint64_t n)
{
	enum philox_status status;

	if (!l)
		return PHILOX_OK;
	status = options_check_size(what, l, l->size, LOGPROB_SIZE_FIRST,
				    sizeof(*l));
	if (status == PHILOX_OK && l->n_top > LOGPROB_TOP_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: n_top is %" PRIu32 ", above %d", what,
				  l->n_top, LOGPROB_TOP_MAX);
	return status == PHILOX_OK && n ? check_logprob_arrays(what, l)
					: status;
}

/* The tokens and keys of entries that there are. */
static enum philox_status check_results(const struct philox_sample_desc *sample)
{
	enum philox_status status = PHILOX_OK;

	if (!sample->tokens && !sample->keys)
		status = status_set(PHILOX_ERROR_INVALID,
				    "sample: tokens and keys are NULL");
	if (status == PHILOX_OK && sample->tokens)
		status = fill_check_array("sample", "tokens", sample->tokens,
					  PHILOX_DTYPE_I32);
	if (status == PHILOX_OK && sample->keys)
		status = fill_check_array("sample", "keys", sample->keys,
					  PHILOX_DTYPE_U64);
	return status;
}

enum philox_status sample_check_inputs(const struct philox_sample_desc *sample,
				       uint64_t n, uint64_t rows)
{
	enum philox_status status = check_dtype(sample);

	if (status == PHILOX_OK)
		status = check_columns(sample, n);
	if (status == PHILOX_OK)
		status = check_temperature(sample);
	if (status == PHILOX_OK)
		status = check_allowed(sample, n);
	if (status == PHILOX_OK)
		status = check_filters(sample, n);
	if (status == PHILOX_OK)
		status = changes_check(sample, n, rows);
	return status == PHILOX_OK && n
		       ? fill_check_array("sample", "logits", sample->logits,
					  sample->dtype)
		       : status;
}

enum philox_status sample_check(const struct philox_sample_desc *sample,
				uint64_t n, uint64_t rows)
{
	enum philox_status status = sample_check_inputs(sample, n, rows);

	if (status == PHILOX_OK)
		status = check_logprobs("logprobs", sample->logprobs, n);
	if (status == PHILOX_OK)
		status =
			check_logprobs("raw_logprobs", sample->raw_logprobs, n);
	return status == PHILOX_OK && n ? check_results(sample) : status;
}

enum philox_status sample_check_size(const struct philox_sample_desc *sample)
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

/* What a call without a table has no use for. */
static enum philox_status check_no_flags(
	const struct philox_sample_desc *sample)
{
	if (!sample->flags)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "sample: flags is 0x%" PRIx32
			  ", not 0: without a table nothing advances",
			  sample->flags);
}

/* --- arrays --------------------------------------------------------------- */

static void add_source(struct rows_arrays *arrays,
		       const struct sample_args *args)
{
	const struct rows_table *table = &args->table;

	if (table->control)
		rows_arrays_add_table(arrays, table);
	else
		rows_arrays_read(arrays, "sample: states", table->states,
				 table->count, sizeof(*table->states));
	rows_arrays_read(arrays, "slots: seeds", args->seeds, table->count,
			 sizeof(*args->seeds));
	rows_arrays_read(arrays, "slots: positions", args->positions,
			 table->count, sizeof(*args->positions));
	rows_arrays_add_list(arrays, &args->list);
}

static const struct sample_names sample_names = SAMPLE_NAMES("sample");

void sample_add_inputs(struct rows_arrays *arrays,
		       const struct sample_names *names,
		       const struct sample_args *args, enum philox_dtype dtype,
		       uint64_t n)
{
	const uint64_t size = fill_dtype_size(dtype);
	const struct sample_filters *filters = &args->filters;

	rows_arrays_add(arrays,
			(struct rows_array){.name = names->logits,
					    .start = args->logits,
					    .n = n,
					    .size = args->vocab * size,
					    .pitch = args->pitch * size});
	rows_arrays_read(arrays, names->temperatures, args->temperatures, n,
			 sizeof(*args->temperatures));
	rows_arrays_add(
		arrays,
		(struct rows_array){
			.name = names->allowed,
			.start = args->allowed,
			.n = args->allowed_pitch ? n : 1,
			.size = allowed_words(args->first, args->vocab) *
				sizeof(*args->allowed),
			.pitch = args->allowed_pitch * sizeof(*args->allowed)});
	rows_arrays_read(arrays, names->top_ks, filters->top_ks, n,
			 sizeof(*filters->top_ks));
	rows_arrays_read(arrays, names->top_ps, filters->top_ps, n,
			 sizeof(*filters->top_ps));
	rows_arrays_read(arrays, names->min_ps, filters->min_ps, n,
			 sizeof(*filters->min_ps));
	changes_add_arrays(arrays, &args->change, n, args->table.count);
}

static void add_kept(struct rows_arrays *arrays,
		     const struct sample_filters *filters, uint64_t n)
{
	rows_arrays_written(arrays, "sample: cuts", filters->cuts, n,
			    sizeof(*filters->cuts));
	rows_arrays_written(arrays, "sample: kept_counts", filters->kept_counts,
			    n, sizeof(*filters->kept_counts));
	rows_arrays_written(arrays, "sample: kept", filters->kept,
			    n * filters->kept_pitch, sizeof(*filters->kept));
}

/* What messages call the arrays of logprobs. */
struct logprob_names {
	const char *drawn, *ids, *of_ids, *top, *of_top;
};

static const struct logprob_names processed_names = {
	"logprobs: drawn", "logprobs: ids", "logprobs: of_ids", "logprobs: top",
	"logprobs: of_top"};
static const struct logprob_names raw_names = {
	"raw_logprobs: drawn", "raw_logprobs: ids", "raw_logprobs: of_ids",
	"raw_logprobs: top", "raw_logprobs: of_top"};

static void add_logprobs(struct rows_arrays *arrays,
			 const struct logprob_names *names,
			 const struct sample_logprobs *to, uint64_t n)
{
	rows_arrays_written(arrays, names->drawn, to->drawn, n,
			    sizeof(*to->drawn));
	rows_arrays_read(arrays, names->ids, to->ids, n * to->n_ids,
			 sizeof(*to->ids));
	rows_arrays_written(arrays, names->of_ids, to->of_ids, n * to->n_ids,
			    sizeof(*to->of_ids));
	rows_arrays_written(arrays, names->top, to->top, n * to->n_top,
			    sizeof(*to->top));
	rows_arrays_written(arrays, names->of_top, to->of_top, n * to->n_top,
			    sizeof(*to->of_top));
}

void sample_add_arrays(struct rows_arrays *arrays,
		       const struct sample_args *args, enum philox_dtype dtype)
{
	const uint64_t n = args->list.n;

	add_source(arrays, args);
	sample_add_inputs(arrays, &sample_names, args, dtype, n);
	add_kept(arrays, &args->filters, n);
	add_logprobs(arrays, &processed_names, &args->logprobs, n);
	add_logprobs(arrays, &raw_names, &args->raw, n);
	rows_arrays_written(arrays, "sample: tokens", args->tokens, n,
			    sizeof(*args->tokens));
	rows_arrays_written(arrays, "sample: keys", args->keys, n,
			    sizeof(*args->keys));
}

/* --- samples -------------------------------------------------------------- */

/* What is not used keeps all. */
static void set_filters(struct sample_filters *filters,
			const struct philox_sample_desc *sample)
{
	const uint32_t used = sample->filters;

	filters->top_ks = sample->top_ks;
	filters->top_ps = sample->top_ps;
	filters->min_ps = sample->min_ps;
	filters->top_k = sample->top_k;
	filters->top_p =
		used & PHILOX_FILTER_TOP_P ? (float)sample->top_p : 1.0f;
	filters->min_p = (float)sample->min_p;
	filters->order = sample->filter_order;
	filters->cuts = sample->cuts;
	filters->kept_counts = sample->kept_counts;
	filters->kept = sample->kept;
	filters->kept_pitch = sample->kept_pitch;
}

static void set_logprobs(struct sample_logprobs *to,
			 const struct philox_logprob_desc *logprobs)
{
	if (!logprobs)
		return;
	to->drawn = logprobs->drawn;
	to->ids = logprobs->ids;
	to->of_ids = logprobs->of_ids;
	to->top = logprobs->top;
	to->of_top = logprobs->of_top;
	to->n_ids = logprobs->n_ids;
	to->n_top = logprobs->n_top;
}

void sample_set_args(struct sample_args *args,
		     const struct philox_sample_desc *sample)
{
	args->logits = sample->logits;
	args->pitch = sample->pitch;
	args->vocab = sample->vocab;
	args->first = sample->first;
	args->temperatures = sample->temperatures;
	args->temperature =
		sample->temperatures ? 0.0f : (float)sample->temperature;
	args->allowed = sample->allowed;
	args->allowed_pitch = sample->allowed ? sample->allowed_pitch : 0;
	args->tokens = sample->tokens;
	args->keys = sample->keys;
	set_filters(&args->filters, sample);
	set_logprobs(&args->logprobs, sample->logprobs);
	set_logprobs(&args->raw, sample->raw_logprobs);
	changes_set(&args->change, sample);
	args->change.notes = sample->penalties && sample->tokens && args->words;
}

/* How many blocks have a quad for each thread. */
static uint32_t most_parts(const struct sample_args *args)
{
	return (args->vocab - 1) / (4 * SAMPLE_THREADS) + 1;
}

/*
 * How many CUDA blocks share an entry: one without a table, since there is no
 * place to combine their keys, and one with filters, but that may be a cluster.
 */
static uint32_t count_parts(const struct sample_args *args, int filters)
{
	uint32_t most = most_parts(args), parts;

	if (filters || !args->table.control || !args->list.n ||
	    args->list.n > SAMPLE_SHARED_MAX)
		return 1;
	parts = (uint32_t)(SAMPLE_BLOCKS / args->list.n);
	return parts < most ? parts : most;
}

static struct kernel_call make_call(struct sample_args *args,
				    const struct philox_sample_desc *sample,
				    const struct kernel_arrays *of_caller)
{
	const int filters = sample->filters || logprob_needs_cut(args) ||
			    logprob_are_wanted(&args->raw) ||
			    change_is_asked(args);

	args->parts = count_parts(args, filters);
	return (struct kernel_call){
		.kernel = sample_kernel(sample->dtype, filters),
		.args = args,
		.size = sizeof(*args),
		.work = args->list.n * args->parts * SAMPLE_THREADS,
		.arrays = of_caller,
		.cluster = filters ? most_parts(args) : 1};
}

/*
 * Of a sample whose list, and source of states, are checked and in *args.
 * `of_caller` must outlive the call.
 */
static enum philox_status prepare(const struct philox_sample_desc *sample,
				  struct sample_args *args,
				  struct kernel_arrays *of_caller,
				  struct rows_arrays *arrays,
				  struct kernel_call *call)
{
	enum philox_status status =
		sample_check(sample, args->list.n, args->table.count);

	if (status != PHILOX_OK)
		return status;
	sample_set_args(args, sample);
	if (args->list.n)
		sample_add_arrays(arrays, args, sample->dtype);
	rows_arrays_list(arrays, of_caller);
	*call = make_call(args, sample, of_caller);
	return args->list.n ? rows_arrays_check(arrays) : PHILOX_OK;
}

/* --- samples from a table ------------------------------------------------- */

static enum philox_status sample_rows(struct philox_rows *rows,
				      philox_stream stream,
				      const struct philox_row_list *list,
				      const struct philox_sample_desc *sample)
{
	struct sample_args args = {.table = rows->table};
	struct rows_arrays arrays = {.count = 0};
	struct kernel_arrays of_caller;
	struct kernel_call call;
	enum philox_status status =
		rows_check_list("row", rows->table.count, list, &args.list);

	if (status == PHILOX_OK)
		status = rows_check_flags("sample", sample->flags, &args.list);
	args.words = sample->flags & PHILOX_ROWS_KEEP ? 0 : 4;
	if (status == PHILOX_OK)
		status = prepare(sample, &args, &of_caller, &arrays, &call);
	return status == PHILOX_OK ? rows_launch_on(rows, stream, &call)
				   : status;
}

enum philox_status philox_sample_rows(struct philox_rows *rows,
				      philox_stream stream,
				      const struct philox_row_list *list,
				      const struct philox_sample_desc *sample)
{
	enum philox_status status;
	struct float_mode mode;

	if (!rows)
		return context_null(NULL, "rows");
	status = sample_check_size(sample);
	mode = float_mode_set();
	if (status == PHILOX_OK)
		status = sample_rows(rows, stream, list, sample);
	float_mode_restore(mode);
	return rows_report(rows, status);
}

/* --- samples without a table ---------------------------------------------- */

static enum philox_status check_states(const struct philox_state *states,
				       uint32_t count)
{
	if (count > ROWS_COUNT_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "sample: count is %" PRIu32 ", above 2^24",
				  count);
	return count ? fill_check_array("sample", "states", states,
					PHILOX_DTYPE_U64)
		     : PHILOX_OK;
}

/* Puts a sample whose source is checked on a stream. */
static enum philox_status sample_on(struct philox_device *device,
				    philox_stream stream,
				    struct sample_args *args,
				    const struct philox_sample_desc *sample)
{
	struct rows_arrays arrays = {.count = 0};
	struct kernel_arrays of_caller;
	struct kernel_call call;
	struct float_mode mode = float_mode_set();
	enum philox_status status =
		prepare(sample, args, &of_caller, &arrays, &call);

	if (status == PHILOX_OK && call.work)
		status = device_launch(device, stream, &call);
	float_mode_restore(mode);
	return status;
}

enum philox_status philox_sample_states(struct philox_device *device,
					philox_stream stream,
					const struct philox_state *states,
					uint32_t count,
					const struct philox_sample_desc *sample)
{
	struct sample_args args = {
		.table = {.states = (struct philox_state *)states,
			  .count = count},
		.list = {.n = count}};
	enum philox_status status;

	if (!device)
		return context_null(NULL, "device");
	status = sample_check_size(sample);
	if (status == PHILOX_OK)
		status = check_no_flags(sample);
	if (status == PHILOX_OK)
		status = check_states(states, count);
	return status == PHILOX_OK ? sample_on(device, stream, &args, sample)
				   : status;
}

static enum philox_status check_slots(const struct philox_seed_list *slots)
{
	enum philox_status status;

	if (!slots)
		return status_set(PHILOX_ERROR_INVALID, "slots is NULL");
	status = options_check_size("slots", slots, slots->size,
				    SEEDS_SIZE_FIRST, sizeof(*slots));
	if (status == PHILOX_OK)
		status = options_check_reserved("slots", slots->reserved);
	if (status == PHILOX_OK && slots->count > ROWS_COUNT_MAX)
		status = status_set(PHILOX_ERROR_INVALID,
				    "slots: count is %" PRIu32 ", above 2^24",
				    slots->count);
	if (status != PHILOX_OK || !slots->count)
		return status;
	status = fill_check_array("slots", "seeds", slots->seeds,
				  PHILOX_DTYPE_U64);
	if (status == PHILOX_OK)
		status = fill_check_array("slots", "positions",
					  slots->positions, PHILOX_DTYPE_U32);
	return status;
}

static enum philox_status check_seeds(const struct philox_seed_list *slots,
				      const struct philox_row_list *list,
				      const struct philox_sample_desc *sample,
				      struct sample_args *args)
{
	enum philox_status status = check_slots(slots);

	if (status == PHILOX_OK)
		status = check_no_flags(sample);
	if (status == PHILOX_OK)
		status = rows_check_list("slot", slots->count, list,
					 &args->list);
	if (status != PHILOX_OK)
		return status;
	args->table.count = slots->count;
	args->seeds = slots->seeds;
	args->positions = slots->positions;
	return PHILOX_OK;
}

enum philox_status philox_sample_seeds(struct philox_device *device,
				       philox_stream stream,
				       const struct philox_seed_list *slots,
				       const struct philox_row_list *list,
				       const struct philox_sample_desc *sample)
{
	struct sample_args args = {.table = {.states = NULL}};
	enum philox_status status;

	if (!device)
		return context_null(NULL, "device");
	status = sample_check_size(sample);
	if (status == PHILOX_OK)
		status = check_seeds(slots, list, sample, &args);
	return status == PHILOX_OK ? sample_on(device, stream, &args, sample)
				   : status;
}
