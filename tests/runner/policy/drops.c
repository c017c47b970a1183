/*
 * tests/runner/policy/drops.c - keys that are dropped while the device fails
 */
#include "tests/support/beds/runner_scene.h"

/* A call that drops a key; its n-th device call fails. 0: there are fewer. */
static int fail_at(struct layer *layer, const uint32_t *x, unsigned settled,
		   uint64_t n)
{
	struct fixture *f = layer->f;
	struct layer_call call = new_call(layer, x, 1);
	uint64_t calls;
	enum philox_status status;

	for (unsigned i = 0; i < settled; i++)
		kind_of_call(layer, x, 0);
	calls = philox_device_call_count(f->device, NULL);
	OK(philox_device_fail(f->device, NULL, n, PHILOX_ERROR_DEVICE));
	status = try_call(layer, &call);
	calls = philox_device_call_count(f->device, NULL) - calls;
	OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
	if (status == PHILOX_OK) {
		cr_assert_eq(call.call.kind, PHILOX_CALL_WARMUP);
		SAME(read_numbers(f, call.outputs[1].address), all_words(3),
		     "x did not come through");
		release_outputs(layer, &call);
		OK(philox_ticket_release(layer->region, f->stream,
					 call.use.ticket));
	}
	PENDING(layer->region, 0);
	cr_assert_leq(counts_of(layer).keys, 1);
	for (uint32_t i = 0; i < 4; i++) {
		struct numbers next = peek(f, layer->region);
		struct forward made = call_forward(layer, x, i / 2);

		SAME(made.saw, next, "call %u", i);
		OK(philox_ticket_release(made.region, f->stream, made.ticket));
	}
	cr_assert_eq(counts_of(layer).keys, 1);
	LIVE(f, layer->runner, 0);
	return status != PHILOX_OK || n <= calls;
}

RUNNER_PROMISE(runner_drops, that_the_device_fails_leave_the_rest_as_it_was)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	f->injected = f->unfreed = 1;
	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.keys = 1});
	for (unsigned settled = 1; settled < 4; settled++) {
		uint64_t n = 1;

		while (fail_at(&layer, x, settled, n)) {
			cr_assert_lt(n, 200);
			n++;
		}
		cr_assert_gt(n, 4);
	}
}
