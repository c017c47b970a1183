/*
 * tests/runner/policy/bytes.c - how many bytes of recordings a function keeps
 */
#include "tests/support/beds/runner_scene.h"

enum { KEYS = 8 };

static uint64_t graphs(struct philox_runner *r)
{
	return pool_look(philox_runner_pool(r)).graphs;
}

/*
 * What a recording takes beside the pool. The recordings of "model", which are
 * there to the end, write the pool's first extent, so that nobody has it alone.
 */
static uint64_t bytes_of_a_key(struct fixture *f, struct philox_runner *r)
{
	static struct layer layer;
	uint32_t *x[3] = {make_words(f, 3), make_words(f, 4), make_words(f, 5)};
	uint64_t bytes[3];

	layer = make_layer(f, r, "model");
	make_function(&layer, r, "model");
	cr_assert_eq(counts_of(&layer).bytes, 0, "there is no recording");
	kind_of_call(&layer, x[0], 0);
	cr_assert_eq(counts_of(&layer).bytes, 0, "there is no recording");
	for (int i = 0; i < 3; i++) {
		KIND(&layer, x[i], 0, PHILOX_CALL_RECORD);
		bytes[i] = counts_of(&layer).bytes;
		cr_assert_eq(counts_of(&layer).pool_bytes, i ? 0 : 2 << 20,
			     "the first one has its extent alone");
	}
	cr_assert_geq(bytes[0], (2 << 20) + 100);
	cr_assert_gt(bytes[2], bytes[1]);
	KIND(&layer, x[1], 0, PHILOX_CALL_REPLAY);
	cr_assert_eq(counts_of(&layer).bytes, bytes[2]);
	return bytes[2] - bytes[1];
}

RUNNER_PROMISE(runner_bytes, may_be_of_bytes)
{
	uint64_t one = bytes_of_a_key(f, r);
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.bytes = 5 * one / 2});
	for (uint32_t key = 0; key < KEYS; key++) {
		settle(&layer, x, key);
		cr_assert_leq(counts_of(&layer).bytes, 5 * one / 2);
		cr_assert_leq(counts_of(&layer).recordings, 2);
		cr_assert_geq(counts_of(&layer).recordings, 1);
		cr_assert_leq(graphs(r), 3 + 2);
	}
	cr_assert_eq(counts_of(&layer).recordings, 2);
	cr_assert_eq(counts_of(&layer).evicted, KEYS - 2);
	cr_assert_eq(counts_of(&layer).keys, KEYS, "keys stay");
	KIND(&layer, x, KEYS - 2, PHILOX_CALL_REPLAY);
	KIND(&layer, x, KEYS - 1, PHILOX_CALL_REPLAY);
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
	cr_assert_str_eq(philox_function_reason(layer.function),
			 "its recording was evicted, for policy.bytes");
	SAME(call_forward(&layer, x, 0).saw,
	     predict(0, "layer", 4 * (5 * KEYS + 3)), "in order");
}

/* One that is too large by itself stays while it is called. */
RUNNER_PROMISE(runner_bytes, of_bytes_leave_the_key_that_is_called)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.bytes = 1});
	settle(&layer, x, 0);
	settle(&layer, x, 1);
	cr_assert_eq(counts_of(&layer).recordings, 1);
	cr_assert_eq(counts_of(&layer).evicted, 1);
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
}

RUNNER_PROMISE(runner_bytes, of_bytes_hold_for_prepared_calls)
{
	uint64_t one = bytes_of_a_key(f, r);
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call calls[6];
	size_t prepared;

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.bytes = 7 * one / 2});
	for (uint32_t i = 0; i < 6; i++)
		calls[i] = new_call(&layer, x, i);
	OK(try_prepare(&layer, calls, 6, &prepared));
	cr_assert_eq(prepared, 3);
	cr_assert_eq(counts_of(&layer).evicted, 3);
	cr_assert_leq(counts_of(&layer).bytes, 7 * one / 2);
	for (uint32_t i = 3; i < 6; i++)
		KIND(&layer, x, i, PHILOX_CALL_REPLAY);
}
