/*
 * tests/ledger/set_state.c - a generator's state is put back and forth
 *
 * The state of a generator is taken before a forward, set for its recompute,
 * and set back. Regions with keys of their own go on as if nothing had been
 * done; SHARED ones draw from the generator and follow it.
 */
#include <stdio.h>
#include "tests/support/support.h"

enum { SHARED_WORDS = 20 }; /* of a forward of make_of() */

static struct philox_generator *default_of(struct fixture *f)
{
	return philox_context_generator(f->context);
}

static struct philox_state get(struct fixture *f)
{
	struct philox_state state;

	OK(philox_generator_get_state(default_of(f), &state));
	return state;
}

static void set(struct fixture *f, struct philox_state state)
{
	OK(philox_generator_set_state(default_of(f), state));
}

static struct philox_region *make_of(struct fixture *f, uint32_t flags)
{
	struct philox_op_desc ops[OPS] = {{.name = "first"},
					  {.name = "twice", .calls = 2},
					  {.name = "wide", .advance = 8}};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "layer",
					     .ops = ops,
					     .n_ops = OPS,
					     .flags = flags};
	struct philox_region *region;

	OK(philox_region_create(f->context, &options, &region));
	return region;
}

/* A forward and a recompute, each eager or of a graph. */
struct way {
	struct philox_graph *forth, *again; /* NULL: eager */
	uint32_t *array;
};

static struct forward go_forward(struct fixture *f, const struct way *way,
				 struct philox_region *region)
{
	return way->forth ? launch_forward(f, way->forth, region, way->array)
			  : forward(f, region);
}

static void recompute(struct fixture *f, const struct way *way,
		      const struct forward *of)
{
	if (way->again)
		launch_backward(f, way->again, of, PHILOX_PASS_RETAIN,
				way->array);
	else
		backward(f, of, PHILOX_PASS_RETAIN);
}

/* get, forward, set(old), recompute, set(back), forward */
static void back_and_forth(struct fixture *f, const struct way *way,
			   uint32_t flags)
{
	struct philox_region *region = make_of(f, flags);
	struct philox_state old, back;
	struct forward first, second;
	struct way used = {0};

	if (way) {
		used.array = make_array(f);
		used.forth = record_forward(f, region, 0, used.array);
		used.again = record_backward(f, region, used.array);
	}
	set(f, (struct philox_state){11, 400});
	old = get(f);
	first = go_forward(f, &used, region);
	back = get(f);
	cr_assert_eq(back.offset,
		     old.offset +
			     (flags & PHILOX_REGION_SHARED ? SHARED_WORDS : 0));
	set(f, old);
	recompute(f, &used, &first);
	set(f, back);
	second = go_forward(f, &used, region);
	FRESH(second.saw, first.saw, "no number is drawn twice");
	cr_assert_eq(second.ticket.serial, first.ticket.serial + 1);
	if (!(flags & PHILOX_REGION_SHARED)) {
		SAME(first.saw, predict(11, "layer", 0), "first");
		SAME(second.saw, predict(11, "layer", 8), "second");
	}
	backward(f, &first, 0);
	backward(f, &second, 0);
	if (way) {
		OK(philox_graph_destroy(used.forth));
		OK(philox_graph_destroy(used.again));
	}
	OK(philox_region_destroy(region));
}

PROMISE(set_state, back_and_forth_repeats_nothing)
{
	back_and_forth(f, NULL, 0);
}

PROMISE(set_state, back_and_forth_repeats_nothing_in_shared_regions)
{
	back_and_forth(f, NULL, PHILOX_REGION_SHARED);
}

GRAPH_PROMISE(set_state, back_and_forth_repeats_nothing_in_graphs)
{
	struct way captured = {0};

	back_and_forth(f, &captured, 0);
	back_and_forth(f, &captured, PHILOX_REGION_SHARED);
}

PROMISE(set_state, under_the_present_seed_regions_go_on)
{
	struct philox_region *region = make_of(f, 0);
	struct forward first;

	OK(philox_generator_seed(default_of(f), 5));
	first = forward(f, region);
	set(f, (struct philox_state){5, 0});
	SAME(peek(f, region), predict(5, "layer", 8), "they are not restarted");
	set(f, (struct philox_state){5, 4000});
	SAME(peek(f, region), predict(5, "layer", 8), "nor moved");
	cr_assert_eq(get(f).offset, 4000);
	backward(f, &first, 0);
}

PROMISE(set_state, under_the_present_seed_shared_regions_follow)
{
	struct philox_region *region = make_of(f, PHILOX_REGION_SHARED);
	struct philox_state old;
	struct forward first, again;

	OK(philox_generator_seed(default_of(f), 5));
	old = get(f);
	first = forward(f, region);
	set(f, old);
	again = forward(f, region);
	SAME(again.saw, first.saw, "the same numbers by another ticket");
	cr_assert_neq(again.ticket.serial, first.ticket.serial);
	backward(f, &first, 0);
	backward(f, &again, 0);
}

PROMISE(set_state, another_seed_restarts_its_regions)
{
	struct philox_region *region = make_of(f, 0);

	forward(f, region);
	set(f, (struct philox_state){6, 40});
	SAME(peek(f, region), predict(6, "layer", 0), "at offset 0");
	forward(f, region);
	set(f, (struct philox_state){0, 0});
	SAME(peek(f, region), predict(0, "layer", 0), "again");
}

PROMISE(set_state, seeding_restarts_them_under_any_seed)
{
	struct philox_region *region = make_of(f, 0);

	forward(f, region);
	OK(philox_generator_seed(default_of(f), 0));
	SAME(peek(f, region), predict(0, "layer", 0), "the seed it had");
}

/* --- tickets ---------------------------------------------------------------- */

/* Whatever becomes of the generator, a ticket is that of its own numbers. */
GRAPH_PROMISE(set_state, a_recompute_by_ticket_is_unaffected)
{
	static const struct philox_state states[] = {
		{0, 400}, {0, 0}, {7, 0}, {7, 40}, {0, 4000}};

	for (uint32_t flags = 0; flags < 2; flags++) {
		struct philox_region *region =
			make_of(f, flags ? PHILOX_REGION_SHARED : 0);
		struct way way = {0}, eager = {0};
		struct forward owed[2];

		set(f, (struct philox_state){0, 0});
		way.array = make_array(f);
		way.forth = record_forward(f, region, 0, way.array);
		way.again = record_backward(f, region, way.array);
		owed[0] = go_forward(f, &eager, region);
		owed[1] = go_forward(f, &way, region);
		for (unsigned i = 0; i < 5; i++) {
			set(f, states[i]);
			for (unsigned k = 0; k < 2; k++) {
				recompute(f, &eager, &owed[k]);
				recompute(f, &way, &owed[k]);
			}
			go_forward(f, i % 2 ? &way : &eager, region);
		}
		OK(philox_graph_destroy(way.forth));
		OK(philox_graph_destroy(way.again));
		OK(philox_region_destroy(region));
	}
}

/* --- in a capture ----------------------------------------------------------- */

static void set_on(struct fixture *f, philox_stream stream,
		   struct philox_state state)
{
	OK(philox_generator_set_state_on(default_of(f), stream, &state));
}

/* What a SHARED forward draws from an offset of seed 0, eagerly. */
static struct numbers shared_from(struct fixture *f,
				  struct philox_region *region, uint64_t offset)
{
	struct philox_state before = get(f);
	struct forward drawn;

	set(f, (struct philox_state){0, offset});
	drawn = forward(f, region);
	OK(philox_ticket_release(region, f->stream, drawn.ticket));
	set(f, before);
	return drawn.saw;
}

/* forward, set, forward, forward, copy, set, copy: two arrays and two cells */
struct sets {
	uint32_t *arrays[3];
	struct philox_state *cells[2];
	struct philox_graph *graph;
};

static void record_sets(struct fixture *f, struct philox_region *region,
			struct sets *sets)
{
	for (int i = 0; i < 3; i++)
		sets->arrays[i] = make_array(f);
	for (int i = 0; i < 2; i++)
		sets->cells[i] = make_memory(f, sizeof(**sets->cells));
	record_begin(f);
	captured_forward(f, region, 0, sets->arrays[0]);
	set_on(f, f->stream, (struct philox_state){0, 800});
	captured_forward(f, region, 0, sets->arrays[1]);
	captured_forward(f, region, 0, sets->arrays[2]);
	OK(philox_generator_copy_state(default_of(f), f->stream,
				       sets->cells[0]));
	set_on(f, f->stream, (struct philox_state){0, 4000});
	OK(philox_generator_copy_state(default_of(f), f->stream,
				       sets->cells[1]));
	sets->graph = record_end(f);
}

static uint64_t offset_in(struct fixture *f, const struct philox_state *cell)
{
	struct philox_state state;

	OK(philox_memory_copy(f->device, f->stream, &state, cell,
			      sizeof(state)));
	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert_eq(state.seed, 0);
	return state.offset;
}

GRAPH_PROMISE(set_state, in_a_capture_is_done_by_each_launch_in_its_place)
{
	struct philox_region *region = make_of(f, PHILOX_REGION_SHARED);
	struct numbers from[3];
	struct philox_state before;
	struct sets sets;

	from[1] = shared_from(f, region, 800);
	from[2] = shared_from(f, region, 800 + SHARED_WORDS);
	before = get(f);
	record_sets(f, region, &sets);
	cr_assert_eq(get(f).offset, before.offset, "not at capture");
	for (uint64_t launch = 0; launch < 4; launch++) {
		struct philox_launch_pass uses[3] = {{{0, 0}, 0, 0}};
		uint64_t at = launch ? 4000 : before.offset;

		if (launch == 3)
			set(f, (struct philox_state){0, at = 12});
		from[0] = shared_from(f, region, at);
		OK(philox_graph_launch(sets.graph, f->stream, uses, 3));
		for (int i = 0; i < 3; i++) {
			SAME(read_numbers(f, sets.arrays[i]), from[i],
			     "launch %d, pass %d", (int)launch, i);
			SAME(backward_numbers(f, region, uses[i].ticket, 0),
			     from[i], "its backward");
		}
		cr_assert_eq(offset_in(f, sets.cells[0]),
			     800 + 2 * SHARED_WORDS);
		cr_assert_eq(offset_in(f, sets.cells[1]), 4000);
		cr_assert_eq(get(f).offset, 4000);
	}
}

GRAPH_PROMISE(set_state, in_a_capture_adds_no_node)
{
	size_t nodes[2];

	for (int sets = 0; sets < 2; sets++) {
		struct philox_region *region = make_region(
			f, sets ? "with a set" : "without");
		uint32_t *array = make_array(f);
		struct philox_graph *graph;
		philox_native_graph native;

		record_begin(f);
		captured_forward(f, region, 0, array);
		if (sets)
			set_on(f, f->stream, (struct philox_state){0, 40});
		graph = record_end(f);
		OK(philox_graph_native(graph, &native, NULL));
		OK(philox_native_graph_node_count(f->device, native,
						  &nodes[sets]));
	}
	cr_assert_eq(nodes[0], nodes[1]);
}

/* The generator is as it was: sets before the pass that is refused, too. */
GRAPH_PROMISE(set_state, in_a_launch_that_is_refused_moves_nothing)
{
	struct philox_region *region = make_of(f, PHILOX_REGION_SHARED);
	const struct philox_ticket named_at_launch = {0, 0};
	struct philox_launch_pass uses[4] = {{{0, 0}, 0, 0}};
	uint32_t *array = make_array(f);
	struct philox_graph *graph;
	struct philox_state before;

	record_begin(f);
	set_on(f, f->stream, (struct philox_state){0, 400});
	captured_forward(f, region, 0, array);
	set_on(f, f->stream, (struct philox_state){0, 40});
	set_on(f, f->stream, (struct philox_state){0, 80});
	captured_forward(f, region, 0, array);
	set_on(f, f->stream, (struct philox_state){0, 20000});
	captured_backward(f, region, named_at_launch, 0, array);
	graph = record_end(f);
	set(f, (struct philox_state){0, 1000});
	before = get(f);
	FAILS(philox_graph_launch(graph, f->stream, uses, 3),
	      PHILOX_ERROR_MISMATCH);
	NAMES("pass 2");
	cr_assert_eq(get(f).offset, before.offset);
	uses[2].ticket = forward(f, region).ticket;
	OK(philox_graph_launch(graph, f->stream, uses, 3));
	cr_assert_eq(get(f).offset, 20000);
}

/* A launch moves generators, and does not seed them. */
GRAPH_PROMISE(set_state, in_a_capture_is_refused_under_another_seed)
{
	struct philox_region *region = make_of(f, PHILOX_REGION_SHARED);
	struct philox_state other = {5, 40}, odd = {0, 2};
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	uint32_t *array = make_array(f);
	struct philox_graph *graph;

	record_begin(f);
	FAILS(philox_generator_set_state_on(default_of(f), f->stream, &other),
	      PHILOX_ERROR_UNSUPPORTED);
	NAMES("seed is 0000000000000005, and the generator has "
	      "0000000000000000: a launch moves a generator and does not seed "
	      "it");
	FAILS(philox_generator_set_state_on(default_of(f), f->stream, &odd),
	      PHILOX_ERROR_INVALID);
	NAMES("not a multiple of 4");
	set_on(f, f->stream, (struct philox_state){0, 40});
	captured_forward(f, region, 0, array);
	graph = record_end(f);
	OK(philox_graph_set_name(graph, "step"));
	OK(philox_generator_seed(default_of(f), 5));
	FAILS(philox_graph_launch(graph, f->stream, &use, 1),
	      PHILOX_ERROR_MISMATCH);
	NAMES("'step' sets the offset of a generator of seed "
	      "0000000000000000, which has the seed 0000000000000005 by now: "
	      "capture it again");
	cr_assert_eq(get(f).offset, 0);
	OK(philox_generator_seed(default_of(f), 0));
	OK(philox_graph_launch(graph, f->stream, &use, 1));
	cr_assert_eq(get(f).offset, 40 + SHARED_WORDS);
}

GRAPH_PROMISE(set_state, in_a_body_is_refused)
{
	struct philox_conditional_desc options = {
		.size = sizeof(options), .kind = PHILOX_CONDITIONAL_IF};
	struct philox_state state = {0, 40};
	struct philox_conditional branch;

	record_begin(f);
	OK(philox_conditional_begin(f->context, f->stream, &options, &branch));
	OK(philox_conditional_body(&branch, 0, f->side));
	FAILS(philox_generator_set_state_on(default_of(f), f->side, &state),
	      PHILOX_ERROR_UNSUPPORTED);
	NAMES("does not know whether that runs");
	OK(philox_conditional_end(&branch));
	record_end(f);
	cr_assert_eq(get(f).offset, 0);
}

/* A generator lives as long as graphs that set it. */
GRAPH_PROMISE(set_state, in_a_capture_keeps_its_generator)
{
	struct philox_generator *own;
	struct philox_state state = {9, 40}, found;
	struct philox_graph *graph;

	OK(philox_generator_create(f->context, 9, &own));
	record_begin(f);
	OK(philox_generator_set_state_on(own, f->stream, &state));
	graph = record_end(f);
	FAILS(philox_generator_destroy(own), PHILOX_ERROR_BUSY);
	NAMES("captured graphs copy or set the state of the generator in 1 "
	      "place");
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	OK(philox_generator_get_state(own, &found));
	cr_assert_eq(found.offset, 40);
}

/* Calls without a stream would act once, and say that all is well. */
PROMISE(set_state, without_a_stream_is_refused_while_the_thread_captures)
{
	struct philox_state state = {0, 40};
	struct philox_graph *graph;

	OK(philox_capture_begin(f->context, f->stream));
	FAILS(philox_generator_set_state(default_of(f), state),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	NAMES("whose launches would not set this state again: name the "
	      "capture's stream with it");
	FAILS(philox_generator_seed(default_of(f), 1),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	NAMES("whose launches would not seed again: seed between launches");
	FAILS(philox_generator_fold(default_of(f), 1),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	cr_assert_eq(get(f).offset, 0);
	cr_assert_eq(get(f).seed, 0);
	set_on(f, f->side, state);
	cr_assert_eq(get(f).offset, 40, "a stream that does not capture");
	OK(philox_capture_end(f->context, f->stream, &graph));
	OK(philox_generator_set_state(default_of(f), state));
	OK(philox_generator_seed(default_of(f), 1));
}

/* --- states in device memory -------------------------------------------------- */

PROMISE(set_state, in_device_memory_is_for_stateless_draws)
{
	struct philox_state *state = make_memory(f, sizeof(*state)), here;

	OK(philox_generator_copy_state(default_of(f), f->stream, state));
	FAILS(philox_generator_set_state_on(default_of(f), f->stream, state),
	      PHILOX_ERROR_INVALID);
	NAMES("is memory of device");
	NAMES("the host reserves a generator's numbers");
	record_begin(f);
	FAILS(philox_generator_set_state_on(default_of(f), f->stream, state),
	      PHILOX_ERROR_INVALID);
	record_end(f);
	FAILS(philox_generator_set_state_on(default_of(f), f->stream, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_generator_set_state_on(NULL, f->stream, state),
	      PHILOX_ERROR_INVALID);
	here = (struct philox_state){0, 40};
	set_on(f, f->stream, here);
	cr_assert_eq(get(f).offset, 40);
}

/* --- what a program that expects old numbers is told --------------------------- */

struct told {
	unsigned n;
	char text[512], region[64];
};

static void tell(void *user, const struct philox_log_entry *entry)
{
	struct told *told = user;

	if (strcmp(entry->event, "offset set back"))
		return;
	cr_assert_eq(entry->level, PHILOX_LOG_WARNING);
	told->n++;
	snprintf(told->text, sizeof(told->text), "%s", entry->text);
	snprintf(told->region, sizeof(told->region), "%s", entry->region);
}

GRAPH_PROMISE(set_state, back_under_a_plain_region_is_told_once)
{
	struct told told = {0};
	struct philox_region *region, *shared;
	struct way way = {0};

	OK(philox_context_set_log(f->context, tell, &told));
	region = make_region(f, "plain");
	shared = make_of(f, PHILOX_REGION_SHARED);
	way.array = make_array(f);
	way.forth = record_forward(f, region, 0, way.array);
	set(f, (struct philox_state){0, 400});
	go_forward(f, &way, region);
	forward(f, region);
	cr_assert_eq(told.n, 0, "forth");
	set(f, (struct philox_state){0, 40});
	forward(f, shared);
	cr_assert_eq(told.n, 0, "SHARED");
	set(f, (struct philox_state){0, 400});
	forward(f, region);
	cr_assert_eq(told.n, 0, "and back again");
	set(f, (struct philox_state){0, 200});
	go_forward(f, f->own ? &way : &(struct way){0}, region);
	cr_assert_eq(told.n, 1);
	cr_assert_str_eq(told.region, "plain");
	cr_assert_str_eq(told.text,
			 "region 'plain' draws new numbers, though the offset "
			 "of its generator was set back from 400 to 200: only "
			 "regions made with PHILOX_REGION_SHARED follow their "
			 "generator's offset");
	go_forward(f, &way, region);
	set(f, (struct philox_state){0, 0});
	forward(f, region);
	cr_assert_eq(told.n, 1, "once");
	OK(philox_context_set_log(f->context, NULL, NULL));
}
