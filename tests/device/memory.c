/*
 * tests/device/memory.c - arrays lie in memory of the device
 *
 * Each kind of call below has arrays of known sizes. What must be refused is
 * tried with one of them a byte too short, freed, or unknown, and the others as
 * they should be.
 */
#include <stdio.h>
#include <stdlib.h>
#include <philox/fill.h>
#include "lib/device/device.h"
#include "lib/device/host/host.h"
#include "lib/kernels/host/host.h"
#include "tests/support/support.h"

enum {
	N = 5, /* elements, or entries of a list */
	COLUMNS = 11,
	PITCH = 16,
	EXTENT = (N - 1) * PITCH + COLUMNS,
	MOST = 6 /* arrays of a call */
};

struct bench {
	struct fixture *f;
	struct philox_rows *rows;
};

struct kind {
	const char *name;
	struct {
		const char *name;
		size_t size;
	} arrays[MOST + 1];
	enum philox_status (*call)(const struct bench *b, void *const at[]);
};

/* --- the calls ------------------------------------------------------------ */

static const struct philox_rng some_state = {.state = {1, 4}};

static enum philox_status fill_with(const struct bench *b,
				    struct philox_rng rng,
				    struct philox_fill_desc fill)
{
	fill.size = sizeof(fill);
	fill.p = 0.5;
	fill.high = fill.std = 1;
	return philox_rng_fill(b->f->device, b->f->stream, rng, &fill);
}

static enum philox_status fill_words(const struct bench *b, void *const at[])
{
	return fill_with(
		b, some_state,
		(struct philox_fill_desc){.dist = PHILOX_DIST_BITS,
					  .dtype = PHILOX_DTYPE_U64,
					  .span = philox_span_elements(3, N),
					  .out = at[0]});
}

static enum philox_status fill_dropout(const struct bench *b, void *const at[])
{
	return fill_with(
		b, some_state,
		(struct philox_fill_desc){.dist = PHILOX_DIST_DROPOUT,
					  .dtype = PHILOX_DTYPE_F32,
					  .span = philox_span_elements(0, N),
					  .out = at[0],
					  .in = at[1]});
}

static enum philox_status fill_in_place(const struct bench *b, void *const at[])
{
	return fill_dropout(b, (void *const[]){at[0], at[0]});
}

static enum philox_status fill_rounded(const struct bench *b, void *const at[])
{
	return fill_with(
		b, some_state,
		(struct philox_fill_desc){.dist = PHILOX_DIST_STOCHASTIC_ROUND,
					  .dtype = PHILOX_DTYPE_BF16,
					  .span = philox_span_elements(0, N),
					  .out = at[0],
					  .in = at[1]});
}

static enum philox_status fill_shard(const struct bench *b, void *const at[])
{
	return fill_with(b, some_state,
			 (struct philox_fill_desc){
				 .dist = PHILOX_DIST_DROPOUT,
				 .dtype = PHILOX_DTYPE_F16,
				 .span = philox_span_rows(7, 3, COLUMNS, 1000),
				 .out = at[0],
				 .in = at[1]});
}

static enum philox_status fill_from_cell(const struct bench *b,
					 void *const at[])
{
	return fill_with(
		b, (struct philox_rng){.cell = at[1]},
		(struct philox_fill_desc){.dist = PHILOX_DIST_NORMAL,
					  .dtype = PHILOX_DTYPE_F32,
					  .span = philox_span_elements(0, N),
					  .out = at[0]});
}

static enum philox_status fill_layout(const struct bench *b, void *const at[])
{
	const struct philox_layout_desc layout = {
		.size = sizeof(layout), .kind = PHILOX_LAYOUT_NVFUSER};

	return fill_with(
		b, some_state,
		(struct philox_fill_desc){.dist = PHILOX_DIST_UNIFORM,
					  .dtype = PHILOX_DTYPE_F32,
					  .span = philox_span_elements(0, N),
					  .out = at[0],
					  .layout = &layout});
}

static enum philox_status draw_rows(const struct bench *b, void *const at[])
{
	const struct philox_row_list list = {.size = sizeof(list),
					     .indices = at[2],
					     .mask = at[3],
					     .count = N};
	const struct philox_row_fill_desc fill = {.size = sizeof(fill),
						  .dist = PHILOX_DIST_UNIFORM,
						  .dtype = PHILOX_DTYPE_F64,
						  .count = COLUMNS,
						  .pitch = PITCH,
						  .out = at[0],
						  .counts = at[1]};

	return philox_rows_fill(b->rows, b->f->stream, &list, &fill);
}

static enum philox_status advance_rows(const struct bench *b, void *const at[])
{
	const struct philox_row_list list = {.size = sizeof(list),
					     .indices = at[0],
					     .mask = at[1],
					     .count = N};

	return philox_rows_advance(b->rows, b->f->stream, &list, 4);
}

static enum philox_status draw_drafts(const struct bench *b, void *const at[])
{
	const struct philox_row_list list = {.size = sizeof(list),
					     .indices = at[1],
					     .steps = at[2],
					     .count = N};
	const struct philox_row_fill_desc fill = {.size = sizeof(fill),
						  .dist = PHILOX_DIST_UNIFORM,
						  .dtype = PHILOX_DTYPE_F64,
						  .count = COLUMNS,
						  .pitch = PITCH,
						  .out = at[0],
						  .flags = PHILOX_ROWS_KEEP};

	return philox_rows_fill(b->rows, b->f->stream, &list, &fill);
}

static enum philox_status advance_by(const struct bench *b, void *const at[])
{
	const struct philox_row_list list = {
		.size = sizeof(list), .indices = at[0], .count = N};

	return philox_rows_advance_by(b->rows, b->f->stream, &list, 4, at[1]);
}

static struct philox_sample_desc sample_of(const void *logits,
					   const float *temperatures,
					   int32_t *tokens, uint64_t *keys)
{
	return (struct philox_sample_desc){
		.size = sizeof(struct philox_sample_desc),
		.logits = logits,
		.dtype = PHILOX_DTYPE_F16,
		.vocab = COLUMNS,
		.pitch = PITCH,
		.temperatures = temperatures,
		.tokens = tokens,
		.keys = keys};
}

static enum philox_status sample_rows(const struct bench *b, void *const at[])
{
	const struct philox_row_list list = {.size = sizeof(list),
					     .indices = at[4],
					     .mask = at[5],
					     .count = N};
	const struct philox_sample_desc sample =
		sample_of(at[0], at[1], at[2], at[3]);

	return philox_sample_rows(b->rows, b->f->stream, &list, &sample);
}

static enum philox_status sample_states(const struct bench *b, void *const at[])
{
	const struct philox_sample_desc sample =
		sample_of(at[0], at[1], at[2], at[3]);

	return philox_sample_states(b->f->device, b->f->stream, at[4], N,
				    &sample);
}

static enum philox_status sample_seeds(const struct bench *b, void *const at[])
{
	const struct philox_seed_list slots = {.size = sizeof(slots),
					       .seeds = at[1],
					       .positions = at[2],
					       .count = N};
	const struct philox_sample_desc sample = {.size = sizeof(sample),
						  .logits = at[0],
						  .dtype = PHILOX_DTYPE_F16,
						  .vocab = COLUMNS,
						  .pitch = PITCH,
						  .tokens = at[3]};

	return philox_sample_seeds(b->f->device, b->f->stream, &slots, NULL,
				   &sample);
}

static const struct kind kinds[] = {
	{"words", {{"fill: out", N * 8}}, fill_words},
	{"dropout", {{"fill: out", N * 4}, {"fill: in", N * 4}}, fill_dropout},
	{"dropout in place", {{"fill: out", N * 4}}, fill_in_place},
	{"rounding", {{"fill: out", N * 2}, {"fill: in", N * 4}}, fill_rounded},
	{"a shard",
	 {{"fill: out", 3 * COLUMNS * 2}, {"fill: in", 3 * COLUMNS * 2}},
	 fill_shard},
	{"a cell",
	 {{"fill: out", N * 4}, {"fill: rng.cell", 16}},
	 fill_from_cell},
	{"a layout", {{"fill: out", N * 4}}, fill_layout},
	{"rows",
	 {{"fill: out", EXTENT * 8},
	  {"fill: counts", N * 4},
	  {"list: indices", N * 4},
	  {"list: mask", N}},
	 draw_rows},
	{"an advance of rows",
	 {{"list: indices", N * 4}, {"list: mask", N}},
	 advance_rows},
	{"drafts of rows",
	 {{"fill: out", EXTENT * 8},
	  {"list: indices", N * 4},
	  {"list: steps", N * 4}},
	 draw_drafts},
	{"an advance of rows by counts",
	 {{"list: indices", N * 4}, {"advance: counts", N * 4}},
	 advance_by},
	{"samples of seeds",
	 {{"sample: logits", EXTENT * 2},
	  {"slots: seeds", N * 8},
	  {"slots: positions", N * 4},
	  {"sample: tokens", N * 4}},
	 sample_seeds},
	{"samples of rows",
	 {{"sample: logits", EXTENT * 2},
	  {"sample: temperatures", N * 4},
	  {"sample: tokens", N * 4},
	  {"sample: keys", N * 8},
	  {"list: indices", N * 4},
	  {"list: mask", N}},
	 sample_rows},
	{"samples of states",
	 {{"sample: logits", EXTENT * 2},
	  {"sample: temperatures", N * 4},
	  {"sample: tokens", N * 4},
	  {"sample: keys", N * 8},
	  {"sample: states", N * 16}},
	 sample_states},
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* --- their arrays --------------------------------------------------------- */

static struct bench open_bench(struct fixture *f)
{
	struct philox_rows_desc options = {
		.size = sizeof(options), .name = "rows", .count = 1};
	struct bench b = {.f = f};

	OK(philox_rows_create(f->context, &options, &b.rows));
	return b;
}

/* The only row, which all entries name if their arrays are zeros. */
static uint64_t offset_of_row(const struct bench *b)
{
	struct philox_state state;

	OK(philox_rows_get(b->rows, b->f->stream, 0, 1, &state));
	OK(philox_stream_synchronize(b->f->device, b->f->stream));
	return state.offset;
}

static void *zeros(const struct bench *b, size_t size)
{
	void *memory;

	OK(philox_memory_alloc(b->f->device, size, &memory));
	OK(philox_memory_set(b->f->device, b->f->stream, memory, 0, size));
	return memory;
}

/* The arrays of a call; each is `lead` bytes inside an allocation. */
struct arrays {
	size_t n, lead;
	char *whole[MOST], *small[MOST]; /* allocations; a byte is missing */
	void *good[MOST], *bad[MOST];    /* arrays in them */
	void *tried[MOST];               /* with one that is bad */
};

static struct arrays make_arrays(const struct bench *b, const struct kind *kind,
				 size_t lead)
{
	struct arrays a = {.lead = lead};

	for (; kind->arrays[a.n].name; a.n++) {
		size_t size = lead + kind->arrays[a.n].size;

		a.whole[a.n] = zeros(b, size);
		a.small[a.n] = zeros(b, size - 1);
		a.good[a.n] = a.whole[a.n] + lead;
		a.bad[a.n] = a.small[a.n] + lead;
	}
	return a;
}

static void free_arrays(const struct bench *b, struct arrays *a)
{
	OK(philox_stream_synchronize(b->f->device, b->f->stream));
	for (size_t i = 0; i < a->n; i++) {
		OK(philox_memory_free(b->f->device, a->whole[i]));
		OK(philox_memory_free(b->f->device, a->small[i]));
	}
}

static void *const *with_bad(struct arrays *a, size_t i)
{
	memcpy(a->tried, a->good, sizeof(a->tried));
	a->tried[i] = a->bad[i];
	return a->tried;
}

/* The message names the i-th array, its size and its allocation. */
static void names_array(const struct kind *kind, size_t i, size_t lead,
			size_t size)
{
	char text[128];

	snprintf(text, sizeof(text), "%s: %zu bytes", kind->arrays[i].name,
		 kind->arrays[i].size);
	NAMES(text);
	snprintf(text, sizeof(text),
		 "from byte %zu on of an allocation of %zu bytes", lead, size);
	NAMES(text);
}

/* Each array in turn is a byte too short; nothing is done. */
static void refuse_short(const struct bench *b, const struct kind *kind,
			 struct arrays *a)
{
	for (size_t i = 0; i < a->n; i++) {
		FAILS(kind->call(b, with_bad(a, i)), PHILOX_ERROR_INVALID);
		names_array(kind, i, a->lead,
			    a->lead + kind->arrays[i].size - 1);
	}
}

/* --- at the call ---------------------------------------------------------- */

PROMISE(memory, that_is_a_byte_too_short_is_refused_by_name)
{
	struct bench b = open_bench(f);

	for (size_t k = 0; k < 2 * N_KINDS; k++) {
		const struct kind *kind = &kinds[k / 2];
		struct arrays a = make_arrays(&b, kind, k % 2 * 64);
		uint64_t before = offset_of_row(&b);

		if (a.n > 3) /* rows: all entries take part */
			OK(philox_memory_set(f->device, f->stream,
					     a.whole[a.n - 1], 1, a.lead + N));
		refuse_short(&b, kind, &a);
		cr_assert_eq(offset_of_row(&b), before, "%s", kind->name);
		OK(kind->call(&b, a.good));
		free_arrays(&b, &a);
	}
}

PROMISE(memory, of_a_pass_is_named_with_region_and_operator)
{
	struct philox_region *region = make_region(f, "layer");
	float *x = make_memory(f, 64), *y = make_memory(f, 60);
	struct philox_span span = philox_span_elements(0, 16);
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	FAILS(philox_pass_dropout(&pass, 1, PHILOX_DTYPE_F32, span, 0.5, x, y),
	      PHILOX_ERROR_INVALID);
	NAMES("region 'layer', op 1 'second': fill: out: 64 bytes");
	FAILS(philox_pass_dropout(&pass, 1, PHILOX_DTYPE_F32, span, 0.5, y, x),
	      PHILOX_ERROR_INVALID);
	NAMES("region 'layer', op 1 'second': fill: in: 64 bytes");
	OK(philox_pass_dropout(&pass, 1, PHILOX_DTYPE_F32, span, 0.5, x, x));
	OK(philox_pass_commit(&pass, 0, &ticket));
}

PROMISE(memory, is_as_large_as_was_asked_for)
{
	struct bench b = {.f = f};
	void *memory = make_memory(f, N * 8 - 7); /* is rounded up inside */

	FAILS(fill_words(&b, &memory), PHILOX_ERROR_INVALID);
	NAMES("an allocation of 33 bytes");
}

PROMISE(memory, of_empty_calls_may_be_null)
{
	struct bench b = open_bench(f);
	const struct philox_row_list none = {.size = sizeof(none), .count = 0};
	const struct philox_row_fill_desc fill = {.size = sizeof(fill),
						  .dist = PHILOX_DIST_BITS,
						  .dtype = PHILOX_DTYPE_U32,
						  .count = 1,
						  .pitch = 1};
	struct philox_row_fill_desc nothing = fill;
	const struct philox_sample_desc sample =
		sample_of(NULL, NULL, NULL, NULL);

	nothing.count = 0;
	OK(fill_with(&b, some_state,
		     (struct philox_fill_desc){.dist = PHILOX_DIST_DROPOUT,
					       .dtype = PHILOX_DTYPE_F32}));
	OK(philox_rows_fill(b.rows, f->stream, &none, &fill));
	OK(philox_rows_fill(b.rows, f->stream, NULL, &nothing));
	OK(philox_sample_rows(b.rows, f->stream, &none, &sample));
	OK(philox_sample_states(f->device, f->stream, NULL, 0, &sample));
}

PROMISE(memory, that_is_mapped_is_memory)
{
	struct bench b = {.f = f};
	void *host, *mapped;

	OK(device_mapped_alloc(f->device, N * 8, &host, &mapped));
	OK(fill_words(&b, &mapped));
	OK(philox_stream_synchronize(f->device, f->stream));
	OK(device_mapped_free(f->device, host));
	OK(device_mapped_alloc(f->device, N * 8 - 1, &host, &mapped));
	FAILS(fill_words(&b, &mapped), PHILOX_ERROR_INVALID);
	OK(device_mapped_free(f->device, host));
}

/* Copies and sets are refused by the same rule. */
PROMISE(memory, is_copied_and_set_within_an_allocation)
{
	char *a = make_memory(f, 100), *b = make_memory(f, 90), plain[100];

	FAILS(philox_memory_copy(f->device, f->stream, b, a, 91),
	      PHILOX_ERROR_INVALID);
	NAMES("philox_memory_copy: destination: 91 bytes");
	FAILS(philox_memory_copy(f->device, f->stream, a, b, 91),
	      PHILOX_ERROR_INVALID);
	NAMES("philox_memory_copy: source: 91 bytes");
	FAILS(philox_memory_set(f->device, f->stream, a + 50, 0, 51),
	      PHILOX_ERROR_INVALID);
	NAMES("philox_memory_set: memory: 51 bytes");
	OK(philox_memory_set(f->device, f->stream, a + 50, 0, 50));
	OK(philox_memory_copy(f->device, f->stream, a + 10, b, 90));
	OK(philox_memory_copy(f->device, f->stream, plain, a, 100));
	OK(philox_memory_copy(f->device, f->stream, a, plain, 100));
	OK(philox_stream_synchronize(f->device, f->stream));
}

/* --- among many allocations ----------------------------------------------- */

enum { MANY = 2000 };

/* A number below `below`, any would do. */
static unsigned any(unsigned below)
{
	static struct philox_state state = {1, 0};

	state.offset += 4;
	return philox_draw4(state, 0).w[0] % below;
}

/* The last 8 bytes are an array; one byte further is too far. */
static void ends_where_it_ends(const struct bench *b, char *memory, size_t size)
{
	const size_t words = size / 8 * 8;
	struct philox_fill_desc fill = {.dist = PHILOX_DIST_BITS,
					.dtype = PHILOX_DTYPE_U64,
					.span = philox_span_elements(0, 1),
					.out = memory + words - 8};

	OK(fill_with(b, some_state, fill));
	fill.span.count = 2;
	FAILS(fill_with(b, some_state, fill), PHILOX_ERROR_INVALID);
}

PROMISE(memory, is_found_among_many_allocations)
{
	struct bench b = {.f = f};
	static char *memory[MANY];
	static size_t size[MANY];

	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < MANY; i++) {
			if (memory[i])
				continue;
			size[i] = 8 + any(3000);
			OK(philox_memory_alloc(f->device, size[i],
					       (void **)&memory[i]));
		}
		for (unsigned i = 0; i < MANY; i++)
			ends_where_it_ends(&b, memory[i], size[i]);
		OK(philox_stream_synchronize(f->device, f->stream));
		for (unsigned n = 0; n < MANY; n++) {
			unsigned i = any(MANY);

			OK(philox_memory_free(f->device, memory[i]));
			memory[i] = NULL;
		}
	}
	for (unsigned i = 0; i < MANY; i++) {
		OK(philox_memory_free(f->device, memory[i]));
		memory[i] = NULL;
	}
}

/* --- memory that the device does not know --------------------------------- */

/* Plain memory in place of one array, or of all. */
static void try_plain(const struct bench *b, const struct kind *kind, int taken)
{
	struct arrays a = make_arrays(b, kind, 0);

	for (size_t i = 0; i < a.n; i++) {
		void *at[MOST];
		char text[64];

		memcpy(at, a.good, sizeof(at));
		at[i] = calloc(1, kind->arrays[i].size);
		cr_assert(at[i]);
		snprintf(text, sizeof(text), "%s: %zu bytes",
			 kind->arrays[i].name, kind->arrays[i].size);
		if (taken) {
			OK(kind->call(b, at));
		} else {
			FAILS(kind->call(b, at), PHILOX_ERROR_INVALID);
			NAMES(text);
			NAMES("which is not memory of device host:strict");
		}
		OK(philox_stream_synchronize(b->f->device, b->f->stream));
		free(at[i]);
	}
	free_arrays(b, &a);
}

static void try_all_plain(const char *device, int taken)
{
	struct fixture f;
	struct bench b;

	fixture_open(&f, device);
	b = open_bench(&f);
	for (size_t k = 0; k < N_KINDS; k++)
		try_plain(&b, &kinds[k], taken);
	fixture_close(&f);
}

Test(memory, that_is_plain_is_taken_unless_the_device_is_strict)
{
	try_all_plain("host", 1);
	try_all_plain("host:sync", 1);
	try_all_plain("host:strict", 0);
}

static void write_there(const void *args)
{
	int *to;

	memcpy(&to, args, sizeof(to));
	*to = 7;
}

/* Of copies, rows that are read and set, and arguments of the caller's calls */
Test(memory, that_is_plain_is_always_taken_where_the_host_reads_it)
{
	struct philox_state state = {1, 8}, read = {0, 0};
	int number = 0, *to = &number;
	struct fixture f;
	struct bench b;
	char *memory;

	fixture_open(&f, "host:strict");
	b = open_bench(&f);
	memory = make_memory(&f, sizeof(state));
	OK(philox_rows_set(b.rows, f.stream, NULL, &state, 1));
	OK(philox_rows_get(b.rows, f.stream, 0, 1, &read));
	OK(philox_memory_copy(f.device, f.stream, memory, &state,
			      sizeof(state)));
	OK(philox_stream_launch_host(f.device, f.stream, write_there, &to,
				     sizeof(to)));
	OK(philox_stream_synchronize(f.device, f.stream));
	cr_assert(read.seed == 1 && read.offset == 8 && number == 7);
	FAILS(philox_memory_set(f.device, f.stream, &number, 0, sizeof(number)),
	      PHILOX_ERROR_INVALID);
	NAMES("philox_memory_set: memory: 4 bytes");
	fixture_close(&f);
}

Test(memory, of_another_device_is_not_memory_of_a_strict_one)
{
	struct fixture one, other;
	struct bench b = {.f = &one};
	void *memory;

	fixture_open(&one, "host:strict");
	fixture_open(&other, "host:strict");
	memory = make_memory(&other, N * 8);
	FAILS(fill_words(&b, &memory), PHILOX_ERROR_INVALID);
	b.f = &other;
	OK(fill_words(&b, &memory));
	fixture_close(&other);
	fixture_close(&one);
}

/* It runs into an allocation but begins outside: unknown. It is never run. */
Test(memory, that_begins_before_an_allocation_is_unknown)
{
	static const char *const devices[] = {"host", "host:sync",
					      "host:strict"};

	for (int i = 0; i < 3; i++) {
		struct philox_graph *graph;
		struct fixture f;
		struct bench b = {.f = &f};
		void *at;

		fixture_open(&f, devices[i]);
		at = (char *)make_memory(&f, N * 8) - 8;
		record_begin(&f);
		if (i < 2)
			OK(fill_words(&b, &at));
		else
			FAILS(fill_words(&b, &at), PHILOX_ERROR_INVALID);
		graph = record_end(&f);
		OK(philox_graph_destroy(graph));
		fixture_close(&f);
	}
}

/* --- in captures and launches --------------------------------------------- */

static size_t nodes_of(struct fixture *f, struct philox_graph *graph)
{
	philox_native_graph native;
	size_t nodes;

	OK(philox_graph_native(graph, &native, NULL));
	OK(philox_native_graph_node_count(f->device, native, &nodes));
	return nodes;
}

PROMISE(memory, that_is_refused_leaves_a_capture_as_it_was)
{
	struct bench b = open_bench(f);

	for (size_t k = 0; k < N_KINDS; k++) {
		struct arrays a = make_arrays(&b, &kinds[k], 64);
		enum philox_capture_status capture;
		struct philox_graph *graph;

		record_begin(f);
		refuse_short(&b, &kinds[k], &a);
		OK(philox_stream_capture_info(f->device, f->stream, &capture,
					      NULL));
		cr_assert_eq(capture, PHILOX_CAPTURE_ACTIVE);
		OK(kinds[k].call(&b, a.good));
		refuse_short(&b, &kinds[k], &a);
		graph = record_end(f);
		cr_assert_eq(nodes_of(f, graph), 1, "%s", kinds[k].name);
		OK(philox_graph_launch(graph, f->stream, NULL, 0));
		OK(philox_stream_synchronize(f->device, f->stream));
		OK(philox_graph_destroy(graph));
		free_arrays(&b, &a);
	}
}

/* The pass goes on, too: a fill of it that is right is drawn. */
GRAPH_PROMISE(memory, that_is_refused_leaves_a_captured_pass_as_it_was)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_span span = philox_span_elements(0, COUNT);
	uint32_t *array = make_array(f), *small = make_memory(f, 4 * COUNT - 4);
	struct philox_ticket ticket;
	struct philox_graph *graph;
	struct philox_pass pass;

	record_begin(f);
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	FAILS(philox_pass_bits(&pass, 0, PHILOX_DTYPE_U32, span, small),
	      PHILOX_ERROR_INVALID);
	NAMES("region 'layer', op 0 'first': fill: out: 32 bytes");
	draw(&pass, array);
	OK(philox_pass_commit(&pass, 0, &ticket));
	graph = record_end(f);
	SAME(launch_forward(f, graph, region, array).saw,
	     predict(0, "layer", 0), "other numbers");
}

/* The i-th array of a graph is freed between two launches. */
static void free_one(const struct bench *b, const struct kind *kind, size_t i)
{
	struct arrays a = make_arrays(b, kind, 64);
	struct fixture *f = b->f;
	struct philox_graph *graph;
	char text[64];

	record_begin(f);
	OK(kind->call(b, a.good));
	graph = record_end(f);
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	OK(philox_memory_free(f->device, a.whole[i]));
	a.whole[i] = NULL;
	for (int again = 0; again < 2; again++) {
		FAILS(philox_graph_launch(graph, f->stream, NULL, 0),
		      PHILOX_ERROR_INVALID);
		names_array(kind, i, 64, 64 + kind->arrays[i].size);
		NAMES("has been freed");
		snprintf(text, sizeof(text), "'%s' cannot be launched",
			 philox_graph_name(graph));
		NAMES(text);
	}
	FAILS(philox_native_exec_launch(f->device, f->stream,
					native_exec(graph)),
	      PHILOX_ERROR_INVALID);
	names_array(kind, i, 64, 64 + kind->arrays[i].size);
	OK(philox_graph_destroy(graph));
	free_arrays(b, &a);
}

PROMISE(memory, that_was_freed_is_refused_at_a_launch)
{
	struct bench b = open_bench(f);

	for (size_t k = 0; k < N_KINDS; k++)
		for (size_t i = 0; kinds[k].arrays[i].name; i++)
			free_one(&b, &kinds[k], i);
}

PROMISE(memory, of_a_copy_that_was_freed_is_refused_at_a_launch)
{
	struct bench b = {.f = f};
	void *from = make_memory(f, 32), *to = zeros(&b, 32);
	struct philox_graph *graph;

	record_begin(f);
	OK(philox_memory_copy(f->device, f->stream, to, from, 32));
	graph = record_end(f);
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	OK(philox_memory_free(f->device, to));
	FAILS(philox_graph_launch(graph, f->stream, NULL, 0),
	      PHILOX_ERROR_INVALID);
	NAMES("destination: 32 bytes");
	OK(philox_graph_destroy(graph));
}

/*
 * Whether the C library uses an address again is its affair: here blocks take
 * places that are given.
 */
struct place {
	struct host_device device;
	struct host_block blocks[3];
	size_t n;
	struct host_work work;
};

static void *put_block(struct place *p, char *at, size_t size)
{
	struct host_block *block = &p->blocks[p->n++];

	block->memory = at;
	block->size = size;
	cr_assert(host_block_add(&p->device, block));
	return block;
}

static void open_place(struct place *p, const char *at, size_t size)
{
	struct kernel_arrays arrays = {.count = 0};
	const struct store_args args = {.to = NULL}; /* is not run */
	const struct kernel_call call = {.kernel = KERNEL_STORE,
					 .args = &args,
					 .size = sizeof(args),
					 .arrays = &arrays};

	memset(p, 0, sizeof(*p));
	kernel_writes(&arrays, "x", at, size);
	p->device.kernels = kernels_host;
	OK(host_work_kernel(&p->device, &p->work, &call));
}

/* Another allocation at the same address is not the one of the capture. */
Test(memory, that_was_freed_and_allocated_again_is_refused_at_a_launch)
{
	static char bytes[1000];
	struct place p;
	void *block;

	open_place(&p, bytes + 100, 50);
	block = put_block(&p, bytes + 100, 50);
	OK(host_arrays_take(&p.device, &p.work));
	OK(host_arrays_check(&p.device, &p.work));
	host_block_remove(&p.device, block);
	FAILS(host_arrays_check(&p.device, &p.work), PHILOX_ERROR_INVALID);
	NAMES("has been freed");
	block = put_block(&p, bytes + 100, 50);
	FAILS(host_arrays_check(&p.device, &p.work), PHILOX_ERROR_INVALID);
	NAMES("has been freed");
	OK(host_arrays_take(&p.device, &p.work));
	OK(host_arrays_check(&p.device, &p.work));
	host_block_remove(&p.device, block);
	block = put_block(&p, bytes + 100, 49);
	FAILS(host_arrays_take(&p.device, &p.work), PHILOX_ERROR_INVALID);
	NAMES("an allocation of 49 bytes");
	host_block_remove(&p.device, block);
	host_work_drop(&p.device, &p.work);
}

/* Plain memory when it was captured, an allocation when it is launched. */
Test(memory, that_became_an_allocation_must_hold_the_array)
{
	static char bytes[1000];
	struct place p;
	void *block;

	open_place(&p, bytes + 100, 50);
	OK(host_arrays_take(&p.device, &p.work));
	block = put_block(&p, bytes + 149, 400); /* begins inside */
	OK(host_arrays_check(&p.device, &p.work));
	host_block_remove(&p.device, block);
	block = put_block(&p, bytes + 90, 59);
	FAILS(host_arrays_check(&p.device, &p.work), PHILOX_ERROR_INVALID);
	NAMES("x: 50 bytes are written from byte 10 on of an allocation of 59 "
	      "bytes");
	host_block_remove(&p.device, block);
	block = put_block(&p, bytes + 90, 60);
	OK(host_arrays_check(&p.device, &p.work));
	host_block_remove(&p.device, block);
	host_work_drop(&p.device, &p.work);
}

/* A launch that is refused takes no numbers and no tickets. */
GRAPH_PROMISE(memory, that_was_freed_leaves_the_ledger_as_it_was)
{
	struct bench b = {.f = f};
	struct philox_region *region = make_region(f, "layer");
	struct forward kept = forward(f, region);
	uint32_t *array = zeros(&b, sizeof(struct numbers));
	struct philox_graph *forwards = record_forward(f, region, 0, array);
	struct philox_graph *backwards = record_backward(f, region, array);
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_launch_pass of_kept = {kept.ticket, 0, 0};
	struct ledger_view before;

	backward(f, &kept, PHILOX_PASS_RETAIN);
	before = look(f, region);
	OK(philox_memory_free(f->device, array));
	FAILS(philox_graph_launch(forwards, f->stream, &use, 1),
	      PHILOX_ERROR_INVALID);
	NAMES("fill: out");
	FAILS(philox_graph_launch(backwards, f->stream, &of_kept, 1),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_graph_prologue(forwards, f->stream, &use, 1),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_graph_epilogue(forwards, PHILOX_OK), PHILOX_ERROR_STATE);
	cr_assert_eq(use.ticket.serial, 0);
	unchanged(f, region, &before);
	SAME(forward(f, region).saw, before.next, "numbers were burnt");
	backward(f, &kept, 0);
	OK(philox_context_check(f->context, NULL));
}

/* --- arguments that are replaced ------------------------------------------ */

/* A graph of one root that draws N double words. */
struct root {
	struct fill_args args;
	struct kernel_arrays arrays;
	struct kernel_call call;
	philox_native_graph graph;
	philox_native_exec exec;
	device_node node;
};

static const struct kernel_call *to_memory(struct root *root, void *memory)
{
	root->args = (struct fill_args){
		.count = N, .rows = 1, .threads = 1, .out = memory};
	kernel_no_arrays(&root->arrays);
	kernel_writes(&root->arrays, "out", memory, N * 8);
	root->call = (struct kernel_call){.kernel = KERNEL_bits_u64,
					  .args = &root->args,
					  .size = sizeof(root->args),
					  .work = N,
					  .arrays = &root->arrays};
	return &root->call;
}

static void make_root(struct fixture *f, struct root *root, void *memory,
		      void *small)
{
	OK(philox_stream_begin_capture(f->device, f->side,
				       PHILOX_CAPTURE_GLOBAL));
	OK(philox_stream_end_capture(f->device, f->side, &root->graph));
	FAILS(device_graph_add_kernel(f->device, root->graph, NULL, 0,
				      to_memory(root, small), &root->node),
	      PHILOX_ERROR_INVALID);
	OK(device_graph_add_kernel(f->device, root->graph, NULL, 0,
				   to_memory(root, memory), &root->node));
	FAILS(device_graph_set_kernel(f->device, root->node,
				      to_memory(root, small)),
	      PHILOX_ERROR_INVALID);
	OK(philox_native_graph_instantiate(f->device, root->graph,
					   &root->exec));
}

PROMISE(memory, of_arguments_that_are_replaced_is_not_needed)
{
	struct bench b = {.f = f};
	void *old = zeros(&b, N * 8), *updated = zeros(&b, N * 8);
	void *small = make_memory(f, N * 8 - 1);
	struct root root;

	make_root(f, &root, old, small);
	FAILS(device_exec_set_kernel(f->device, root.exec, root.node,
				     to_memory(&root, small)),
	      PHILOX_ERROR_INVALID);
	OK(device_exec_check(f->device, root.exec));
	OK(device_exec_set_kernel(f->device, root.exec, root.node,
				  to_memory(&root, updated)));
	OK(philox_memory_free(f->device, old));
	OK(device_exec_check(f->device, root.exec));
	OK(philox_native_exec_launch(f->device, f->stream, root.exec));
	OK(philox_memory_free(f->device, updated));
	FAILS(device_exec_check(f->device, root.exec), PHILOX_ERROR_INVALID);
	NAMES("out: 40 bytes");
	FAILS(philox_native_exec_launch(f->device, f->stream, root.exec),
	      PHILOX_ERROR_INVALID);
	NAMES("out: 40 bytes");
	OK(philox_native_exec_destroy(f->device, root.exec));
	OK(philox_native_graph_destroy(f->device, root.graph));
}

/* --- states --------------------------------------------------------------- */

PROMISE(memory, for_the_state_of_a_generator_has_16_bytes)
{
	struct philox_generator *generator;
	struct philox_state *small = make_memory(f, 15), *to;
	struct bench b = {.f = f};
	struct philox_graph *graph;

	to = zeros(&b, 16);
	OK(philox_generator_create(f->context, 1, &generator));
	FAILS(philox_generator_copy_state(generator, f->stream, small),
	      PHILOX_ERROR_INVALID);
	NAMES("generator state: to: 16 bytes");
	OK(philox_generator_copy_state(generator, f->stream, to));
	record_begin(f);
	FAILS(philox_generator_copy_state(generator, f->stream, small),
	      PHILOX_ERROR_INVALID);
	OK(philox_generator_copy_state(generator, f->stream, to));
	graph = record_end(f);
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	OK(philox_memory_free(f->device, to));
	FAILS(philox_graph_launch(graph, f->stream, NULL, 0),
	      PHILOX_ERROR_INVALID);
	OK(philox_graph_destroy(graph));
}

/* Also where the states that fit would be of an earlier kernel. */
PROMISE(memory, for_states_that_are_written_has_room_for_all)
{
	enum { KERNEL = 192, STATES = 2 * KERNEL + 1 };
	struct philox_state *to = make_memory(f, (STATES - 1) * sizeof(*to));
	struct philox_state states[STATES] = {{1, 4}};
	const uint64_t before = philox_device_call_count(f->device, "launch");

	FAILS(philox_context_write_states(f->context, f->stream, to, states,
					  STATES),
	      PHILOX_ERROR_INVALID);
	NAMES("write states: to: 6160 bytes");
	cr_assert_eq(philox_device_call_count(f->device, "launch"), before + 1,
		     "the first kernel is refused");
	OK(philox_context_write_states(f->context, f->stream, to, states,
				       STATES - 1));
}
