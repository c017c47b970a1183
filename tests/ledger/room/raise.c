/*
 * tests/ledger/room/raise.c - room for more tickets: a region that was given it
 * on the way is one that had it from the beginning
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/allocations.h"
#include "tests/support/ranks/mesh.h"
#include "tests/support/support.h"

static struct philox_ticket step(struct philox_region *region)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(region, NULL, 0, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	return ticket;
}

static void is_full(struct philox_region *region, uint32_t room)
{
	struct philox_pass pass;
	char said[32];

	PENDING(region, room);
	FAILS(philox_forward_begin(region, NULL, 0, &pass), PHILOX_ERROR_LIMIT);
	snprintf(said, sizeof(said), "pending is %" PRIu32 ",", room);
	NAMES(said);
}

static char *text_of(struct philox_context *context)
{
	char *text;

	OK(philox_context_save_text(context, &text, NULL));
	return text;
}

/* --- a model ------------------------------------------------------------------ */

enum { ROOM = 24, SEED = 77 };

/* What is owed, in order of serial, by the rules of Note [Ledger] alone. */
struct model {
	struct {
		uint64_t serial, offset;
	} owed[ROOM];
	size_t n;
	uint64_t serial, offset; /* of the next forward */
};

static void model_remove(struct model *model, size_t i)
{
	model->n--;
	memmove(&model->owed[i], &model->owed[i + 1],
		(model->n - i) * sizeof(model->owed[0]));
}

/* Two regions of one name, each in a context of its own. */
struct twins {
	struct philox_context *context[2];
	struct philox_region *region[2];
	uint32_t room; /* of the first; the second has ROOM */
	unsigned full; /* how often there was none left */
	struct model model;
};

static void twins_open(struct fixture *f, struct twins *twins, uint32_t room)
{
	memset(twins, 0, sizeof(*twins));
	twins->room = room;
	twins->model.serial = 1;
	for (int i = 0; i < 2; i++) {
		struct philox_context *made;

		OK(philox_context_create(f->device, &made));
		OK(philox_generator_seed(philox_context_generator(made), SEED));
		twins->region[i] =
			make_region_of(made, "layer", i ? ROOM : room, NULL);
		twins->context[i] = made;
	}
}

static void twins_close(const struct twins *twins)
{
	for (int i = 0; i < 2; i++)
		philox_context_destroy(twins->context[i]);
}

static void are_as(const struct twins *twins)
{
	const struct model *model = &twins->model;

	for (int i = 0; i < 2; i++) {
		struct philox_ticket tickets[ROOM];
		size_t n;

		OK(philox_region_tickets(twins->region[i], tickets, ROOM, &n));
		cr_assert_eq(n, model->n, "%zu tickets, not %zu", n, model->n);
		for (size_t k = 0; k < n; k++) {
			const struct philox_state expected = predict_cell(
				SEED, "layer", 1, 1, model->owed[k].offset);
			struct philox_state state;

			cr_assert_eq(tickets[k].serial, model->owed[k].serial);
			OK(philox_ticket_state(twins->region[i], tickets[k], 1,
					       1, &state));
			cr_assert_eq(state.seed, expected.seed);
			cr_assert_eq(state.offset, expected.offset);
		}
	}
}

static void try_forward(struct twins *twins, int commit)
{
	struct model *model = &twins->model;
	const int fits = model->n < twins->room;
	struct philox_ticket ticket;
	struct philox_pass pass;

	if (!fits)
		is_full(twins->region[0], twins->room);
	twins->full += !fits && twins->room < ROOM;
	for (int i = 0; i < 2 && fits; i++) {
		OK(philox_forward_begin(twins->region[i], NULL, 0, &pass));
		if (commit)
			OK(philox_pass_commit(&pass, 0, &ticket));
		else
			OK(philox_pass_abort(&pass));
		cr_assert(!commit || ticket.serial == model->serial);
	}
	if (!fits)
		return;
	if (commit) {
		model->owed[model->n].serial = model->serial;
		model->owed[model->n++].offset = model->offset;
	}
	model->serial++;
	model->offset += 4;
}

static void try_backward(struct twins *twins, size_t k, unsigned flags)
{
	const struct philox_ticket ticket = {fnv1a("layer"),
					     twins->model.owed[k].serial};
	struct philox_pass pass;

	for (int i = 0; i < 2; i++) {
		OK(philox_backward_begin(twins->region[i], NULL, ticket, flags,
					 &pass));
		OK(philox_pass_commit(&pass, 0, NULL));
	}
	if (!flags)
		model_remove(&twins->model, k);
}

static void try_release(struct twins *twins, size_t k)
{
	const struct philox_ticket ticket = {fnv1a("layer"),
					     twins->model.owed[k].serial};

	for (int i = 0; i < 2; i++)
		OK(philox_ticket_release(twins->region[i], NULL, ticket));
	model_remove(&twins->model, k);
}

static void try_raise(struct twins *twins, uint32_t by)
{
	twins->room = twins->room + by < ROOM ? twins->room + by : ROOM;
	OK(philox_region_raise_pending(twins->region[0], twins->room));
	OK(philox_region_raise_pending(twins->region[1], ROOM));
}

static void try_one(struct twins *twins, uint64_t *random)
{
	const uint32_t what = bed_below(random, 100);
	const size_t n = twins->model.n;
	const size_t k = n ? bed_below(random, (uint32_t)n) : 0;

	if (what < 3)
		try_raise(twins, bed_below(random, 12));
	else if (what < 60 || !n)
		try_forward(twins, what % 8 != 0);
	else if (what < 75)
		try_backward(twins, k, PHILOX_PASS_RETAIN);
	else if (what < 92)
		try_backward(twins, k, 0);
	else
		try_release(twins, k);
}

PROMISE(raise_pending, room_on_the_way_is_as_room_from_the_beginning)
{
	uint64_t random = 11;
	unsigned raised = 0, full = 0;

	for (uint32_t round = 0; round < 60; round++) {
		struct twins twins;

		twins_open(f, &twins, 1 + round % 4);
		for (int i = 0; i < 150; i++) {
			try_one(&twins, &random);
			are_as(&twins);
		}
		raised += twins.room == ROOM;
		full += twins.full;
		twins_close(&twins);
	}
	cr_assert_gt(raised, 20, "%u of them had all the room", raised);
	cr_assert_gt(full, 100, "%u forwards had no room", full);
}

/* --- sizes -------------------------------------------------------------------- */

/* Full before each, with holes afterwards: all are found, and no others. */
PROMISE(raise_pending, from_any_size_to_any_larger_one)
{
	static const uint32_t sizes[] = {1,  2,  3,  5,   8,   9,
					 16, 31, 64, 500, 513, 3000};
	const size_t n_sizes = sizeof(sizes) / sizeof(sizes[0]);
	struct philox_region *region =
		make_region_of(f->context, "layer", 1, NULL);
	uint64_t serial = 1;

	for (size_t i = 0; i < n_sizes; i++) {
		OK(philox_region_raise_pending(region, sizes[i]));
		while (serial <= sizes[i])
			cr_assert_eq(step(region).serial, serial++);
		is_full(region, sizes[i]);
	}
	for (serial = 1; serial <= 3000; serial++)
		if (serial % 3)
			OK(philox_ticket_release(
				region, NULL,
				(struct philox_ticket){fnv1a("layer"),
						       serial}));
	OK(philox_region_raise_pending(region, 3001));
	for (serial = 1; serial <= 3000; serial++) {
		const struct philox_ticket ticket = {fnv1a("layer"), serial};

		if (serial % 3)
			FAILS(philox_ticket_release(region, NULL, ticket),
			      PHILOX_ERROR_RELEASED);
		else
			OK(philox_ticket_release(region, NULL, ticket));
	}
	for (int i = 0; i < 3001; i++)
		step(region);
	is_full(region, 3001);
}

static void count_release(void *saved, philox_stream stream)
{
	(void)stream;
	++*(unsigned *)saved;
}

PROMISE(raise_pending, saved_contexts_stay_with_their_tickets)
{
	struct philox_region *region =
		make_region_of(f->context, "layer", 2, NULL);
	struct philox_ticket tickets[2];
	unsigned released[2] = {0};
	void *saved;

	for (int i = 0; i < 2; i++) {
		tickets[i] = step(region);
		OK(philox_ticket_attach(region, tickets[i], &released[i],
					count_release));
	}
	OK(philox_region_raise_pending(region, 7));
	for (int i = 0; i < 2; i++) {
		OK(philox_ticket_context(region, tickets[i], &saved));
		cr_assert_eq(saved, &released[i]);
		cr_assert_eq(released[i], 0);
	}
	OK(philox_ticket_release(region, NULL, tickets[1]));
	cr_assert_eq(released[1], 1);
	OK(philox_region_destroy(region));
	cr_assert_eq(released[0], 1);
	cr_assert_eq(released[1], 1);
}

GRAPH_PROMISE(raise_pending, graphs_use_the_new_room)
{
	struct philox_region *region =
		make_region_of(f->context, "layer", 1, NULL);
	uint32_t *array = make_array(f), *other = make_array(f);
	struct philox_graph *graph = record_forward(f, region, 0, array);
	struct philox_graph *back = record_backward(f, region, other);
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct forward made[3];

	made[0] = launch_forward(f, graph, region, array);
	FAILS(philox_graph_launch(graph, f->stream, &use, 1),
	      PHILOX_ERROR_LIMIT);
	NAMES("pending is 1");
	OK(philox_region_raise_pending(region, 3));
	for (int i = 1; i < 3; i++)
		made[i] = launch_forward(f, graph, region, array);
	PENDING(region, 3);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(made[i].ticket.serial, (uint64_t)i + 1);
		launch_backward(f, back, &made[i], 0, other);
	}
	PENDING(region, 0);
}

/* --- texts -------------------------------------------------------------------- */

PROMISE(raise_pending, a_text_that_needs_more_room_is_loaded_with_it)
{
	struct philox_context *other;
	struct philox_region *region =
		make_region_of(f->context, "layer", 1, NULL);
	struct philox_region *small;
	char *text, *before, *after;

	step(region);
	before = text_of(f->context);
	OK(philox_region_raise_pending(region, 4));
	after = text_of(f->context);
	cr_assert_str_eq(after, before, "a text does not say the room");
	for (int i = 0; i < 3; i++)
		step(region);
	text = text_of(f->context);
	OK(philox_context_create(f->device, &other));
	small = make_region_of(other, "layer", 3, NULL);
	FAILS(philox_context_load_text(other, text, strlen(text)),
	      PHILOX_ERROR_MISMATCH);
	NAMES("4 tickets are pending in the text, the context's pending is 3");
	OK(philox_region_raise_pending(small, 5));
	OK(philox_context_load_text(other, text, strlen(text)));
	PENDING(small, 4);
	step(small);
	is_full(small, 5); /* a load leaves the room as it is */
	philox_context_destroy(other);
	free(text);
	free(before);
	free(after);
}

/* --- refusals ------------------------------------------------------------------ */

PROMISE(raise_pending, room_is_never_taken_away)
{
	struct philox_region *region = make_region(f, "layer");
	uint64_t before;

	SAYS(philox_region_raise_pending(region, 63), PHILOX_ERROR_INVALID,
	     "region 'layer': pending is 64, and cannot become 63: it is "
	     "raised only");
	FAILS(philox_region_raise_pending(region, 0), PHILOX_ERROR_INVALID);
	SAYS(philox_region_raise_pending(region, (1u << 28) + 1),
	     PHILOX_ERROR_INVALID,
	     "region 'layer': pending is 268435457, above 268435456");
	before = allocations();
	OK(philox_region_raise_pending(region, 64));
	cr_assert_eq(allocations(), before, "the same is nothing");
	FAILS(philox_region_raise_pending(NULL, 64), PHILOX_ERROR_INVALID);
	OK(philox_region_destroy(region));
	FAILS(philox_region_raise_pending(region, 65), PHILOX_ERROR_STALE);
	NAMES("region 'layer' was destroyed");
}

/* The room is still 2, and as much as that is nothing to refuse. */
static void refuses(struct philox_region *region, const char *why)
{
	FAILS(philox_region_raise_pending(region, 9), PHILOX_ERROR_STATE);
	NAMES("pending of region 'layer' cannot be raised now: ");
	NAMES(why);
	OK(philox_region_raise_pending(region, 2));
}

PROMISE(raise_pending, is_refused_while_a_pass_of_the_region_is_open)
{
	struct philox_region *region =
		make_region_of(f->context, "layer", 2, NULL);
	struct philox_region *other = make_region(f, "other");
	struct philox_ticket ticket = step(region);
	struct philox_pass pass, reader;

	OK(philox_forward_begin(region, NULL, 0, &pass));
	refuses(region, "forward 2 is open");
	OK(philox_pass_abort(&pass));
	OK(philox_backward_begin(region, NULL, ticket, PHILOX_PASS_RETAIN,
				 &reader));
	refuses(region, "a pass or launch of ticket 1 is open");
	OK(philox_backward_begin(region, NULL, ticket, 0, &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
	refuses(region, "of ticket 1");
	OK(philox_pass_commit(&reader, 0, NULL));
	for (int i = 0; i < 2; i++)
		step(region);
	is_full(region, 2);
	OK(philox_forward_begin(other, NULL, 0, &pass));
	OK(philox_region_raise_pending(region, 9)); /* it is none of its own */
	OK(philox_pass_abort(&pass));
	PENDING(region, 2);
}

PROMISE(raise_pending, is_refused_while_a_shared_region_has_its_generator)
{
	const struct philox_op_desc op = {.name = "only"};
	const struct philox_region_desc options = {
		.size = sizeof(options),
		.name = "layer",
		.ops = &op,
		.n_ops = 1,
		.pending = 2,
		.flags = PHILOX_REGION_SHARED};
	struct philox_region *region;
	struct philox_pass pass;

	OK(philox_region_create(f->context, &options, &region));
	OK(philox_forward_begin(region, NULL, PHILOX_PASS_INFERENCE, &pass));
	refuses(region, "a forward is open");
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_region_raise_pending(region, 9));
}

GRAPH_PROMISE(raise_pending, is_refused_during_a_capture)
{
	struct philox_region *region =
		make_region_of(f->context, "layer", 2, NULL);
	struct philox_region *other = make_region(f, "other");
	uint32_t *array = make_array(f);
	struct philox_graph *graph;

	record_begin(f);
	if (!f->own)
		refuses(region, "a capture that philox began is under way");
	captured_forward(f, other, 0, array);
	refuses(region, "capture");
	captured_forward(f, region, 0, array);
	refuses(region, "capture");
	graph = record_end(f);
	OK(philox_region_raise_pending(region, 9));
	OK(philox_graph_destroy(graph));
}

GRAPH_PROMISE(raise_pending, is_refused_between_prologue_and_epilogue)
{
	struct philox_region *region =
		make_region_of(f->context, "layer", 2, NULL);
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_graph *graph;
	struct philox_pass pass;

	record_begin(f);
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	draw(&pass, f->scratch);
	OK(philox_pass_commit(&pass, 0, &use.ticket));
	graph = record_end(f);
	OK(philox_graph_set_name(graph, "step"));
	OK(philox_graph_prologue(graph, f->stream, &use, 1));
	refuses(region, "'step' is between prologue and epilogue");
	OK(philox_native_exec_launch(f->device, f->stream, native_exec(graph)));
	refuses(region, "'step' is between prologue and epilogue");
	OK(philox_graph_epilogue(graph, PHILOX_OK));
	OK(philox_region_raise_pending(region, 9));
}

/* Launches change no room: one without philox is told as it would be. */
GRAPH_PROMISE(raise_pending, does_not_wait_for_a_launch_without_philox)
{
	struct philox_region *region =
		make_region_of(f->context, "layer", 2, NULL);
	uint32_t *array = make_array(f);
	struct philox_graph *graph = record_forward(f, region, 0, array);
	struct forward made = launch_forward(f, graph, region, array);

	OK(philox_graph_set_name(graph, "step"));
	OK(philox_native_exec_launch(f->device, f->stream, native_exec(graph)));
	OK(philox_stream_synchronize(f->device, f->stream));
	OK(philox_region_raise_pending(region, 9));
	FAILS(philox_context_check(f->context, NULL), PHILOX_ERROR_UNANNOUNCED);
	backward(f, &made, 0);
}

/* Launches of another thread. */
struct launches {
	struct fixture *f;
	struct philox_graph *graph;
	atomic_int done;
};

static void *launch_many(void *pointer)
{
	struct launches *launches = pointer;
	struct philox_launch_pass use = {{0, 0}, 0, 0};

	for (int i = 0; i < 300; i++)
		OK(philox_graph_launch(launches->graph, launches->f->stream,
				       &use, 1));
	atomic_store(&launches->done, 1);
	return NULL;
}

PROMISE(raise_pending, is_not_refused_for_launches_of_another_thread)
{
	struct philox_region *region =
		make_region_of(f->context, "layer", 2, NULL);
	struct philox_region *other = make_region(f, "other");
	struct launches launches = {.f = f};
	uint32_t pending = 2;
	pthread_t thread;

	launches.graph =
		record_forward(f, other, PHILOX_PASS_INFERENCE, make_array(f));
	cr_assert_eq(pthread_create(&thread, NULL, launch_many, &launches), 0);
	while (!atomic_load(&launches.done))
		OK(philox_region_raise_pending(region, ++pending));
	pthread_join(thread, NULL);
	OK(philox_stream_synchronize(f->device, f->stream));
}

PROMISE(raise_pending, nothing_has_changed_if_there_is_no_memory)
{
	struct philox_region *region =
		make_region_of(f->context, "layer", 2, NULL);
	struct forward made[2] = {forward(f, region), forward(f, region)};
	uint64_t n;

	for (n = 1; allocations_fail(n); n++) {
		enum philox_status status =
			philox_region_raise_pending(region, 5);

		allocations_fail(0);
		if (status == PHILOX_OK)
			break;
		cr_assert_eq(status, PHILOX_ERROR_MEMORY);
		NAMES("region 'layer': no memory for 5 pending tickets");
		is_full(region, 2);
		backward(f, &made[0], PHILOX_PASS_RETAIN);
		backward(f, &made[1], PHILOX_PASS_RETAIN);
	}
	if (!allocations_fail(0))
		return; /* a sanitizer has malloc(), which cannot fail */
	cr_assert_eq(n, 3, "entries and index, not %d", (int)n);
	for (int i = 0; i < 3; i++)
		step(region);
	is_full(region, 5);
}
