/*
 * tests/save/digest.c - a digest is equal if and only if the future is, and a
 * ticket's passes draw from the ticket's state
 */
#include <stdlib.h>
#include "tests/support/support.h"

static uint64_t digest_of(struct philox_context *context)
{
	uint64_t digest;

	OK(philox_context_digest(context, &digest));
	return digest;
}

static uint64_t digest(struct fixture *f)
{
	return digest_of(f->context);
}

#define CHANGED(f, before)                                      \
	do {                                                    \
		uint64_t now_ = digest(f);                      \
		cr_assert_neq(now_, before, "the same digest"); \
		(before) = now_;                                \
	} while (0)

#define UNCHANGED(f, before) cr_assert_eq(digest(f), before, "another digest")

/* Without drawing: a digest is about the numbers that could be drawn. */
static struct philox_ticket step(struct fixture *f,
				 struct philox_region *region, unsigned flags)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(region, f->stream, flags, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	return ticket;
}

static void step_back(struct fixture *f, struct philox_region *region,
		      struct philox_ticket ticket, unsigned flags)
{
	struct philox_pass pass;

	OK(philox_backward_begin(region, f->stream, ticket, flags, &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
}

PROMISE(digest, changes_with_every_generator)
{
	struct philox_generator *generator =
		philox_context_generator(f->context);
	struct philox_generator *other;
	uint64_t last = digest(f);

	OK(philox_generator_seed(generator, 7));
	CHANGED(f, last);
	OK(philox_generator_seed(generator, 7));
	UNCHANGED(f, last);
	OK(philox_generator_advance(generator, 4, NULL));
	CHANGED(f, last);
	OK(philox_generator_fold(generator, 1));
	CHANGED(f, last);
	OK(philox_generator_create(f->context, 7, &other));
	CHANGED(f, last);
	OK(philox_generator_set_state(other, (struct philox_state){7, 8}));
	CHANGED(f, last);
	OK(philox_generator_set_state(generator, (struct philox_state){7, 8}));
	OK(philox_generator_set_state(other, (struct philox_state){0, 0}));
	last = digest(f);
	OK(philox_generator_set_state(other, (struct philox_state){7, 8}));
	OK(philox_generator_set_state(generator, (struct philox_state){0, 0}));
	CHANGED(f, last);
}

PROMISE(digest, changes_with_every_ticket)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket first, second;
	uint64_t last = digest(f);

	first = step(f, region, 0);
	CHANGED(f, last);
	second = step(f, region, 0);
	CHANGED(f, last);
	step_back(f, region, first, PHILOX_PASS_RETAIN);
	UNCHANGED(f, last);
	step_back(f, region, first, 0);
	CHANGED(f, last);
	OK(philox_ticket_release(region, f->stream, second));
	CHANGED(f, last);
	step(f, region, PHILOX_PASS_WARMUP);
	UNCHANGED(f, last);
	step(f, region, PHILOX_PASS_INFERENCE);
	CHANGED(f, last);
}

PROMISE(digest, changes_with_every_open_pass)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket ticket;
	struct philox_pass pass;
	uint64_t last = digest(f), committed;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	CHANGED(f, last);
	OK(philox_pass_commit(&pass, 0, &ticket));
	CHANGED(f, last);
	committed = last;
	OK(philox_backward_begin(region, f->stream, ticket, PHILOX_PASS_RETAIN,
				 &pass));
	CHANGED(f, last);
	OK(philox_pass_abort(&pass));
	UNCHANGED(f, committed);
	OK(philox_backward_begin(region, f->stream, ticket, 0, &pass));
	cr_assert_neq(digest(f), committed);
	cr_assert_neq(digest(f), last, "consuming or not");
	OK(philox_pass_abort(&pass));
	UNCHANGED(f, committed);
}

/* No other forward of its generator may begin, although it has no ticket. */
PROMISE(digest, changes_with_an_open_warm_up_of_a_shared_region)
{
	const struct philox_op_desc op = {"x", 1, 4};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "layer",
					     .ops = &op,
					     .n_ops = 1,
					     .flags = PHILOX_REGION_SHARED};
	struct philox_region *region;
	struct philox_pass pass;
	uint64_t before, open;

	OK(philox_region_create(f->context, &options, &region));
	before = open = digest(f);
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_WARMUP, &pass));
	CHANGED(f, open);
	OK(philox_pass_abort(&pass));
	UNCHANGED(f, before);
}

/* Tickets that are gone change nothing, however they ended. */
PROMISE(digest, forgets_how_a_ticket_ended)
{
	uint64_t ended[3];

	for (unsigned way = 0; way < 3; way++) {
		struct philox_context *context;
		struct philox_region *region;
		struct philox_ticket ticket;
		struct philox_pass pass;

		OK(philox_context_create(f->device, &context));
		region = make_region_of(context, "layer", 0, NULL);
		OK(philox_forward_begin(region, f->stream, 0, &pass));
		if (way == 0)
			OK(philox_pass_abort(&pass));
		else
			OK(philox_pass_commit(&pass, 0, &ticket));
		if (way == 1)
			step_back(f, region, ticket, 0);
		if (way == 2)
			OK(philox_ticket_release(region, f->stream, ticket));
		ended[way] = digest_of(context);
		philox_context_destroy(context);
	}
	cr_assert_eq(ended[0], ended[1], "aborted, used up");
	cr_assert_eq(ended[1], ended[2], "used up, released");
}

PROMISE(digest, is_of_contents_not_of_history)
{
	struct philox_context *other;
	struct philox_region *a, *b, *other_a, *other_b;
	struct philox_ticket first, second, other_first, other_second;

	OK(philox_context_create(f->device, &other));
	cr_assert_eq(digest(f), digest_of(other));
	a = make_region(f, "a");
	b = make_region(f, "b");
	other_b = make_region_of(other, "b", 1000, NULL);
	other_a = make_region_of(other, "a", 3, NULL);
	cr_assert_eq(digest(f), digest_of(other), "order and capacity");
	first = step(f, a, 0);
	second = step(f, a, 0);
	step(f, b, 0);
	step_back(f, a, first, 0);
	other_first = step(f, other_a, 0);
	step(f, other_b, 0);
	step_back(f, other_a, other_first, PHILOX_PASS_RETAIN);
	other_second = step(f, other_a, 0);
	cr_assert_neq(digest(f), digest_of(other));
	OK(philox_ticket_release(other_a, f->stream, other_first));
	cr_assert_eq(digest(f), digest_of(other));
	SAME(backward_numbers(f, a, second, 0),
	     backward_numbers(f, other_a, other_second, 0), "pending");
	SAME(peek(f, a), peek(f, other_a), "next");
	philox_context_destroy(other);
}

/* The next numbers are the same, the next ticket is not. */
PROMISE(digest, knows_the_next_serial)
{
	struct philox_context *other;
	struct philox_region *region = make_region(f, "layer"), *others;

	OK(philox_context_create(f->device, &other));
	others = make_region_of(other, "layer", 0, NULL);
	step(f, region, PHILOX_PASS_INFERENCE);
	step_back(f, others, step(f, others, 0), 0);
	SAME(peek(f, region), peek(f, others), "next");
	cr_assert_neq(digest(f), digest_of(other));
	philox_context_destroy(other);
}

/* A name that has issued numbers goes on where it was. */
PROMISE(digest, remembers_destroyed_names_that_were_used)
{
	struct philox_region *region;
	uint64_t empty = digest(f), fresh, used;

	region = make_region(f, "layer");
	fresh = digest(f);
	cr_assert_neq(fresh, empty);
	OK(philox_region_destroy(region));
	UNCHANGED(f, empty);
	region = make_region(f, "layer");
	UNCHANGED(f, fresh);
	step_back(f, region, step(f, region, 0), 0);
	used = digest(f);
	OK(philox_region_destroy(region));
	cr_assert_neq(digest(f), empty);
	cr_assert_neq(digest(f), used);
	make_region(f, "layer");
	UNCHANGED(f, used);
}

/* Its numbers begin again with the generator's seed, but its serials do not. */
PROMISE(digest, remembers_the_serials_of_destroyed_names)
{
	struct philox_generator *generator =
		philox_context_generator(f->context);
	struct philox_region *region;
	uint64_t bare;

	OK(philox_generator_seed(generator, 7));
	bare = digest(f);
	region = make_region(f, "layer");
	step(f, region, 0);
	OK(philox_region_destroy(region));
	OK(philox_generator_seed(generator, 7));
	cr_assert_neq(digest(f), bare);
}

PROMISE(digest, has_operators_and_flags)
{
	static const struct philox_op_desc tables[][2] = {
		{{"x", 1, 4}, {"y", 1, 4}},  {{"x", 2, 4}, {"y", 1, 4}},
		{{"x", 1, 8}, {"y", 1, 4}},  {{"x", 1, 4}, {"z", 1, 4}},
		{{"x", 1, 4}, {NULL, 1, 4}}, {{"x", 1, 4}, {"", 1, 4}}};
	uint64_t found[2 * sizeof(tables) / sizeof(tables[0])];
	const unsigned n = sizeof(found) / sizeof(found[0]);

	for (unsigned i = 0; i < n; i++) {
		struct philox_region_desc options = {
			.size = sizeof(options),
			.name = "layer",
			.ops = tables[i / 2],
			.n_ops = 2,
			.flags = i & 1 ? PHILOX_REGION_SHARED : 0};
		struct philox_region *region;

		OK(philox_region_create(f->context, &options, &region));
		found[i] = digest(f);
		OK(philox_region_destroy(region));
		for (unsigned j = 0; j < i; j++)
			cr_assert_neq(found[i], found[j], "%u and %u", i, j);
	}
}

static void no_release(void *saved, philox_stream stream)
{
	(void)saved;
	(void)stream;
}

PROMISE(digest, survives_saving_and_loading)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_device *device;
	struct philox_context *other;
	struct philox_ticket kept;
	char *text;
	size_t size;

	OK(philox_generator_seed(philox_context_generator(f->context), 5));
	step_back(f, region, step(f, region, 0), 0);
	kept = step(f, region, 0);
	OK(philox_ticket_attach(region, kept, f, no_release));
	step_back(f, region, kept, PHILOX_PASS_RETAIN);
	OK(philox_context_save_text(f->context, &text, &size));
	OK(philox_device_open("host:sync", &device));
	OK(philox_context_create(device, &other));
	make_region_of(other, "layer", 0, NULL);
	cr_assert_neq(digest(f), digest_of(other));
	OK(philox_context_load_text(other, text, size));
	cr_assert_eq(digest(f), digest_of(other));
	free(text);
	philox_context_destroy(other);
	philox_device_close(device);
}

GRAPH_PROMISE(digest, sees_launches_and_not_graphs)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	uint64_t last = digest(f);
	struct philox_graph *graph;
	struct philox_launch_pass use = {{0}, 0, 0};

	record_begin(f);
	captured_forward(f, region, 0, array);
	cr_assert_eq(digest(f), last, "asked during a capture");
	graph = record_end(f);
	UNCHANGED(f, last);
	OK(philox_graph_launch(graph, f->stream, &use, 1));
	CHANGED(f, last);
	step_back(f, region, use.ticket, 0);
	OK(philox_device_synchronize(f->device));
	last = digest(f);
	OK(philox_graph_destroy(graph));
	UNCHANGED(f, last);
}

PROMISE(digest, refuses_null)
{
	uint64_t untouched = 1;

	FAILS(philox_context_digest(NULL, &untouched), PHILOX_ERROR_INVALID);
	FAILS(philox_context_digest(f->context, NULL), PHILOX_ERROR_INVALID);
	cr_assert_eq(untouched, 1);
}

/* --- the state of a ticket ------------------------------------------------ */

static void same_state(struct philox_state a, struct philox_state b)
{
	cr_assert(a.seed == b.seed && a.offset == b.offset,
		  "{%llx, %llu} and {%llx, %llu}", (unsigned long long)a.seed,
		  (unsigned long long)a.offset, (unsigned long long)b.seed,
		  (unsigned long long)b.offset);
}

/* All three operators of make_region(), the second of which has two calls. */
static void check_states(struct fixture *f, struct philox_region *region,
			 struct philox_ticket ticket)
{
	for (uint32_t op = 0; op < OPS; op++) {
		for (uint32_t call = 0; call < (op == 1 ? 2u : 1u); call++) {
			struct philox_pass pass;
			struct philox_rng rng;
			struct philox_state state;

			OK(philox_ticket_state(region, ticket, op, call,
					       &state));
			OK(philox_backward_begin(region, f->stream, ticket,
						 PHILOX_PASS_RETAIN, &pass));
			OK(philox_pass_rng(&pass, op, call, &rng));
			OK(philox_pass_commit(&pass, 0, NULL));
			same_state(state, rng.state);
		}
	}
}

PROMISE(ticket_state, is_what_its_passes_draw_from)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket first = step(f, region, 0);
	struct philox_ticket second = step(f, region, 0);
	struct philox_state state;

	OK(philox_generator_seed(philox_context_generator(f->context), 9));
	step_back(f, region, first, PHILOX_PASS_RETAIN);
	check_states(f, region, first);
	check_states(f, region, second);
	OK(philox_ticket_state(region, second, 1, 1, &state));
	same_state(state, predict_cell(0, "layer", 1, 1, 4));
	check_states(f, region, step(f, region, 0));
}

PROMISE(ticket_state, knows_shared_regions)
{
	const struct philox_op_desc ops[OPS] = {
		{"first", 1, 4}, {"second", 2, 8}, {"third", 1, 4}};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "layer",
					     .ops = ops,
					     .n_ops = OPS,
					     .flags = PHILOX_REGION_SHARED};
	struct philox_region *region;
	struct philox_state state;
	struct philox_ticket ticket;

	OK(philox_region_create(f->context, &options, &region));
	step(f, region, 0);
	ticket = step(f, region, 0);
	check_states(f, region, ticket);
	OK(philox_ticket_state(region, ticket, 1, 1, &state));
	same_state(state, (struct philox_state){0, 24 + 4 + 8});
}

GRAPH_PROMISE(ticket_state, knows_launched_forwards)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *graph = record_forward(f, region, 0, array);
	struct philox_state state;
	struct forward made;

	launch_forward(f, graph, region, array);
	made = launch_forward(f, graph, region, array);
	OK(philox_ticket_state(region, made.ticket, 2, 0, &state));
	same_state(state, predict_cell(0, "layer", 2, 0, 4));
}

PROMISE(ticket_state, names_the_mistake)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_region *other = make_region(f, "other");
	struct philox_ticket ticket = step(f, region, 0);
	struct philox_ticket used = step(f, region, 0);
	struct philox_state state = {1, 2};

	step_back(f, region, used, 0);
	FAILS(philox_ticket_state(NULL, ticket, 0, 0, &state),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_ticket_state(region, ticket, 0, 0, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_ticket_state(region, ticket, OPS, 0, &state),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_ticket_state(region, ticket, 1, 2, &state),
	      PHILOX_ERROR_INVALID);
	NAMES("op 1, call 2");
	FAILS(philox_ticket_state(region, used, 0, 0, &state),
	      PHILOX_ERROR_RELEASED);
	FAILS(philox_ticket_state(other, ticket, 0, 0, &state),
	      PHILOX_ERROR_MISMATCH);
	NAMES("other");
	OK(philox_region_destroy(region));
	FAILS(philox_ticket_state(region, ticket, 0, 0, &state),
	      PHILOX_ERROR_STALE);
	same_state(state, (struct philox_state){1, 2});
}
