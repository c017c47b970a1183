/*
 * tools/contract/numbers/subset.c - checks that subsets are those of the host
 */
#include <math.h>
#include <string.h>
#include <philox/subset.h>
#include "tools/contract/numbers/numbers.h"

/* Several chunks, the last one not whole. */
enum { ITEMS = 4 * 4096 + 1237 };

/* Weights of many sizes, some 0; logits of which many are equal; the same, but
 * one is a NaN. */
enum { WEIGHTS, TIES, WITH_NAN, KINDS };

struct drawing {
	void *in[KINDS][3]; /* f32, bf16, f16 */
	void *chosen, *keys, *count, *scratch, *cell;
	struct philox_subset_desc subset;
	struct philox_rng rng;
};

static const uint32_t dtypes[3] = {PHILOX_DTYPE_F32, PHILOX_DTYPE_BF16,
				   PHILOX_DTYPE_F16};

static float number_of(int kind, uint32_t i)
{
	const uint32_t word = site_word(41, i);

	if (kind == WEIGHTS)
		return i % 9 == 4 ? 0 : (float)(word % 4096) * 0x1p-6f;
	if (kind == WITH_NAN && i == 9876)
		return NAN;
	return word % 5 ? -30000 - 1000 * (float)(word % 3) : 30000;
}

static void upload_kind(struct contract *c, struct site *site,
			struct drawing *d, int kind)
{
	static float f32[ITEMS];
	static uint16_t bf16[ITEMS], f16[ITEMS];

	for (uint32_t i = 0; i < ITEMS; i++) {
		f32[i] = number_of(kind, i);
		bf16[i] = philox_f32_to_bf16(f32[i]);
		f16[i] = philox_f32_to_f16(f32[i]);
	}
	EXPECT_PART(site_upload(c, site, f32, sizeof(f32), &d->in[kind][0]));
	EXPECT_PART(site_upload(c, site, bf16, sizeof(bf16), &d->in[kind][1]));
	EXPECT_PART(site_upload(c, site, f16, sizeof(f16), &d->in[kind][2]));
}

static void make_drawing(struct contract *c, struct site *site,
			 struct drawing *d)
{
	const struct philox_state cell = {0x1234567890abcdefu, 40};
	uint64_t bytes;

	memset(d, 0, sizeof(*d));
	for (int kind = 0; kind < KINDS; kind++)
		EXPECT_PART(upload_kind(c, site, d, kind));
	d->subset.size = sizeof(d->subset);
	d->subset.items = ITEMS;
	EXPECT_OK(philox_subset_scratch_size(&d->subset, &bytes));
	EXPECT_PART(site_allocate(c, site, ITEMS * 4, &d->chosen));
	EXPECT_PART(site_allocate(c, site, ITEMS * 8, &d->keys));
	EXPECT_PART(site_allocate(c, site, 4, &d->count));
	EXPECT_PART(site_allocate(c, site, bytes, &d->scratch));
	EXPECT_PART(site_upload(c, site, &cell, sizeof(cell), &d->cell));
	d->subset.chosen = d->chosen;
	d->subset.keys = d->keys;
	d->subset.count = d->count;
	d->subset.scratch = d->scratch;
	d->rng.cell = d->cell;
}

static enum philox_status put_subset(struct site *site, const void *work)
{
	const struct drawing *d = work;

	return philox_rng_subset(site->device, site->stream, d->rng,
				 &d->subset);
}

static void note_subset(struct contract *c, struct site *site,
			const struct drawing *d)
{
	EXPECT_PART(site_note_memory(c, site, d->chosen, ITEMS * 4));
	EXPECT_PART(site_note_memory(c, site, d->keys, ITEMS * 8));
	EXPECT_PART(site_note_memory(c, site, d->count, 4));
}

static void draw_subsets(struct contract *c, struct site *site)
{
	static const uint32_t wanted[] = {1, 700, ITEMS / 2, ITEMS};
	static struct drawing d;

	EXPECT_PART(make_drawing(c, site, &d));
	for (uint32_t i = 0; i < 18; i++) {
		d.subset.is_log = i % KINDS != WEIGHTS;
		d.subset.dtype = dtypes[i / KINDS % 3];
		d.subset.weights = d.in[i % KINDS][i / KINDS % 3];
		d.subset.wanted = wanted[(i + i / 4) % 4];
		EXPECT_OK(put_subset(site, &d));
		EXPECT_PART(note_subset(c, site, &d));
	}
}

static void draw_without_options(struct contract *c, struct site *site)
{
	static struct drawing d;

	EXPECT_PART(make_drawing(c, site, &d));
	d.rng = (struct philox_rng){.state = {7, 8}};
	d.subset.dtype = PHILOX_DTYPE_F32;
	d.subset.weights = d.in[WEIGHTS][0];
	d.subset.items = 3;
	d.subset.wanted = 2;
	d.subset.keys = NULL;
	d.subset.count = NULL;
	EXPECT_OK(put_subset(site, &d));
	EXPECT_PART(note_subset(c, site, &d));
}

static void replay_subsets(struct contract *c, struct site *site)
{
	static struct drawing d;

	EXPECT_PART(make_drawing(c, site, &d));
	d.subset.dtype = PHILOX_DTYPE_BF16;
	d.subset.weights = d.in[WEIGHTS][1];
	d.subset.wanted = 500;
	EXPECT_PART(site_replay(c, site, put_subset, &d, 9));
	EXPECT_PART(note_subset(c, site, &d));
}

const struct contract_check contract_subset[] = {
	{"subsets by weight are those of the host", .on_both = draw_subsets},
	{"subsets have no keys and no count if none are asked for",
	 .on_both = draw_without_options},
	{"a graph draws subsets as on the host", .on_both = replay_subsets},
	{.name = NULL}};
