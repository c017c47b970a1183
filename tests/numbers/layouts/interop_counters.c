/*
 * tests/numbers/layouts/interop_counters.c - other libraries' kernels and
 * philox's own
 *
 * Each kind of kernel has a model here that lists the counters it consumes, as
 * its own source says. A counter is the key with all its 128 bits; a kernel
 * that consumes one that another has consumed repeats its numbers, if the
 * generator is the same. States and keys come from passes of real regions, the
 * lists are sorted, and counters found twice are counted.
 */
#include <stdlib.h>
#include "tests/support/support.h"

/* --- counters consumed ---------------------------------------------------- */

struct counter {
	uint64_t key, low, high;
};

struct list {
	struct counter *at;
	size_t n, room;
};

static void consume(struct list *list, uint64_t key, uint64_t low,
		    uint64_t high)
{
	if (list->n == list->room) {
		list->room = 2 * list->room + 1024;
		list->at = realloc(list->at, list->room * sizeof(*list->at));
		cr_assert(list->at);
	}
	list->at[list->n++] = (struct counter){key, low, high};
}

static int order(const void *left, const void *right)
{
	const struct counter *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return (a->high > b->high) - (a->high < b->high);
}

/* How many counters were consumed before; empties the list. */
static size_t repeats(struct list *list)
{
	size_t found = 0;

	qsort(list->at, list->n, sizeof(*list->at), order);
	for (size_t i = 1; i < list->n; i++)
		found += order(&list->at[i - 1], &list->at[i]) == 0;
	free(list->at);
	*list = (struct list){0};
	return found;
}

/* --- models of kernels ---------------------------------------------------- */

struct shape {
	uint64_t batch, heads, seq_q, seq_kv;
};

static uint64_t scores(struct shape s)
{
	return s.batch * s.heads * s.seq_q * s.seq_kv;
}

static uint64_t up(uint64_t n, uint64_t multiple)
{
	return (n + multiple - 1) / multiple * multiple;
}

static void own(struct list *list, struct philox_state at, struct shape s)
{
	for (uint64_t e = 0; e < scores(s); e += 4)
		consume(list, at.seed, at.offset / 4, e / 4);
}

static void te_dropout(struct list *list, struct philox_state at,
		       struct shape s)
{
	for (uint64_t e = 0; e < scores(s); e += 16)
		consume(list, at.seed, at.offset / 4, e / 16);
}

/* csrc/flash_attn/src/dropout.h: tiles of 16 x 32, blocks of up to 128 x 256 */
static void flash(struct list *list, struct philox_state at, struct shape s)
{
	uint64_t rows = up(s.seq_q, 128) / 16, cols = up(s.seq_kv, 256) / 32;

	for (uint64_t lane = 0; lane < s.batch * s.heads * 32; lane++)
		for (uint64_t row = 0; row < rows; row++)
			for (uint64_t col = 0; col < cols; col++)
				consume(list, at.seed, at.offset + lane,
					row | col << 32);
}

static void te_nvfp4(struct list *list, struct philox_state at, struct shape s)
{
	for (uint64_t thread = 0; thread < up(scores(s), 64) / 64; thread++)
		for (uint64_t k = 0; k < 16; k++)
			consume(list, at.seed, at.offset + k, thread);
}

/* Possibly cuDNN: 128 threads a head, each a subsequence of words */
static void threads_of_words(struct list *list, struct philox_state at,
			     struct shape s)
{
	uint64_t words = up(s.seq_q * s.seq_kv, 128) / 128;

	for (uint64_t thread = 0; thread < s.batch * s.heads * 128; thread++)
		for (uint64_t k = 0; k < words; k += 4)
			consume(list, at.seed, at.offset / 4 + k / 4, thread);
}

/* ... a word for each score, all of one subsequence */
static void words_in_a_row(struct list *list, struct philox_state at,
			   struct shape s)
{
	for (uint64_t e = 0; e < scores(s); e += 4)
		consume(list, at.seed, at.offset / 4 + e / 4, 0);
}

/* ... a block for each score, offsets counting blocks */
static void blocks_in_a_row(struct list *list, struct philox_state at,
			    struct shape s)
{
	for (uint64_t e = 0; e < scores(s); e++)
		consume(list, at.seed, at.offset + e, 0);
}

/* --- operators ------------------------------------------------------------ */

static uint64_t least(struct shape s)
{
	(void)s;
	return 0;
}

static uint64_t for_nvfp4(struct shape s)
{
	(void)s;
	return 1024;
}

static uint64_t for_flash(struct shape s)
{
	return philox_advance_flash_attention(s.batch, s.heads);
}

static uint64_t flash_less_one(struct shape s)
{
	return for_flash(s) - 4;
}

static uint64_t for_cudnn(struct shape s)
{
	return philox_advance_cudnn_sdpa(s.batch, s.heads, s.seq_q, s.seq_kv);
}

static uint64_t for_te(struct shape s)
{
	return philox_advance_transformer_engine(s.batch, s.heads, s.seq_q,
						 s.seq_kv);
}

struct kind {
	void (*model)(struct list *list, struct philox_state at,
		      struct shape s);
	uint64_t (*advance)(struct shape s);
};

/* The order: those whose offsets count words, then those that count blocks. */
static const struct kind kinds[] = {
	{own, least},
	{te_dropout, least},
	{threads_of_words, for_cudnn},
	{threads_of_words, for_te},
	{words_in_a_row, for_cudnn},
	{words_in_a_row, for_te},
	{flash, for_flash},
	{flash, for_cudnn},
	{blocks_in_a_row, for_cudnn},
	{blocks_in_a_row, for_te},
	{te_nvfp4, for_nvfp4},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), BLOCK_KINDS = 6, CALLS = 2 };

struct block {
	struct philox_region *region;
	const struct kind *kinds;
	uint32_t n;
	struct shape shapes[KINDS];
};

static uint64_t seed = 1;

static uint64_t pick(uint64_t n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return 1 + (seed >> 33) % n;
}

/* A region with an operator of each kind, two calls each, of random shapes */
static struct block make_block(struct philox_context *context, const char *name,
			       uint32_t flags, const struct kind *of,
			       uint32_t n)
{
	struct block block = {.kinds = of, .n = n};
	struct philox_op_desc ops[KINDS];
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = name,
					     .ops = ops,
					     .n_ops = n,
					     .flags = flags};

	memset(ops, 0, sizeof(ops));
	for (uint32_t i = 0; i < n; i++) {
		block.shapes[i] =
			(struct shape){pick(2), pick(3), pick(140), pick(300)};
		ops[i].calls = CALLS;
		ops[i].advance = of[i].advance(block.shapes[i]);
	}
	OK(philox_region_create(context, &options, &block.region));
	return block;
}

static void run(struct list *list, const struct block *block)
{
	struct philox_pass pass;
	struct philox_rng rng;

	OK(philox_forward_begin(block->region, NULL, PHILOX_PASS_INFERENCE,
				&pass));
	for (uint32_t i = 0; i < CALLS * block->n; i++) {
		uint32_t op = i / CALLS;

		OK(philox_pass_rng(&pass, op, i % CALLS, &rng));
		block->kinds[op].model(list, rng.state, block->shapes[op]);
	}
	OK(philox_pass_commit(&pass, 0, NULL));
}

/* How many counters come twice in forwards of one block, or two in turn. */
static size_t repeats_of(struct block *one, struct block *other, int forwards)
{
	struct list list = {0};

	for (int i = 0; i < forwards; i++) {
		run(&list, one);
		if (other)
			run(&list, other);
	}
	return repeats(&list);
}

static void open_here(struct fixture *f)
{
	fixture_open(f, "host:sync");
}

/* --- promises ------------------------------------------------------------- */

Test(interop_counters, no_kernel_consumes_a_counter_twice_or_anothers,
     .timeout = 120)
{
	for (int round = 0; round < 6; round++) {
		struct block one, other;
		struct fixture f;

		open_here(&f);
		one = make_block(f.context, "one", 0, kinds, KINDS);
		other = make_block(f.context, "other", 0, kinds, KINDS);
		cr_assert_eq(repeats_of(&one, &other, 3), 0);
		fixture_close(&f);
	}
}

Test(interop_counters, the_advance_of_each_kernel_keeps_its_calls_apart,
     .timeout = 120)
{
	for (int i = 0; i < 4 * KINDS; i++) {
		struct block block;
		struct fixture f;

		open_here(&f);
		block = make_block(f.context, "layer", 0, &kinds[i % KINDS], 1);
		cr_assert_eq(repeats_of(&block, NULL, 3), 0, "kind %d",
			     i % KINDS);
		fixture_close(&f);
	}
}

Test(interop_counters, kernels_consume_no_counter_that_keys_are_derived_from)
{
	struct list list = {0};
	struct block block;
	struct fixture f;
	uint64_t region = philox_fold(0, PHILOX_FOLD_REGION, fnv1a("layer"));

	open_here(&f);
	block = make_block(f.context, "layer", 0, kinds, KINDS);
	run(&list, &block);
	consume(&list, 0, fnv1a("layer"), PHILOX_FOLD_REGION);
	for (uint64_t i = 0; i < CALLS * KINDS; i++)
		consume(&list, region, (i % CALLS) << 32 | i / CALLS,
			PHILOX_FOLD_OP);
	for (size_t i = 0; i < list.n; i++)
		if (list.at[i].high >> 63 == 0)
			cr_assert_neq(list.at[i].key, region);
	cr_assert_eq(repeats(&list), 0);
	fixture_close(&f);
}

Test(interop_counters, an_advance_smaller_than_flash_attentions_repeats_numbers)
{
	const struct kind lesser[] = {{flash, least}, {flash, flash_less_one}};

	for (int i = 0; i < 2; i++) {
		struct block block;
		struct fixture f;

		open_here(&f);
		block = make_block(f.context, "layer", 0, &lesser[i], 1);
		cr_assert(repeats_of(&block, NULL, 2) > 0);
		fixture_close(&f);
	}
}

Test(interop_counters, kernels_of_one_unit_share_a_generator)
{
	const struct {
		uint32_t first, n;
	} units[] = {{0, BLOCK_KINDS}, {BLOCK_KINDS, KINDS - BLOCK_KINDS}};

	for (int i = 0; i < 2; i++) {
		const struct kind *of = kinds + units[i].first;
		struct block one, other;
		struct fixture f;

		open_here(&f);
		one = make_block(f.context, "one", PHILOX_REGION_SHARED, of,
				 units[i].n);
		other = make_block(f.context, "other", PHILOX_REGION_SHARED, of,
				   units[i].n);
		cr_assert_eq(repeats_of(&one, &other, 3), 0);
		fixture_close(&f);
	}
}

Test(interop_counters, kernels_of_two_units_do_not)
{
	const struct kind mixed[] = {{own, least}, {flash, for_flash}};
	struct block block;
	struct fixture f;

	open_here(&f);
	block = make_block(f.context, "layer", PHILOX_REGION_SHARED, mixed, 2);
	cr_assert(repeats_of(&block, NULL, 8) > 0);
	fixture_close(&f);
}

Test(interop_counters, a_region_of_its_own_keeps_the_other_unit_apart)
{
	struct block shared, other;
	struct fixture f;

	open_here(&f);
	shared = make_block(f.context, "shared", PHILOX_REGION_SHARED, kinds,
			    BLOCK_KINDS);
	other = make_block(f.context, "other", 0, kinds + BLOCK_KINDS,
			   KINDS - BLOCK_KINDS);
	cr_assert_eq(repeats_of(&shared, &other, 3), 0);
	fixture_close(&f);
}
