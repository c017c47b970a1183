/*
 * tools/contract/numbers/rows.c - checks that a device's rows are the host's
 */
#include <stdlib.h>
#include <string.h>
#include "tools/contract/numbers/numbers.h"

enum {
	ENTRIES = 20000, /* so that rows come in many blocks of a launch */
	VALUES = 9,
	LAUNCHES = 4
};

/* A list in which rows occur many times and some do not exist. */
static void make_list(struct contract *c, struct site *site,
		      struct philox_row_list *list, uint32_t **counts)
{
	uint32_t *indices = malloc(2 * ENTRIES * sizeof(*indices));
	uint8_t *mask = malloc(ENTRIES);
	void *memory[3];

	for (uint32_t i = 0; indices && mask && i < ENTRIES; i++) {
		indices[i] = site_word(1, i) % (SITE_ROWS + 2);
		indices[ENTRIES + i] = site_word(2, i) % (VALUES + 2);
		mask[i] = site_word(3, i) % 5 != 0;
	}
	if (indices && mask) {
		site_upload(c, site, indices, ENTRIES * 4, &memory[0]);
		site_upload(c, site, indices + ENTRIES, ENTRIES * 4,
			    &memory[1]);
		site_upload(c, site, mask, ENTRIES, &memory[2]);
	}
	EXPECT(indices && mask);
	free(indices);
	free(mask);
	if (c->failure[0])
		return;
	*list = (struct philox_row_list){.size = sizeof(*list),
					 .indices = memory[0],
					 .mask = memory[2],
					 .count = ENTRIES};
	*counts = memory[1];
}

static const struct {
	enum philox_dist dist;
	enum philox_dtype dtype;
	size_t size;
} kinds[] = {{PHILOX_DIST_BITS, PHILOX_DTYPE_U32, 4},
	     {PHILOX_DIST_BITS, PHILOX_DTYPE_U64, 8},
	     {PHILOX_DIST_UNIFORM, PHILOX_DTYPE_F32, 4},
	     {PHILOX_DIST_UNIFORM, PHILOX_DTYPE_F64, 8},
	     {PHILOX_DIST_NORMAL, PHILOX_DTYPE_F32, 4}};

static void draw_all(struct contract *c, struct site *site)
{
	const size_t size = ENTRIES * VALUES * 8;
	struct philox_row_fill_desc fill = {.size = sizeof(fill),
					    .first = 2,
					    .count = VALUES,
					    .pitch = VALUES};
	struct philox_row_list list;
	uint32_t *counts;

	EXPECT_PART(make_list(c, site, &list, &counts));
	EXPECT_PART(site_allocate(c, site, size, &fill.out));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		fill.dist = kinds[i].dist;
		fill.dtype = kinds[i].dtype;
		for (int k = 0; k < LAUNCHES; k++) {
			fill.counts = k & 1 ? counts : NULL;
			EXPECT_OK(philox_rows_fill(site->rows, site->stream,
						   &list, &fill));
			EXPECT_PART(site_note_memory(c, site, fill.out, size));
			EXPECT_PART(site_note_states(c, site));
		}
	}
	EXPECT_OK(philox_rows_advance(site->rows, site->stream, &list, 400));
	EXPECT_PART(site_note_states(c, site));
	EXPECT_OK(philox_rows_restart(site->rows, site->stream));
	EXPECT_PART(site_note_states(c, site));
}

/* --- drafts --------------------------------------------------------------- */

/* Rows in many blocks at many steps, then advanced by many counts. */
static void draw_drafts(struct contract *c, struct site *site)
{
	const size_t size = ENTRIES * VALUES * 8;
	struct philox_row_fill_desc fill = {.size = sizeof(fill),
					    .count = VALUES,
					    .pitch = VALUES,
					    .flags = PHILOX_ROWS_KEEP};
	struct philox_row_list list, stepped;
	uint32_t *unused, *steps, *counts;

	EXPECT_PART(make_list(c, site, &list, &unused));
	EXPECT_PART(site_make_steps(c, site, ENTRIES, &steps, &counts));
	EXPECT_PART(site_allocate(c, site, size, &fill.out));
	stepped = list;
	stepped.steps = steps;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		fill.dist = kinds[i].dist;
		fill.dtype = kinds[i].dtype;
		EXPECT_OK(philox_rows_fill(site->rows, site->stream, &stepped,
					   &fill));
		EXPECT_PART(site_note_memory(c, site, fill.out, size));
		EXPECT_OK(philox_rows_advance_by(site->rows, site->stream,
						 &list, 12, counts));
		EXPECT_PART(site_note_states(c, site));
	}
}

/* --- replays -------------------------------------------------------------- */

struct draws {
	struct philox_row_list list;
	struct philox_row_fill_desc fill;
};

static enum philox_status put_draws(struct site *site, const void *work)
{
	const struct draws *draws = work;

	return philox_rows_fill(site->rows, site->stream, &draws->list,
				&draws->fill);
}

static void replay_draws(struct contract *c, struct site *site)
{
	struct draws work = {.fill = {.size = sizeof(work.fill),
				      .dist = PHILOX_DIST_UNIFORM,
				      .dtype = PHILOX_DTYPE_F32,
				      .count = VALUES,
				      .pitch = VALUES}};
	uint32_t *counts;

	EXPECT_PART(make_list(c, site, &work.list, &counts));
	EXPECT_PART(
		site_allocate(c, site, ENTRIES * VALUES * 4, &work.fill.out));
	EXPECT_PART(site_replay(c, site, put_draws, &work, 1));
	EXPECT_PART(
		site_note_memory(c, site, work.fill.out, ENTRIES * VALUES * 4));
	EXPECT_PART(site_note_states(c, site));
}

/* --- states that the host has --------------------------------------------- */

enum { STATES = 1000 }; /* of several kernels */

/* The states of the host are of no use when a call has returned. */
static void write_states(struct contract *c, struct site *site,
			 struct philox_state *to, uint64_t seed, size_t n)
{
	struct philox_state states[STATES];

	for (uint64_t i = 0; i < n; i++)
		states[i] = (struct philox_state){
			philox_join(site_word(seed, 3 * i),
				    site_word(seed, 3 * i + 1)),
			4 * philox_join(site_word(seed, 3 * i + 2), 0)};
	EXPECT_OK(philox_context_write_states(site->context, site->stream, to,
					      states, n));
	memset(states, 0xff, sizeof(states));
}

static void draw_from(struct contract *c, struct site *site,
		      const struct philox_state *cell)
{
	struct philox_fill_desc fill = {.size = sizeof(fill),
					.dist = PHILOX_DIST_BITS,
					.dtype = PHILOX_DTYPE_U32,
					.span = {.count = ENTRIES}};
	const struct philox_rng rng = {{0, 0}, cell};

	EXPECT_PART(site_allocate(c, site, ENTRIES * 4, &fill.out));
	EXPECT_OK(philox_rng_fill(site->device, site->stream, rng, &fill));
}

/* What was drawn is read when all is queued. */
static void note_draws(struct contract *c, struct site *site, size_t first)
{
	for (size_t i = first; i < site->n_memory; i++)
		EXPECT_PART(site_note_memory(c, site, site->memory[i],
					     ENTRIES * 4));
}

/* A part of the states is written again, between draws from them. */
static void write_and_draw(struct contract *c, struct site *site)
{
	const size_t size = (STATES + 2) * sizeof(struct philox_state);
	struct philox_state *to;
	void *memory;
	size_t first;

	EXPECT_PART(site_allocate(c, site, size, &memory));
	to = (struct philox_state *)memory + 1;
	first = site->n_memory;
	EXPECT_PART(write_states(c, site, to, 11, STATES));
	for (uint64_t round = 0; round < 4; round++) {
		EXPECT_PART(draw_from(c, site, to + 250));
		EXPECT_PART(write_states(c, site, to + 200, 12 + round, 300));
	}
	EXPECT_PART(note_draws(c, site, first));
	EXPECT_PART(site_note_memory(c, site, memory, size));
}

/* A capture would keep them by value; it goes on. */
static void write_while_capturing(struct contract *c,
				  struct philox_context *context)
{
	struct philox_state state = {1, 4};
	philox_native_graph graph;
	philox_stream stream;
	size_t nodes;
	void *to;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_memory(c, sizeof(state), &to));
	EXPECT_OK(contract_set(c, to, 0xee, sizeof(state), stream));
	EXPECT_OK(contract_begin(c, stream));
	EXPECT_ERROR(
		CAPTURE_UNSUPPORTED,
		philox_context_write_states(context, stream, to, &state, 1));
	EXPECT_OK(contract_end_capture(c, stream, &graph));
	EXPECT_OK(philox_native_graph_node_count(c->device, graph, &nodes));
	EXPECT(nodes == 0);
	EXPECT_BYTES(stream, to, 0xee, sizeof(state));
}

static void refuse_a_capture(struct contract *c)
{
	struct philox_context *context;

	EXPECT_OK(philox_context_create(c->device, &context));
	write_while_capturing(c, context);
	philox_context_destroy(context);
}

const struct contract_check contract_rows[] = {
	{"rows draw and advance as on the host", .on_both = draw_all},
	{"entries draw at steps and rows advance by counts as on the host",
	 .on_both = draw_drafts},
	{"replays draw from rows what eager calls would",
	 .on_both = replay_draws},
	{"states of the host are written in the order of the stream",
	 .on_both = write_and_draw},
	{"states of the host are not written in a capture, which goes on",
	 .run = refuse_a_capture},
	{0},
};
