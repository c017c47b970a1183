/*
 * tests/runner/calls/order.c - work on several streams in the memory of a
 * runner
 */
#include <stdatomic.h>
#include <time.h>
#include "tests/support/beds/runner.h"

static atomic_int may_go_on;

static void wait_until_it_may(const void *nothing)
{
	(void)nothing;
	while (!atomic_load(&may_go_on))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void call_on(struct layer *layer, philox_stream stream,
		    struct layer_call *call, uint32_t *x)
{
	*call = new_call(layer, x, 0);
	call->call.stream = stream;
	OK(try_call(layer, call));
}

/*
 * A stream that is held up reads an output, which is released there. Then a
 * call on that stream fails, and one on another stream wants the memory.
 */
static void is_read_before_it_is_written(const char *device)
{
	struct fixture f;
	struct philox_runner *r;
	struct layer layer;
	struct philox_function_desc options;
	struct philox_input_desc input = {.name = "x",
					  .kind = PHILOX_INPUT_COPIED};
	struct layer_call call;
	struct numbers got;
	uint32_t *x[2];

	fixture_open(&f, device);
	r = make_runner_of(&f, "runner", 0);
	layer = make_layer(&f, r, "layer");
	x[0] = make_words(&f, 1);
	x[1] = make_words(&f, 2);
	options = layer_options("layer", &layer);
	options.inputs = &input;
	make_function_of(&layer, r, &options);
	for (int i = 0; i < 2; i++) {
		call_on(&layer, f.side, &call, x[0]);
		release_outputs(&layer, &call);
	}
	OK(philox_device_synchronize(f.device));
	atomic_store(&may_go_on, 0);
	call_on(&layer, f.side, &call, x[0]);
	OK(philox_stream_launch_host(f.device, f.side, wait_until_it_may, "",
				     1));
	OK(philox_memory_copy(f.device, f.side, &got, call.outputs[1].address,
			      sizeof(got)));
	for (int k = 0; k < 2; k++)
		OK(philox_output_release(r, f.side, &call.outputs[k]));
	call = new_call(&layer, x[1], 0);
	call.call.stream = f.side;
	philox_device_fail(f.device, "exec_launch", 1, PHILOX_ERROR_DEVICE);
	FAILS(try_call(&layer, &call), PHILOX_ERROR_DEVICE);
	philox_device_fail(f.device, NULL, 0, PHILOX_OK);
	call_on(&layer, f.stream, &call, x[1]);
	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	atomic_store(&may_go_on, 1);
	OK(philox_device_synchronize(f.device));
	SAME(got, all_words(1), "%s", device);
	release_outputs(&layer, &call);
	fixture_close(&f);
}

Test(runner_order,
     a_call_that_fails_leaves_others_to_wait_for_what_was_released,
     .timeout = 120)
{
	is_read_before_it_is_written("host");
	is_read_before_it_is_written("host:strict");
}
