/*
 * tests/runner/outputs/tie_ends.c - ties beside saved contexts, other releases,
 * functions and runners that go, and memory that is shared
 */
#include "tests/support/beds/runner_scene.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

/* --- what else ends, or stays --------------------------------------------- */

static unsigned released;

static void count_release(void *saved, philox_stream stream)
{
	(void)saved;
	(void)stream;
	released++;
}

RUNNER_PROMISE(runner_tie_ends, leave_the_saved_context_of_the_ticket_alone)
{
	struct duo duo;

	make_duo(f, r, &duo);
	for (unsigned i = 0; i < 4; i++) {
		struct layer_call call = made_call(&duo.forth, duo.x, 0);
		struct philox_ticket ticket = call.use.ticket;
		struct philox_region *region = duo.forth.region;
		void *saved = NULL;

		released = 0;
		if (i % 2)
			tie_outputs(&duo.forth, &call, region, ticket);
		FAILS(philox_ticket_context(region, ticket, &saved),
		      PHILOX_ERROR_NOT_FOUND);
		OK(philox_ticket_attach(region, ticket, &duo, count_release));
		if (i % 2 == 0)
			tie_outputs(&duo.forth, &call, region, ticket);
		OK(philox_ticket_context(region, ticket, &saved));
		cr_assert_eq(saved, &duo);
		FAILS(philox_ticket_attach(region, ticket, f, count_release),
		      PHILOX_ERROR_EXISTS);
		plain_backward(&duo.forth, ticket, f->stream,
			       PHILOX_PASS_RETAIN);
		cr_assert_eq(released, 0);
		plain_backward(&duo.forth, ticket, f->stream, 0);
		cr_assert_eq(released, 1);
		OVER(r, &call);
	}
}

/* The handle's number is another output's by the time the ticket ends. */
RUNNER_PROMISE(runner_tie_ends, are_gone_when_the_output_is_released_otherwise)
{
	struct duo duo;

	make_duo(f, r, &duo);
	for (unsigned i = 0; i < 6; i++) {
		struct layer_call call = made_call(&duo.forth, duo.x, 0), next;
		struct numbers saw;

		tie_outputs(&duo.forth, &call, duo.forth.region,
			    call.use.ticket);
		if (i % 2)
			release_outputs(&duo.forth, &call);
		else
			OK(philox_runner_step_begin(
				r, f->stream, PHILOX_STEP_RELEASE_ALL, NULL));
		OVER(r, &call);
		next = made_call(&duo.forth, duo.x, 0);
		saw = read_numbers(f, next.outputs[0].address);
		plain_backward(&duo.forth, call.use.ticket, f->stream, 0);
		GOOD(r, &next);
		tie_outputs(&duo.forth, &next, duo.forth.region,
			    next.use.ticket);
		SAME(read_numbers(f, next.outputs[0].address), saw, "%u", i);
		plain_backward(&duo.forth, next.use.ticket, f->stream, 0);
		OVER(r, &next);
	}
	LIVE(f, r, 0);
}

RUNNER_PROMISE(runner_tie_ends, outlive_the_function_of_the_output)
{
	struct duo duo;
	struct layer_call call;

	make_duo(f, r, &duo);
	for (unsigned i = 0; i < 3; i++) {
		call = made_call(&duo.forth, duo.x, 0);
		tie_outputs(&duo.forth, &call, duo.forth.region,
			    call.use.ticket);
		OK(philox_stream_synchronize(f->device, f->stream));
		OK(philox_function_destroy(duo.forth.function));
		GOOD(r, &call);
		SAME(read_numbers(f, call.outputs[0].address),
		     predict(0, "layer", 4 * i), "%u", i);
		plain_backward(&duo.back, call.use.ticket, f->stream, 0);
		OVER(r, &call);
		LIVE(f, r, 0);
		make_function(&duo.forth, r, "forth");
	}
}

/* A runner, or a context, goes with its ties; the ticket does not know them. */
RUNNER_PROMISE(runner_tie_ends, end_with_the_runner)
{
	struct philox_runner *mine = make_runner_of(f, "mine", 0);
	struct layer layer = make_layer(f, mine, "layer");
	struct layer other = make_layer(f, r, "other");
	uint32_t *x = make_words(f, 3);
	struct layer_call call, here;

	make_function(&layer, mine, "layer");
	make_function(&other, r, "other");
	for (unsigned i = 0; i < 3; i++) {
		call = made_call(&layer, x, 0);
		tie_outputs(&layer, &call, layer.region, call.use.ticket);
	}
	here = made_call(&other, x, 0);
	tie_outputs(&other, &here, layer.region, call.use.ticket);
	OK(philox_device_synchronize(f->device));
	OK(philox_runner_destroy(mine));
	GOOD(r, &here);
	plain_backward(&layer, call.use.ticket, f->stream, 0);
	OVER(r, &here);
	here = made_call(&other, x, 0);
	tie_outputs(&other, &here, other.region, here.use.ticket);
	/* the fixture's context is destroyed with this tie and its ticket */
}

/* --- aliases -------------------------------------------------------------- */

/* y, its second half, and the input. */
static enum philox_status shares(void *user, struct philox_run *run)
{
	struct fixture *f = user;
	void *x, *y;

	OK(philox_run_input(run, 0, &x, NULL));
	OK(philox_run_alloc(run, BYTES, 0, "y", &y));
	OK(philox_memory_copy(f->device, philox_run_stream(run), y, x, BYTES));
	OK(philox_run_output(run, 0, y, BYTES));
	OK(philox_run_output(run, 1, (char *)y + BYTES / 2, BYTES / 2));
	return philox_run_output(run, 2, x, BYTES);
}

RUNNER_PROMISE(runner_tie_ends, free_shared_memory_after_its_last_handle)
{
	static const struct philox_input_desc x = {.name = "x"};
	static const struct philox_output_desc infos[] = {
		{.name = "y"}, {.name = "half"}, {.name = "x again"}};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_call_input given = {.address = make_words(f, 6),
					  .bytes = BYTES};
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_region *region = make_region(f, "layer");
	struct philox_function *function;
	struct philox_output out[3];

	options.name = "shares";
	options.body = shares;
	options.user = f;
	options.inputs = &x;
	options.n_inputs = 1;
	options.outputs = infos;
	options.n_outputs = 3;
	OK(philox_function_create(r, &options, &function));
	call.stream = f->stream;
	call.inputs = &given;
	call.n_inputs = 1;
	call.outputs = out;
	call.n_outputs = 3;
	for (int i = 0; i < 6; i++) {
		struct forward made = forward(f, region);

		OK(philox_function_call(function, &call));
		OK(philox_output_tie(r, &out[i % 2], region, made.ticket));
		OK(philox_output_tie(r, &out[2], region, made.ticket));
		if (i % 3 == 0)
			OK(philox_output_release(r, f->stream, &out[!(i % 2)]));
		LIVE(f, r, 1);
		OK(philox_ticket_release(region, f->stream, made.ticket));
		FAILS(philox_output_check(r, &out[i % 2]), PHILOX_ERROR_STALE);
		FAILS(philox_output_check(r, &out[2]), PHILOX_ERROR_STALE);
		LIVE(f, r, i % 3 ? 1 : 0);
		if (i % 3)
			OK(philox_output_release(r, f->stream, &out[!(i % 2)]));
		LIVE(f, r, 0);
	}
	cr_assert_eq(call.kind, PHILOX_CALL_REPLAY);
}

/* Their tickets end before the runner does. */
Test(runner_tie_ends, leave_nothing_to_report_when_a_context_ends)
{
	struct fixture f;
	struct philox_runner *r;
	struct layer layer;
	struct layer_call call;

	fixture_open(&f, named_device() ? named_device() : "host:sync");
	r = make_runner_of(&f, "runner", 0);
	layer = make_layer(&f, r, "layer");
	make_function(&layer, r, "layer");
	call = made_call(&layer, make_words(&f, 3), 0);
	tie_outputs(&layer, &call, layer.region, call.use.ticket);
	log_texts(&f);
	fixture_close(&f);
	cr_assert(strstr(logged_texts(), "was destroyed with 1 ticket pending"),
		  "%s", logged_texts());
	cr_assert(!strstr(logged_texts(), "live block"), "%s", logged_texts());
}

/* --- what a ticket keeps -------------------------------------------------- */

static struct philox_kept_item kept[4];

static size_t list_kept(struct layer *layer, struct philox_ticket ticket,
			uint64_t *bytes)
{
	size_t n;

	OK(philox_ticket_kept(layer->region, ticket, kept, 4, &n, bytes));
	return n;
}

RUNNER_PROMISE(runner_tie_ends, are_listed_after_the_saved_context_in_order)
{
	static const struct philox_saved_desc mask = {
		.name = "mask", .elements = 1, .bytes = 77};
	struct duo duo;
	struct layer_call call;
	struct philox_region *region;
	uint64_t bytes;

	make_duo(f, r, &duo);
	region = duo.forth.region;
	for (unsigned i = 0; i < 4; i++) {
		call = made_call(&duo.forth, duo.x, 0);
		/* "echo" is tied before "y" */
		for (int output = 1; output >= 0; output--)
			OK(philox_output_tie(r, &call.outputs[output], region,
					     call.use.ticket));
		cr_assert_eq(list_kept(&duo.forth, call.use.ticket, &bytes), 2);
		OK(philox_ticket_attach(region, call.use.ticket, &duo,
					count_release));
		OK(philox_ticket_describe(region, call.use.ticket, &mask, 1));
		cr_assert_eq(list_kept(&duo.forth, call.use.ticket, &bytes), 3);
		cr_assert_eq(bytes, 77 + 2 * BYTES);
		cr_assert_str_eq(kept[0].name, "mask");
		cr_assert_str_eq(kept[0].function, "");
		for (int k = 1; k < 3; k++) {
			cr_assert_str_eq(kept[k].name, k == 1 ? "echo" : "y");
			cr_assert_str_eq(kept[k].function, "forth");
			cr_assert_eq(kept[k].bytes, BYTES);
		}
		OK(philox_output_release(r, f->stream, &call.outputs[1]));
		cr_assert_eq(list_kept(&duo.forth, call.use.ticket, &bytes), 2);
		cr_assert_str_eq(kept[1].name, "y");
		cr_assert_eq(bytes, 77 + BYTES);
		plain_backward(&duo.forth, call.use.ticket, f->stream, 0);
		FAILS(philox_ticket_kept(region, call.use.ticket, kept, 4,
					 &(size_t){0}, &bytes),
		      PHILOX_ERROR_RELEASED);
	}
}
