/*
 * tests/runner/policy/tickets.c - backwards of forwards that wait to be recorded
 */
#include "tests/support/beds/runner_scene.h"

static enum philox_status refuses(struct layer *layer, struct philox_run *run)
{
	(void)layer;
	return philox_run_kind(run) == PHILOX_CALL_RECORD
		       ? philox_run_refuse(run, "host work")
		       : PHILOX_OK;
}

/* Backwards of the last 64 of them are not recorded; of one before they are. */
RUNNER_PROMISE(runner_tickets_that_wait,
	       remembers_64_tickets_of_forwards_that_wait)
{
	struct layer forth = {.f = f, .runner = r}, back;
	uint32_t *x[1];
	struct philox_ticket tickets[70];
	static const int order[] = {0, 69, 6, 30, 5};

	x[0] = make_words(f, 0);
	forth.region = make_region_with(f, "layer", 100, 0);
	back = forth;
	back.backward = 1;
	forth.hook = refuses;
	make_function_under(&forth, r, "forth",
			    &(struct philox_policy){.retry = PHILOX_NEVER});
	make_function(&back, r, "back");
	for (int i = 0; i < 71; i++) {
		struct forward made = call_forward(&forth, x[0], 0);

		if (i) /* the first is a warm-up */
			tickets[i - 1] = made.ticket;
	}
	for (int i = 0; i < 5; i++) {
		struct layer_call call = new_call(&back, x[0], 0);

		call.use.ticket = tickets[order[i]];
		OK(try_call(&back, &call));
		cr_assert_eq(call.call.kind,
			     (uint32_t)(i == 0  ? PHILOX_CALL_WARMUP
					: i < 4 ? PHILOX_CALL_EAGER
						: PHILOX_CALL_RECORD),
			     "call %d: %s", i,
			     philox_function_reason(back.function));
		SAME(read_numbers(f, call.outputs[0].address),
		     predict(0, "layer", 4 * (uint64_t)(order[i] + 1)), "%d",
		     i);
		release_outputs(&back, &call);
	}
	cr_assert_eq(counts_of(&back).missed_refused, 3);
}
