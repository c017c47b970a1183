/*
 * tools/contract/numbers/rows.c - checks that a device's rows are the host's
 */
#include <stdlib.h>
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

const struct contract_check contract_rows[] = {
	{"rows draw and advance as on the host", .on_both = draw_all},
	{"entries draw at steps and rows advance by counts as on the host",
	 .on_both = draw_drafts},
	{"replays draw from rows what eager calls would",
	 .on_both = replay_draws},
	{0},
};
