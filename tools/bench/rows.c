/*
 * tools/bench/rows.c - draws and tokens for the rows of a table
 *
 * A draw is compared with one fill of as many numbers, from one state, and a
 * token with the same launch without numbers, which reads the same logits, and
 * with that and as many words. On the host such a launch is compared with the
 * maximum of the same bytes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "tools/bench/bench.h"
#include "tools/cli/cli.h"

#define BUDGET    0.5e9 /* nanoseconds of one race, about */
#define ROWS      4096
#define VOCAB     128256 /* of Llama 3 */
#define QUICK_MAX 1000   /* columns */
#define TOP       20     /* tokens of an entry that have logprobs, or biases */
#define SEEN      500    /* that a row has had */

#define N(array)  (sizeof(array) / sizeof((array)[0]))

struct rows_bench {
	struct bench *bench;
	struct philox_rows *rows;
	struct philox_rows *slots; /* as many as entries, for a history */
	struct philox_row_list list;
	uint32_t columns;
	void *values; /* drawn, or logits: f32 */
	void *tokens;
	void *words;         /* as many, of a fill to compare with; counts */
	void *top;           /* the first tokens of each entry; with biases */
	void *biases;        /* of TOP tokens of each entry */
	void *seen;          /* bits of each entry's tokens */
	void *had;           /* SEEN tokens of each entry */
	struct torch *torch; /* NULL: missing, and why is in note */
	char note[RACE_NOTE_MAX];
};

/* --- work ----------------------------------------------------------------- */

static enum philox_status draw_rows(void *user)
{
	const struct rows_bench *of = user;
	struct philox_row_fill_desc fill = {.size = sizeof(fill),
					    .dist = PHILOX_DIST_UNIFORM,
					    .dtype = PHILOX_DTYPE_F32,
					    .count = of->columns,
					    .pitch = of->columns,
					    .out = of->values};

	return philox_rows_fill(of->rows, of->bench->stream, &of->list, &fill);
}

static enum philox_status fill_of(const struct rows_bench *of,
				  enum philox_dist dist,
				  enum philox_dtype dtype, void *out)
{
	struct philox_rng rng = {{1, 0}, NULL};
	uint64_t count = (uint64_t)of->list.count * of->columns;
	struct philox_fill_desc fill = {.size = sizeof(fill),
					.dist = dist,
					.dtype = dtype,
					.span = philox_span_elements(0, count),
					.high = 1,
					.std = 1,
					.out = out};

	return philox_rng_fill(of->bench->device, of->bench->stream, rng,
			       &fill);
}

static enum philox_status plain_fill(void *user)
{
	const struct rows_bench *of = user;

	return fill_of(of, PHILOX_DIST_UNIFORM, PHILOX_DTYPE_F32, of->values);
}

static struct philox_sample_desc describe(const struct rows_bench *of,
					  double temperature)
{
	return (struct philox_sample_desc){
		.size = sizeof(struct philox_sample_desc),
		.logits = of->values,
		.dtype = PHILOX_DTYPE_F32,
		.vocab = of->columns,
		.pitch = of->columns,
		.temperature = temperature,
		.tokens = of->tokens};
}

static enum philox_status sample(const struct rows_bench *of,
				 double temperature)
{
	const struct philox_sample_desc sample = describe(of, temperature);

	return philox_sample_rows(of->rows, of->bench->stream, &of->list,
				  &sample);
}

static enum philox_status warm(void *of)
{
	return sample(of, 0.8);
}

static enum philox_status greedy(void *of)
{
	return sample(of, 0);
}

/* The raw logprob of each token. */
static enum philox_status own_logprob(void *user)
{
	const struct rows_bench *of = user;
	const struct philox_logprob_desc raw = {.size = sizeof(raw),
						.drawn = of->words};
	struct philox_sample_desc sample = describe(of, 0.8);

	sample.raw_logprobs = &raw;
	return philox_sample_rows(of->rows, of->bench->stream, &of->list,
				  &sample);
}

/* And of the first tokens; as logprobs() of tools/bench/peers/pytorch.py. */
static enum philox_status first_tokens(void *user)
{
	const struct rows_bench *of = user;
	const struct philox_logprob_desc raw = {.size = sizeof(raw),
						.drawn = of->words,
						.top = of->top,
						.of_top = (float *)of->words +
							  of->list.count,
						.n_top = TOP};
	struct philox_sample_desc sample = describe(of, 0.8);

	sample.raw_logprobs = &raw;
	return philox_sample_rows(of->rows, of->bench->stream, &of->list,
				  &sample);
}

static struct philox_history history_of(const struct rows_bench *of)
{
	return (struct philox_history){.size = sizeof(struct philox_history),
				       .counts = of->words,
				       .counts_pitch = of->columns,
				       .seen = of->seen,
				       .seen_pitch = (of->columns + 31) / 32,
				       .rows = of->list.count,
				       .vocab = of->columns};
}

/* As penalised() of tools/bench/peers/pytorch.py. */
static enum philox_status penalise(void *user)
{
	const struct rows_bench *of = user;
	const struct philox_history history = history_of(of);
	const struct philox_penalty_desc penalties = {.size = sizeof(penalties),
						      .history = &history,
						      .repetition = 1.1,
						      .frequency = 0.1,
						      .presence = 0.2};
	const struct philox_bias_desc bias = {.size = sizeof(bias),
					      .ids = of->top,
					      .biases = of->biases,
					      .count = TOP};
	struct philox_sample_desc sample = describe(of, 0.8);

	sample.bias = &bias;
	sample.penalties = &penalties;
	return philox_sample_rows(of->slots, of->bench->stream, &of->list,
				  &sample);
}

/* As filtered() of tools/bench/peers/pytorch.py. */
static enum philox_status filter(void *user)
{
	const struct rows_bench *of = user;
	struct philox_sample_desc sample = describe(of, 0.8);

	sample.filters = PHILOX_FILTER_TOP_K | PHILOX_FILTER_TOP_P;
	sample.filter_order = PHILOX_FILTER_ORDER_KPM;
	sample.top_k = 50;
	sample.top_p = 0.9;
	return philox_sample_rows(of->rows, of->bench->stream, &of->list,
				  &sample);
}

static enum philox_status filter_share(void *user)
{
	const struct rows_bench *of = user;
	struct philox_sample_desc sample = describe(of, 0.8);

	sample.filters = PHILOX_FILTER_TOP_P;
	sample.top_p = 0.9;
	return philox_sample_rows(of->rows, of->bench->stream, &of->list,
				  &sample);
}

/* One entry, whose drafts are all likely: of the distribution itself, or not. */
static enum philox_status accept_drafts(const struct rows_bench *of,
					int is_point)
{
	const struct philox_row_list list = {.size = sizeof(list), .count = 1};
	struct philox_sample_desc target = describe(of, 0.8);
	struct philox_accept_desc accept = {.size = sizeof(accept),
					    .target = &target,
					    .draft = is_point ? NULL : &target,
					    .drafts = of->top,
					    .tokens = of->tokens,
					    .counts = of->words,
					    .n_drafts = of->list.count - 1};

	target.tokens = NULL;
	return philox_rows_accept(of->rows, of->bench->stream, &list, &accept);
}

static enum philox_status accept_all(void *of)
{
	return accept_drafts(of, 0);
}

static enum philox_status accept_points(void *of)
{
	return accept_drafts(of, 1);
}

static enum philox_status greedy_and_bits(void *user)
{
	const struct rows_bench *of = user;
	enum philox_status status = greedy(user);

	return status == PHILOX_OK ? fill_of(of, PHILOX_DIST_BITS,
					     PHILOX_DTYPE_U32, of->words)
				   : status;
}

/* The maximum of a row's bytes, as integers. */
typedef int32_t lanes __attribute__((vector_size(64), aligned(4), may_alias));

#define LANES 16
#define SUMS  4 /* in progress at once */

#define MAXIMUM(name, attribute)                                             \
	attribute static int32_t name(const int32_t *x, uint32_t n)          \
	{                                                                    \
		lanes most[SUMS], above;                                     \
		int32_t highest = INT32_MIN;                                 \
		uint32_t i = 0;                                              \
                                                                             \
		for (int k = 0; k < SUMS; k++)                               \
			most[k] = (lanes){0} + INT32_MIN;                    \
		for (; i + SUMS * LANES <= n; i += SUMS * LANES)             \
			for (int k = 0; k < SUMS; k++) {                     \
				lanes of =                                   \
					*(const lanes *)(x + i + k * LANES); \
                                                                             \
				above = of > most[k];                        \
				most[k] = (of & above) | (most[k] & ~above); \
			}                                                    \
		for (; i < n; i++)                                           \
			highest = x[i] > highest ? x[i] : highest;           \
		for (int k = 0; k < SUMS * LANES; k++)                       \
			highest = most[k / LANES][k % LANES] > highest       \
					  ? most[k / LANES][k % LANES]       \
					  : highest;                         \
		return highest;                                              \
	}

#ifdef __clang__
#define VECTORS
#else
#define VECTORS optimize("O3"),
#endif

MAXIMUM(maximum_plain, __attribute__((VECTORS noinline)))
#ifdef __x86_64__
MAXIMUM(maximum_avx2, __attribute__((VECTORS noinline, target("avx2"))))
MAXIMUM(maximum_avx512, __attribute__((VECTORS noinline, target("avx512f"))))
#endif

static int32_t maximum_of(const int32_t *x, uint32_t n)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx512f"))
		return maximum_avx512(x, n);
	if (__builtin_cpu_supports("avx2"))
		return maximum_avx2(x, n);
#endif
	return maximum_plain(x, n);
}

static enum philox_status maximum(void *user)
{
	const struct rows_bench *of = user;
	int32_t *to = of->tokens;

	for (uint32_t i = 0; i < of->list.count; i++)
		to[i] = maximum_of((const int32_t *)of->values +
					   (size_t)i * of->columns,
				   of->columns);
	return PHILOX_OK;
}

/* --- races ---------------------------------------------------------------- */

struct entry {
	struct rows_bench *of;
	enum philox_status (*work)(void *of);
};

static int run_entry(struct racer *racer, int times, struct race_time *time)
{
	const struct entry *entry = racer->of;

	return race_note(racer, race_repeat(entry->of->bench, times,
					    entry->work, entry->of, time));
}

static int ask_torch(struct racer *racer, const char *what, int times,
		     struct race_time *time)
{
	const struct entry *entry = racer->of;
	char line[64];

	snprintf(line, sizeof(line), "%s %u %u %d", what, entry->of->list.count,
		 entry->of->columns, times);
	return torch_ask(entry->of->torch, line, time, racer->note);
}

static int sample_torch(struct racer *racer, int times, struct race_time *time)
{
	return ask_torch(racer, "tokens", times, time);
}

static int filter_torch(struct racer *racer, int times, struct race_time *time)
{
	return ask_torch(racer, "filtered", times, time);
}

static int top_torch(struct racer *racer, int times, struct race_time *time)
{
	return ask_torch(racer, "logprobs", times, time);
}

static int penalise_torch(struct racer *racer, int times,
			  struct race_time *time)
{
	return ask_torch(racer, "penalised", times, time);
}

/* The first racer is ours; a row for each of the others. */
static int race_rows(const struct rows_bench *of, const char *name,
		     struct racer *racers, size_t count)
{
	race(racers, count, of->bench->quick ? 0 : BUDGET);
	if (racers[0].out) {
		complain("bench", "%s", racers[0].note);
		return -1;
	}
	for (size_t i = 1; i < count; i++) {
		const struct racer *peer = &racers[i];
		int is_torch = peer->run == sample_torch ||
			       peer->run == filter_torch ||
			       peer->run == top_torch ||
			       peer->run == penalise_torch;
		struct bench_row row = {
			.name = name,
			.value = racers[0].median.whole,
			.unit = "ns",
			.peer = peer->name,
			.peer_value = peer->out ? NAN : peer->median.whole,
			.note = peer->out  ? peer->note
				: is_torch ? of->note
					   : NULL};

		bench_print(of->bench, &row);
	}
	return 0;
}

static int race_draws(struct rows_bench *of, const char *name)
{
	struct entry ours = {of, draw_rows}, peer = {of, plain_fill};
	struct racer racers[] = {
		{.name = "philox", .run = run_entry, .of = &ours},
		{.name = "fill", .run = run_entry, .of = &peer}};

	return race_rows(of, name, racers, N(racers));
}

static int make_logits(const struct rows_bench *of)
{
	return bench_try("logits", fill_of(of, PHILOX_DIST_NORMAL,
					   PHILOX_DTYPE_F32, of->values));
}

static int race_tokens(struct rows_bench *of, const char *name)
{
	struct entry ours = {of, warm}, cold = {of, greedy};
	struct entry both = {of, greedy_and_bits};
	struct racer racers[] = {
		{.name = "philox", .run = run_entry, .of = &ours},
		{.name = "greedy", .run = run_entry, .of = &cold},
		{.name = "greedy+bits", .run = run_entry, .of = &both},
		{.name = "torch", .run = sample_torch, .of = &ours}};

	if (!of->torch)
		snprintf(racers[3].note, RACE_NOTE_MAX, "%s", of->note);
	if (make_logits(of))
		return -1;
	return race_rows(of, name, racers, N(racers));
}

static int race_filtered(struct rows_bench *of, const char *name)
{
	struct entry ours = {of, filter}, all = {of, warm};
	struct entry share = {of, filter_share};
	struct racer racers[] = {
		{.name = "philox", .run = run_entry, .of = &ours},
		{.name = "token", .run = run_entry, .of = &all},
		{.name = "top-p", .run = run_entry, .of = &share},
		{.name = "torch", .run = filter_torch, .of = &ours}};

	if (!of->torch)
		snprintf(racers[3].note, RACE_NOTE_MAX, "%s", of->note);
	if (make_logits(of))
		return -1;
	return race_rows(of, name, racers, N(racers));
}

static int race_logprobs(struct rows_bench *of, const char *name)
{
	struct entry ours = {of, first_tokens}, all = {of, warm};
	struct entry one = {of, own_logprob};
	struct racer racers[] = {
		{.name = "philox", .run = run_entry, .of = &ours},
		{.name = "token", .run = run_entry, .of = &all},
		{.name = "its own", .run = run_entry, .of = &one},
		{.name = "torch", .run = top_torch, .of = &ours}};

	if (!of->torch)
		snprintf(racers[3].note, RACE_NOTE_MAX, "%s", of->note);
	if (make_logits(of))
		return -1;
	return race_rows(of, name, racers, N(racers));
}

/* SEEN random tokens of each entry, and a bias for TOP others. */
static int make_changes(const struct rows_bench *of)
{
	const struct philox_history history = history_of(of);
	const struct philox_token_list had = {.size = sizeof(had),
					      .tokens = of->had,
					      .pitch = SEEN,
					      .count = SEEN};
	struct philox_device *device = of->bench->device;
	philox_stream stream = of->bench->stream;
	const uint32_t n = of->list.count;
	const struct philox_fill_desc fill = {
		.size = sizeof(fill),
		.dist = PHILOX_DIST_INTEGERS,
		.dtype = PHILOX_DTYPE_I32,
		.span = philox_span_elements(0, (uint64_t)n * SEEN),
		.to = of->columns - 1,
		.out = of->had};
	const struct philox_rng rng = {{2, 0}, NULL};
	int32_t *ids = malloc(n * TOP * sizeof(*ids));
	int failed = -1;

	if (!ids)
		return complain("bench", "no memory"), -1;
	for (uint32_t i = 0; i < n * TOP; i++)
		ids[i] = (int32_t)(i % TOP * (of->columns / TOP));
	if (!bench_try("ids", philox_memory_copy(device, stream, of->top, ids,
						 n * TOP * sizeof(*ids))) &&
	    !bench_try("biases", philox_memory_set(device, stream, of->biases,
						   0, n * TOP * 4)) &&
	    !bench_try("counts",
		       philox_memory_set(device, stream, of->words, 0,
					 (size_t)n * of->columns * 4)) &&
	    !bench_try("seen", philox_memory_set(device, stream, of->seen, 0,
						 n * history.seen_pitch * 4)) &&
	    !bench_try("tokens", philox_rng_fill(device, stream, rng, &fill)) &&
	    !bench_try("history", philox_history_add(device, stream, &history,
						     NULL, &had)) &&
	    !bench_try("synchronize",
		       philox_stream_synchronize(device, stream)))
		failed = 0;
	free(ids);
	return failed;
}

static int race_penalised(struct rows_bench *of, const char *name)
{
	const struct philox_rows_desc options = {.size = sizeof(options),
						 .name = "slots",
						 .count = of->list.count};
	struct entry ours = {of, penalise}, all = {of, warm};
	struct racer racers[] = {
		{.name = "philox", .run = run_entry, .of = &ours},
		{.name = "token", .run = run_entry, .of = &all},
		{.name = "torch", .run = penalise_torch, .of = &ours}};
	int failed;

	if (!of->torch)
		snprintf(racers[2].note, RACE_NOTE_MAX, "%s", of->note);
	if (make_logits(of) || make_changes(of) ||
	    bench_try("slots", philox_rows_create(of->bench->context, &options,
						  &of->slots)))
		return -1;
	failed = race_rows(of, name, racers, N(racers));
	philox_rows_destroy(of->slots);
	return failed;
}

static int race_accepted(struct rows_bench *of, const char *name)
{
	struct entry ours = {of, accept_all}, points = {of, accept_points};
	struct entry all = {of, warm};
	struct racer racers[] = {
		{.name = "philox", .run = run_entry, .of = &ours},
		{.name = "tokens", .run = run_entry, .of = &all},
		{.name = "point", .run = run_entry, .of = &points}};

	if (make_logits(of) ||
	    bench_try("drafts",
		      philox_memory_set(of->bench->device, of->bench->stream,
					of->top, 0, of->list.count * 4)))
		return -1;
	return race_rows(of, name, racers, N(racers));
}

static int race_greedy(struct rows_bench *of, const char *name)
{
	struct entry ours = {of, greedy}, peer = {of, maximum};
	struct racer racers[] = {
		{.name = "philox", .run = run_entry, .of = &ours},
		{.name = "maximum", .run = run_entry, .of = &peer}};

	if (!philox_device_is_host(of->bench->device))
		snprintf(racers[1].note, RACE_NOTE_MAX, "only on the host");
	return make_logits(of) ? -1 : race_rows(of, name, racers, N(racers));
}

/* --- the part ------------------------------------------------------------- */

static const struct shape {
	const char *what;
	uint32_t n, columns;
	int (*race)(struct rows_bench *of, const char *name);
} shapes[] = {{"draw", ROWS, 1, race_draws},
	      {"draw", ROWS, 1024, race_draws},
	      {"token", 1, VOCAB, race_tokens},
	      {"token", 8, VOCAB, race_tokens},
	      {"token", 64, VOCAB, race_tokens},
	      {"filtered", 1, VOCAB, race_filtered},
	      {"filtered", 64, VOCAB, race_filtered},
	      {"penalised", 1, VOCAB, race_penalised},
	      {"penalised", 64, VOCAB, race_penalised},
	      {"accepted", 5, VOCAB, race_accepted},
	      {"logprobs", 1, VOCAB, race_logprobs},
	      {"logprobs", 64, VOCAB, race_logprobs},
	      {"greedy", 1, VOCAB, race_greedy},
	      {"greedy", 64, VOCAB, race_greedy}};

static uint32_t columns_of(const struct bench *bench, const struct shape *shape)
{
	return bench->quick && shape->columns > QUICK_MAX ? QUICK_MAX
							  : shape->columns;
}

/* Writes a shape's name, and says whether it is wanted. */
static int shape_is_wanted(const struct bench *bench, const struct shape *shape,
			   char name[64])
{
	snprintf(name, 64, "rows/%s/%ux%u", shape->what, shape->n,
		 columns_of(bench, shape));
	return bench_wants(bench, name);
}

/* All memory of a shape, as far as there is any. */
static int take_memory(struct rows_bench *of)
{
	struct philox_device *device = of->bench->device;
	const size_t n = of->list.count, all = n * of->columns * 4;

	return bench_try("values",
			 philox_memory_alloc(device, all, &of->values)) ||
	       bench_try("words",
			 philox_memory_alloc(device, all, &of->words)) ||
	       bench_try("tokens",
			 philox_memory_alloc(device, n * 4, &of->tokens)) ||
	       bench_try("top",
			 philox_memory_alloc(device, n * TOP * 4, &of->top)) ||
	       bench_try("biases", philox_memory_alloc(device, n * TOP * 4,
						       &of->biases)) ||
	       bench_try("seen", philox_memory_alloc(device, all / 32 + n * 4,
						     &of->seen)) ||
	       bench_try("had",
			 philox_memory_alloc(device, n * SEEN * 4, &of->had));
}

static void give_memory_back(struct rows_bench *of)
{
	void **memory[] = {&of->values, &of->words, &of->tokens, &of->top,
			   &of->biases, &of->seen,  &of->had};

	for (size_t i = 0; i < N(memory); i++) {
		philox_memory_free(of->bench->device, *memory[i]);
		*memory[i] = NULL;
	}
}

static int measure_shape(struct rows_bench *of, const struct shape *shape)
{
	int failed;
	char name[64];

	of->list = (struct philox_row_list){.size = sizeof(of->list),
					    .count = shape->n};
	of->columns = columns_of(of->bench, shape);
	if (!shape_is_wanted(of->bench, shape, name))
		return 0;
	bench_step(of->bench);
	failed = take_memory(of) ? -1 : shape->race(of, name);
	give_memory_back(of);
	return failed;
}

static int measure_shapes(struct rows_bench *of)
{
	int failed = 0;

	for (size_t i = 0; i < N(shapes) && !failed; i++)
		failed = measure_shape(of, &shapes[i]);
	return failed;
}

size_t bench_rows_steps(const struct bench *bench)
{
	size_t steps = 0;
	char name[64];

	for (size_t i = 0; i < N(shapes); i++)
		steps += shape_is_wanted(bench, &shapes[i], name) != 0;
	return steps;
}

int bench_rows(struct bench *bench)
{
	const struct philox_rows_desc options = {
		.size = sizeof(options), .name = "bench", .count = ROWS};
	struct rows_bench of = {.bench = bench};
	int failed;

	if (bench_try("rows",
		      philox_rows_create(bench->context, &options, &of.rows)))
		return -1;
	of.torch = torch_open(bench->device, bench->threads, of.note);
	if (of.torch && !bench->json)
		printf("torch: %s\n", of.note);
	failed = measure_shapes(&of);
	torch_close(of.torch);
	philox_rows_destroy(of.rows);
	return failed;
}
