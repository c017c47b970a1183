/*
 * tests/runner/outputs/released.c - outputs that are used after their release
 */
#include <stdio.h>
#include "lib/device/contract.h"
#include "tests/support/beds/pool.h"
#include "tests/support/beds/runner.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

static enum philox_status read_words(struct fixture *f, const void *from)
{
	static uint32_t words[WORDS];
	enum philox_status status =
		philox_memory_copy(f->device, f->stream, words, from, BYTES);

	if (status == PHILOX_OK)
		status = philox_stream_synchronize(f->device, f->stream);
	return status;
}

/* Strict devices refuse it, and say this. */
#define UNKNOWN(f, call, text)                             \
	do {                                               \
		if (device_is_strict((f)->device)) {       \
			FAILS(call, PHILOX_ERROR_INVALID); \
			NAMES(text);                       \
		} else {                                   \
			OK(call);                          \
		}                                          \
	} while (0)

/* In eager calls, recordings and replays alike. */
RUNNER_PROMISE(runner_released, outputs_are_unknown_to_a_strict_device)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	make_function(&layer, r, "layer");
	for (int i = 0; i < 6; i++) {
		struct layer_call call = new_call(&layer, x, 0);

		OK(try_call(&layer, &call));
		OK(read_words(f, call.outputs[0].address));
		OK(philox_output_release(r, f->stream, &call.outputs[0]));
		UNKNOWN(f, read_words(f, call.outputs[0].address),
			"output 'y' of function 'layer' was released");
		OK(read_words(f, call.outputs[1].address));
		OK(philox_output_release(r, f->stream, &call.outputs[1]));
		UNKNOWN(f, read_words(f, call.outputs[1].address),
			"output 'echo' of function 'layer' was released");
	}
	cr_assert_geq(counts_of(&layer).replay, 3);
}

RUNNER_PROMISE(runner_released, outputs_that_nobody_wants_are_unknown)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call call = new_call(&layer, x, 0);
	const void *y;

	make_function(&layer, r, "layer");
	for (int i = 0; i < 3; i++)
		call_forward(&layer, x, 0);
	OK(try_call(&layer, &call));
	y = call.outputs[0].address;
	release_outputs(&layer, &call);
	call = new_call(&layer, x, 0);
	call.call.n_outputs = 0;
	OK(try_call(&layer, &call));
	cr_assert_eq(call.call.kind, PHILOX_CALL_REPLAY);
	UNKNOWN(f, read_words(f, y),
		"output 'y' of function 'layer' was released");
}

RUNNER_PROMISE(runner_released, outputs_of_a_step_are_unknown)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer_call call = new_call(&layer, make_words(f, 3), 0);

	make_function(&layer, r, "layer");
	OK(try_call(&layer, &call));
	OK(philox_ticket_release(layer.region, f->stream, call.use.ticket));
	OK(philox_runner_step_begin(r, f->stream, 0, NULL));
	UNKNOWN(f, read_words(f, call.outputs[0].address),
		"output 'y' of function 'layer' was released");
}

/* The copy of an input is memory of the recording, which nobody has. */
RUNNER_PROMISE(runner_released, memory_takes_the_copies_of_a_replay)
{
	static const struct philox_input_desc x = {.name = "x",
						   .kind = PHILOX_INPUT_COPIED};
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_desc options = layer_options("layer", &layer);
	struct layer_call call;

	options.inputs = &x;
	make_function_of(&layer, r, &options);
	for (uint32_t i = 0; i < 6; i++) {
		call = new_call(&layer, make_words(f, i), 0);
		OK(try_call(&layer, &call));
		SAME(read_numbers(f, call.outputs[1].address), all_words(i),
		     "%u", i);
		release_outputs(&layer, &call);
	}
	cr_assert_geq(counts_of(&layer).replay, 3);
	if (device_is_strict(f->device)) { /* what is copied is looked at */
		call = new_call(&layer, call.outputs[0].address, 0);
		FAILS(try_call(&layer, &call), PHILOX_ERROR_INVALID);
	}
}
