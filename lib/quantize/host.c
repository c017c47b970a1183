/*
 * lib/quantize/host.c - tensors rounded on the host device
 *
 * A tensor as it lies is done in pieces of its rows: the random words of a
 * piece are made first, by the vector loops of fills. A transposed one is done
 * unit by unit.
 */
#include <stddef.h>
#include <string.h>
#include "lib/fill/fill.h"
#include "lib/quantize/elements.h"
#include "lib/quantize/quantize.h"

#define LOOPS_NAME(name) name##_scalar
#include "lib/quantize/loops.h"

enum { PIECE = 1024 }; /* elements; a multiple of blocks and of lanes */

static const struct quantize_loops *const loops_of[SIMD_COUNT] = {
	[SIMD_SCALAR] = &quantize_loops_scalar,
#ifdef __x86_64__
	[SIMD_AVX2] = &quantize_loops_avx2,
	[SIMD_AVX512] = &quantize_loops_avx512,
#endif
};

/* What one piece of a row has. Beyond its elements there is room for lanes. */
struct piece {
	struct quantize_job job;
	const struct quantize_loops *loops;
	uint64_t line, element, at; /* of its first element */
	uint64_t begin;             /* that one's place in the row, in blocks */
	uint32_t n;
	float x[PIECE];
	uint32_t words[PIECE + 4], fields[PIECE], codes[PIECE];
};

/* --- fields --------------------------------------------------------------- */

static void draw_fields(struct piece *p)
{
	const uint32_t bits = p->job.how.bits;
	const uint32_t shift = bits == 32 ? 0 : bits == 16 ? 1 : 2;
	const uint64_t first = p->element >> shift;
	const uint64_t last = (p->element + (p->n - 1)) >> shift;
	const uint32_t skip = (uint32_t)(p->element - (first << shift));
	struct fill_args args = {.rng = {.state = p->job.state},
				 .first = first,
				 .count = last - first + 1,
				 .rows = 1,
				 .threads = 1,
				 .out = bits == 32 ? p->fields : p->words};

	fill_host_run(KERNEL_bits_u32, &args);
	if (bits != 32)
		p->loops->part(bits, p->words, skip, p->n, p->fields);
}

/* --- a piece -------------------------------------------------------------- */

/* Where an element of an array of a dtype or a format is. */
static const char *in_at(const struct quantize_item *item, uint64_t at)
{
	return (const char *)item->in +
	       at * (item->in_dtype == PHILOX_DTYPE_F32 ? 4 : 2);
}

static char *out_at(const struct quantize_item *item, uint64_t at)
{
	return (char *)item->out + (item->format == PHILOX_FORMAT_E2M1  ? at / 2
				    : item->format <= PHILOX_FORMAT_F16 ? 2 * at
									: at);
}

static void read_piece(struct piece *p)
{
	const struct quantize_item *item = p->job.item;

	p->loops->widen(item->in_dtype, in_at(item, p->at), p->n, p->x);
	/* lanes that are not used: numbers, which cost no more */
	for (uint32_t i = p->n; i % QUANTIZE_LANES; i++)
		p->x[i] = 0.0f, p->fields[i] = 0;
}

static void scale_block(struct piece *p, uint32_t i, uint32_t size)
{
	const uint32_t n = p->n - i < size ? p->n - i : size;
	const float amax = p->loops->largest(p->x + i, n);
	const float scale =
		quantize_scale(&p->job, p->line, p->begin + i / size, amax);

	p->loops->divide(p->x + i, size, scale);
}

static void scale_piece(struct piece *p)
{
	const uint32_t size = quantize_block(p->job.item);

	for (uint32_t i = 0; p->job.item->scaling && i < p->n; i += size)
		scale_block(p, i, size);
	if (!p->job.item->saturated)
		return;
	p->job.saturated = p->loops->beyond(p->job.how.format, p->x, p->n);
	quantize_end(&p->job);
	p->job.saturated = 0;
}

/* Rule EXACT: the elements whose fields do not decide. */
static void end_ties(struct piece *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (p->codes[i] & QUANTIZE_TIE)
			p->codes[i] =
				quantize_exact(p->job.state, p->element + i,
					       p->x[i], p->job.how);
}

static void run_piece(struct piece *p)
{
	const struct philox_rounding *how = &p->job.how;
	const uint32_t by_bits = how->bits == 32 ? 0 : how->bits == 16 ? 1 : 2;
	const uint32_t lanes =
		(p->n + QUANTIZE_LANES - 1) / QUANTIZE_LANES * QUANTIZE_LANES;

	draw_fields(p);
	read_piece(p);
	scale_piece(p);
	p->loops->round[how->format][by_bits](how->saturate, p->x, p->fields,
					      lanes, p->codes);
	if (how->rule == PHILOX_ROUND_EXACT)
		end_ties(p);
	p->loops->pack(how->format, p->codes, p->n, out_at(p->job.item, p->at));
}

/* --- tensors -------------------------------------------------------------- */

static void run_row(struct piece *p, uint64_t row)
{
	const struct quantize_item *item = p->job.item;
	const uint32_t size = quantize_block(item);

	p->line = row;
	for (uint64_t begin = 0; begin < item->cols; begin += PIECE) {
		const uint64_t left = item->cols - begin;

		p->begin = begin / size;
		p->element = item->first + row * item->stride + begin;
		p->at = row * item->cols + begin;
		p->n = left < PIECE ? (uint32_t)left : PIECE;
		run_piece(p);
	}
}

/* The units of swizzled scales that no block has. */
static void fill_up(const struct quantize_item *item)
{
	const uint64_t lines = quantize_lines(item);
	const uint64_t blocks = quantize_blocks(item);
	const uint64_t room_lines = quantize_room_lines(item);
	const uint64_t room_blocks = quantize_room_blocks(item);

	for (uint64_t line = 0; line < room_lines; line++)
		for (uint64_t block = line < lines ? blocks : 0;
		     block < room_blocks; block++)
			quantize_fill_up(item, line, block);
}

static void run_units(const struct quantize_item *item,
		      struct philox_state state)
{
	const uint64_t units = quantize_units(item);
	struct quantize_job job = quantize_begin(item, state);

	for (uint64_t unit = 0; unit < units; unit++) {
		quantize_unit(&job, unit);
		quantize_end(&job);
		job.saturated = 0;
	}
}

void quantize_host_plain(const struct quantize_item *item)
{
	run_units(item, philox_resolve(item->rng));
}

void quantize_host_run(const struct quantize_item *item)
{
	const struct philox_state state = philox_resolve(item->rng);
	struct piece p;

	if (item->transposed || philox_is_poison(state)) {
		run_units(item, state);
		return;
	}
	p.job = quantize_begin(item, state);
	p.loops = loops_of[simd_used()];
	for (uint64_t row = 0; row < item->rows; row++)
		run_row(&p, row);
	if (item->swizzled)
		fill_up(item);
}

/* --- kernels -------------------------------------------------------------- */

void run_quantize(const void *pointer);
void run_quantize_large(const void *pointer);
void run_amax(const void *pointer);

void run_quantize(const void *pointer)
{
	const struct quantize_args *args = pointer;

	for (uint64_t i = 0; i < args->n; i++)
		quantize_host_run(&args->items[i]);
}

void run_quantize_large(const void *pointer)
{
	const struct quantize_large_args *args = pointer;

	for (uint64_t i = 0; i < args->n; i++)
		quantize_host_run(&args->items[i]);
}

void run_amax(const void *pointer)
{
	const struct amax_args *args = pointer;
	struct quantize_item item = {.in = args->in};
	float amax = 0.0f;

	item.in_dtype = (uint8_t)args->dtype;
	for (uint64_t i = 0; i < args->count; i++)
		amax = philox_greater(amax,
				      quantize_size(quantize_in(&item, i)));
	*args->scale = philox_nvfp4_tensor_scale(amax);
}
