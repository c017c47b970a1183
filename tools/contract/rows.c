/*
 * tools/contract/rows.c - checks that a device's rows and tokens are the host's
 *
 * A script of calls runs twice, on its own host device as the reference and on
 * the device under test; the bytes that it reads back are compared.
 */
#include <stdlib.h>
#include <string.h>
#include "tools/contract/contract.h"

enum {
	ROWS = 64,
	ENTRIES = 20000, /* so that rows come in many blocks of a launch */
	VALUES = 9,
	LOGIT_ROWS = 40,
	LOGITS = 7001, /* not a round number */
	MANY = 130,    /* entries with at most a block each */
	LAUNCHES = 4
};

/* One device with a table, and the bytes read back from it. */
struct site {
	struct philox_device *device;
	struct philox_context *context;
	struct philox_rows *rows;
	philox_stream stream;
	void *memory[16];
	size_t n_memory;
	unsigned char *log;
	size_t size;
};

typedef void (*script)(struct contract *c, struct site *site);

/* --- sites ---------------------------------------------------------------- */

static void allocate(struct contract *c, struct site *site, size_t size,
		     void **memory)
{
	EXPECT_OK(philox_memory_alloc(site->device, size, memory));
	site->memory[site->n_memory++] = *memory;
	EXPECT_OK(philox_memory_set(site->device, *memory, 0xee, size,
				    site->stream));
}

/* An array of `size` bytes on the device, filled from the host. */
static void upload(struct contract *c, struct site *site, const void *from,
		   size_t size, void **memory)
{
	EXPECT_PART(allocate(c, site, size, memory));
	EXPECT_OK(philox_memory_copy(site->device, *memory, from, size,
				     site->stream));
	EXPECT_OK(philox_stream_synchronize(site->device, site->stream));
}

static void note(struct contract *c, struct site *site, const void *bytes,
		 size_t size)
{
	unsigned char *grown = realloc(site->log, site->size + size);

	EXPECT(grown);
	site->log = grown;
	memcpy(site->log + site->size, bytes, size);
	site->size += size;
}

static void note_memory(struct contract *c, struct site *site,
			const void *memory, size_t size)
{
	void *bytes = malloc(size);
	enum philox_status status;

	EXPECT(bytes);
	status = philox_memory_copy(site->device, bytes, memory, size,
				    site->stream);
	if (status == PHILOX_OK)
		status = philox_stream_synchronize(site->device, site->stream);
	if (status == PHILOX_OK)
		note(c, site, bytes, size);
	free(bytes);
	EXPECT_OK(status);
}

static void note_states(struct contract *c, struct site *site)
{
	struct philox_rows_report report = {.size = sizeof(report)};
	struct philox_state *states;

	EXPECT_OK(philox_rows_states(site->rows, &states));
	EXPECT_PART(note_memory(c, site, states, ROWS * sizeof(*states)));
	philox_rows_check(site->rows, &report);
	EXPECT_PART(note(c, site, &report, sizeof(report)));
}

static void run_script(struct contract *c, struct site *site, script run)
{
	const struct philox_rows_options options = {
		.size = sizeof(options), .name = "contract", .count = ROWS};
	/* one row that is used up, one that soon will be */
	const struct philox_state last[2] = {{1, UINT64_MAX - 3},
					     {2, UINT64_MAX - 11}};

	EXPECT_OK(philox_rows_create(site->context, &options, &site->rows));
	EXPECT_OK(philox_rows_set(site->rows, site->stream, (uint32_t[]){5, 11},
				  last, 2));
	EXPECT_PART(run(c, site));
}

static void run_on(struct contract *c, struct site *site, script run)
{
	EXPECT_OK(philox_stream_create(site->device, 0, &site->stream));
	if (contract_status_is(
		    c, __FILE__, __LINE__, "philox_context_create", PHILOX_OK,
		    philox_context_create(site->device, &site->context)))
		run_script(c, site, run);
	philox_device_synchronize(site->device);
	philox_context_destroy(site->context);
	for (size_t i = 0; i < site->n_memory; i++)
		philox_memory_free(site->device, site->memory[i]);
	philox_stream_destroy(site->device, site->stream);
}

static void run_both(struct contract *c, struct site *reference,
		     struct site *site, script run)
{
	EXPECT_OK(philox_device_open("host:sync", &reference->device));
	run_on(c, reference, run);
	philox_device_close(reference->device);
	if (!c->failure[0])
		run_on(c, site, run);
}

static void compare_scripts(struct contract *c, script run)
{
	struct site reference = {0}, site = {.device = c->device};
	size_t i = 0;

	run_both(c, &reference, &site, run);
	while (!c->failure[0] && i < site.size &&
	       site.log[i] == reference.log[i])
		i++;
	if (!c->failure[0] &&
	    (site.size != reference.size || i < site.size || !i))
		contract_fail(c, __FILE__, __LINE__,
			      "byte %zu of %zu that were read back differs", i,
			      site.size);
	free(reference.log);
	free(site.log);
}

/* --- rows ----------------------------------------------------------------- */

static uint32_t word(uint64_t seed, uint64_t i)
{
	return philox_block(seed, i / 4, 0).w[i % 4];
}

/* A list in which rows occur many times and some do not exist. */
static void make_list(struct contract *c, struct site *site,
		      struct philox_row_list *list, uint32_t **counts)
{
	uint32_t *indices = malloc(2 * ENTRIES * sizeof(*indices));
	uint8_t *mask = malloc(ENTRIES);
	void *memory[3];

	for (uint32_t i = 0; indices && mask && i < ENTRIES; i++) {
		indices[i] = word(1, i) % (ROWS + 2);
		indices[ENTRIES + i] = word(2, i) % (VALUES + 2);
		mask[i] = word(3, i) % 5 != 0;
	}
	if (indices && mask) {
		upload(c, site, indices, ENTRIES * 4, &memory[0]);
		upload(c, site, indices + ENTRIES, ENTRIES * 4, &memory[1]);
		upload(c, site, mask, ENTRIES, &memory[2]);
	}
	EXPECT(indices && mask);
	free(indices);
	free(mask);
	if (c->failure[0])
		return;
	*list = (struct philox_row_list){.size = sizeof(*list),
					 .indices = memory[0],
					 .mask = memory[2],
					 .n = ENTRIES};
	*counts = memory[1];
}

static const struct {
	enum philox_dist dist;
	enum philox_dtype dtype;
	size_t size;
} kinds[] = {{PHILOX_BITS, PHILOX_U32, 4},
	     {PHILOX_BITS, PHILOX_U64, 8},
	     {PHILOX_UNIFORM, PHILOX_F32, 4},
	     {PHILOX_UNIFORM, PHILOX_F64, 8},
	     {PHILOX_NORMAL, PHILOX_F32, 4}};

static void draw_all(struct contract *c, struct site *site)
{
	const size_t size = ENTRIES * VALUES * 8;
	struct philox_row_fill fill = {.size = sizeof(fill),
				       .first = 2,
				       .count = VALUES,
				       .pitch = VALUES};
	struct philox_row_list list;
	uint32_t *counts;

	EXPECT_PART(make_list(c, site, &list, &counts));
	EXPECT_PART(allocate(c, site, size, &fill.out));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		fill.dist = kinds[i].dist;
		fill.dtype = kinds[i].dtype;
		for (int k = 0; k < LAUNCHES; k++) {
			fill.counts = k & 1 ? counts : NULL;
			EXPECT_OK(philox_rows_fill(site->rows, site->stream,
						   &list, &fill));
			EXPECT_PART(note_memory(c, site, fill.out, size));
			EXPECT_PART(note_states(c, site));
		}
	}
	EXPECT_OK(philox_rows_advance(site->rows, site->stream, &list, 400));
	EXPECT_PART(note_states(c, site));
	EXPECT_OK(philox_rows_restart(site->rows, site->stream));
	EXPECT_PART(note_states(c, site));
}

/* --- drafts --------------------------------------------------------------- */

enum { FARTHEST = 7 }; /* no step or count is above this */

/* Step and count of every entry; a few are past the end of any row. */
static void make_steps(struct contract *c, struct site *site, uint32_t **steps,
		       uint32_t **counts)
{
	uint32_t *values = malloc(2 * ENTRIES * sizeof(*values));
	void *memory[2];

	EXPECT(values);
	for (uint32_t i = 0; i < 2 * ENTRIES; i++)
		values[i] = word(7, i) % 1000 ? word(8, i) % (FARTHEST + 1)
					      : UINT32_MAX;
	upload(c, site, values, ENTRIES * 4, &memory[0]);
	if (!c->failure[0])
		upload(c, site, values + ENTRIES, ENTRIES * 4, &memory[1]);
	free(values);
	if (c->failure[0])
		return;
	*steps = memory[0];
	*counts = memory[1];
}

/* Rows in many blocks at many steps, then advanced by many counts. */
static void draw_drafts(struct contract *c, struct site *site)
{
	const size_t size = ENTRIES * VALUES * 8;
	struct philox_row_fill fill = {.size = sizeof(fill),
				       .count = VALUES,
				       .pitch = VALUES,
				       .flags = PHILOX_ROWS_KEEP};
	struct philox_row_list list, stepped;
	uint32_t *unused, *steps, *counts;

	EXPECT_PART(make_list(c, site, &list, &unused));
	EXPECT_PART(make_steps(c, site, &steps, &counts));
	EXPECT_PART(allocate(c, site, size, &fill.out));
	stepped = list;
	stepped.steps = steps;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		fill.dist = kinds[i].dist;
		fill.dtype = kinds[i].dtype;
		EXPECT_OK(philox_rows_fill(site->rows, site->stream, &stepped,
					   &fill));
		EXPECT_PART(note_memory(c, site, fill.out, size));
		EXPECT_OK(philox_rows_advance_by(site->rows, site->stream,
						 &list, 12, counts));
		EXPECT_PART(note_states(c, site));
	}
}

static void drafts_are_the_hosts(struct contract *c)
{
	compare_scripts(c, draw_drafts);
}

static void rows_draw_the_hosts(struct contract *c)
{
	compare_scripts(c, draw_all);
}

/* --- replays -------------------------------------------------------------- */

/* The work of a graph: a sample if it has logits, or else a draw. */
struct work {
	struct philox_row_list list;
	struct philox_row_fill fill;
	struct philox_sample sample;
};

static void put_work(struct contract *c, struct site *site,
		     const struct work *work)
{
	if (work->sample.logits)
		EXPECT_OK(philox_sample_rows(site->rows, site->stream,
					     &work->list, &work->sample));
	else
		EXPECT_OK(philox_rows_fill(site->rows, site->stream,
					   &work->list, &work->fill));
}

static void record(struct contract *c, struct site *site,
		   const struct work *work, philox_native_exec *exec)
{
	philox_native_graph graph;
	size_t nodes;

	EXPECT_OK(philox_stream_begin_capture(site->device, site->stream,
					      PHILOX_CAPTURE_THREAD_LOCAL));
	EXPECT_PART(put_work(c, site, work));
	EXPECT_OK(
		philox_stream_end_capture(site->device, site->stream, &graph));
	EXPECT_OK(philox_native_graph_nodes(site->device, graph, &nodes));
	EXPECT(nodes == 1);
	EXPECT_OK(philox_native_instantiate(site->device, graph, exec));
	EXPECT_OK(philox_native_graph_destroy(site->device, graph));
}

/* Launches many times without a wait; the reference does it eagerly. */
static void replay(struct contract *c, struct site *site,
		   const struct work *work)
{
	philox_native_exec exec = NULL;

	if (site->device == c->device)
		EXPECT_PART(record(c, site, work, &exec));
	for (int k = 0; k < 25 && !c->failure[0]; k++)
		if (!exec)
			put_work(c, site, work);
		else
			contract_status_is(c, __FILE__, __LINE__,
					   "philox_native_launch", PHILOX_OK,
					   philox_native_launch(site->device,
								exec,
								site->stream));
	philox_device_synchronize(site->device);
	philox_native_exec_destroy(site->device, exec);
}

static void replay_draws(struct contract *c, struct site *site)
{
	struct work work = {.fill = {.size = sizeof(work.fill),
				     .dist = PHILOX_UNIFORM,
				     .dtype = PHILOX_F32,
				     .count = VALUES,
				     .pitch = VALUES}};
	uint32_t *counts;

	EXPECT_PART(make_list(c, site, &work.list, &counts));
	EXPECT_PART(allocate(c, site, ENTRIES * VALUES * 4, &work.fill.out));
	EXPECT_PART(replay(c, site, &work));
	EXPECT_PART(note_memory(c, site, work.fill.out, ENTRIES * VALUES * 4));
	EXPECT_PART(note_states(c, site));
}

static void replays_draw_on(struct contract *c)
{
	compare_scripts(c, replay_draws);
}

/* --- tokens --------------------------------------------------------------- */

/* Random bits with exponents near 0, in 32 or twice 16; some rows are odd. */
static void make_logits(uint32_t *logits, uint32_t random, uint32_t exponent)
{
	for (uint32_t i = 0; i < LOGIT_ROWS * LOGITS; i++)
		logits[i] = (word(4, i) & random) + exponent;
	for (uint32_t i = 0; i < LOGITS; i++) {
		logits[i] = 0xff800000u;          /* all -inf */
		logits[LOGITS + i] = word(5, i);  /* NaN among them */
		logits[2 * LOGITS + i] = i << 31; /* 0 and -0 */
		if (i % 1000 == 999)              /* large */
			logits[3 * LOGITS + i] |= 0x7f000000u;
	}
	logits[4 * LOGITS + 3001] = 0x7f800000u; /* +inf, twice */
	logits[4 * LOGITS + 3007] = 0x7f800000u;
}

/*
 * Lists of LOGIT_ROWS entries: rows occur twice, do not exist, are used up, are
 * masked; lists of few entries, which many blocks share; and of MANY, with rows
 * of logits as long as there is room for.
 */
static const struct batch {
	uint32_t n;
	int listed; /* by indices and mask */
	uint32_t vocab;
} batches[] = {{LOGIT_ROWS, 0, LOGITS}, {LOGIT_ROWS, 1, LOGITS},
	       {3, 1, LOGITS},          {1, 0, LOGITS},
	       {LOGIT_ROWS, 1, 97},     {MANY, 1, LOGIT_ROWS *LOGITS / MANY}};

static void make_batch(struct contract *c, struct site *site,
		       struct philox_row_list *list)
{
	uint32_t indices[MANY];
	uint8_t mask[MANY];
	void *memory[2];

	for (uint32_t i = 0; i < MANY; i++) {
		indices[i] = i % 3 ? word(6, i) % (ROWS + 4) : 5 + i % 2 * 6;
		mask[i] = i % 7 != 1;
	}
	EXPECT_PART(upload(c, site, indices, sizeof(indices), &memory[0]));
	EXPECT_PART(upload(c, site, mask, sizeof(mask), &memory[1]));
	*list = (struct philox_row_list){.size = sizeof(*list),
					 .indices = memory[0],
					 .mask = memory[1],
					 .n = MANY};
}

static void note_tokens(struct contract *c, struct site *site,
			const struct philox_sample *sample)
{
	EXPECT_PART(note_memory(c, site, sample->keys, MANY * 8));
	EXPECT_PART(note_memory(c, site, sample->tokens, MANY * 4));
	EXPECT_PART(note_states(c, site));
}

static void sample_some(struct contract *c, struct site *site,
			const struct philox_row_list *all,
			struct philox_sample *sample, size_t size)
{
	for (size_t k = 0; k < sizeof(batches) / sizeof(batches[0]); k++) {
		struct philox_row_list list = {.size = sizeof(list),
					       .n = batches[k].n};

		if (batches[k].listed) {
			list.indices = all->indices;
			list.mask = all->mask;
		}
		/* other columns and addresses from launch to launch */
		sample->first = (uint32_t)k * 7;
		sample->vocab = batches[k].vocab - (uint32_t)k;
		sample->pitch = batches[k].vocab + (size == 2 ? 3 : 0);
		EXPECT_OK(philox_sample_rows(site->rows, site->stream, &list,
					     sample));
		EXPECT_PART(note_tokens(c, site, sample));
		sample->logits = (const char *)sample->logits + size;
	}
}

static void sample_all(struct contract *c, struct site *site)
{
	static const double temperatures[] = {1, 0.3, 0, 20};
	static uint32_t bits[LOGIT_ROWS * LOGITS];
	struct philox_sample sample = {.size = sizeof(sample)};
	void *of_32, *of_16, *keys, *tokens;
	struct philox_row_list all;

	EXPECT_PART(make_batch(c, site, &all));
	EXPECT_PART(allocate(c, site, MANY * 8, &keys));
	EXPECT_PART(allocate(c, site, MANY * 4, &tokens));
	sample.keys = keys;
	sample.tokens = tokens;
	make_logits(bits, 0x80ffffffu, 0x3f800000u);
	EXPECT_PART(upload(c, site, bits, sizeof(bits), &of_32));
	make_logits(bits, 0x80ff80ffu, 0x3f803f80u);
	EXPECT_PART(upload(c, site, bits, sizeof(bits), &of_16));
	for (size_t i = 0; i < 4; i++) {
		sample.temperature = temperatures[i];
		sample.logits = of_32;
		sample.dtype = PHILOX_F32;
		EXPECT_PART(sample_some(c, site, &all, &sample, 4));
		sample.logits = of_16;
		sample.dtype = PHILOX_BF16;
		EXPECT_PART(sample_some(c, site, &all, &sample, 2));
		sample.logits = of_16;
		sample.dtype = PHILOX_F16;
		EXPECT_PART(sample_some(c, site, &all, &sample, 2));
	}
}

/* Few entries, so that blocks share them. */
static void replay_samples(struct contract *c, struct site *site)
{
	static uint32_t bits[LOGIT_ROWS * LOGITS];
	struct work work = {.sample = {.size = sizeof(work.sample),
				       .dtype = PHILOX_F32,
				       .vocab = LOGITS,
				       .pitch = LOGITS,
				       .temperature = 0.8}};
	void *logits, *keys, *tokens;

	make_logits(bits, 0x80ffffffu, 0x3f800000u);
	EXPECT_PART(upload(c, site, bits, sizeof(bits), &logits));
	EXPECT_PART(make_batch(c, site, &work.list));
	EXPECT_PART(allocate(c, site, MANY * 8, &keys));
	EXPECT_PART(allocate(c, site, MANY * 4, &tokens));
	work.list.n = 6;
	work.sample.logits = logits;
	work.sample.keys = keys;
	work.sample.tokens = tokens;
	EXPECT_PART(replay(c, site, &work));
	EXPECT_PART(note_tokens(c, site, &work.sample));
}

static void replays_sample_on(struct contract *c)
{
	compare_scripts(c, replay_samples);
}

/* --- tokens of seeds, and at steps ---------------------------------------- */

enum { VOCAB_OF_SEEDS = 1300 };

static void make_seeds(struct contract *c, struct site *site,
		       struct philox_seeds *slots)
{
	uint64_t seeds[ROWS];
	uint32_t positions[ROWS];
	void *memory[2];

	for (uint32_t i = 0; i < ROWS; i++) {
		seeds[i] = word(9, i) * (uint64_t)0x100000001;
		positions[i] = i % 5 ? word(10, i) : UINT32_MAX - i;
	}
	EXPECT_PART(upload(c, site, seeds, sizeof(seeds), &memory[0]));
	EXPECT_PART(upload(c, site, positions, sizeof(positions), &memory[1]));
	*slots = (struct philox_seeds){.size = sizeof(*slots),
				       .seeds = memory[0],
				       .positions = memory[1],
				       .count = ROWS};
}

/* Few entries, which blocks share where there is a table, and MANY. */
static void sample_seeds(struct contract *c, struct site *site)
{
	static uint32_t bits[LOGIT_ROWS * LOGITS];
	struct philox_sample sample = {.size = sizeof(sample),
				       .dtype = PHILOX_F32,
				       .vocab = VOCAB_OF_SEEDS,
				       .pitch = VOCAB_OF_SEEDS,
				       .temperature = 0.7};
	struct philox_seeds slots;
	struct philox_row_list list;
	uint32_t *steps, *unused;
	void *logits, *keys, *tokens;

	make_logits(bits, 0x80ffffffu, 0x3f800000u);
	EXPECT_PART(upload(c, site, bits, sizeof(bits), &logits));
	EXPECT_PART(make_seeds(c, site, &slots));
	EXPECT_PART(make_batch(c, site, &list));
	EXPECT_PART(make_steps(c, site, &steps, &unused));
	EXPECT_PART(allocate(c, site, MANY * 8, &keys));
	EXPECT_PART(allocate(c, site, MANY * 4, &tokens));
	sample.logits = logits;
	sample.keys = keys;
	sample.tokens = tokens;
	list.steps = steps;
	for (list.n = 3; list.n <= MANY; list.n += MANY - 3) {
		sample.flags = 0;
		EXPECT_OK(philox_sample_seeds(site->device, site->stream,
					      &slots, &list, &sample));
		EXPECT_PART(note_tokens(c, site, &sample));
		sample.flags = PHILOX_ROWS_KEEP;
		EXPECT_OK(philox_sample_rows(site->rows, site->stream, &list,
					     &sample));
		EXPECT_PART(note_tokens(c, site, &sample));
	}
}

static void seeds_are_the_hosts(struct contract *c)
{
	compare_scripts(c, sample_seeds);
}

static void tokens_are_the_hosts(struct contract *c)
{
	compare_scripts(c, sample_all);
}

const struct contract_check contract_rows[] = {
	{"rows draw and advance as on the host", rows_draw_the_hosts},
	{"entries draw at steps and rows advance by counts as on the host",
	 drafts_are_the_hosts},
	{"replays draw from rows what eager calls would", replays_draw_on},
	{"sampled tokens and their scores are the host's",
	 tokens_are_the_hosts},
	{"tokens of seeds, and at steps, are the host's", seeds_are_the_hosts},
	{"replays sample what eager calls would", replays_sample_on},
	{NULL, NULL},
};
