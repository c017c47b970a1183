/*
 * tests/accept/accept.c - drafts are accepted as the law says
 *
 * The oracle is accept.py, in integers and fractions; its answers are in
 * accept.txt.
 */
#include <math.h>
#include <stdlib.h>
#include <philox/accept.h>
#include <philox/penalties.h>
#include "lib/base/base.h"
#include "tests/sample/known.h"

enum {
	LONGEST = 64, /* drafts of a case */
	BATCH = 4,    /* cases of a call, at most */
	ARRAYS = 24,
	SENTINEL = -77
};

/* --- the table ------------------------------------------------------------ */

/* What cases of one call have in common. */
struct head {
	enum philox_dtype dtype;
	uint32_t vocab, first, n, point;
	uint32_t order[2], filters[2]; /* target, draft */
};

struct one {
	struct head head;
	struct philox_state state;
	struct known rows[2][LONGEST + 1];
	int32_t drafts[LONGEST], tokens[LONGEST + 1];
	uint32_t count;
	int number;
};

static uint32_t read_u32(FILE *file, int base)
{
	char word[32];

	cr_assert_eq(fscanf(file, "%31s", word), 1);
	return (uint32_t)strtoul(word, NULL, base);
}

static float read_f32(FILE *file)
{
	return philox_f32_from_bits(read_u32(file, 16));
}

static int32_t read_i32(FILE *file)
{
	char word[32];

	cr_assert_eq(fscanf(file, "%31s", word), 1);
	return (int32_t)strtol(word, NULL, 10);
}

static uint64_t read_u64(FILE *file)
{
	char word[32];

	cr_assert_eq(fscanf(file, "%31s", word), 1);
	return strtoull(word, NULL, 10);
}

static void read_row(FILE *file, const struct head *head, struct known *row)
{
	*row = (struct known){.dtype = head->dtype,
			      .vocab = head->vocab,
			      .first = head->first};
	row->kind = read_u32(file, 10);
	row->seed = read_u32(file, 10);
	row->mask = read_u32(file, 10);
	row->temperature = read_f32(file);
	row->k = read_u32(file, 10);
	row->p = read_f32(file);
	row->m = read_f32(file);
	for (uint32_t c = 0; row->kind == 7 && c < row->vocab; c++) {
		cr_assert_lt(c, (uint32_t)KNOWN_LISTED);
		row->listed[c] = read_u32(file, 16);
	}
	known_make(row);
}

/* Returns 0 at the end of the file. */
static int read_head(FILE *file, struct head *head)
{
	char dtype[32];

	if (fscanf(file, "%31s", dtype) != 1)
		return 0;
	head->dtype = !strcmp(dtype, "f32")    ? PHILOX_DTYPE_F32
		      : !strcmp(dtype, "bf16") ? PHILOX_DTYPE_BF16
					       : PHILOX_DTYPE_F16;
	head->vocab = read_u32(file, 10);
	head->first = read_u32(file, 10);
	head->n = read_u32(file, 10);
	head->point = read_u32(file, 10);
	for (int side = 0; side < 2; side++) {
		head->order[side] = read_u32(file, 10);
		head->filters[side] = read_u32(file, 10);
	}
	cr_assert_leq(head->n, (uint32_t)LONGEST);
	return 1;
}

/* The rows of a side, of one entry. */
static uint32_t rows_of(const struct head *head, int side)
{
	if (!side)
		return head->n + 1;
	return head->point ? 0 : head->n;
}

static int read_one(FILE *file, struct one *one)
{
	one->number++;
	if (!read_head(file, &one->head))
		return 0;
	one->state.seed = read_u64(file);
	one->state.offset = read_u64(file);
	for (int side = 0; side < 2; side++)
		for (uint32_t j = 0; j < rows_of(&one->head, side); j++)
			read_row(file, &one->head, &one->rows[side][j]);
	for (uint32_t j = 0; j < one->head.n; j++)
		one->drafts[j] = read_i32(file);
	one->count = read_u32(file, 10);
	cr_assert(one->count && one->count <= one->head.n + 1, "case %d",
		  one->number);
	for (uint32_t j = 0; j <= one->head.n; j++)
		one->tokens[j] = j < one->count ? read_i32(file) : -1;
	return 1;
}

static void free_one(struct one *one)
{
	for (int side = 0; side < 2; side++)
		for (uint32_t j = 0; j < rows_of(&one->head, side); j++)
			known_free(&one->rows[side][j]);
}

static FILE *open_table(void)
{
	FILE *file = fopen("tests/accept/accept.txt", "r");
	int c = 0;

	cr_assert(file);
	while ((c = fgetc(file)) == '#')
		while (c != '\n' && c != EOF)
			c = fgetc(file);
	ungetc(c, file);
	return file;
}

/* --- calls ---------------------------------------------------------------- */

/* A call for the cases of a batch, and its arrays in device memory. */
struct call {
	struct fixture *f;
	const struct one *ones[BATCH];
	uint32_t entries, apart; /* apart: elements between rows */
	struct philox_sample_desc sides[2];
	struct philox_accept_desc accept;
	struct philox_row_list list;
	void *arrays[ARRAYS];
	size_t n_arrays;
};

/* Memory of one call; never of no bytes. */
static void *take(struct call *call, size_t size)
{
	void *memory = NULL;

	cr_assert_lt(call->n_arrays, (size_t)ARRAYS);
	OK(philox_memory_alloc(call->f->device, size + 4, &memory));
	call->arrays[call->n_arrays++] = memory;
	return memory;
}

static void free_call(struct call *call)
{
	while (call->n_arrays)
		OK(philox_memory_free(call->f->device,
				      call->arrays[--call->n_arrays]));
}

static const struct known *row_of(const struct call *call, int side, uint32_t r)
{
	const uint32_t n = rows_of(&call->ones[0]->head, side);

	return &call->ones[r / n]->rows[side][r % n];
}

/* Rows of a dtype; between them are NaNs. */
static void put_logits(struct call *call, int side, uint32_t rows)
{
	struct philox_sample_desc *of = &call->sides[side];
	const size_t size = of->dtype == PHILOX_DTYPE_F32 ? 4 : 2;
	float *wide = take(call, rows * of->pitch * size);
	uint16_t *narrow = (uint16_t *)(void *)wide;

	memset(wide, 0xff, rows * of->pitch * size);
	of->logits = wide;
	for (uint32_t r = 0; r < rows; r++)
		for (uint32_t c = 0; c < of->vocab; c++) {
			const float x = row_of(call, side, r)->logits[c];
			const size_t at = r * of->pitch + c;

			if (of->dtype == PHILOX_DTYPE_F32)
				wide[at] = x;
			else if (of->dtype == PHILOX_DTYPE_BF16)
				narrow[at] = philox_f32_to_bf16(x);
			else
				narrow[at] = philox_f32_to_f16(x);
		}
}

/* A row without a mask has all ones, if another has one. */
static void put_masks(struct call *call, int side, uint32_t rows)
{
	struct philox_sample_desc *of = &call->sides[side];
	const size_t words = (of->first + of->vocab - 1) / 32 + 1;
	const size_t pitch = words + call->apart;
	uint32_t *allowed, any = 0;

	for (uint32_t r = 0; r < rows; r++)
		any |= row_of(call, side, r)->mask;
	if (!any)
		return;
	allowed = take(call, rows * pitch * 4);
	memset(allowed, 0xff, rows * pitch * 4);
	for (uint32_t r = 0; r < rows; r++)
		if (row_of(call, side, r)->allowed)
			memcpy(allowed + r * pitch,
			       row_of(call, side, r)->allowed, words * 4);
	of->allowed = allowed;
	of->allowed_pitch = pitch;
}

static void put_values(struct call *call, int side, uint32_t rows)
{
	struct philox_sample_desc *of = &call->sides[side];
	float *temperatures = take(call, rows * 4);
	uint32_t *ks = take(call, rows * 4);
	float *ps = take(call, rows * 4), *ms = take(call, rows * 4);

	for (uint32_t r = 0; r < rows; r++) {
		temperatures[r] = row_of(call, side, r)->temperature;
		ks[r] = row_of(call, side, r)->k;
		ps[r] = row_of(call, side, r)->p;
		ms[r] = row_of(call, side, r)->m;
	}
	of->temperatures = temperatures;
	of->top_ks = of->filters & PHILOX_FILTER_TOP_K ? ks : NULL;
	of->top_ps = of->filters & PHILOX_FILTER_TOP_P ? ps : NULL;
	of->min_ps = of->filters & PHILOX_FILTER_MIN_P ? ms : NULL;
}

static void put_side(struct call *call, int side)
{
	const struct head *head = &call->ones[0]->head;
	const uint32_t rows = call->entries * rows_of(head, side);

	call->sides[side] = (struct philox_sample_desc){
		.size = sizeof(struct philox_sample_desc),
		.dtype = head->dtype,
		.vocab = head->vocab,
		.first = head->first,
		.pitch = head->vocab + (side ? 2 : 1) * (uint64_t)call->apart,
		.filters = head->filters[side],
		.filter_order = head->order[side]};
	put_logits(call, side, rows);
	put_masks(call, side, rows);
	put_values(call, side, rows);
}

/* Entry i is row 2 i + 1; call->ones and entries are set before. */
static void make_call(struct call *call)
{
	const struct head *head = &call->ones[0]->head;
	const uint32_t n = head->n;
	uint32_t *indices = take(call, call->entries * 4);
	int32_t *drafts = take(call, (size_t)call->entries * n * 4);

	put_side(call, 0);
	if (!head->point)
		put_side(call, 1);
	for (uint32_t i = 0; i < call->entries; i++) {
		indices[i] = 2 * i + 1;
		memcpy(drafts + i * n, call->ones[i]->drafts, n * 4);
	}
	call->list = (struct philox_row_list){.size = sizeof(call->list),
					      .indices = indices,
					      .count = call->entries};
	call->accept = (struct philox_accept_desc){
		.size = sizeof(call->accept),
		.target = &call->sides[0],
		.draft = head->point ? NULL : &call->sides[1],
		.drafts = drafts,
		.tokens = take(call, (size_t)call->entries * (n + 1) * 4),
		.counts = take(call, call->entries * 4),
		.n_drafts = n};
}

/* An odd offset is not one that can be set: the state is copied. */
static void set_rows(struct call *call, struct philox_rows *rows)
{
	struct fixture *f = call->f;
	struct philox_state *states;

	OK(philox_rows_states(rows, &states));
	for (uint32_t i = 0; i < call->entries; i++) {
		const struct philox_state *state = &call->ones[i]->state;
		const uint32_t row = 2 * i + 1;

		if (state->offset % 4 == 0)
			OK(philox_rows_set(rows, f->stream, &row, state, 1));
		else
			OK(philox_memory_copy(f->device, f->stream,
					      &states[row], state,
					      sizeof(*state)));
		OK(philox_stream_synchronize(f->device, f->stream));
	}
}

static void run(struct fixture *f, struct philox_rows *rows,
		const struct philox_row_list *list,
		const struct philox_accept_desc *accept)
{
	OK(philox_rows_accept(rows, f->stream, list, accept));
	OK(philox_stream_synchronize(f->device, f->stream));
}

static void set_output(const struct philox_accept_desc *accept,
		       uint32_t entries)
{
	const uint32_t positions = accept->n_drafts + 1;

	for (uint32_t i = 0; i < entries; i++) {
		accept->counts[i] = 12345;
		for (uint32_t j = 0; j < positions; j++)
			accept->tokens[i * positions + j] = SENTINEL;
	}
}

/* --- known answers -------------------------------------------------------- */

static void is_answer(const struct call *call, const char *set)
{
	const uint32_t positions = call->accept.n_drafts + 1;

	for (uint32_t i = 0; i < call->entries; i++) {
		const struct one *one = call->ones[i];
		const int32_t *tokens = call->accept.tokens + i * positions;

		cr_assert_eq(call->accept.counts[i], one->count,
			     "case %d, entry %u, %s: count %u, not %u",
			     one->number, i, set, call->accept.counts[i],
			     one->count);
		for (uint32_t j = 0; j < positions; j++)
			cr_assert_eq(tokens[j], one->tokens[j],
				     "case %d, entry %u, %s: token %u is %d, "
				     "not %d",
				     one->number, i, set, j, tokens[j],
				     one->tokens[j]);
	}
}

static void check_call(struct call *call, struct philox_rows *rows)
{
	struct philox_state before, after;
	struct fixture *f = call->f;

	make_call(call);
	set_rows(call, rows);
	OK(philox_rows_get(rows, f->stream, 1, 1, &before));
	FOR_EACH_SIMD(simd)
	{
		set_output(&call->accept, call->entries);
		run(f, rows, &call->list, &call->accept);
		is_answer(call, simd_name(simd));
	}
	OK(philox_rows_get(rows, f->stream, 1, 1, &after));
	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert(!memcmp(&before, &after, sizeof(before)), "it advanced");
	free_call(call);
}

PROMISE(accept, is_what_the_law_says)
{
	struct philox_rows *rows = known_rows(f, 2 * BATCH + 1);
	struct one *one = calloc(1, sizeof(*one));
	FILE *file = open_table();

	for (; read_one(file, one); free_one(one)) {
		struct call call = {.f = f, .ones = {one}, .entries = 1};

		check_call(&call, rows);
	}
	fclose(file);
	cr_assert_gt(one->number, 400);
	free(one);
	OK(philox_rows_destroy(rows));
}

static int is_of_batch(const struct one *a, const struct one *b)
{
	return !memcmp(&a->head, &b->head, sizeof(a->head));
}

/* Cases a .. b - 1 in a call, in one order of some. */
static void check_batch(struct fixture *f, struct philox_rows *rows,
			const struct one *ones, uint32_t count)
{
	const unsigned all = factorial(count);
	unsigned order[BATCH];

	for (unsigned k = 0; k < all; k += 1 + all / 4) {
		struct call call = {.f = f, .entries = count, .apart = 1 + k};

		permutation(k, count, order);
		for (uint32_t i = 0; i < count; i++)
			call.ones[i] = &ones[order[i]];
		check_call(&call, rows);
	}
}

/*
 * Reads on from ones[0] while cases can be made in one call. ones[*count] is
 * the case after those, if the result is not 0.
 */
static int read_batch(FILE *file, struct one *ones, uint32_t *count)
{
	for (*count = 1;; ++*count) {
		struct one *next = &ones[*count];

		next->number = next[-1].number;
		if (!read_one(file, next))
			return 0;
		if (*count == BATCH || !is_of_batch(&ones[0], next))
			return 1;
	}
}

PROMISE(accept, does_not_depend_on_the_batch_or_on_pitches)
{
	struct philox_rows *rows = known_rows(f, 2 * BATCH + 1);
	struct one *ones = calloc(BATCH + 1, sizeof(*ones));
	FILE *file = open_table();
	int more = read_one(file, &ones[0]), batches = 0;

	while (more) {
		uint32_t count;

		more = read_batch(file, ones, &count);
		check_batch(f, rows, ones, count);
		batches += count > 1;
		for (uint32_t i = 0; i < count; i++)
			free_one(&ones[i]);
		ones[0] = ones[count];
	}
	fclose(file);
	cr_assert_gt(batches, 60);
	free(ones);
	OK(philox_rows_destroy(rows));
}

/* --- calls of several entries --------------------------------------------- */

enum { ROWS = 7, ENTRIES = 9, N = 3, VOCAB = 43, BIASES = 3 };

struct scene {
	struct philox_rows *rows;
	struct philox_row_list list;
	struct philox_sample_desc target, draft;
	struct philox_accept_desc accept;
	uint32_t *indices;
	int32_t *drafts;
};

/* Logits of which some are likely, and of the two sides alike. */
static struct philox_sample_desc scene_side(struct fixture *f, uint32_t n,
					    int side)
{
	float *logits = make_memory(f, (size_t)ENTRIES * n * VOCAB * 4);
	uint32_t noise = 3;

	for (uint32_t r = 0; r < ENTRIES * n; r++) {
		uint32_t x = 100 + r / n * (N + 1) + r % n;

		for (uint32_t v = 0; v < VOCAB; v++)
			logits[r * VOCAB + v] =
				known_bell(&x, PHILOX_DTYPE_F32) +
				(float)side *
					known_bell(&noise, PHILOX_DTYPE_F32) /
					4;
	}
	return (struct philox_sample_desc){
		.size = sizeof(struct philox_sample_desc),
		.logits = logits,
		.dtype = PHILOX_DTYPE_F32,
		.vocab = VOCAB,
		.pitch = VOCAB,
		.temperature = side ? 0.9 : 1};
}

/* The draft that is likeliest, or another. */
static int32_t some_draft(const struct scene *s, uint32_t r, uint32_t *x)
{
	const float *logits = (const float *)s->draft.logits + r * VOCAB;
	uint32_t best = 0;

	if (known_below(x, 4) == 0)
		return (int32_t)known_below(x, VOCAB + 1) - 1;
	for (uint32_t v = 1; v < VOCAB; v++)
		best = logits[v] > logits[best] ? v : best;
	return (int32_t)best;
}

static void some_drafts(const struct scene *s, uint32_t x)
{
	for (uint32_t r = 0; r < ENTRIES * N; r++)
		s->drafts[r] = some_draft(s, r, &x);
}

/* Two entries are one row. */
static struct scene make_scene(struct fixture *f)
{
	struct scene s = {.rows = known_rows(f, ROWS),
			  .target = scene_side(f, N + 1, 0),
			  .draft = scene_side(f, N, 1),
			  .indices = make_memory(f, ENTRIES * 4),
			  .drafts = make_memory(f, ENTRIES * N * 4)};

	for (uint32_t i = 0; i < ENTRIES; i++)
		s.indices[i] = i * 3 % ROWS;
	some_drafts(&s, 1);
	s.list = (struct philox_row_list){
		.size = sizeof(s.list), .indices = s.indices, .count = ENTRIES};
	s.accept = (struct philox_accept_desc){
		.size = sizeof(s.accept),
		.drafts = s.drafts,
		.tokens = make_memory(f, ENTRIES * (N + 1) * 4),
		.counts = make_memory(f, ENTRIES * 4),
		.n_drafts = N};
	return s;
}

static void run_scene(struct fixture *f, struct scene *s)
{
	s->accept.target = &s->target;
	s->accept.draft = &s->draft;
	set_output(&s->accept, ENTRIES);
	run(f, s->rows, &s->list, &s->accept);
}

/* What a call has written. */
struct output {
	int32_t tokens[ENTRIES][N + 1];
	uint32_t counts[ENTRIES];
};

static struct output output_of(const struct scene *s)
{
	struct output output;

	memcpy(output.tokens, s->accept.tokens, sizeof(output.tokens));
	memcpy(output.counts, s->accept.counts, sizeof(output.counts));
	return output;
}

static void are_same(const struct output *a, const struct output *b,
		     const char *what)
{
	for (uint32_t i = 0; i < ENTRIES; i++) {
		cr_assert_eq(a->counts[i], b->counts[i],
			     "%s, entry %u: count %u, not %u", what, i,
			     a->counts[i], b->counts[i]);
		for (uint32_t j = 0; j <= N; j++)
			cr_assert_eq(a->tokens[i][j], b->tokens[i][j],
				     "%s, entry %u: token %u is %d, not %d",
				     what, i, j, a->tokens[i][j],
				     b->tokens[i][j]);
	}
}

/* --- penalties and biases ------------------------------------------------- */

/* Changes of one side: a value for each position. */
struct changes {
	struct philox_penalty_desc penalties;
	struct philox_bias_desc bias;
	float *r, *f, *p, *biases;
	int32_t *ids;
};

static struct philox_history make_history(struct fixture *f, uint32_t *x)
{
	struct philox_history history = {
		.size = sizeof(history),
		.counts = make_memory(f, ROWS * (VOCAB + 2) * 4),
		.seen = make_memory(f, ROWS * 3 * 4),
		.counts_pitch = VOCAB + 2,
		.seen_pitch = 3,
		.rows = ROWS,
		.vocab = VOCAB};

	memset(history.seen, 0, ROWS * 3 * 4);
	for (uint32_t r = 0; r < ROWS; r++)
		for (uint32_t v = 0; v < VOCAB; v++) {
			/* the count of what was not seen means nothing */
			history.counts[r * (VOCAB + 2) + v] = known_below(x, 3);
			history.seen[r * 3 + v / 32] |= known_below(x, 2)
							<< v % 32;
		}
	return history;
}

static struct changes make_changes(struct fixture *f,
				   const struct philox_history *history,
				   uint32_t positions, uint32_t *x)
{
	struct changes c = {.r = make_memory(f, positions * 4),
			    .f = make_memory(f, positions * 4),
			    .p = make_memory(f, positions * 4),
			    .biases = make_memory(f, positions * BIASES * 4),
			    .ids = make_memory(f, positions * BIASES * 4)};

	for (uint32_t i = 0; i < positions; i++) {
		c.r[i] = (float)known_below(x, 16) / 8;
		c.f[i] = (float)known_below(x, 16) / 10 - 0.4f;
		c.p[i] = (float)known_below(x, 16) / 10 - 0.4f;
		for (uint32_t b = 0; b < BIASES; b++) {
			c.ids[i * BIASES + b] =
				(int32_t)(b * 14 + known_below(x, 14));
			c.biases[i * BIASES + b] =
				(float)known_below(x, 64) / 8 - 4;
		}
	}
	c.penalties = (struct philox_penalty_desc){.size = sizeof(c.penalties),
						   .history = history,
						   .repetitions = c.r,
						   .frequencies = c.f,
						   .presences = c.p};
	c.bias = (struct philox_bias_desc){.size = sizeof(c.bias),
					   .ids = c.ids,
					   .biases = c.biases,
					   .count = BIASES};
	return c;
}

/* The law of philox/penalties.h, for token v at a position. */
static float changed(const struct changes *c, uint32_t position, uint32_t v,
		     float logit, int seen, uint32_t count)
{
	volatile float l = logit, product; /* rounded to f32 each time */

	for (uint32_t b = 0; b < BIASES; b++)
		if (c->ids[position * BIASES + b] == (int32_t)v)
			l = l + c->biases[position * BIASES + b];
	if (seen && c->r[position] != 0)
		l = l > 0 ? l / c->r[position] : l * c->r[position];
	if (!count)
		return l;
	product = c->f[position] * (float)count;
	l = l - product;
	l = l - c->p[position];
	return l;
}

/* Entry i's logits at position j of `n`, with the drafts before j. */
static void change_row(const struct scene *s, const struct changes *c,
		       uint32_t i, uint32_t j, uint32_t n, float *logits)
{
	const struct philox_history *history = c->penalties.history;
	const uint32_t row = s->indices[i], at = i * n + j;

	for (uint32_t v = 0; v < VOCAB; v++) {
		uint32_t seen = history->seen[row * 3 + v / 32] >> v % 32 & 1;
		uint32_t count =
			seen ? history->counts[row * (VOCAB + 2) + v] : 0;

		for (uint32_t before = 0; before < j; before++)
			count += s->drafts[i * N + before] == (int32_t)v;
		logits[at * VOCAB + v] =
			changed(c, at, v, logits[at * VOCAB + v],
				seen || count > 0, count);
	}
}

static void change(struct fixture *f, const struct scene *s,
		   const struct changes *c, uint32_t n,
		   struct philox_sample_desc *of)
{
	const size_t size = (size_t)ENTRIES * n * VOCAB * 4;
	float *logits = make_memory(f, size);

	memcpy(logits, of->logits, size);
	for (uint32_t i = 0; i < ENTRIES; i++)
		for (uint32_t j = 0; j < n; j++)
			change_row(s, c, i, j, n, logits);
	of->logits = logits;
	of->bias = NULL;
	of->penalties = NULL;
}

PROMISE(accept, counts_the_drafts_before_a_position_as_drawn)
{
	uint32_t x = 77;
	struct scene s = make_scene(f), plain = s;
	const struct philox_history history = make_history(f, &x);
	const struct changes target =
		make_changes(f, &history, ENTRIES * (N + 1), &x);
	const struct changes draft = make_changes(f, &history, ENTRIES * N, &x);

	s.target.bias = &target.bias;
	s.target.penalties = &target.penalties;
	s.draft.bias = &draft.bias;
	s.draft.penalties = &draft.penalties;
	for (uint32_t round = 0; round < 20; round++) {
		struct output expected, found;

		some_drafts(&s, 10 + round);
		plain.target = s.target;
		plain.draft = s.draft;
		change(f, &s, &target, N + 1, &plain.target);
		change(f, &s, &draft, N, &plain.draft);
		run_scene(f, &plain);
		expected = output_of(&plain);
		FOR_EACH_SIMD(simd)
		{
			run_scene(f, &s);
			found = output_of(&s);
			are_same(&found, &expected, simd_name(simd));
		}
	}
	OK(philox_rows_destroy(s.rows));
}

/* --- entries that take no part -------------------------------------------- */

static void is_unwritten(const struct scene *s, uint32_t i)
{
	cr_assert_eq(s->accept.counts[i], 12345u, "entry %u", i);
	for (uint32_t j = 0; j <= N; j++)
		cr_assert_eq(s->accept.tokens[i * (N + 1) + j], SENTINEL,
			     "entry %u", i);
}

static void has_no_token(const struct scene *s, uint32_t i)
{
	cr_assert_eq(s->accept.counts[i], 1u, "entry %u", i);
	for (uint32_t j = 0; j <= N; j++)
		cr_assert_eq(s->accept.tokens[i * (N + 1) + j], -1,
			     "entry %u, token %u", i, j);
}

PROMISE(accept, leaves_out_entries_that_take_no_part)
{
	struct scene s = make_scene(f);
	struct philox_rows_report report = {.size = sizeof(report)};
	uint8_t *mask = make_memory(f, ENTRIES);
	struct output all;

	run_scene(f, &s);
	all = output_of(&s);
	for (uint32_t i = 0; i < ENTRIES; i++)
		mask[i] = i % 3 != 1;
	s.list.mask = mask;
	s.indices[2] = ROWS;
	s.indices[5] = UINT32_MAX;
	s.indices[4] = ROWS; /* is not looked at */
	FOR_EACH_SIMD(simd)
	{
		run_scene(f, &s);
		for (uint32_t i = 0; i < ENTRIES; i++)
			if (!mask[i])
				is_unwritten(&s, i);
			else if (s.indices[i] >= ROWS)
				has_no_token(&s, i);
			else
				cr_assert(!memcmp(&s.accept.tokens[i * (N + 1)],
						  all.tokens[i],
						  sizeof(all.tokens[i])),
					  "entry %u", i);
		FAILS(philox_rows_check(s.rows, &report),
		      PHILOX_ERROR_OVERFLOW);
		cr_assert_eq(report.launches, 1u);
		cr_assert_eq(report.outside, 2u);
		cr_assert_eq(report.used_up, 0u);
	}
	OK(philox_rows_destroy(s.rows));
}

PROMISE(accept, reports_rows_that_hold_poison)
{
	const struct philox_state poison = {1, PHILOX_POISON_OFFSET};
	struct philox_rows_report report = {.size = sizeof(report)};
	struct scene s = make_scene(f);
	struct philox_state *states;

	OK(philox_rows_states(s.rows, &states));
	OK(philox_memory_copy(f->device, f->stream, &states[s.indices[3]],
			      &poison, sizeof(poison)));
	run_scene(f, &s);
	has_no_token(&s, 3);
	FAILS(philox_rows_check(s.rows, &report), PHILOX_ERROR_OVERFLOW);
	cr_assert_eq(report.used_up, 1u);
	cr_assert_eq(report.outside, 0u);
	OK(philox_rows_destroy(s.rows));
}

/* --- what comes after it -------------------------------------------------- */

PROMISE(accept, says_how_far_rows_advance)
{
	struct philox_state before[ROWS], after[ROWS];
	struct scene s = make_scene(f);

	s.list.count = ROWS; /* each row once */
	for (uint32_t round = 0; round < 8; round++) {
		some_drafts(&s, 50 + round);
		OK(philox_rows_get(s.rows, f->stream, 0, ROWS, before));
		run_scene(f, &s);
		OK(philox_rows_advance_by(s.rows, f->stream, &s.list, 4,
					  s.accept.counts));
		OK(philox_rows_get(s.rows, f->stream, 0, ROWS, after));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (uint32_t i = 0; i < ROWS; i++) {
			const uint32_t row = s.indices[i];

			cr_assert_eq(after[row].seed, before[row].seed);
			cr_assert_eq(after[row].offset,
				     before[row].offset +
					     4 * s.accept.counts[i],
				     "round %u, entry %u", round, i);
		}
	}
	OK(philox_rows_check(s.rows, NULL));
	OK(philox_rows_destroy(s.rows));
}

static philox_native_exec record(struct fixture *f, const struct scene *s)
{
	philox_native_graph graph;
	philox_native_exec exec;
	size_t nodes;

	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_GLOBAL));
	OK(philox_rows_accept(s->rows, f->stream, &s->list, &s->accept));
	OK(philox_rows_advance_by(s->rows, f->stream, &s->list, 4,
				  s->accept.counts));
	OK(philox_stream_end_capture(f->device, f->stream, &graph));
	OK(philox_native_graph_node_count(f->device, graph, &nodes));
	cr_assert_eq(nodes, (size_t)2);
	OK(philox_native_graph_instantiate(f->device, graph, &exec));
	OK(philox_native_graph_destroy(f->device, graph));
	return exec;
}

/* Each launch sees the drafts of then, and rows that have advanced. */
PROMISE(accept, is_captured_as_one_node_that_reads_drafts_at_each_launch)
{
	struct output expected[3], found;
	struct scene s = make_scene(f);
	philox_native_exec exec;

	for (uint32_t round = 0; round < 3; round++) {
		some_drafts(&s, 30 + round);
		run_scene(f, &s);
		expected[round] = output_of(&s);
		OK(philox_rows_advance_by(s.rows, f->stream, &s.list, 4,
					  s.accept.counts));
		OK(philox_stream_synchronize(f->device, f->stream));
	}
	OK(philox_rows_restart(s.rows, f->stream));
	exec = record(f, &s);
	for (uint32_t round = 0; round < 3; round++) {
		some_drafts(&s, 30 + round);
		set_output(&s.accept, ENTRIES);
		OK(philox_native_exec_launch(f->device, f->stream, exec));
		OK(philox_stream_synchronize(f->device, f->stream));
		found = output_of(&s);
		are_same(&found, &expected[round], "launched");
	}
	OK(philox_native_exec_destroy(f->device, exec));
	OK(philox_rows_destroy(s.rows));
}
