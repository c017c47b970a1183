/*
 * tests/numbers/counters.c - no block of random numbers has two owners
 *
 * Random regions, private and SHARED, run random forwards: eager, on the
 * device, captured, aborted, for inference; between them generators advance by
 * themselves and take other ranks' seeds, and regions are made again. The
 * states come from the library. The blocks that an operator may then consume
 * are listed here (tests/support/oracles/counters.h): no two of (forward,
 * operator, call) have one in common, and no draw has the block of a fold.
 */
#include <stdio.h>
#include "tests/support/oracles/counters.h"
#include "tests/support/support.h"

enum {
	WALKS = 40,
	EVENTS = 60,
	REGIONS = 4,
	GENERATORS = 2,
	MOST_OPS = 6,
	MOST_CALLS = 3,
	MOST_CELLS = MOST_OPS * MOST_CALLS,
	PASSES = 3, /* of the graph */
	A_FOLD = 1  /* owner of the blocks that make keys */
};

struct tested {
	char name[16];
	struct philox_region *region;
	struct philox_generator *generator;
	struct philox_op_desc ops[MOST_OPS];
	struct counter_span spans[MOST_OPS];
	size_t n_ops;
	uint32_t flags;
};

struct cells {
	struct philox_state state[MOST_CELLS];
};

struct walk {
	struct fixture *f;
	struct philox_generator *generators[GENERATORS];
	struct tested tested[REGIONS];
	struct philox_graph *graph;
	struct tested *recorded[PASSES]; /* the graph's passes */
	struct cells *cells[PASSES];     /* their states, on the device */
	struct counter_set *set;
	uint32_t owner; /* the one made last */
	uint64_t dice;
};

static uint64_t roll(struct walk *walk, uint64_t sides)
{
	/* Knuth's MMIX generator; its high bits. */
	walk->dice =
		walk->dice * 6364136223846793005ULL + 1442695040888963407ULL;
	return (walk->dice >> 33) % sides;
}

/* --- owners --------------------------------------------------------------- */

static void own(struct walk *walk, struct philox_state state,
		const struct counter_span *span, const char *what, unsigned op)
{
	uint32_t owner = ++walk->owner;
	uint32_t was = counter_set_draw(walk->set, state, span, owner);

	cr_assert(was == owner,
		  "%s, op %u, drawing from {%llx, %llu}, has a block of draw "
		  "%u (1: of a fold)",
		  what, op, (unsigned long long)state.seed,
		  (unsigned long long)state.offset, was);
}

static void own_pass(struct walk *walk, const struct tested *tested,
		     const struct cells *cells)
{
	size_t cell = 0;

	for (unsigned op = 0; op < tested->n_ops; op++)
		for (uint32_t call = 0; call < tested->ops[op].calls; call++)
			own(walk, cells->state[cell++], &tested->spans[op],
			    tested->name, op);
}

static void fold(struct walk *walk, uint64_t seed, uint64_t plane,
		 uint64_t index)
{
	cr_assert_eq(counter_set_put(walk->set, seed, index, plane, A_FOLD),
		     A_FOLD, "a draw has the block of a fold");
}

static uint64_t seed_of(struct philox_generator *generator)
{
	struct philox_state state;

	OK(philox_generator_get_state(generator, &state));
	return state.seed;
}

/* The blocks from which the seeds of a region and its operators come. */
static void fold_region(struct walk *walk, const struct tested *tested)
{
	uint64_t seed = seed_of(tested->generator), key = fnv1a(tested->name);

	if (tested->flags & PHILOX_REGION_SHARED)
		return;
	fold(walk, seed, PHILOX_FOLD_REGION, key);
	seed = philox_fold(seed, PHILOX_FOLD_REGION, key);
	for (uint64_t op = 0; op < tested->n_ops; op++)
		for (uint64_t call = 0; call < tested->ops[op].calls; call++)
			fold(walk, seed, PHILOX_FOLD_OP, call << 32 | op);
}

/* --- regions -------------------------------------------------------------- */

/* Most spans begin at 0, which all share; some end with the last element. */
static struct counter_span random_span(struct walk *walk, uint64_t advance)
{
	struct counter_span span = {.count = 1 + roll(walk, 40),
				    .advance = advance ? advance : 4,
				    .wide = (int)roll(walk, 2)};

	if (roll(walk, 8) == 0)
		span.first = 0 - span.count;
	else if (roll(walk, 8) == 0)
		span.first = ((uint64_t)1 << 33) + roll(walk, 40);
	return span;
}

static void create(struct walk *walk, struct tested *tested)
{
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = tested->name,
					     .ops = tested->ops,
					     .n_ops = tested->n_ops,
					     .generator = tested->generator,
					     .flags = tested->flags};

	OK(philox_region_create(walk->f->context, &options, &tested->region));
	fold_region(walk, tested);
}

static void make_tested(struct walk *walk, unsigned i)
{
	struct tested *tested = &walk->tested[i];

	snprintf(tested->name, sizeof(tested->name), "layer %u", i);
	tested->generator = walk->generators[roll(walk, GENERATORS)];
	tested->flags = roll(walk, 2) ? PHILOX_REGION_SHARED : 0;
	tested->n_ops = 1 + roll(walk, MOST_OPS);
	for (unsigned op = 0; op < tested->n_ops; op++) {
		uint64_t advance = 4 * roll(walk, 9); /* 0 means 4 */

		tested->ops[op].calls = 1 + (uint32_t)roll(walk, MOST_CALLS);
		tested->ops[op].advance = advance;
		tested->spans[op] = random_span(walk, advance);
	}
	create(walk, tested);
}

/* --- passes --------------------------------------------------------------- */

struct copy {
	const struct philox_state *from;
	struct philox_state *to;
};

static void run_copy(const void *args)
{
	const struct copy *copy = args;

	*copy->to = *copy->from;
}

/* The states that your own kernel would read at each site, in stream order. */
static void resolve(struct walk *walk, const struct tested *tested,
		    const struct philox_pass *pass, struct cells *cells)
{
	struct philox_state *to = cells->state;

	for (unsigned op = 0; op < tested->n_ops; op++)
		for (uint32_t call = 0; call < tested->ops[op].calls; call++) {
			struct copy copy = {NULL, to};
			struct philox_rng rng;

			OK(philox_pass_rng(pass, op, call, &rng));
			copy.from = rng.cell;
			*to++ = rng.state;
			if (rng.cell)
				OK(philox_stream_launch_host(
					walk->f->device, walk->f->stream,
					run_copy, &copy, sizeof(copy)));
		}
}

static struct tested *any(struct walk *walk)
{
	return &walk->tested[roll(walk, REGIONS)];
}

/* Ends a forward's life with a backward, which has its blocks, or without. */
static void end_ticket(struct walk *walk, const struct tested *tested,
		       struct philox_ticket ticket, const struct cells *saw)
{
	struct cells again = {0};
	struct philox_pass pass;
	size_t cells = philox_region_cell_count(tested->region);

	if (!ticket.region_key)
		return;
	if (roll(walk, 2)) {
		OK(philox_ticket_release(tested->region, walk->f->stream,
					 ticket));
		return;
	}
	OK(philox_backward_begin(tested->region, walk->f->stream, ticket, 0,
				 &pass));
	resolve(walk, tested, &pass, &again);
	OK(philox_pass_commit(&pass, 0, NULL));
	cr_assert_arr_eq(again.state, saw->state, cells * sizeof(saw->state[0]),
			 "%s", tested->name);
}

static void eager_forward(struct walk *walk)
{
	static const unsigned flags[] = {
		0, PHILOX_PASS_INFERENCE, PHILOX_PASS_ON_DEVICE,
		PHILOX_PASS_INFERENCE | PHILOX_PASS_ON_DEVICE};
	struct tested *tested = any(walk);
	struct philox_ticket ticket;
	struct philox_pass pass;
	struct cells cells = {0};

	OK(philox_forward_begin(tested->region, walk->f->stream,
				flags[roll(walk, 4)], &pass));
	resolve(walk, tested, &pass, &cells);
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_device_synchronize(walk->f->device));
	own_pass(walk, tested, &cells);
	end_ticket(walk, tested, ticket, &cells);
}

/* Kernels may have drawn before the failure. */
static void aborted_forward(struct walk *walk)
{
	struct tested *tested = any(walk);
	struct philox_pass pass;
	struct cells cells = {0};

	OK(philox_forward_begin(tested->region, walk->f->stream,
				roll(walk, 2) ? PHILOX_PASS_INFERENCE : 0,
				&pass));
	resolve(walk, tested, &pass, &cells);
	OK(philox_pass_abort(&pass));
	own_pass(walk, tested, &cells);
}

/* --- the graph ------------------------------------------------------------ */

static void record(struct walk *walk)
{
	record_begin(walk->f);
	for (int i = 0; i < PASSES; i++) {
		struct tested *tested = any(walk);
		struct philox_ticket ticket;
		struct philox_pass pass;

		walk->recorded[i] = tested;
		OK(philox_forward_begin(
			tested->region, walk->f->stream,
			roll(walk, 2) ? PHILOX_PASS_INFERENCE : 0, &pass));
		resolve(walk, tested, &pass, walk->cells[i]);
		OK(philox_pass_commit(&pass, 0, &ticket));
	}
	walk->graph = record_end(walk->f);
}

static void launch(struct walk *walk)
{
	struct philox_launch_pass uses[PASSES] = {{{0, 0}, 0, 0}};

	OK(philox_graph_launch(walk->graph, walk->f->stream, uses, PASSES));
	OK(philox_device_synchronize(walk->f->device));
	for (int i = 0; i < PASSES; i++) {
		own_pass(walk, walk->recorded[i], walk->cells[i]);
		end_ticket(walk, walk->recorded[i], uses[i].ticket,
			   walk->cells[i]);
	}
}

/*
 * --- other calls that move states
 * -----------------------------------------------
 */

static void make_again(struct walk *walk)
{
	struct tested *tested = any(walk);

	OK(philox_graph_destroy(walk->graph));
	OK(philox_region_destroy(tested->region));
	create(walk, tested);
	record(walk);
}

static void stateless_draw(struct walk *walk)
{
	struct philox_generator *generator =
		walk->generators[roll(walk, GENERATORS)];
	struct counter_span span = random_span(walk, 4 + 4 * roll(walk, 8));
	struct philox_state state;

	OK(philox_generator_advance(generator, span.advance, &state));
	own(walk, state, &span, "a stateless draw", 0);
}

static void take_a_rank(struct walk *walk)
{
	struct philox_generator *generator =
		walk->generators[roll(walk, GENERATORS)];
	uint64_t rank = roll(walk, 8);

	fold(walk, seed_of(generator), PHILOX_FOLD_RANK, rank);
	OK(philox_generator_fold(generator, rank));
	for (int i = 0; i < REGIONS; i++)
		if (walk->tested[i].generator == generator)
			fold_region(walk, &walk->tested[i]);
}

static void event(struct walk *walk)
{
	switch (roll(walk, 12)) {
	case 0:
		make_again(walk);
		break;
	case 1:
		take_a_rank(walk);
		break;
	case 2:
		stateless_draw(walk);
		break;
	case 3:
	case 4:
		aborted_forward(walk);
		break;
	case 5:
	case 6:
	case 7:
		launch(walk);
		break;
	default:
		eager_forward(walk);
	}
}

static void start(struct walk *walk, struct fixture *f, uint64_t number)
{
	*walk = (struct walk){.f = f, .owner = A_FOLD, .dice = number};
	walk->set = counter_set_new();
	walk->generators[0] = philox_context_generator(f->context);
	OK(philox_generator_seed(walk->generators[0], number));
	/* a neighbour: seeds of people are small */
	OK(philox_generator_create(f->context, number + 1,
				   &walk->generators[1]));
	for (unsigned i = 0; i < REGIONS; i++)
		make_tested(walk, i);
	for (int i = 0; i < PASSES; i++)
		walk->cells[i] = make_memory(f, sizeof(struct cells));
	record(walk);
}

GRAPH_PROMISE(counters, no_block_has_two_owners)
{
	for (uint64_t number = 0; number < WALKS; number++) {
		struct fixture own;
		struct walk walk;

		fixture_open(&own, philox_device_name(f->device));
		own.own = f->own;
		start(&walk, &own, number);
		for (int i = 0; i < EVENTS; i++)
			event(&walk);
		cr_assert_geq(counter_set_size(walk.set), 1000);
		OK(philox_graph_destroy(walk.graph));
		fixture_close(&own);
		counter_set_free(walk.set);
	}
}

/* --- the model sees shared blocks ----------------------------------------- */

/* Two draws from these states at element 0; 1 if they share a block. */
static int meet(struct philox_state a, uint64_t advance_a,
		struct philox_state b, int wide_b)
{
	struct counter_set *set = counter_set_new();
	struct counter_span span_a = {0, 1, advance_a, 0};
	struct counter_span span_b = {0, 1, 4, wide_b};
	uint32_t was;

	cr_assert_eq(counter_set_draw(set, a, &span_a, 2), 2);
	was = counter_set_draw(set, b, &span_b, 3);
	counter_set_free(set);
	return was == 2;
}

Test(counters, the_model_sees_blocks_that_are_shared)
{
	struct philox_state one = {7, 8}, next = {7, 12}, other = {8, 8};

	cr_assert(meet(one, 4, one, 0));
	cr_assert(meet(one, 4, one, 1));
	cr_assert(meet(one, 8, next, 0));
	cr_assert_not(meet(one, 4, next, 0));
	cr_assert_not(meet(next, 8, one, 0));
	cr_assert_not(meet(one, 8, other, 0));
}

Test(counters, the_model_sees_spans_as_they_are_laid_out)
{
	static const struct {
		struct counter_span a, b;
		int meet;
	} rows[] = {
		{{0, 4, 4, 0}, {4, 4, 4, 0}, 0},
		{{0, 5, 4, 0}, {4, 4, 4, 0}, 1},
		{{0, 4, 4, 0}, {2, 2, 4, 1}, 0},
		{{0, 4, 4, 0}, {1, 1, 4, 1}, 1},
		{{UINT64_MAX, 1, 4, 0}, {UINT64_MAX - 3, 1, 4, 0}, 1},
		{{UINT64_MAX, 1, 4, 0}, {UINT64_MAX - 4, 1, 4, 0}, 0},
		{{UINT64_MAX, 1, 4, 1}, {UINT64_MAX - 1, 1, 4, 1}, 1},
		{{UINT64_MAX, 1, 4, 1}, {UINT64_MAX - 2, 1, 4, 1}, 0},
	};
	struct philox_state state = {7, 8};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct counter_set *set = counter_set_new();

		counter_set_draw(set, state, &rows[i].a, 2);
		cr_assert_eq(counter_set_draw(set, state, &rows[i].b, 3),
			     rows[i].meet ? 2 : 3, "row %zu", i);
		counter_set_free(set);
	}
}
