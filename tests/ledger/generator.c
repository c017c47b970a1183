/*
 * tests/ledger/generator.c - generators as data
 *
 * Get, set, advance, fold and copy to the device, and drawing from explicit
 * states. What seeding does to pending tickets is in freshness.c.
 */
#include "tests/support/support.h"

static struct philox_generator *default_of(struct fixture *f)
{
	return philox_context_generator(f->context);
}

static struct philox_state get(struct philox_generator *generator)
{
	struct philox_state state;

	OK(philox_generator_get_state(generator, &state));
	return state;
}

static struct philox_state read_state(struct fixture *f, const void *cell)
{
	struct philox_state state;

	OK(philox_memory_copy(f->device, f->stream, &state, cell,
			      sizeof(state)));
	OK(philox_stream_synchronize(f->device, f->stream));
	return state;
}

#define STATE_IS(state, seed_, offset_)                                 \
	do {                                                            \
		struct philox_state s_ = (state);                       \
		cr_assert(s_.seed == (seed_) && s_.offset == (offset_), \
			  "{%llx, %llu}", (unsigned long long)s_.seed,  \
			  (unsigned long long)s_.offset);               \
	} while (0)

PROMISE(generator, a_state_is_the_16_bytes_that_torch_saves)
{
	/* torch.cuda.get_rng_state() after manual_seed(0x1122334455667788) and
	 * an advance by 12: seed and offset as little-endian 64-bit numbers */
	static const unsigned char bytes[16] = {0x88, 0x77, 0x66, 0x55, 0x44,
						0x33, 0x22, 0x11, 12};
	struct philox_state state, before;

	cr_assert_eq(sizeof(state), sizeof(bytes));
	memcpy(&state, bytes, sizeof(state));
	OK(philox_generator_seed(default_of(f), 0x1122334455667788));
	OK(philox_generator_advance(default_of(f), 12, &before));
	STATE_IS(before, 0x1122334455667788, 0);
	STATE_IS(state, get(default_of(f)).seed, get(default_of(f)).offset);
	OK(philox_generator_set_state(default_of(f), state));
	STATE_IS(get(default_of(f)), 0x1122334455667788, 12);
}

PROMISE(generator, advancing_leaves_its_regions_alone)
{
	struct philox_region *region = make_region(f, "layer");
	struct numbers next = peek(f, region);

	OK(philox_generator_advance(default_of(f), 4000, NULL));
	SAME(peek(f, region), next, "after an advance");
}

PROMISE(generator, advance_refuses_an_invalid_next_state)
{
	struct philox_state state = {1, UINT64_MAX - 7};

	OK(philox_generator_set_state(default_of(f), state));
	FAILS(philox_generator_advance(default_of(f), 2, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_generator_advance(default_of(f), 8, NULL),
	      PHILOX_ERROR_OVERFLOW);
	STATE_IS(get(default_of(f)), 1, UINT64_MAX - 7);
	OK(philox_generator_advance(default_of(f), 4, NULL));
	STATE_IS(get(default_of(f)), 1, UINT64_MAX - 3);
}

PROMISE(generator, folding_gives_each_rank_a_stream_of_its_own)
{
	struct philox_region *region = make_region(f, "layer");
	struct numbers saw[4];
	struct philox_words block = philox_block(9, 3, 0x8000000000000003ULL);

	for (uint64_t rank = 0; rank < 4; rank++) {
		OK(philox_generator_seed(default_of(f), 9));
		OK(philox_generator_fold(default_of(f), rank));
		saw[rank] = forward_numbers(f, region, PHILOX_PASS_INFERENCE);
		for (uint64_t other = 0; other < rank; other++)
			FRESH(saw[rank], saw[other], "ranks");
	}
	STATE_IS(get(default_of(f)), (uint64_t)block.w[1] << 32 | block.w[0],
		 0);
	SAME(saw[3], predict(get(default_of(f)).seed, "layer", 0), "rank 3");
}

PROMISE(generator, a_state_can_be_copied_to_the_device_and_drawn_from)
{
	struct philox_state *cell = make_memory(f, sizeof(*cell));
	uint32_t *from_cell = make_array(f), *by_value = make_array(f);
	struct philox_fill_desc fill = {.size = sizeof(fill),
					.dist = PHILOX_DIST_BITS,
					.dtype = PHILOX_DTYPE_U32,
					.span = {.count = WORDS}};
	struct philox_state state = {77, 16};
	struct philox_rng rng = {{0, 0}, cell};

	OK(philox_generator_set_state(default_of(f), state));
	OK(philox_generator_copy_state(default_of(f), f->stream, cell));
	OK(philox_generator_seed(default_of(f), 1)); /* too late to matter */
	fill.out = from_cell;
	OK(philox_rng_fill(f->device, f->stream, rng, &fill));
	STATE_IS(read_state(f, cell), 77, 16);
	rng = (struct philox_rng){state, NULL};
	fill.out = by_value;
	OK(philox_rng_fill(f->device, f->stream, rng, &fill));
	SAME(read_numbers(f, from_cell), read_numbers(f, by_value), "states");
}

GRAPH_PROMISE(generator, a_captured_copy_follows_the_generator)
{
	struct philox_state *cell = make_memory(f, sizeof(*cell));
	struct philox_graph *graph;

	record_begin(f);
	OK(philox_generator_copy_state(default_of(f), f->stream, cell));
	graph = record_end(f);
	cr_assert_eq(philox_graph_pass_count(graph), 0);
	for (uint64_t i = 0; i < 3; i++) {
		struct philox_state state = {100 + i, 8 * i};

		OK(philox_generator_set_state(default_of(f), state));
		OK(philox_graph_launch(graph, f->stream, NULL, 0));
		STATE_IS(read_state(f, cell), 100 + i, 8 * i);
	}
	OK(philox_native_exec_launch(f->device, f->stream, native_exec(graph)));
	cr_assert(philox_is_poison(read_state(f, cell)));
	FAILS(philox_context_check(f->context, NULL), PHILOX_ERROR_UNANNOUNCED);
	OK(philox_graph_destroy(graph));
}

GRAPH_PROMISE(generator, a_captured_copy_has_its_place_among_the_passes)
{
	struct philox_op_desc op = {.name = "op", .advance = 20};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "layer",
					     .ops = &op,
					     .n_ops = 1,
					     .flags = PHILOX_REGION_SHARED};
	struct philox_state *cells = make_memory(f, 3 * sizeof(*cells));
	struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};
	struct philox_region *region;
	struct philox_graph *graph;
	struct philox_pass pass;

	OK(philox_region_create(f->context, &options, &region));
	record_begin(f);
	for (int i = 0; i < 3; i++) {
		OK(philox_generator_copy_state(default_of(f), f->stream,
					       &cells[i]));
		if (i == 2)
			break;
		OK(philox_forward_begin(region, f->stream,
					PHILOX_PASS_INFERENCE, &pass));
		OK(philox_pass_commit(&pass, 0, NULL));
	}
	graph = record_end(f);
	for (uint64_t round = 0; round < 2; round++) {
		OK(philox_graph_launch(graph, f->stream, uses, 2));
		for (uint64_t i = 0; i < 3; i++)
			STATE_IS(read_state(f, &cells[i]), 0,
				 40 * round + 20 * i);
	}
	OK(philox_graph_destroy(graph));
}

GRAPH_PROMISE(generator, a_graph_can_draw_from_the_state_it_has_copied)
{
	struct philox_state *cell = make_memory(f, sizeof(*cell));
	uint32_t *in_graph = make_array(f), *by_value = make_array(f);
	struct philox_fill_desc fill = {.size = sizeof(fill),
					.dist = PHILOX_DIST_BITS,
					.dtype = PHILOX_DTYPE_U32,
					.span = {.count = WORDS},
					.out = in_graph};
	struct philox_rng from_cell = {{0, 0}, cell};
	struct philox_graph *graph;

	record_begin(f);
	OK(philox_generator_copy_state(default_of(f), f->stream, cell));
	OK(philox_rng_fill(f->device, f->stream, from_cell, &fill));
	graph = record_end(f);
	fill.out = by_value;
	for (uint64_t i = 0; i < 3; i++) {
		struct philox_rng value = {{55, 32 * i}, NULL};

		OK(philox_generator_set_state(default_of(f), value.state));
		OK(philox_graph_launch(graph, f->stream, NULL, 0));
		OK(philox_rng_fill(f->device, f->stream, value, &fill));
		SAME(read_numbers(f, in_graph), read_numbers(f, by_value),
		     "launch %u", (unsigned)i);
	}
	OK(philox_graph_destroy(graph));
}

GRAPH_PROMISE(generator, one_that_a_graph_reads_is_not_destroyed)
{
	struct philox_state *cell = make_memory(f, sizeof(*cell));
	struct philox_generator *generator;
	struct philox_graph *graph;

	OK(philox_generator_create(f->context, 3, &generator));
	record_begin(f);
	OK(philox_generator_copy_state(generator, f->stream, cell));
	graph = record_end(f);
	FAILS(philox_generator_destroy(generator), PHILOX_ERROR_BUSY);
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	STATE_IS(read_state(f, cell), 3, 0);
	OK(philox_graph_destroy(graph));
	if (!f->own) /* an adopted one lives on in the native graph */
		OK_ONCE_RELEASED(f, philox_generator_destroy(generator));
}

PROMISE(generator, copy_refuses_what_cannot_be_a_cell)
{
	char *memory = make_memory(f, 64);
	void *odd = memory + 4;

	FAILS(philox_generator_copy_state(default_of(f), f->stream, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_generator_copy_state(default_of(f), f->stream, odd),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_generator_copy_state(NULL, f->stream, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_generator_fold(NULL, 1), PHILOX_ERROR_INVALID);
}
