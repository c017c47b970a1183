/*
 * tests/runner/policy/dry_errors.c - dry warm-ups of bodies that fail, refuse
 * or ask for more, and while the device fails
 */
#include "tests/support/beds/runner_scene.h"

/* --- bodies that fail, or ask for more ------------------------------------ */

static unsigned fails_at;

static enum philox_status fail_once(struct layer *layer, struct philox_run *run)
{
	(void)run;
	return layer->bodies == fails_at ? PHILOX_ERROR_LIMIT : PHILOX_OK;
}

RUNNER_PROMISE(runner_dry_errors, that_fail_fail_their_call)
{
	uint32_t *x = make_words(f, 3);
	char name[] = "layer 0";

	for (fails_at = 1; fails_at <= 3; fails_at++) {
		struct layer layer;
		struct layer_call call;
		struct ledger_view before;

		name[6]++;
		layer = make_layer(f, r, name);
		before = look(f, layer.region);
		call = new_call(&layer, x, 0);
		layer.hook = fail_once;
		make_function_under(&layer, r, name,
				    &(struct philox_policy){.dry = 2});
		call.use.ticket.serial = 6;
		FAILS(try_call(&layer, &call), PHILOX_ERROR_LIMIT);
		NAMES(name);
		cr_assert_eq(layer.bodies, fails_at);
		cr_assert_eq(call.use.ticket.serial, 6, "nothing is written");
		PENDING(layer.region, 0);
		if (fails_at < 3) /* a warm-up's numbers are burnt */
			unchanged(f, layer.region, &before);
		LIVE(f, r, 0);
		cr_assert_eq(counts_of(&layer).failed, 1);
		before = look(f, layer.region);
		for (int i = 0; i < 4; i++)
			SAME(call_forward(&layer, x, 0).saw,
			     i ? predict(0, name,
					 4 * (unsigned)i +
						 (fails_at < 3 ? 0 : 4))
			       : before.next,
			     "%s, call %d", name, i);
		KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
	}
}

static enum philox_status tunes(struct layer *layer, struct philox_run *run)
{
	void *scratch;

	if (layer->bodies > 1)
		return PHILOX_OK;
	OK(philox_run_alloc(run, 512, 0, "tuning", &scratch));
	return philox_run_again(run);
}

/* What it did then is not compared with what it does later. */
RUNNER_PROMISE(runner_dry_errors, may_be_where_a_body_tunes_itself)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	layer.hook = tunes;
	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.dry = 2});
	for (unsigned i = 0; i < 5; i++)
		SAME(call_forward(&layer, x, 0).saw, predict(0, "layer", 4 * i),
		     "call %u", i);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
}

static enum philox_status tunes_longer(struct layer *layer,
				       struct philox_run *run)
{
	return layer->bodies <= 4 ? philox_run_again(run) : PHILOX_OK;
}

/* It gets the warm-ups that it asks for before it is recorded. */
RUNNER_PROMISE(runner_dry_errors, may_be_too_few_for_a_body)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	layer.hook = tunes_longer;
	make_function_under(
		&layer, r, "layer",
		&(struct philox_policy){.dry = 1, .warmups = PHILOX_NEVER});
	for (unsigned i = 0; i < 8; i++)
		SAME(call_forward(&layer, x, 0).saw, predict(0, "layer", 4 * i),
		     "call %u", i);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
}

static enum philox_status refuses(struct layer *layer, struct philox_run *run)
{
	if (layer->bodies == 1)
		return philox_run_refuse(run, "host work");
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_dry_errors, may_refuse_what_comes_after)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	layer.hook = refuses;
	make_function_under(
		&layer, r, "layer",
		&(struct philox_policy){.dry = 1, .retry = PHILOX_NEVER});
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	for (int i = 0; i < 4; i++)
		KIND(&layer, x, 0, PHILOX_CALL_EAGER);
	cr_assert_not_null(
		strstr(philox_function_reason(layer.function), "host work"));
}

/* --- a device that fails -------------------------------------------------- */

static int fail_at(struct rich *rich, struct philox_runner *r, uint64_t n)
{
	struct fixture *f = rich->f;
	struct ledger_view before = look(f, rich->own);
	struct forward of = forward(f, rich->other);
	enum philox_status status;
	uint64_t calls;

	make_rich(rich, r, "rich",
		  &(struct philox_policy){
			  .dry = 1, .warmups = PHILOX_NEVER, .retry = 1});
	rich->uses[0] = (struct philox_launch_pass){{6, 6}, 0, 0};
	rich->uses[1] = (struct philox_launch_pass){of.ticket, 0, 0};
	calls = philox_device_call_count(f->device, NULL);
	OK(philox_device_fail(f->device, NULL, n, PHILOX_ERROR_DEVICE));
	status = philox_function_call(rich->function, &rich->call);
	calls = philox_device_call_count(f->device, NULL) - calls;
	OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
	PENDING(rich->own, 0);
	PENDING(rich->other, status == PHILOX_OK ? 0 : 1);
	if (status == PHILOX_OK) {
		SAME(read_numbers(f, rich->outputs[2].address), of.saw, "back");
		FRESH(read_numbers(f, rich->outputs[0].address),
		      peek(f, rich->own), "forward");
		for (int i = 0; i < 4; i++)
			OK(philox_output_release(r, f->stream,
						 &rich->outputs[i]));
		of = forward(f, rich->other);
	} else {
		cr_assert_eq(rich->uses[0].ticket.serial, 6);
		if (rich->bodies < 2)
			unchanged(f, rich->own, &before);
	}
	LIVE(f, r, 0);
	for (int i = 0; i < 4; i++)
		call_rich(rich, &of, i < 3 ? PHILOX_PASS_RETAIN : 0,
			  i < 3 ? PHILOX_CALL_NONE : PHILOX_CALL_REPLAY);
	OK(philox_stream_synchronize(f->device, f->stream));
	OK(philox_function_destroy(rich->function));
	return status != PHILOX_OK || n <= calls;
}

RUNNER_PROMISE(runner_dry_errors, that_the_device_fails_leave_nothing_behind)
{
	struct rich rich = {.f = f,
			    .own = make_region(f, "own"),
			    .other = make_region(f, "other")};
	uint64_t n = 1;

	f->injected = 1;
	while (fail_at(&rich, r, n)) {
		cr_assert_lt(n, 500);
		n++;
	}
	cr_assert_gt(n, 8);
}
