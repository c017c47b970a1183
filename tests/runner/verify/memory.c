/*
 * tests/runner/verify/memory.c - verification without memory for it, and when
 * the device fails
 */
#include <stdio.h>
#include "graph/runner/state/state.h"
#include "tests/support/beds/verify.h"

enum { BYTES = ACT_BYTES, LARGE = 6 << 20 };

static unsigned times_logged(const char *text)
{
	unsigned times = 0;

	for (const char *at = strstr(logged_texts(), text); at;
	     at = strstr(at + 1, text))
		times++;
	return times;
}

/* --- no memory ------------------------------------------------------------ */

/* y is large, and ends with x. */
static enum philox_status large_script(struct act *act, struct props *props)
{
	void *y;

	TRY_(philox_run_alloc(props->run, LARGE, 0, "y", &y));
	TRY_(philox_memory_set(act->f->device, props->stream, y, 5, LARGE));
	props->out[0] = (uint32_t *)y + LARGE / 4 - WORDS;
	return prop_copy(act, props, props->out[0], props->in[0]);
}

static struct act make_large(struct fixture *f, struct philox_runner *r)
{
	struct act act = new_act(f, r, large_script);

	act.n_uses = 0;
	act.no_alloc = 1;
	act.in[0].address = make_words(f, 3);
	return act;
}

static void replay_large(struct act *act, uint32_t word)
{
	struct numbers words = all_words(word);

	OK(philox_memory_copy(act->f->device, act->f->stream,
			      act->in[0].address, &words, BYTES));
	OK(call_act(act));
	cr_assert_eq(act->call.kind, PHILOX_CALL_REPLAY);
	SAME(read_numbers(act->f, act->out[0].address), words, "y");
	release_act(act);
}

/* On host devices the memory may be limited to what there is. */
static void no_memory(const char *device, uint32_t flags)
{
	struct philox_function_stats counts;
	struct fixture f;
	struct philox_runner *r;
	struct act act;

	fixture_open(&f, device);
	f.injected = 1;
	r = make_runner_of(&f, "runner", flags);
	act = make_large(&f, r);
	make_act(&act, "act");
	rehearse(&act);
	log_texts(&f);
	OK(philox_device_limit_memory(f.device, 1));
	for (unsigned i = 1; i < 4; i++) {
		replay_large(&act, i);
		VERIFIED(&act, 0, 0, i);
	}
	cr_assert_eq(times_logged("not verified|"), 1, "%s", logged_texts());
	LOGGED("'act'");
	cr_assert_eq(act_counts(&act).failed, 0);
	OK(philox_device_limit_memory(f.device, 0));
	replay_large(&act, 9);
	VERIFIED(&act, 1, 0, 3);
	replay_large(&act, 10);
	VERIFIED(&act, 2, 0, 3);
	counts = act_counts(&act);
	cr_assert_eq(counts.bodies - counts.checking, 2);
	OK(philox_context_set_log(f.context, NULL, NULL));
	fixture_close(&f);
}

Test(runner_verify_memory, that_there_is_not_lets_replays_go_on, .timeout = 60)
{
	no_memory("host:sync", 0);
	no_memory("host:strict", PHILOX_POOL_EXPANDABLE);
}

/* The second pool is no larger than the first one may be. */
RUNNER_PROMISE(runner_verify_memory, is_no_more_than_a_second_pool)
{
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);
	struct act act;

	options.name = "small";
	options.pool_limit = 8 << 20;
	OK(philox_runner_create(f->context, &options, &r));
	act = make_large(f, r);
	make_act(&act, "act");
	rehearse(&act);
	for (uint32_t i = 1; i < 4; i++) {
		replay_large(&act, i);
		cr_assert_eq(act_counts(&act).verified +
				     act_counts(&act).unverified,
			     i);
	}
	cr_assert_leq(pool_look(philox_runner_pool(r)).mapped, 8 << 20);
}

/* What the first verification took is enough for those after it. */
RUNNER_PROMISE(runner_verify_memory, is_taken_once)
{
	static const char *const operations[] = {"mem_alloc", "space_map",
						 "mapped_alloc"};
	struct act act = make_large(f, r);
	uint64_t before[3];

	make_act(&act, "act");
	rehearse(&act);
	replay_large(&act, 1);
	for (int i = 0; i < 3; i++)
		before[i] = calls_of(f, operations[i]);
	for (uint32_t i = 2; i < 40; i++)
		replay_large(&act, i);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(calls_of(f, operations[i]), before[i], "%s",
			     operations[i]);
	VERIFIED(&act, 39, 0, 0);
}

/* --- runs that explain a difference --------------------------------------- */

enum { RUNS = 5 }; /* the first one, and four that explain */

struct seen_runs {
	uint64_t blocks[RUNS + 1]; /* of the second pool, as each began */
	unsigned n;
};

/* It has an input that is not aligned, a value, memory and something frozen. */
static enum philox_status greedy_script(struct act *act, struct props *props)
{
	struct seen_runs *runs = act->prop;
	const void *rate;
	void *more;

	if (runs && act->runner->spare && runs->n <= RUNS)
		runs->blocks[runs->n++] = pool_look(act->runner->spare).blocks;
	TRY_(philox_run_param(props->run, 0, &rate));
	TRY_(philox_run_alloc(props->run, BYTES, 0, "more", &more));
	TRY_(prop_copy(act, props, more, props->in[0]));
	TRY_(prop_copy(act, props, props->out[0], more));
	TRY_(prop_words(act, props, props->out[0], rate, 1));
	return philox_memory_set(act->f->device, props->stream,
				 props->out[0] + 5, (int)act->n, 4);
}

RUNNER_PROMISE(runner_verify_memory, of_a_later_run_is_free_before_the_next)
{
	struct seen_runs runs = {.n = 0};
	struct act act = new_act(f, r, greedy_script);
	unsigned char *x = make_memory(f, BYTES + 16);

	OK(philox_memory_set(f->device, f->stream, x, 3, BYTES + 16));
	act.n_uses = 0;
	act.has_rate = 1;
	act.inputs[0].kind = PHILOX_INPUT_COPIED;
	act.inputs[0].alignment = 16;
	act.in[0].address = x + 4;
	make_act(&act, "act");
	rehearse(&act);
	act.n = 2;
	act.prop = &runs;
	FAILS(call_act(&act), PHILOX_ERROR_DIFFERS);
	NAMES("frozen");
	cr_assert_eq(runs.n, RUNS, "%u runs", runs.n);
	for (unsigned i = 3; i < RUNS; i++)
		cr_assert_eq(runs.blocks[i], runs.blocks[2],
			     "run %u has %d blocks, and run 2 %d", i,
			     (int)runs.blocks[i], (int)runs.blocks[2]);
	LIVE(f, r, 0);
}

/* Its first memory is that of a value. */
static enum philox_status value_script(struct act *act, struct props *props)
{
	const void *rate;
	void *y;

	TRY_(philox_run_param(props->run, 0, &rate));
	TRY_(philox_run_alloc(props->run, BYTES, 0, "y", &y));
	props->out[0] = y;
	return prop_copy(act, props, y, props->in[0]);
}

/* On host devices, too. */
static void no_memory_for_a_value(const char *device)
{
	struct fixture f;
	struct act act;

	fixture_open(&f, device);
	f.injected = 1;
	act = new_act(&f, make_runner_of(&f, "runner", 0), value_script);
	act.n_uses = 0;
	act.no_alloc = 1;
	act.has_rate = 1;
	act.in[0].address = make_words(&f, 3);
	make_act(&act, "act");
	rehearse(&act);
	OK(philox_device_limit_memory(f.device, 1));
	OK(call_act(&act));
	cr_assert_eq(act.call.kind, PHILOX_CALL_REPLAY);
	VERIFIED(&act, 0, 0, 1);
	release_act(&act);
	OK(philox_device_limit_memory(f.device, 0));
	play_act(&act, PHILOX_CALL_REPLAY);
	VERIFIED(&act, 1, 0, 1);
	fixture_close(&f);
}

Test(runner_verify_memory, for_a_value_lets_replays_go_on, .timeout = 60)
{
	no_memory_for_a_value("host:sync");
	no_memory_for_a_value("host");
}

/* --- every device call fails once ----------------------------------------- */

/* A backward, a forward, a mutated input, a value: what a verification has. */
static enum philox_status full_script(struct act *act, struct props *props)
{
	const struct philox_ticket none = {0, 0};
	struct philox_ticket made;
	struct philox_pass pass;
	const void *rate;

	TRY_(philox_run_param(props->run, 0, &rate));
	TRY_(philox_run_backward_begin(props->run, act->region, none, 0,
				       &pass));
	TRY_(draw_or_fail(&pass, props->out[0]));
	TRY_(philox_pass_commit(&pass, 0, NULL));
	TRY_(philox_run_forward_begin(props->run, act->region, 0, &pass));
	TRY_(draw_or_fail(&pass, props->out[1]));
	TRY_(philox_pass_commit(&pass, 0, &made));
	TRY_(prop_copy(act, props, props->out[2], props->in[0]));
	return prop_words(act, props, props->in[0], rate, 4);
}

struct fragile {
	struct fixture *f;
	struct philox_runner *r;
	struct act act;
	struct forward one; /* owed */
	struct numbers x;
	struct block_set *seen;
	uint64_t calls; /* of the device, in the last call */
	unsigned failed, unverified;
};

/* On success it is right, and x is changed once. */
static enum philox_status call_fragile(struct fragile *g, uint32_t rate)
{
	struct act *act = &g->act;
	enum philox_status status;

	act->uses[0] = (struct philox_launch_pass){g->one.ticket, 0, 0};
	act->uses[1] = (struct philox_launch_pass){{6, 6}, 0, 0};
	act->rate = rate;
	g->calls = philox_device_call_count(g->f->device, NULL);
	status = call_act(act);
	g->calls = philox_device_call_count(g->f->device, NULL) - g->calls;
	OK(philox_device_fail(g->f->device, NULL, 0, PHILOX_OK));
	if (status != PHILOX_OK) {
		cr_assert_eq(act->uses[1].ticket.serial, 6);
		return status;
	}
	SAME(read_numbers(g->f, act->out[0].address), g->one.saw, "backward");
	SAME(read_numbers(g->f, act->out[2].address), g->x, "x, before");
	g->one.saw = read_numbers(g->f, act->out[1].address);
	g->one.ticket = act->uses[1].ticket;
	cr_assert_eq(block_set_add(g->seen, &g->one.saw), 0, "seen before");
	memset(g->x.word, 0, 16);
	g->x.word[0] = rate;
	SAME(read_numbers(g->f, act->in[0].address), g->x, "x");
	release_act(act);
	return PHILOX_OK;
}

static void make_fragile(struct fragile *g)
{
	struct act *act = &g->act;
	struct philox_region *region = act->region;

	*act = new_act(g->f, g->r, full_script);
	act->region = region;
	act->n_uses = 2;
	act->n_outputs = 3;
	act->has_rate = 1;
	act->inputs[0].flags = PHILOX_INPUT_MUTATED;
	act->in[0].address = make_words(g->f, 9);
	act->policy.retry = 1;
	g->x = all_words(9);
	make_act(act, "act");
}

/* The n-th device call of the first verified replay fails; 0: there are fewer. */
static int fail_at(struct fragile *g, uint64_t n)
{
	enum philox_status status;
	uint64_t calls;
	enum philox_capture_status capture;

	make_fragile(g);
	for (uint32_t i = 0; i < 2; i++)
		OK(call_fragile(g, 100 + i));
	OK(philox_device_fail(g->f->device, NULL, n, PHILOX_ERROR_DEVICE));
	status = call_fragile(g, 200);
	calls = g->calls;
	g->failed += status != PHILOX_OK;
	g->unverified += act_counts(&g->act).unverified != 0;
	OK(philox_stream_capture_info(g->f->device, g->f->stream, &capture,
				      NULL));
	cr_assert_eq(capture, PHILOX_CAPTURE_NONE);
	PENDING(g->act.region, 1);
	if (status != PHILOX_OK) /* a copy back may have failed, too */
		g->x = read_numbers(g->f, g->act.in[0].address);
	for (uint32_t i = 0; i < 3; i++)
		OK(call_fragile(g, 300 + i));
	cr_assert_eq(act_counts(&g->act).differed, 0);
	OK(philox_stream_synchronize(g->f->device, g->f->stream));
	OK(philox_function_destroy(g->act.function));
	return status != PHILOX_OK || n <= calls;
}

RUNNER_PROMISE(runner_verify_memory, calls_that_fail_leave_nothing_behind)
{
	struct fragile g = {.f = f, .r = r, .seen = block_set_new()};
	uint64_t n = 1;

	f->injected = 1;
	g.act.region = make_region(f, "layer");
	g.one = forward(f, g.act.region);
	while (fail_at(&g, n))
		n++;
	cr_assert_geq(n, 15, "%d device calls only", (int)n);
	cr_assert_geq(g.failed, 4);
	LIVE(f, r, 0);
	block_set_free(g.seen);
}

/* What one failure left behind is found by a call that fails, too. */
RUNNER_PROMISE(runner_verify_memory, calls_that_fail_twice_leave_nothing_behind)
{
	struct fragile g = {.f = f, .r = r, .seen = block_set_new()};

	f->injected = 1;
	g.act.region = make_region(f, "layer");
	g.one = forward(f, g.act.region);
	make_fragile(&g);
	for (uint32_t i = 0; i < 3; i++)
		OK(call_fragile(&g, i));
	for (unsigned n = 0; n < 90 * 16; n++) {
		const unsigned nth[2] = {1 + n / 16, 1 + n % 16};

		for (int k = 0; k < 2; k++) {
			g.act.stream = k && n % 3 ? f->side : f->stream;
			OK(philox_device_fail(f->device, NULL, nth[k],
					      PHILOX_ERROR_DEVICE));
			if (call_fragile(&g, 200) == PHILOX_OK)
				continue;
			g.x = read_numbers(f, g.act.in[0].address);
			g.failed++;
		}
		OK(philox_device_synchronize(f->device));
		OK(call_fragile(&g, 300));
		PENDING(g.act.region, 1);
		cr_assert_eq(act_counts(&g.act).differed, 0);
	}
	cr_assert_geq(g.failed, 100);
	LIVE(f, r, 0);
	block_set_free(g.seen);
}

/* Memory alone that the device does not give lets the replay go on. */
RUNNER_PROMISE(runner_verify_memory, allocations_that_fail_let_replays_go_on)
{
	static const char *const operations[] = {"mem_alloc", "space_map",
						 "space_reserve"};
	struct fragile g = {.f = f, .r = r, .seen = block_set_new()};

	f->injected = 1;
	g.act.region = make_region(f, "layer");
	g.one = forward(f, g.act.region);
	for (unsigned i = 0; i < 3; i++) {
		struct philox_runner *runner;
		char name[16];

		snprintf(name, sizeof(name), "%u", i);
		runner =
			make_runner_of(f, name, i ? PHILOX_POOL_EXPANDABLE : 0);
		g.r = runner;
		make_fragile(&g);
		OK(call_fragile(&g, 1));
		OK(call_fragile(&g, 2));
		OK(philox_device_fail(f->device, operations[i], 1,
				      PHILOX_ERROR_MEMORY));
		OK(call_fragile(&g, 3));
		cr_assert_eq(g.act.call.kind, PHILOX_CALL_REPLAY);
		cr_assert_eq(act_counts(&g.act).verified +
				     act_counts(&g.act).unverified,
			     1);
		g.unverified += act_counts(&g.act).unverified != 0;
		OK(call_fragile(&g, 4));
		OK(call_fragile(&g, 5));
		cr_assert_geq(act_counts(&g.act).verified, 2);
	}
	cr_assert_geq(g.unverified, 1);
	block_set_free(g.seen);
}
