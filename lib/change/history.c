/*
 * lib/change/history.c - which tokens rows have had
 */
#include <inttypes.h>
#include "lib/change/changes.h"
#include "lib/dist/dist.h"
#include "lib/fill/fill.h"

#define HISTORY_SIZE_FIRST OPTIONS_FIRST(struct philox_history, vocab)
OPTIONS_NO_PADDING(struct philox_history, vocab);
#define TOKENS_SIZE_FIRST OPTIONS_FIRST(struct philox_token_list, prompt)
OPTIONS_NO_PADDING(struct philox_token_list, prompt);

#define HISTORY_ROWS_MAX (1u << 24)

/* --- histories ------------------------------------------------------------ */

static uint32_t seen_words(uint32_t vocab)
{
	return (vocab - 1) / 32 + 1;
}

/* One of the two arrays, of `least` elements a row. */
static enum philox_status check_array(const struct philox_history *history,
				      uint64_t entries, const char *name,
				      const uint32_t *array,
				      const char *pitch_name, uint64_t pitch,
				      uint64_t least)
{
	enum philox_status status = PHILOX_OK;

	if (entries)
		status = fill_check_array("history", name, array,
					  PHILOX_DTYPE_U32);
	if (status == PHILOX_OK && pitch < least)
		status = status_set(PHILOX_ERROR_INVALID,
				    "history: %s is %" PRIu64
				    ", below the %" PRIu64 " of a row",
				    pitch_name, pitch, least);
	return status == PHILOX_OK
		       ? rows_check_extent("history", history->rows, name,
					   least, pitch, PHILOX_DTYPE_U32)
		       : status;
}

static enum philox_status check_range(const struct philox_history *history)
{
	if (!history->rows || history->rows > HISTORY_ROWS_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "history: rows is %" PRIu32
				  ", not in 1 .. 2^24",
				  history->rows);
	if (!history->vocab || history->vocab > 0x7fffffff)
		return status_set(PHILOX_ERROR_INVALID,
				  "history: vocab is %" PRIu32
				  ", not in 1 .. 2^31 - 1",
				  history->vocab);
	return PHILOX_OK;
}

enum philox_status history_check(const struct philox_history *history,
				 uint64_t entries)
{
	enum philox_status status;

	if (!history)
		return status_set(PHILOX_ERROR_INVALID, "history is NULL");
	status = options_check_size("history", history, history->size,
				    HISTORY_SIZE_FIRST, sizeof(*history));
	if (status == PHILOX_OK)
		status = check_range(history);
	if (status == PHILOX_OK)
		status = check_array(history, entries, "counts",
				     history->counts, "counts_pitch",
				     history->counts_pitch, history->vocab);
	if (status == PHILOX_OK)
		status = check_array(history, entries, "seen", history->seen,
				     "seen_pitch", history->seen_pitch,
				     seen_words(history->vocab));
	return status;
}

void history_set(struct sample_history *to,
		 const struct philox_history *history)
{
	*to = (struct sample_history){.counts = history->counts,
				      .counts_pitch = history->counts_pitch,
				      .seen = history->seen,
				      .seen_pitch = history->seen_pitch,
				      .vocab = history->vocab};
}

void history_add_arrays(struct rows_arrays *arrays,
			const struct sample_history *history, uint64_t rows,
			int written)
{
	const struct rows_array counts = {
		.name = "history: counts",
		.start = history->counts,
		.n = rows,
		.size = history->vocab * sizeof(*history->counts),
		.pitch = history->counts_pitch * sizeof(*history->counts),
		.written = written};
	const struct rows_array seen = {
		.name = "history: seen",
		.start = history->seen,
		.n = rows,
		.size = history->seen ? seen_words(history->vocab) *
						sizeof(*history->seen)
				      : 0,
		.pitch = history->seen_pitch * sizeof(*history->seen),
		.written = written};

	rows_arrays_add(arrays, counts);
	rows_arrays_add(arrays, seen);
}

/* --- tokens --------------------------------------------------------------- */

static enum philox_status check_tokens(const struct philox_token_list *tokens,
				       uint64_t n)
{
	enum philox_status status = PHILOX_OK;

	if (tokens->prompt > 1)
		return status_set(PHILOX_ERROR_INVALID,
				  "tokens: prompt is %" PRIu32 ", not 0 or 1",
				  tokens->prompt);
	if (!n || !tokens->count)
		return PHILOX_OK;
	if (tokens->pitch < tokens->count && n > 1)
		return status_set(PHILOX_ERROR_INVALID,
				  "tokens: pitch is %" PRIu64
				  ", below count %" PRIu32,
				  tokens->pitch, tokens->count);
	status = rows_check_extent("tokens", n, "count", tokens->count,
				   tokens->pitch, PHILOX_DTYPE_I32);
	if (status == PHILOX_OK)
		status = fill_check_array("tokens", "tokens", tokens->tokens,
					  PHILOX_DTYPE_I32);
	if (status == PHILOX_OK && tokens->counts)
		status = fill_check_array("tokens", "counts", tokens->counts,
					  PHILOX_DTYPE_U32);
	return status;
}

static enum philox_status check_size(const struct philox_token_list *tokens)
{
	if (!tokens)
		return status_set(PHILOX_ERROR_INVALID, "tokens is NULL");
	return options_check_size("tokens", tokens, tokens->size,
				  TOKENS_SIZE_FIRST, sizeof(*tokens));
}

static void add_token_arrays(struct rows_arrays *arrays,
			     const struct sample_note_args *args)
{
	const uint64_t count = args->counts ? 1 : args->n; /* at least */
	const uint64_t size = sizeof(*args->tokens);

	rows_arrays_add(arrays, (struct rows_array){.name = "tokens: tokens",
						    .start = args->tokens,
						    .n = args->list.n,
						    .size = count * size,
						    .pitch = args->pitch * size,
						    .room = args->n * size});
	rows_arrays_read(arrays, "tokens: counts", args->counts, args->list.n,
			 sizeof(*args->counts));
	history_add_arrays(arrays, &args->history, args->rows, 1);
	rows_arrays_add_list(arrays, &args->list);
}

static enum philox_status launch(struct philox_device *device,
				 philox_stream stream,
				 struct sample_note_args *args)
{
	struct rows_arrays arrays = {.count = 0};
	struct kernel_arrays of_caller;
	const struct kernel_call call = {.kernel = KERNEL_sample_note,
					 .args = args,
					 .size = sizeof(*args),
					 .work = args->list.n * args->n,
					 .arrays = &of_caller};
	enum philox_status status;

	if (!call.work)
		return PHILOX_OK;
	args->list.steps = NULL;
	add_token_arrays(&arrays, args);
	rows_arrays_list(&arrays, &of_caller);
	status = rows_arrays_check(&arrays);
	return status == PHILOX_OK ? device_launch(device, stream, &call)
				   : status;
}

enum philox_status philox_history_add(struct philox_device *device,
				      philox_stream stream,
				      const struct philox_history *history,
				      const struct philox_row_list *list,
				      const struct philox_token_list *tokens)
{
	struct sample_note_args args;
	enum philox_status status;

	if (!device)
		return context_null(NULL, "device");
	status = history_check(history, 0);
	if (status == PHILOX_OK)
		status = check_size(tokens);
	if (status == PHILOX_OK)
		status =
			rows_check_list("row", history->rows, list, &args.list);
	if (status == PHILOX_OK)
		status = history_check(history, args.list.n);
	if (status == PHILOX_OK)
		status = check_tokens(tokens, args.list.n);
	if (status != PHILOX_OK)
		return status;
	history_set(&args.history, history);
	args.rows = history->rows;
	args.tokens = tokens->tokens;
	args.pitch = tokens->pitch;
	args.counts = tokens->counts;
	args.n = tokens->count;
	args.drawn = !tokens->prompt;
	return launch(device, stream, &args);
}
