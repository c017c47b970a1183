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

/* Of a pool that no runner has. */
static void *freed_block(struct fixture *f)
{
	struct philox_pool *pool = make_pool(f, "other", 0);
	struct philox_pool_block block;

	OK(philox_pool_alloc(pool, f->stream, BYTES, 0, "gone", &block));
	OK(philox_pool_free(pool, f->stream, block.address));
	return block.address;
}

/*
 * The copy of an input is memory of the recording, which nobody has once the
 * pool's view is right.
 */
RUNNER_PROMISE(runner_released, memory_takes_the_copies_of_a_replay)
{
	static const struct philox_input_desc x = {.name = "x",
						   .kind = PHILOX_INPUT_COPIED};
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_desc options = layer_options("layer", &layer);
	struct layer_call call;

	options.inputs = &x;
	make_function_of(&layer, r, &options);
	for (uint32_t i = 0; i < 12; i++) {
		call = new_call(&layer, make_words(f, i), i % 2);
		OK(try_call(&layer, &call));
		SAME(read_numbers(f, call.outputs[1].address), all_words(i),
		     "%u", i);
		release_outputs(&layer, &call);
		cr_assert_eq(pool_look(philox_runner_pool(r)).blocks, 0);
	}
	cr_assert_geq(counts_of(&layer).replay, 6);
	call = new_call(&layer, call.outputs[0].address, 1);
	FAILS(try_call(&layer, &call), PHILOX_ERROR_STALE);
	NAMES("output 'y'");
	if (!device_is_strict(f->device))
		return;
	call = new_call(&layer, freed_block(f), 1);
	FAILS(try_call(&layer, &call), PHILOX_ERROR_INVALID);
	NAMES("'gone'");
}

/* --- patterns --------------------------------------------------------------- */

struct looked {
	const unsigned char *at;
	int byte;
};

static void look_at_byte(const void *args)
{
	struct looked *looked;

	memcpy(&looked, args, sizeof(looked));
	looked->byte = *looked->at;
}

/* A byte, in stream order, whatever the device thinks of its memory. */
static int byte_at(struct fixture *f, philox_stream stream, const void *from)
{
	struct looked looked = {from, -1}, *to = &looked;

	OK(philox_stream_launch_host(f->device, stream, look_at_byte, &to,
				     sizeof(to)));
	OK(philox_stream_synchronize(f->device, stream));
	return looked.byte;
}

/* Values whose bytes are no pattern's, in calls of every kind. */
static void fills(const char *device)
{
	struct fixture f;
	struct philox_runner *r;
	struct layer layer;
	uint32_t *x;

	fixture_open(&f, device);
	r = make_runner_of(&f, "filled",
			   PHILOX_POOL_FILL | PHILOX_POOL_GUARDS);
	layer = make_layer(&f, r, "layer");
	make_function(&layer, r, "layer");
	x = make_words(&f, 0x03030303);
	for (int i = 0; i < 6; i++) {
		struct layer_call call = new_call(&layer, x, 0);
		unsigned char *echo;

		OK(try_call(&layer, &call));
		echo = call.outputs[1].address;
		cr_assert_eq(byte_at(&f, f.stream, echo + BYTES - 1), 3);
		if (i % 2) {
			OK(philox_output_release(r, f.stream, &call.outputs[1]));
			cr_assert_eq(byte_at(&f, f.stream, echo), 0xff);
			OK(philox_output_release(r, f.side, &call.outputs[0]));
			cr_assert_eq(byte_at(&f, f.side,
					     call.outputs[0].address),
				     0xff);
		} else {
			OK(philox_runner_step_begin(
				r, f.side, PHILOX_STEP_RELEASE_ALL, NULL));
			cr_assert_eq(byte_at(&f, f.side, echo + BYTES - 1),
				     0xff);
		}
		OK(philox_device_synchronize(f.device));
		OK(philox_pool_check(philox_runner_pool(r), f.stream));
	}
	cr_assert_geq(counts_of(&layer).replay, 3);
	fixture_close(&f);
}

Test(runner_released, outputs_are_filled, .timeout = 120)
{
	fills("host:sync");
	fills("host:strict");
}

static void write_there(const void *args)
{
	unsigned char *to;

	memcpy(&to, args, sizeof(to));
	*to = 7;
}

static enum philox_status do_nothing(void *user, struct philox_run *run)
{
	(void)user;
	(void)run;
	return PHILOX_OK;
}

static struct philox_function *make_island(struct philox_runner *r)
{
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_function *island;

	options.name = "island";
	options.body = do_nothing;
	OK(philox_function_create(r, &options, &island));
	return island;
}

/* No stream is known that waits for what a ticket releases: the next call is. */
static void fills_later(const char *device)
{
	struct fixture f;
	struct philox_runner *r;
	struct philox_function *island;
	struct philox_call none = PHILOX_INIT(struct philox_call);
	struct layer layer;
	struct layer_call call;
	unsigned char *echo;

	fixture_open(&f, device);
	r = make_runner_of(&f, "filled", PHILOX_POOL_FILL);
	layer = make_layer(&f, r, "layer");
	make_function(&layer, r, "layer");
	island = make_island(r);
	none.stream = f.side;
	for (int i = 0; i < 5; i++) {
		call = new_call(&layer, make_words(&f, 3), 0);
		OK(try_call(&layer, &call));
		echo = call.outputs[1].address;
		for (int k = 0; k < 2; k++)
			OK(philox_output_tie(r, &call.outputs[k], layer.region,
					     call.use.ticket));
		OK(philox_ticket_release(layer.region, f.stream,
					 call.use.ticket));
		cr_assert_eq(byte_at(&f, f.stream, echo), 3);
		OK(philox_function_call(island, &none));
		cr_assert_eq(byte_at(&f, f.side, echo), 0xff, "kind %u",
			     none.kind);
		OK(philox_pool_check(philox_runner_pool(r), f.stream));
		OK(philox_stream_launch_host(f.device, f.stream, write_there,
					     &echo, sizeof(echo)));
		FAILS(philox_pool_check(philox_runner_pool(r), f.stream),
		      PHILOX_ERROR_STATE);
		NAMES("pool 'filled': memory was written 0 bytes after the "
		      "beginning of block");
		NAMES("with tag 'echo', which was freed");
	}
	fixture_close(&f);
}

Test(runner_released, outputs_of_a_ticket_are_filled_by_the_next_call,
     .timeout = 120)
{
	fills_later("host:sync");
	fills_later("host:strict");
}
