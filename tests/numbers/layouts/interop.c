/*
 * tests/numbers/layouts/interop.c - cells and advances for other libraries'
 * kernels
 *
 * interop_counters.c tests that these advances keep counters apart.
 */
#include "tests/support/support.h"

/* --- advances ------------------------------------------------------------- */

static uint64_t pick(uint64_t n)
{
	static uint64_t seed = 1;

	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return 1 + (seed >> 33) % n;
}

Test(interop, advances_are_those_of_the_kernels_own_callers_or_more)
{
	cr_assert_eq(philox_advance_flash_attention(2, 16), 2 * 16 * 32);
	cr_assert_eq(philox_advance_flash_attention(1, 1), 32);
	for (int i = 0; i < 1000; i++) {
		uint64_t longest = i % 2 ? 5000 : 7, b = pick(9), h = pick(99);
		uint64_t q = pick(longest), kv = pick(longest);
		uint64_t flash = philox_advance_flash_attention(b, h);
		uint64_t cudnn = philox_advance_cudnn_sdpa(b, h, q, kv);
		uint64_t te = philox_advance_transformer_engine(b, h, q, kv);

		cr_assert_eq(cudnn % 4, 0);
		cr_assert_eq(te % 4, 0);
		cr_assert(cudnn >= b * h * q * kv);
		cr_assert(cudnn >= flash);
		cr_assert(te >= cudnn);
		cr_assert(te >= (q * kv + 127) / 128);
		cr_assert(te >= (q * q + 127) / 128);
		cr_assert(te >= 16);
	}
	cr_assert_eq(philox_advance_transformer_engine(1, 1, 1 << 20, 1),
		     (1ULL << 33) + 4);
}

Test(interop, empty_operators_take_the_least_advance)
{
	cr_assert_eq(philox_advance_flash_attention(0, 8), 0);
	cr_assert_eq(philox_advance_flash_attention(8, 0), 0);
	cr_assert_eq(philox_advance_cudnn_sdpa(1, 0, UINT64_MAX, 2), 0);
	cr_assert_eq(philox_advance_cudnn_sdpa(1, 1, 5, 0), 0);
	cr_assert_eq(philox_advance_transformer_engine(1, 1, 5, 0), 0);
}

/* No region can be made with it, and the message names the operator. */
static void is_refused(struct fixture *f, uint64_t advance)
{
	struct philox_op_desc ops[] = {{.name = "fine"}, {.advance = advance}};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "layer",
					     .ops = ops,
					     .n_ops = 2};
	struct philox_region *region = NULL;

	cr_assert_eq(advance, UINT64_MAX);
	FAILS(philox_region_create(f->context, &options, &region),
	      PHILOX_ERROR_INVALID);
	NAMES("op 1");
	NAMES("advance");
	cr_assert_null(region);
}

PROMISE(interop, sizes_that_cannot_be_kept_apart_make_no_region)
{
	const uint64_t max = UINT64_MAX, half = 1ULL << 32;

	cr_assert_eq(philox_advance_flash_attention(1 << 13, 1 << 13),
		     1ULL << 31);
	is_refused(f, philox_advance_flash_attention((1 << 26) + 1, 1));
	is_refused(f, philox_advance_flash_attention(half, half));
	is_refused(f, philox_advance_flash_attention(max, max));
	cr_assert_eq(philox_advance_cudnn_sdpa(1, 1, 1 << 28, 1 << 28),
		     1ULL << 56);
	is_refused(f, philox_advance_cudnn_sdpa(1, 1, 1 << 28, (1 << 28) + 1));
	is_refused(f, philox_advance_cudnn_sdpa(half, half, 1, 1));
	is_refused(f, philox_advance_cudnn_sdpa(half, 1, half, 1));
	is_refused(f, philox_advance_cudnn_sdpa(1, 1, half, half));
	is_refused(f, philox_advance_cudnn_sdpa(max, max, max, max));
	is_refused(f, philox_advance_transformer_engine(1, 1, half, half));
	is_refused(f, philox_advance_transformer_engine(1, 1, max, 1));
	is_refused(f, philox_advance_transformer_engine(1, 1, 1ULL << 40, 1));
}

/* --- cells ---------------------------------------------------------------- */

/* The values that a kernel finds there if it takes two addresses. */
static void read_two(struct fixture *f, const struct philox_pass *pass,
		     uint64_t *to)
{
	const struct philox_state *cell = NULL;

	OK(philox_pass_cell(pass, 1, 1, &cell));
	OK(philox_memory_copy(f->device, pass->stream, &to[0], &cell->seed, 8));
	OK(philox_memory_copy(f->device, pass->stream, &to[1], &cell->offset,
			      8));
}

static void holds(struct fixture *f, const uint64_t *seen, uint64_t offset)
{
	struct philox_state want = predict_cell(0, "layer", 1, 1, offset);

	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert_eq(seen[0], want.seed);
	cr_assert_eq(seen[1], want.offset);
}

PROMISE(interop, a_cell_holds_seed_and_offset_of_its_operator)
{
	struct philox_region *region = make_region(f, "layer");
	const struct philox_state *states, *cell;
	uint64_t *seen = make_memory(f, 2 * sizeof(*seen));
	struct philox_ticket ticket;
	struct philox_pass pass;

	forward(f, region);
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_ON_DEVICE,
				&pass));
	OK(philox_pass_states(&pass, &states));
	for (uint32_t op = 0; op < OPS; op++) {
		OK(philox_pass_cell(&pass, op, 0, &cell));
		cr_assert_eq(cell,
			     states + philox_region_cell_index(region, op, 0));
	}
	read_two(f, &pass, seen);
	OK(philox_pass_commit(&pass, 0, &ticket));
	holds(f, seen, 4);
}

GRAPH_PROMISE(interop, a_cell_of_a_backward_holds_what_its_forward_held)
{
	const struct philox_ticket named_at_launch = {0, 0};
	struct philox_region *region = make_region(f, "layer");
	uint64_t *seen = make_memory(f, 2 * sizeof(*seen));
	struct philox_graph *forward, *backward;
	struct philox_launch_pass use[3];
	struct philox_ticket ticket;
	struct philox_pass pass;

	memset(use, 0, sizeof(use));
	record_begin(f);
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	read_two(f, &pass, seen);
	OK(philox_pass_commit(&pass, 0, &ticket));
	forward = record_end(f);
	record_begin(f);
	OK(philox_backward_begin(region, f->stream, named_at_launch, 0, &pass));
	read_two(f, &pass, seen);
	OK(philox_pass_commit(&pass, 0, NULL));
	backward = record_end(f);

	for (uint64_t i = 0; i < 3; i++) {
		OK(philox_graph_launch(forward, f->stream, &use[i], 1));
		holds(f, seen, 4 * i);
	}
	for (uint64_t i = 3; i-- > 0;) {
		OK(philox_graph_launch(backward, f->stream, &use[i], 1));
		holds(f, seen, 4 * i);
	}
}

PROMISE(interop, a_cell_that_is_not_there_is_refused)
{
	struct philox_region *region = make_region(f, "layer");
	const struct philox_state untouched, *cell = &untouched;
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	FAILS(philox_pass_cell(&pass, 0, 0, &cell), PHILOX_ERROR_STATE);
	NAMES("PHILOX_PASS_ON_DEVICE");
	OK(philox_pass_commit(&pass, 0, &ticket));
	FAILS(philox_pass_cell(&pass, 0, 0, &cell), PHILOX_ERROR_STATE);
	FAILS(philox_pass_cell(NULL, 0, 0, &cell), PHILOX_ERROR_INVALID);
	OK(philox_backward_begin(region, f->stream, ticket,
				 PHILOX_PASS_ON_DEVICE, &pass));
	FAILS(philox_pass_cell(&pass, 0, 1, &cell), PHILOX_ERROR_INVALID);
	FAILS(philox_pass_cell(&pass, OPS, 0, &cell), PHILOX_ERROR_INVALID);
	FAILS(philox_pass_cell(&pass, 0, 0, NULL), PHILOX_ERROR_INVALID);
	NAMES("cell");
	cr_assert_eq(cell, &untouched);
	OK(philox_pass_commit(&pass, 0, NULL));
}
