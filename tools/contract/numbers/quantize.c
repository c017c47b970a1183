/*
 * tools/contract/numbers/quantize.c - checks that tensors are rounded as on the
 * host
 */
#include <string.h>
#include <philox/quantize.h>
#include "tools/contract/numbers/numbers.h"

/*
 * Lines and blocks of which some are not whole, also in tiles of scales. There
 * are more tensors than one kernel takes.
 */
enum { ROWS = 42, COLUMNS = 48, ELEMENTS = ROWS * COLUMNS, TENSORS_MAX = 300 };
enum { OUT_BYTES = 2 * ELEMENTS, SCALES_MAX = 128 * 4 };
enum { FIRST_CELL = 3, CELLS = 5 };

struct quantizing {
	void *in[3]; /* f32, bf16, f16 */
	void *out, *scales, *saturated, *tensor_scale, *cells;
	struct philox_quantize_desc tensors[TENSORS_MAX];
	struct philox_rng rngs[TENSORS_MAX];
	size_t n;
};

static const uint32_t dtypes[3] = {PHILOX_DTYPE_F32, PHILOX_DTYPE_BF16,
				   PHILOX_DTYPE_F16};

/* --- inputs --------------------------------------------------------------- */

/*
 * Numbers of all sizes, those that formats have, and special ones; a block of
 * zeros.
 */
static float input_of(uint32_t i)
{
	const uint32_t bits = site_word(31, i);
	const float x = (float)(int)(bits >> 8) * 0x1p-20f - 8;

	if (i / 32 == 2)
		return i & 1 ? -0.0f : 0.0f;
	switch (i % 7) {
	case 0:
		return philox_f32_from_bits(bits);
	case 1:
		return (float)((int)(bits % 200) - 100) * 0.25f;
	case 2:
		return x * 0x1p-8f;
	case 3:
		return x * 64;
	default:
		return x;
	}
}

static void upload_inputs(struct contract *c, struct site *site,
			  struct quantizing *q)
{
	static float f32[ELEMENTS];
	static uint16_t bf16[ELEMENTS], f16[ELEMENTS];

	for (uint32_t i = 0; i < ELEMENTS; i++) {
		f32[i] = input_of(i);
		bf16[i] = philox_f32_to_bf16(f32[i]);
		f16[i] = philox_f32_to_f16(f32[i]);
	}
	EXPECT_PART(site_upload(c, site, f32, sizeof(f32), &q->in[0]));
	EXPECT_PART(site_upload(c, site, bf16, sizeof(bf16), &q->in[1]));
	EXPECT_PART(site_upload(c, site, f16, sizeof(f16), &q->in[2]));
}

static void upload_cells(struct contract *c, struct site *site,
			 struct quantizing *q)
{
	struct philox_state cells[CELLS];
	const float scale = 0x1.9p-7f;

	for (uint64_t i = 0; i < CELLS; i++)
		cells[i] = (struct philox_state){0x1234567890abcdefu * (i + 1),
						 4 * i};
	cells[FIRST_CELL].offset = PHILOX_POISON_OFFSET;
	EXPECT_PART(site_upload(c, site, cells, sizeof(cells), &q->cells));
	EXPECT_PART(
		site_upload(c, site, &scale, sizeof(scale), &q->tensor_scale));
}

/* --- tensors -------------------------------------------------------------- */

/* Whole and aligned; a shard; with rows that end within a block. */
static struct philox_span span_of(uint64_t i, int is_scaled)
{
	switch (i % 3) {
	case 0:
		return philox_span_rows(0, ROWS, COLUMNS, COLUMNS);
	case 1:
		return philox_span_rows((uint64_t)1 << 33, ROWS, 32, 64);
	default:
		return philox_span_rows(is_scaled ? 0 : 46, ROWS, 46, 46);
	}
}

static void add(struct quantizing *q, uint32_t in, uint32_t format,
		uint32_t rule, uint32_t bits, uint32_t scaling, uint32_t flags)
{
	const uint64_t i = q->n++;
	struct philox_quantize_desc *t = &q->tensors[i];
	char *out = (char *)q->out + i * OUT_BYTES;

	*t = (struct philox_quantize_desc){.size = sizeof(*t),
					   .span = span_of(i, scaling != 0),
					   .in_dtype = dtypes[in],
					   .format = format,
					   .rule = rule,
					   .bits = bits,
					   .scaling = scaling,
					   .flags = flags,
					   .in = q->in[in],
					   .out = out,
					   .tensor_scale = q->tensor_scale};
	t->scales = (uint8_t *)q->scales + i * SCALES_MAX;
	t->saturated = (uint64_t *)q->saturated + i;
	q->rngs[i] = (struct philox_rng){.state = {i, 4 * i}};
	if (i % 4 == 3)
		q->rngs[i].cell =
			(struct philox_state *)q->cells + i / 4 % CELLS;
}

/* All formats with all of their scalings, as they lie and transposed. */
static void describe_tensors(struct quantizing *q)
{
	for (uint32_t k = 0; k < 90; k++)
		for (uint32_t flags = 0; flags < 3; flags++)
			add(q, k / 30, k % 5, k / 5 % 2,
			    (uint32_t[]){32, 16, 8}[k / 10 % 3], 0, flags);
	for (uint32_t k = 0; k < 30; k++) {
		const uint32_t scaling = k % 3 + 1;

		add(q, k % 5 % 3,
		    scaling == PHILOX_SCALING_NVFP4 ? PHILOX_FORMAT_E2M1
						    : 2 + k / 3 % 3,
		    k % 2, (uint32_t[]){32, 16, 8}[k / 5 % 3], scaling,
		    (k / 2 % 4) * PHILOX_QUANTIZE_TRANSPOSED);
	}
}

static void make_quantizing(struct contract *c, struct site *site,
			    struct quantizing *q)
{
	static const uint64_t zeros[TENSORS_MAX];

	memset(q, 0, sizeof(*q));
	EXPECT_PART(upload_inputs(c, site, q));
	EXPECT_PART(upload_cells(c, site, q));
	EXPECT_PART(site_allocate(c, site, TENSORS_MAX * OUT_BYTES, &q->out));
	EXPECT_PART(
		site_allocate(c, site, TENSORS_MAX * SCALES_MAX, &q->scales));
	EXPECT_PART(site_upload(c, site, zeros, sizeof(zeros), &q->saturated));
	describe_tensors(q);
	EXPECT(q->n == TENSORS_MAX);
}

static void note_all(struct contract *c, struct site *site,
		     const struct quantizing *q)
{
	EXPECT_PART(site_note_memory(c, site, q->out, TENSORS_MAX * OUT_BYTES));
	EXPECT_PART(
		site_note_memory(c, site, q->scales, TENSORS_MAX * SCALES_MAX));
	EXPECT_PART(site_note_memory(c, site, q->saturated, TENSORS_MAX * 8));
}

static enum philox_status put(struct site *site, const void *work)
{
	const struct quantizing *q = work;

	return philox_rng_quantize(site->device, site->stream, q->rngs,
				   q->tensors, q->n);
}

static void round_tensors(struct contract *c, struct site *site)
{
	static struct quantizing q;

	EXPECT_PART(make_quantizing(c, site, &q));
	EXPECT_OK(put(site, &q));
	EXPECT_PART(note_all(c, site, &q));
}

/* Few, whose kernel has fewer parameters. */
static void replay_few(struct contract *c, struct site *site)
{
	static struct quantizing q;

	EXPECT_PART(make_quantizing(c, site, &q));
	q.n = 7;
	EXPECT_PART(site_replay(c, site, put, &q, 1));
	EXPECT_PART(note_all(c, site, &q));
}

/* --- scales of tensors ---------------------------------------------------- */

/* Beginnings that are aligned and not, and counts that are whole and not. */
static void find_scales(struct contract *c, struct site *site)
{
	static const uint64_t counts[] = {0, 5, 16, 100, ELEMENTS - 8};
	static struct quantizing q;
	void *scale;

	EXPECT_PART(make_quantizing(c, site, &q));
	EXPECT_PART(site_allocate(c, site, sizeof(float), &scale));
	for (size_t i = 0; i < 30; i++) {
		const size_t size = i % 3 ? 2 : 4;
		const char *in = (const char *)q.in[i % 3] + i / 15 * 3 * size;

		EXPECT_OK(philox_tensor_scale(site->device, site->stream,
					      (enum philox_dtype)dtypes[i % 3],
					      in, counts[i / 3 % 5], scale));
		EXPECT_PART(site_note_memory(c, site, scale, sizeof(float)));
	}
}

const struct contract_check contract_quantize[] = {
	{"tensors are rounded as on the host", .on_both = round_tensors},
	{"a graph rounds tensors as on the host", .on_both = replay_few},
	{"scales of tensors are found as on the host", .on_both = find_scales},
	{.name = NULL}};
