/*
 * philox/rows.h - tables of thousands of independent states, for samplers
 *
 * A table holds one state (seed, offset) per row in device memory: one row for
 * each request, sequence or environment that a server draws for. A single
 * kernel, one node of a captured graph, draws for any selection of rows, each
 * from its own state, and advances their offsets in place:
 *
 *   struct philox_rows_desc options = {
 *           .size = sizeof(options), .name = "requests", .count = 4096};
 *   struct philox_row_fill_desc fill = {
 *           .size = sizeof(fill), .dist = PHILOX_DIST_UNIFORM,
 *           .dtype = PHILOX_DTYPE_F32, .count = 1, .pitch = 1,
 *           .out = uniforms};
 *   struct philox_row_list slots = {
 *           .size = sizeof(slots), .indices = on_device, .count = batch};
 *
 *   philox_rows_create(context, &options, &rows);
 *   philox_rows_set(rows, stream, &row, &state, 1);   a request that begins
 *   philox_rows_fill(rows, stream, &slots, &fill);    each step, or captured
 *
 * So the numbers of a row depend only on its own state: not on its place in the
 * batch, on the batch, or on what other rows do.
 *
 * Rows stay fresh without the host: their offsets are advanced on the device.
 * So every replay of a graph draws new numbers, however it is launched. philox
 * need not be told about the launch.
 *
 * Numbers are laid out as everywhere (philox/state.h): element e of a row's
 * draw is word e % 4 of subsequence e / 4 (64-bit draws: subsequence e / 2). So
 * a draw advances a row by 4, however many values are taken. Element e of a row
 * is the value that philox_rng_fill() would draw as element e from that row's
 * state.
 *
 * What repeats and what does not: all entries of a call see their rows as they
 * were before it. A row that is listed k times draws the same numbers k times,
 * and advances once. Where they should differ, the list has steps: entry i
 * draws at its row's offset + 4 x steps[i]. Step 0 gives the numbers of the
 * next call, step 1 those of the call after it, and so on. The same row at the
 * same step has the same numbers again. That is what drafts need (speculative
 * decoding): the k + 1 positions of a request are sampled at once, as k + 1
 * calls one after the other would have. Its row is then advanced by as many as
 * were kept, a count that only the device knows:
 *
 *   struct philox_row_list drafts = {
 *           .size = sizeof(drafts), .indices = slot_of_entry,
 *           .count = batch * (k + 1), .steps = step_of_entry};   0 .. k
 *
 *   sample.flags = PHILOX_ROWS_KEEP;
 *   philox_sample_rows(rows, stream, &drafts, &sample);
 *   ...                                  your kernel: kept[i] of each request
 *   philox_rows_advance_by(rows, stream, &slots, 4, kept);
 *
 * The tokens are those of one-by-one decoding, whatever the drafts were and
 * however many were kept; and all of it can be captured.
 *
 * Rows are independent of each other from the start, and begin at offset 0:
 *
 *   table seed = fold(generator seed, PHILOX_FOLD_TABLE, FNV-1a(name))
 *   row seed   = fold(table seed, PHILOX_FOLD_ROW, row)
 *
 * and are plain states from then on, which can be set and read one by one.
 * Giving the generator a new seed does not change device memory: the table
 * keeps its rows until philox_rows_restart() derives them again at a point in a
 * stream that the caller chooses.
 *
 * Order: calls that use a table are work on its memory. The caller must order
 * calls on different streams, as for any array that kernels write.
 *
 * Arrays that a call only reads may overlap each other. An array that it writes
 * must not overlap any other array of the call, and no array of a draw, a
 * sample or an advance may overlap the table: PHILOX_ERROR_INVALID names the
 * two. What lies between the entries of an array with a pitch is not part of
 * it. Where counts on the device say how many values an entry gets, its first
 * one is compared. No array may change while the kernel runs. A host device
 * refuses an array that does not lie in its memory with all its entries, by
 * name and before anything is done (philox/device.h, "memory").
 *
 * Errors of all functions that put work on a stream ("those of a stream"
 * below):
 *
 *   PHILOX_ERROR_CAPTURE_INVALIDATED
 *                         the stream's capture was invalidated
 *   PHILOX_ERROR_MEMORY
 *   those of the device
 */
#ifndef PHILOX_ROWS_H
#define PHILOX_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include <philox/context.h>
#include <philox/device.h>
#include <philox/fill.h>
#include <philox/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

struct philox_rows;

/* --- tables --------------------------------------------------------------- */

/* A table that is to be made. Begin with PHILOX_INIT(). */
struct philox_rows_desc {
	size_t size;      /* sizeof(this struct) */
	const char *name; /* unique among the context's tables; copied */
	uint32_t count;   /* rows, 1 .. 2^24; 32 bytes of device memory each */
	struct philox_generator *generator; /* NULL: the context's default */
};

/*
 * Make a table of rows.
 *
 *   context  the context
 *   options  name, number of rows and generator
 *   rows     written; destroyed with philox_rows_destroy()
 *
 * Its rows are filled and can be used on any stream when the call returns. A
 * table made again under the name of a destroyed one begins with the same
 * states as before: rows are states that the caller keeps, not a record of what
 * was drawn. The generator cannot be destroyed before the table.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID  the message names the field
 *   PHILOX_ERROR_EXISTS   the context has a table of this name
 *   PHILOX_ERROR_MEMORY
 *   those of the device
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_rows_create(
	struct philox_context *context, const struct philox_rows_desc *options,
	struct philox_rows **rows);

/*
 * Destroy a table.
 *
 *   rows  the table; NULL does nothing
 *
 * Work on it must have finished. A table is also destroyed with its context.
 * Graphs that captured a call on the table may still be launched: its device
 * memory stays until they are gone, and is freed when the next table is made or
 * destroyed after that, or with the context.
 *
 * Returns PHILOX_OK, or an error; then the table is kept.
 * Errors:
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                         not legal during this capture
 *   those of the device
 * During capture: legal for a table that a graph, or a capture in progress,
 * uses; for others it is not, because philox_memory_free() is not.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_rows_destroy(struct philox_rows *rows);

/*
 * Return how many rows a table has.
 *
 *   rows  the table; NULL has 0
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API uint32_t philox_rows_count(const struct philox_rows *rows);

/*
 * Return the name of a table, which belongs to the table.
 *
 *   rows  the table; NULL has ""
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API const char *philox_rows_name(const struct philox_rows *rows);

/*
 * Write the device address of the table's states.
 *
 *   rows    the table
 *   states  written: an array in order of row, which stays where it is for the
 *           life of the table
 *
 * The address of a row is a cell for struct philox_rng and philox_rng_fill(),
 * and your own kernels may read it, captured ones too. They may also write it,
 * in stream order: with an offset that is a multiple of 4.
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID  an argument is NULL
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_rows_states(struct philox_rows *rows,
						 struct philox_state **states);

/* --- setting and reading rows --------------------------------------------- */

/*
 * Set rows to states, in stream order.
 *
 *   rows     the table
 *   stream   the stream
 *   indices  row indices[i] is set to states[i]; NULL: rows 0 .. n_rows - 1;
 *            memory of the host, which can be reused when the call returns
 *   states   memory of the host, likewise; offsets are multiples of 4
 *   n_rows   at least 1
 *
 * One kernel sets up to 192 rows.
 *
 * Returns PHILOX_OK, or an error; then no row has changed. After an error of
 * the device, though, the first rows of the batch may be set.
 * Errors:
 *   PHILOX_ERROR_INVALID  an index is out of range, or twice in the batch, or
 *                         an offset is not a multiple of 4; the message names
 *                         it
 *   those of a stream
 * During capture: recorded: each launch of the graph sets the rows to these
 * states again.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_rows_set(struct philox_rows *rows,
					      philox_stream stream,
					      const uint32_t *indices,
					      const struct philox_state *states,
					      size_t n_rows);

/*
 * Copy the states of rows, in stream order.
 *
 *   rows    the table
 *   stream  the stream
 *   first   the first row
 *   n_rows  at least 1
 *   states  written: device memory outside the table, or memory of the host
 *           that may be read once the stream is synchronised and must stay
 *           valid until then
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID  rows are out of range, or `states` is in the table
 *   those of a stream
 * During capture: recorded, as one copy node.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_rows_get(struct philox_rows *rows,
					      philox_stream stream,
					      uint32_t first, uint32_t n_rows,
					      struct philox_state *states);

/*
 * Derive all rows again, at offset 0, from the seed that the table's generator
 * has now.
 *
 *   rows    the table
 *   stream  the stream in whose order it happens
 *
 * Call it after philox_generator_seed() to repeat a run.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID
 *   those of a stream
 * During capture: recorded: each launch of the graph restarts the table, with
 * the seed that the generator had at capture.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_rows_restart(struct philox_rows *rows,
						  philox_stream stream);

/* --- drawing -------------------------------------------------------------- */

/*
 * The rows that take part in a draw. Begin with PHILOX_INIT(). All arrays are
 * device memory and read when the kernel runs: in a captured graph, at each
 * launch.
 *
 * Entry i is row indices[i], or row i without indices. It takes part if mask[i]
 * is not 0, or if there is no mask. With steps it draws at its row's offset + 4
 * x steps[i]: what the row's call number steps[i] from this one on would draw.
 * Such a call must keep the rows (PHILOX_ROWS_KEEP), since entries at different
 * steps have no common advance.
 *
 * An entry whose index is not below the table's count is left out: nothing is
 * drawn for it, its outputs are not written, and philox_rows_check() reports
 * it. A row that is in the list several times draws the same numbers for each
 * entry of the same step, and advances once per launch, not once per entry. An
 * entry whose step is past offset 2^64 - 4 is treated as one whose row is used
 * up (see philox_rows_fill()).
 *
 * NULL in place of a list means all rows, in their order. A list of no entries
 * means no rows: the call is checked, except for its arrays, which may be NULL,
 * and does nothing. During capture it records nothing.
 */
struct philox_row_list {
	size_t size;             /* sizeof(this struct) */
	const uint32_t *indices; /* `count` of them; NULL: 0 .. count - 1 */
	const uint8_t *mask;     /* `count` of them; NULL: all take part */
	uint32_t count;          /* entries, 0 .. 2^24 */
	const uint32_t *steps;   /* `count` of them; NULL: 0 for all */
};

/*
 * A draw. Value j of entry i, j below count (and counts[i]), is element first +
 * j of the row's draw and is written to out[i * pitch + j]. Tables offer
 * PHILOX_DIST_BITS as PHILOX_DTYPE_U32 and PHILOX_DTYPE_U64,
 * PHILOX_DIST_UNIFORM in [0, 1) as PHILOX_DTYPE_F32 and PHILOX_DTYPE_F64, and
 * PHILOX_DIST_NORMAL with mean 0 and deviation 1 as PHILOX_DTYPE_F32, by the
 * formulas of philox/fill.h.
 */
struct philox_row_fill_desc {
	size_t size;            /* sizeof(this struct) */
	uint32_t dist;          /* enum philox_dist */
	uint32_t dtype;         /* enum philox_dtype */
	uint64_t first;         /* 0, but for parts of a larger draw */
	uint64_t count;         /* values per entry, at most */
	const uint32_t *counts; /* device array, one per entry; NULL: `count` */
	uint64_t pitch;         /* elements from entry to entry, >= count */
	void *out;              /* device array, aligned to the dtype */
	uint32_t flags;         /* enum philox_rows_flags */
	uint32_t reserved;      /* 0 */
};

enum philox_rows_flags {
	/* The rows do not advance: the next draw repeats the numbers. A list
	 * with steps needs it. */
	PHILOX_ROWS_KEEP = 1
};

/*
 * Draw for the rows of a list, each from its own state, and advance each by 4.
 *
 *   rows    the table
 *   stream  the stream
 *   list    the rows; NULL: all rows
 *   fill    what is drawn, and where it goes
 *
 * One kernel does it, which reads all states as they were when it began. A row
 * takes part and advances even if its count is 0. A row at offset 2^64 - 4 is
 * used up: instead of repeating numbers it gives NaN or all-ones and does not
 * advance, and philox_rows_check() reports it. The same is true of a row that
 * holds poison. With PHILOX_ROWS_KEEP a row at that offset can be drawn from.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   the message names the field, or two arrays that
 *                          overlap; a list with steps needs PHILOX_ROWS_KEEP
 *   PHILOX_ERROR_OVERFLOW  the values of a row, or the array, do not fit 2^64
 *   those of a stream
 * During capture: recorded, as one kernel node.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_rows_fill(
	struct philox_rows *rows, philox_stream stream,
	const struct philox_row_list *list,
	const struct philox_row_fill_desc *fill);

/*
 * Advance the rows of a list.
 *
 *   rows    the table
 *   stream  the stream
 *   list    the rows, without steps; NULL: all rows
 *   words   a multiple of 4
 *
 * A row that is in the list several times advances once. A row with fewer words
 * left is not advanced and is reported as used up (philox_rows_check()).
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   those of philox_rows_fill()
 * During capture: recorded, as one kernel node.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_rows_advance(
	struct philox_rows *rows, philox_stream stream,
	const struct philox_row_list *list, uint64_t words);

/*
 * Advance each row of a list by its own number of words: words x counts[i] for
 * entry i.
 *
 *   rows    the table
 *   stream  the stream
 *   list    the rows, without steps; NULL: all rows
 *   words   a multiple of 4
 *   counts  device array, one per entry, read when the kernel runs
 *
 * After a draw at several steps the counts are the tokens that were kept, and
 * `words` is 4. A row that is in the list several times advances once, by the
 * greatest of the counts of its entries that take part. So a list of drafts may
 * be used again, without its steps. Its mask then has the drafts that were
 * kept, and counts[i] is the step of i + 1. An entry whose row has fewer words
 * left does not advance it and is reported as used up; so is one whose row
 * holds poison. With a count of 0 nothing advances.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   those of philox_rows_fill()
 * During capture: recorded, as one kernel node.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_rows_advance_by(
	struct philox_rows *rows, philox_stream stream,
	const struct philox_row_list *list, uint64_t words,
	const uint32_t *counts);

/* --- what only the device can see ----------------------------------------- */

/* Counts of entries that could not be drawn for. Begin with PHILOX_INIT(). */
struct philox_rows_report {
	size_t size;       /* sizeof(this struct), set by the caller */
	uint64_t launches; /* with such an entry, since the last check */
	uint64_t outside;  /* entries whose index was out of range */
	uint64_t used_up;  /* entries whose row was used up or held poison */
};

/*
 * Check whether any launch since the last check had an entry it could not draw
 * for.
 *
 *   rows    the table
 *   report  written: zeros if there is nothing new; may be NULL
 *
 * It never synchronises: its answer is certain only for launches whose stream
 * was synchronised before. Each launch is reported once.
 *
 * Returns PHILOX_OK if there is nothing new, PHILOX_ERROR_OVERFLOW if there is,
 * or another error; then nothing counts as reported.
 * Errors:
 *   PHILOX_ERROR_OVERFLOW  a launch had such an entry; *report says how many
 *   PHILOX_ERROR_INVALID   rows is NULL, or the `size` of *report is wrong
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_rows_check(
	struct philox_rows *rows, struct philox_rows_report *report);

/* --- tokens from logits --------------------------------------------------- */

/*
 * A row of logits is sampled by the Gumbel-max rule: the token is the index v
 * of the highest score
 *
 *   score(v) = fma(logit(v), 1 / temperature, gumbel(v))
 *
 * where the temperature is rounded to f32, 1 / temperature is again rounded to
 * f32, and the sum is rounded once. gumbel(v) is element v of Gumbel numbers in
 * f32 that are drawn from the row's state (philox/fill.h): -ln(-ln(1 - u)) with
 * u = (w + 1/2) 2^-32, where w is word v % 4 of subsequence v / 4
 * (philox/state.h), and u has 32 more bits if w is below 256. Token v is then
 * drawn with probability exp(logit(v) / temperature) divided by the sum of
 * these over all tokens (Gumbel 1954; Maddison, Tarlow, Minka: "A* Sampling",
 * NIPS 2014). For a token beside another this holds within 1e-4, relative, if
 * its logit / temperature is up to 40 below. Gumbel numbers are between -3.14
 * and 45.1, so a token that is 49 below the highest is never drawn.
 *
 * The token depends only on its row's state, logits and parameters. It does not
 * depend on the row's place in the batch, the batch, the device, the launch
 * shape, or, without filters, on how the vocabulary is split over ranks. No
 * softmax is computed, and nothing is sorted.
 *
 *   temperature 0          greedy: score(v) = logit(v); so is one below 2^-100
 *   equal scores           the lowest index
 *   +inf logits            the lowest index of these
 *   -inf logits            never drawn; all of them -inf: token -1
 *   any NaN in the row     token -1, unless it is not allowed
 *   a score beyond f32     an infinity, as if the logit were; none while the
 *                          logits are below 2^27
 *   a device temperature   that is negative, infinite or NaN: token -1; -0 is 0
 *   a row used up          (philox_rows_fill()), or poison: token -1
 *
 * Entries of one row have the same noise, in one call or in several, until the
 * row advances: four draft positions of a request need the steps of a list, or
 * positions of their own (philox_sample_seeds()). See "What repeats" above,
 * with an example of decoding with drafts.
 *
 * `allowed` says which tokens of an entry may be drawn: bit v % 32 of its word
 * v / 32 is 1 if v may. What its bit leaves out is as if its logit were -inf,
 * a NaN too. The words are those of the whole vocabulary, whatever `first` is,
 * and are read when the kernel runs: in a captured graph, at each launch.
 * Grammars' masks have this form (XGrammar's token bitmask, llguidance).
 *
 * Biases, and penalties for tokens that a row has had, change logits after the
 * mask and before all else: philox/penalties.h.
 *
 * Filters keep the likely tokens of an entry, and the token with the highest
 * score of those that are kept is drawn. So a filter only removes: a token that
 * is drawn without filters is drawn with them, if it is kept. Tokens are in the
 * order of their f32 logits after these and before the temperature, the
 * highest first, and of equal ones the lowest index. In that order each filter
 * keeps the first tokens:
 *
 *   top-k  the first k; 0 keeps all, as does a k above the number of tokens
 *   top-p  the first, and each token before which the masses sum up to less
 *          than p times the sum of all; 1 keeps all
 *   min-p  each token with t >= philox_ln_f32(min_p) (philox/real.h), so one
 *          that has min_p times the highest probability or more; what is below
 *          2^-126 keeps all
 *
 * With M, the highest logit of those that may be drawn, and 1 / temperature as
 * above, or 1 where it is greedy, the t and the mass of token v are
 *
 *   t(v) = (logit(v) - M) (1 / temperature)     0 where the logit is M
 *   mass(v) = floor(philox_exp_f32(t(v)) 2^56)
 *
 * where the difference and the product are each rounded to f32. Masses are
 * integers, and compared with p in integers: so a cut does not depend on the
 * order in which anything is added, and is the same on every device. Beside
 * +inf only +inf has mass. Tokens that are not allowed, or whose logit is -inf,
 * are never kept, and the token with the highest logit always is. A p or min_p
 * that is not in [0, 1]: token -1; -0 is 0. PHILOX_INIT() leaves top_p 0, which
 * keeps one token.
 *
 * Top-p may look at all tokens, or at those that others have left: see enum
 * philox_filter_order.
 *
 * A logprob is the logarithm of a token's probability:
 *
 *   logprob(v) = t(v) - philox_ln_f64(total)
 *
 * where total is the sum of masses, without rounding, times 2^-56, and rounded
 * to f64 towards 0; the difference is rounded to f64, then to f32. So it is the
 * same for any batch and on every device. A token of mass 0 has one, too. With
 * the temperature rounded to f32, it is within 2^-22 (1 + |logprob(v)| +
 * ln(vocab)) of the exact one while no t, and no difference logit(v) - M, is
 * beyond f32; where one is, and beside +inf, it is -inf. There are two kinds:
 *
 *   processed  after mask, temperature and filters: the total is that of the
 *              tokens that are kept, with t as above, so at temperature 1 for a
 *              greedy entry. What is not kept has -inf. All are NaN for an
 *              entry that has no token, unless it has none only because the
 *              scores of all that it keeps are -infinity, beyond f32: then only
 *              that of the token is.
 *   raw        of the logits as they are: of all columns, allowed or not, with
 *              1 in place of the temperature. M is the highest of these. They
 *              depend on logits only, but for that of the token, which is NaN
 *              if there is none. All are NaN if a logit is, or if all are -inf;
 *              a logit of -inf has -inf.
 *
 * A sample that writes logprobs, or changes logits, is made as one with
 * filters. On a GPU a plain sample of few entries has many blocks for each;
 * one with filters has a cluster of up to 8, or where there are none (compute
 * capability 8.9 and below) one block.
 *
 * If a vocabulary is split over ranks, each rank samples its columns with
 * `first`, their place in the vocabulary, into `keys` instead of `tokens`. The
 * maximum of the ranks' keys, as unsigned 64-bit numbers, is the key of the
 * whole, and philox_sample_token() gives its token. All ranks need the same
 * states. This is so without filters and logprobs: they look at the columns of
 * the call only. With them, ranks sample in rounds: philox/split.h.
 */

struct philox_bias_desc;
struct philox_penalty_desc;

/* The filters that a sample uses; the sum of some. */
enum philox_filters {
	PHILOX_FILTER_TOP_K = 1,
	PHILOX_FILTER_TOP_P = 2,
	PHILOX_FILTER_MIN_P = 4
};

/* Of which tokens top-p takes its share; the rest is the same. */
enum philox_filter_order {
	/* of all that may be drawn, as FlashInfer's "joint" */
	PHILOX_FILTER_ORDER_JOINT = 0,
	/* of those that top-k keeps: top-k, top-p, min-p, as transformers */
	PHILOX_FILTER_ORDER_KPM = 1,
	/* of those that both keep: min-p, top-k, top-p, as vLLM */
	PHILOX_FILTER_ORDER_MKP = 2
};

/*
 * Logprobs that a sample writes. Begin with PHILOX_INIT(). All arrays are
 * device memory, with as many entries as the sample, and `ids` is read when the
 * kernel runs: in a captured graph, at each launch.
 *
 * drawn[i] becomes that of the token of entry i, NaN if it has none. of_ids[j]
 * becomes that of ids[j], a vocabulary index: NaN if it is not that of a
 * column. From i * n_top on, `top` gets the first n_top tokens of entry i, in
 * the order of filters, and of_top theirs: of those that are kept, or, raw, of
 * those whose logit is above -inf. Where there are fewer, the rest is token -1
 * with -inf; -1 with NaN where all are NaN.
 */
struct philox_logprob_desc {
	size_t size;        /* sizeof(this struct) */
	float *drawn;       /* one per entry; NULL: not wanted */
	const int32_t *ids; /* entry i begins at i * n_ids; NULL: none */
	float *of_ids;      /* likewise; NULL if `ids` is */
	int32_t *top;       /* entry i begins at i * n_top; NULL: none */
	float *of_top;      /* likewise; NULL if `top` is */
	uint32_t n_ids;     /* of each entry; 0 without `ids` */
	uint32_t n_top;     /* of each entry, at most 1024; 0 without `top` */
};

/*
 * Logits and the output. Begin with PHILOX_INIT(). All arrays are device memory
 * and have as many entries as the list, or as `count` says; an entry of
 * `allowed` has (first + vocab + 31) / 32 words. They are read when the kernel
 * runs: in a captured graph, at each launch. An array that is written and
 * overlaps another one, or the table, is refused by name: blocks may still read
 * the logits of one entry when the token of another is written.
 *
 * A filter is used if its bit is in `filters`. Its value is that of the field,
 * or of its array where that is not NULL; top_p and min_p are rounded to f32,
 * so 0.99999999 is 1. cuts[i] becomes the key of the last token that entry i
 * keeps, in the order of filters: what is kept are the tokens with
 * philox_sample_order() >= cuts[i]. It is UINT64_MAX for an entry that has no
 * token, but where the scores of all that it keeps are -infinity, beyond f32.
 *
 * kept_counts[i] becomes how many tokens entry i keeps, and `kept` has their
 * indices from i * kept_pitch on, ascending. If they are more than kept_pitch,
 * the lowest kept_pitch of them are there. With 0 filters these, too, are those
 * that may be drawn.
 */
struct philox_sample_desc {
	size_t size;        /* sizeof(this struct) */
	const void *logits; /* entry i begins at element i * pitch */
	uint32_t dtype; /* enum philox_dtype of the logits: F32, BF16, F16 */
	uint32_t vocab; /* columns, 1 .. 2^31 - 1 */
	uint32_t first; /* vocabulary index of column 0 */
	uint32_t filters;          /* enum philox_filters: which are used */
	uint64_t pitch;            /* elements from entry to entry, >= vocab */
	double temperature;        /* >= 0, for all entries; ignored if */
	const float *temperatures; /* this is not NULL: one per entry */
	const uint32_t *allowed;   /* NULL: all tokens; see above */
	uint64_t allowed_pitch; /* words from entry to entry; 0: one for all */
	uint32_t filter_order;  /* enum philox_filter_order */
	uint32_t top_k;         /* for all entries; ignored if */
	const uint32_t *top_ks; /* this is not NULL: one per entry */
	double top_p;           /* 0 .. 1, likewise */
	const float *top_ps;
	double min_p; /* 0 .. 1, likewise */
	const float *min_ps;
	int32_t *tokens;           /* NULL: not wanted */
	uint64_t *keys;            /* NULL: not wanted; one is needed */
	uint64_t *cuts;            /* NULL: not wanted */
	uint32_t *kept_counts;     /* NULL: not wanted */
	int32_t *kept;             /* NULL: not wanted; needs kept_counts */
	uint64_t kept_pitch;       /* indices from entry to entry, >= 1 */
	/* NULL: none; read during the call only, but for their arrays */
	const struct philox_logprob_desc *logprobs;     /* processed */
	const struct philox_logprob_desc *raw_logprobs; /* raw */
	const struct philox_bias_desc *bias;         /* philox/penalties.h */
	const struct philox_penalty_desc *penalties; /* likewise */
	uint32_t flags;            /* enum philox_rows_flags */
	uint32_t reserved;         /* 0 */
};

/*
 * Sample one token for each entry of a list, drawing from the rows of a table
 * and advancing each by 4.
 *
 *   rows    the table
 *   stream  the stream
 *   list    the rows; NULL: all rows
 *   sample  logits, temperature and output
 *
 * A row advances whatever its temperature, or not at all with PHILOX_ROWS_KEEP,
 * which a list with steps needs. For an entry that takes no part nothing is
 * written. One whose index is out of range, or whose step is past the end of
 * its row, gets token -1, and philox_rows_check() reports it.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   the message names the field, or two arrays that
 *                          overlap; on a host device also an array outside its
 *                          memory (philox/device.h)
 *   PHILOX_ERROR_OVERFLOW  the logits do not fit 2^64 bytes
 *   those of a stream
 * During capture: recorded, as one kernel node.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_sample_rows(
	struct philox_rows *rows, philox_stream stream,
	const struct philox_row_list *list,
	const struct philox_sample_desc *sample);

/*
 * Sample one token for each of an array of states.
 *
 *   device  the device
 *   stream  the stream
 *   states  device memory, one per entry: cells of a captured pass for example
 *   count   entries, 0 .. 2^24
 *   sample  logits, temperature and output; its flags must be 0
 *
 * It samples as philox_sample_rows() does, and advances nothing.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   those of philox_sample_rows()
 * During capture: recorded, as one kernel node.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_sample_states(
	struct philox_device *device, philox_stream stream,
	const struct philox_state *states, uint32_t count,
	const struct philox_sample_desc *sample);

/*
 * What a server without a table has in device memory for each of its slots: a
 * seed, and how many tokens the slot has. Begin with PHILOX_INIT().
 *
 * Slot r is a row whose state is {seeds[r], 4 x positions[r]}: that of a
 * table's row which was set to {seeds[r], 0} and has been drawn from
 * positions[r] times.
 */
struct philox_seed_list {
	size_t size;               /* sizeof(this struct) */
	const uint64_t *seeds;     /* device array of `count` */
	const uint32_t *positions; /* device array of `count` */
	uint32_t count;            /* slots, 0 .. 2^24 */
	uint32_t reserved;         /* 0 */
};

/*
 * Sample one token for each entry of a list from the seed and position of its
 * slot alone.
 *
 *   device  the device
 *   stream  the stream
 *   slots   seeds and positions, read when the kernel runs: in a captured
 *           graph, at each launch
 *   list    the slots, several times each if you like; its steps are added to
 *           positions; NULL: all slots
 *   sample  logits, temperature and output; its flags must be 0
 *
 * It samples as philox_sample_rows() does for rows. Nothing advances, since the
 * positions are the caller's: the same call gives the same tokens until they
 * change. An entry whose index is not below slots->count gets token -1.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   those of philox_sample_rows()
 * During capture: recorded, as one kernel node.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_sample_seeds(
	struct philox_device *device, philox_stream stream,
	const struct philox_seed_list *slots,
	const struct philox_row_list *list,
	const struct philox_sample_desc *sample);

/*
 * Return the place of a token in the order of filters, as `cuts` of struct
 * philox_sample_desc has it: greater where the token comes first.
 *
 *   logit  of the token, in f32
 *   v      its index, below 2^31
 *
 * It is the key that a greedy sample gives for the token. A NaN gives
 * UINT64_MAX, and -inf 0: the place of neither is a key.
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_FN uint64_t philox_sample_order(float logit, uint32_t v)
{
	uint32_t bits = philox_f32_bits(logit);
	uint32_t magnitude = bits & 0x7fffffffu;

	if (magnitude > 0x7f800000u)
		return 0xffffffffffffffffULL;
	if (bits == 0xff800000u)
		return 0;
	if (!magnitude)
		bits = 0; /* -0 equals 0 */
	bits = bits >> 31 ? ~bits : bits | 0x80000000u;
	return PHILOX_CAST(uint64_t, bits) << 32 | (0xffffffffu - v);
}

/*
 * Return the token of a key, or -1 if its row has none.
 *
 *   key  of a row of struct philox_sample_desc's keys, or the maximum of
 *        several
 *
 * Keys are ordered as the rule above orders columns: by score, then by lowest
 * index. 0 is the key of a row of -inf only, UINT64_MAX that of a row that has
 * no token for another reason.
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_FN int32_t philox_sample_token(uint64_t key)
{
	if (key == 0 || key == 0xffffffffffffffffULL)
		return -1;
	return PHILOX_CAST(int32_t, 0xffffffffu - PHILOX_CAST(uint32_t, key));
}

#ifdef __cplusplus
}
#endif
#endif
