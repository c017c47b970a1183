/*
 * tests/runner/calls/counts.c - what a function counts, and which times grow
 */
#include "tests/support/beds/runner_scene.h"

/* --- times ---------------------------------------------------------------- */

enum {
	CREATE = 1,
	DRY = 2,
	EAGER = 4,
	WARMUP = 8,
	RECORD = 16,
	INSTANTIATE = 32,
	CHECKPOINT = 64,
	RESTORE = 128,
	FIRST = 256,
	REPLAY = 512
};

/* Which times of one function are above those of another moment. */
static unsigned grown(const struct philox_function_stats *before,
		      const struct philox_function_stats *now)
{
	const uint64_t *then = &before->create_ns, *time = &now->create_ns;
	unsigned grew = 0;

	for (int i = 0; i < 10; i++) {
		cr_assert_geq(time[i], then[i], "time %d went back", i);
		grew |= time[i] > then[i] ? 1u << i : 0;
	}
	return grew;
}

/* `must` grew; what is in neither of the two did not. */
#define GREW(layer, must, may)                                        \
	do {                                                          \
		struct philox_function_stats now_ = counts_of(layer); \
		unsigned grew_ = grown(&counts, &now_);               \
                                                                      \
		cr_assert_eq(grew_ &(must), (unsigned)(must),         \
			     "%#x grew: "                             \
			     "not all of %#x",                        \
			     grew_, (unsigned)(must));                \
		cr_assert_eq(grew_ & ~(unsigned)((must) | (may)), 0u, \
			     "%#x grew: more than %#x", grew_,        \
			     (unsigned)((must) | (may)));             \
		counts = now_;                                        \
	} while (0)

static int asked_to_refuse;

static enum philox_status refuse_when_asked(struct layer *layer,
					    struct philox_run *run)
{
	(void)layer;
	return asked_to_refuse ? philox_run_refuse(run, "as asked") : PHILOX_OK;
}

RUNNER_PROMISE(runner_counts, of_time_grow_in_the_calls_that_they_are_about)
{
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_stats counts =
		PHILOX_INIT(struct philox_function_stats);
	uint32_t *x = make_words(f, 3);

	layer.hook = refuse_when_asked;
	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.dry = 1, .retry = 1});
	GREW(&layer, CREATE, 0);
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	GREW(&layer, DRY | WARMUP, RESTORE | CHECKPOINT);
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
	GREW(&layer, RECORD | INSTANTIATE | FIRST | CHECKPOINT, RESTORE);
	for (int i = 0; i < 3; i++) {
		KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
		GREW(&layer, REPLAY, RESTORE);
	}
	asked_to_refuse = 1;
	KIND(&layer, x, 1, PHILOX_CALL_WARMUP);
	GREW(&layer, DRY | WARMUP, RESTORE | CHECKPOINT);
	asked_to_refuse = 0;
	KIND(&layer, x, 1, PHILOX_CALL_EAGER); /* it waits */
	GREW(&layer, EAGER, RESTORE);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
	GREW(&layer, REPLAY, RESTORE);
	KIND(&layer, x, 2, PHILOX_CALL_WARMUP);
	GREW(&layer, DRY | WARMUP, RESTORE | CHECKPOINT);
}

RUNNER_PROMISE(runner_counts, of_time_tell_prepared_calls)
{
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_stats counts;
	uint32_t *x = make_words(f, 3);
	struct layer_call call;

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.dry = 2});
	counts = counts_of(&layer);
	call = new_call(&layer, x, 0);
	OK(try_prepare(&layer, &call, 1, NULL));
	GREW(&layer, DRY | RECORD | INSTANTIATE | CHECKPOINT, RESTORE);
	OK(try_prepare(&layer, &call, 1, NULL));
	GREW(&layer, 0, 0);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
	GREW(&layer, 0, FIRST | REPLAY | RESTORE);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
	GREW(&layer, REPLAY, RESTORE);
}

/* The pool is put back before a call that runs the body after a replay. */
RUNNER_PROMISE(runner_counts, of_time_tell_when_the_pool_is_put_back)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer other = make_layer(f, r, "other");
	uint32_t *x = make_words(f, 3);

	make_function(&layer, r, "layer");
	make_function(&other, r, "other");
	for (int i = 0; i < 4; i++) {
		kind_of_call(&layer, x, 0);
		kind_of_call(&other, x, 0);
		kind_of_call(&other, x, 1 + (uint32_t)i);
	}
	cr_assert_gt(
		counts_of(&layer).restore_ns + counts_of(&other).restore_ns, 0);
}

/* Another function's times, and calls that are not, leave them as they are. */
RUNNER_PROMISE(runner_counts, of_time_are_of_one_function)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer other = make_layer(f, r, "other");
	struct philox_function_stats counts;
	uint32_t *x = make_words(f, 3);
	struct layer_call call = new_call(&layer, x, 0);

	make_function(&layer, r, "layer");
	make_function(&other, r, "other");
	for (int i = 0; i < 3; i++)
		kind_of_call(&layer, x, 0);
	counts = counts_of(&layer);
	for (int i = 0; i < 4; i++)
		kind_of_call(&other, x, 0);
	call.call.reserved = 1;
	FAILS(try_call(&layer, &call), PHILOX_ERROR_INVALID);
	OK(philox_runner_step_begin(r, f->stream, 0, NULL));
	GREW(&layer, 0, 0);
}

RUNNER_PROMISE(runner_counts, of_time_tell_that_nothing_was_dry)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	make_function(&layer, r, "layer");
	for (uint32_t i = 0; i < 8; i++)
		kind_of_call(&layer, x, i / 4);
	cr_assert_eq(counts_of(&layer).dry_ns, 0, "%d ns",
		     (int)counts_of(&layer).dry_ns);
}

/* An eager function has nothing but bodies. */
RUNNER_PROMISE(runner_counts, of_time_are_eager_for_an_eager_function)
{
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_desc options = layer_options("layer", &layer);
	struct philox_function_stats counts =
		PHILOX_INIT(struct philox_function_stats);
	uint32_t *x = make_words(f, 3);

	options.flags = PHILOX_FUNCTION_EAGER;
	make_function_of(&layer, r, &options);
	GREW(&layer, CREATE, 0);
	for (int i = 0; i < 3; i++) {
		KIND(&layer, x, 0, PHILOX_CALL_EAGER);
		GREW(&layer, EAGER, RESTORE);
	}
}

/* --- why a call was not replayed ------------------------------------------ */

RUNNER_PROMISE(runner_counts, tell_a_region_that_went)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct philox_function_stats counts;

	make_function(&layer, r, "layer");
	for (uint64_t i = 0; i < 3; i++) {
		for (int k = 0; k < 3; k++)
			kind_of_call(&layer, x, 0);
		counts = counts_of(&layer);
		cr_assert_eq(counts.missed_stale, i);
		cr_assert_eq(counts.missed_new, 1);
		OK(philox_region_destroy(layer.region));
		layer.region = make_region(f, "layer");
		KIND(&layer, x, 0, PHILOX_CALL_RECORD);
		counts = counts_of(&layer);
		cr_assert_eq(counts.missed_stale, i + 1);
		cr_assert_eq(counts.missed_moved, 0);
		cr_assert_eq(counts.missed_live, 0);
		cr_assert_eq(counts.recordings, 1);
		cr_assert_neq(*philox_function_reason(layer.function), '\0');
	}
	cr_assert_eq(counts_of(&layer).warmup, 1);
}

static struct philox_region *second;

static enum philox_status draw_second(struct layer *layer,
				      struct philox_run *run)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_run_forward_begin(run, second, 0, &pass));
	draw(&pass, layer->f->scratch);
	return philox_pass_commit(&pass, 0, &ticket);
}

static uint32_t kind_of_two(struct layer *layer, const void *x)
{
	struct layer_call call = new_call(layer, x, 0);
	struct philox_launch_pass uses[2] = {{.flags = 0}};

	call.call.inputs = &call.x;
	call.call.outputs = call.outputs;
	call.call.passes = uses;
	call.call.n_passes = 2;
	OK(philox_function_call(layer->function, &call.call));
	release_outputs(layer, &call);
	for (int i = 0; i < 2; i++)
		OK(philox_ticket_release(i ? second : layer->region,
					 layer->f->stream, uses[i].ticket));
	return call.call.kind;
}

/* All recordings that used it go with it, whichever pass was its. */
RUNNER_PROMISE(runner_counts, tell_either_of_two_regions_that_went)
{
	struct layer layer = make_layer(f, r, "first");
	uint32_t *x[2] = {make_words(f, 3), make_words(f, 4)};

	second = make_region(f, "second");
	layer.hook = draw_second;
	make_function(&layer, r, "layer");
	kind_of_two(&layer, x[0]);
	for (uint64_t i = 0; i < 4; i++) {
		for (int k = 0; k < 4; k++)
			kind_of_two(&layer, x[k / 2]);
		cr_assert_eq(kind_of_two(&layer, x[0]), PHILOX_CALL_REPLAY);
		cr_assert_eq(counts_of(&layer).missed_stale, i);
		cr_assert_eq(counts_of(&layer).recordings, 2);
		OK(philox_region_destroy(i % 2 ? second : layer.region));
		if (i % 2)
			second = make_region(f, "second");
		else
			layer.region = make_region(f, "first");
		cr_assert_eq(kind_of_two(&layer, x[0]), PHILOX_CALL_RECORD);
		cr_assert_eq(counts_of(&layer).missed_stale, i + 1);
		cr_assert_eq(counts_of(&layer).recordings, 1);
	}
}

/* Each call after the warm-ups is a replay, or is missed for one reason. */
RUNNER_PROMISE(runner_counts, have_one_reason_for_each_call)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x[3] = {make_words(f, 0), make_words(f, 1), make_words(f, 2)};
	struct layer_call kept[4];
	struct philox_function_stats c;
	unsigned n_kept = 0;

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.recordings = 1});
	for (unsigned i = 0; i < 60; i++) {
		struct layer_call call =
			made_call(&layer, x[i * i / 5 % 3], i / 20);

		OK(philox_ticket_release(layer.region, f->stream,
					 call.use.ticket));
		if (i % 7 == 0 && n_kept < 4)
			kept[n_kept++] = call;
		else
			release_outputs(&layer, &call);
		if (n_kept == 4)
			while (n_kept)
				release_outputs(&layer, &kept[--n_kept]);
		if (i == 33) {
			OK(philox_region_destroy(layer.region));
			layer.region = make_region(f, "layer");
		}
	}
	while (n_kept)
		release_outputs(&layer, &kept[--n_kept]);
	c = counts_of(&layer);
	cr_assert_eq(c.eager + c.warmup + c.record + c.replay, 60);
	cr_assert_eq(c.missed_new + c.missed_moved + c.missed_live +
			     c.missed_stale + c.missed_evicted +
			     c.missed_refused + c.missed_eager,
		     c.eager + c.record);
	cr_assert_leq(c.missed_bound,
		      c.missed_moved + c.missed_live + c.missed_evicted);
	cr_assert_eq(c.missed_bound, c.eager);
	cr_assert_gt(c.missed_bound, 0);
	cr_assert_gt(c.missed_moved, 0);
	cr_assert_gt(c.missed_evicted, 0);
	cr_assert_gt(c.missed_live, 0);
	cr_assert_eq(c.bodies, c.eager + c.warmup + c.record);
}

/* --- who may ask ---------------------------------------------------------- */

static struct outcome count;

static void ask(void *user)
{
	struct layer *layer = user;
	struct philox_function_stats counts =
		PHILOX_INIT(struct philox_function_stats);

	count = outcome_of(philox_function_get_stats(layer->function, &counts));
}

static enum philox_status asks(struct layer *layer, struct philox_run *run)
{
	(void)run;
	on_thread(ask, layer);
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_counts, are_not_read_while_another_thread_calls)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	layer.hook = asks;
	make_function(&layer, r, "layer");
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	GAVE(count, PHILOX_ERROR_BUSY);
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
	GAVE(count, PHILOX_ERROR_BUSY);
	on_thread(ask, &layer);
	cr_assert_eq(count.status, PHILOX_OK);
}
