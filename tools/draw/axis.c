/*
 * tools/draw/axis.c - streams of words across states, of an order, of a mask
 *
 * Keys come from the functions of philox/state.h and no region is made: a
 * region has at most 2^20 operators, and a test battery needs more.
 */
#include "tools/draw/draw.h"
#include "lib/state/state.h"

/* What the words of a stream have in common. */
struct stream {
	struct philox_state generator;
	uint64_t name;             /* hash of the region's and table's name */
	uint64_t region, op, rows; /* seeds: of the region, operator, table */
	struct philox_permutation order;
};

static uint64_t region_seed(uint64_t generator_seed, uint64_t name)
{
	return philox_fold(generator_seed, PHILOX_FOLD_REGION, name);
}

static uint32_t word_of(uint64_t seed, uint64_t offset)
{
	struct philox_state state = {seed, offset};

	return philox_draw4(state, 0).w[0];
}

static uint32_t offset_word(const struct stream *s, uint64_t i)
{
	return word_of(s->op, s->generator.offset + 4 * i);
}

static uint32_t op_word(const struct stream *s, uint64_t i)
{
	return word_of(
		philox_op_seed(s->region, (uint32_t)i, (uint32_t)(i >> 32)),
		s->generator.offset);
}

static uint32_t call_word(const struct stream *s, uint64_t i)
{
	return op_word(s, i << 32 | i >> 32);
}

static uint32_t seed_word(const struct stream *s, uint64_t i)
{
	uint64_t region = region_seed(s->generator.seed + i, s->name);

	return word_of(philox_op_seed(region, 0, 0), s->generator.offset);
}

static uint32_t row_word(const struct stream *s, uint64_t i)
{
	return word_of(philox_fold(s->rows, PHILOX_FOLD_ROW, i),
		       s->generator.offset);
}

static uint32_t order_word(const struct stream *s, uint64_t i)
{
	return (uint32_t)philox_permuted(&s->order, i & (AXIS_ITEMS - 1));
}

static uint32_t mask_word(const struct stream *s, uint64_t i)
{
	struct philox_state state = {s->op, s->generator.offset};
	uint32_t word = 0;

	for (unsigned block = 0; block < 8; block++)
		word |= philox_keep_mask4(state, 8 * i + block, 1U << 31)
			<< 4 * block;
	return word;
}

static uint32_t (*const words_along[])(const struct stream *, uint64_t) = {
	[AXIS_OFFSET] = offset_word, [AXIS_OP] = op_word,
	[AXIS_CALL] = call_word,     [AXIS_SEED] = seed_word,
	[AXIS_ROW] = row_word,       [AXIS_ORDER] = order_word,
	[AXIS_MASK] = mask_word,
};

void axis_draw(enum axis axis, struct philox_state generator, uint64_t first,
	       uint32_t *words, size_t n)
{
	struct stream s = {.generator = generator,
			   .name = hash_text(AXIS_NAME, sizeof(AXIS_NAME) - 1)};

	s.region = region_seed(generator.seed, s.name);
	s.op = philox_op_seed(s.region, 0, 0);
	s.rows = philox_fold(generator.seed, PHILOX_FOLD_TABLE, s.name);
	s.order = philox_permutation_of(
		(struct philox_state){s.op, generator.offset}, AXIS_ITEMS);
	for (size_t i = 0; i < n; i++)
		words[i] = words_along[axis](&s, first + i);
}
