/*
 * tests/runner/calls/hits.c - what a call that is replayed costs: device calls,
 * and memory on the host
 */
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/allocations.h"
#include "tests/support/beds/runner.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

/*
 * A function that can have anything. Its body begins with a backward of the
 * call before, if `backward` says so; then comes a forward.
 */
struct busy {
	struct fixture *f;
	struct philox_runner *r;
	struct philox_region *region;
	struct philox_function *function;
	size_t statics, copied; /* inputs */
	size_t values, outputs;
	int backward;
	int writes_back; /* the last copied input is mutated */
	int in_place;    /* the first static input is mutated */
	int legacy;      /* stream */
	uint32_t limit;  /* of the policy */

	philox_stream stream;
	struct philox_call_input *in;
	struct philox_call_param *given;
	struct philox_output *out;
	char *memory;
	struct philox_ticket ticket; /* of the call before */
};

#define TRY(call)                          \
	do {                               \
		enum philox_status tried_; \
                                           \
		tried_ = (call);           \
		if (tried_ != PHILOX_OK)   \
			return tried_;     \
	} while (0)

/* The first output is in the first static input, if there is one. */
static enum philox_status declare_busy(const struct busy *busy,
				       struct philox_run *run)
{
	void *output;

	for (size_t i = 0; i < busy->outputs; i++) {
		if (!i && busy->statics)
			TRY(philox_run_input(run, 0, &output, NULL));
		else
			TRY(philox_run_alloc(run, BYTES, 0, "output", &output));
		TRY(philox_run_output(run, i, output, BYTES));
	}
	return PHILOX_OK;
}

static enum philox_status busy_body(void *user, struct philox_run *run)
{
	const struct busy *busy = user;
	const struct philox_ticket none = {0, 0};
	struct philox_ticket ticket;
	struct philox_pass pass;
	const void *value;
	void *numbers;

	TRY(philox_run_alloc(run, BYTES, 0, "numbers", &numbers));
	TRY(declare_busy(busy, run));
	for (size_t i = 0; i < busy->values; i++)
		TRY(philox_run_param(run, i, &value));
	if (busy->backward) {
		TRY(philox_run_backward_begin(run, busy->region, none, 0,
					      &pass));
		draw(&pass, numbers);
		TRY(philox_pass_commit(&pass, 0, NULL));
	}
	TRY(philox_run_forward_begin(run, busy->region, 0, &pass));
	draw(&pass, numbers);
	return philox_pass_commit(&pass, 0, &ticket);
}

/* Strings of numbers: names of inputs, outputs and values. */
static const char *number(size_t i)
{
	static char texts[16384][24];

	cr_assert_lt(i, sizeof(texts) / sizeof(texts[0]));
	snprintf(texts[i], sizeof(texts[i]), "%zu", i);
	return texts[i];
}

static void describe_busy(struct busy *busy, const char *name)
{
	const size_t n = busy->statics + busy->copied;
	struct philox_input_desc *inputs = calloc(n + 1, sizeof(*inputs));
	struct philox_output_desc outputs[8] = {{0}};
	struct philox_param_desc values[8] = {{0}};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	for (size_t i = 0; i < n; i++)
		inputs[i] = (struct philox_input_desc){
			.name = number(i),
			.kind = i < busy->statics ? PHILOX_INPUT_STATIC
						  : PHILOX_INPUT_COPIED};
	if (busy->writes_back)
		inputs[n - 1].flags =
			PHILOX_INPUT_MUTATED | PHILOX_INPUT_WRITE_BACK;
	if (busy->in_place)
		inputs[0].flags = PHILOX_INPUT_MUTATED;
	for (size_t i = 0; i < busy->outputs; i++)
		outputs[i].name = number(i);
	for (size_t i = 0; i < busy->values; i++)
		values[i] = (struct philox_param_desc){
			.name = number(i), .bytes = sizeof(uint32_t)};
	options.name = name;
	options.body = busy_body;
	options.user = busy;
	options.inputs = inputs;
	options.n_inputs = n;
	options.outputs = outputs;
	options.n_outputs = busy->outputs;
	options.params = values;
	options.n_params = busy->values;
	options.policy.recordings = busy->limit;
	OK(philox_function_create(busy->r, &options, &busy->function));
	free(inputs);
}

static void make_busy(struct busy *busy, struct fixture *f,
		      struct philox_runner *r, const char *name)
{
	static const uint32_t value = 7;
	const size_t n = busy->statics + busy->copied;

	busy->f = f;
	busy->r = r;
	busy->stream = busy->legacy ? NULL : f->stream;
	busy->region = make_region(f, name);
	busy->in = calloc(n + 1, sizeof(*busy->in));
	busy->given = calloc(busy->values + 1, sizeof(*busy->given));
	busy->out = calloc(busy->outputs + 1, sizeof(*busy->out));
	busy->memory = make_memory(f, (n + 1) * BYTES);
	for (size_t i = 0; i < n; i++)
		busy->in[i] = (struct philox_call_input){
			.address = busy->memory + i * BYTES, .bytes = BYTES};
	for (size_t i = 0; i < busy->values; i++)
		busy->given[i] =
			(struct philox_call_param){&value, sizeof(value)};
	describe_busy(busy, name);
	if (busy->backward)
		busy->ticket = forward(f, busy->region).ticket;
}

static void free_busy(struct busy *busy)
{
	free(busy->in);
	free(busy->given);
	free(busy->out);
}

/* Without outputs they are released by the call. */
static uint32_t call_busy(struct busy *busy, int with_outputs)
{
	struct philox_launch_pass uses[2] = {{.ticket = busy->ticket},
					     {{0, 0}, 0, 0}};
	struct philox_call call = PHILOX_INIT(struct philox_call);

	call.stream = busy->stream;
	call.inputs = busy->in;
	call.n_inputs = busy->statics + busy->copied;
	call.params = busy->given;
	call.n_params = busy->values;
	call.passes = uses;
	call.n_passes = busy->backward ? 2 : 1;
	call.outputs = with_outputs ? busy->out : NULL;
	call.n_outputs = with_outputs ? busy->outputs : 0;
	OK(philox_function_call(busy->function, &call));
	busy->ticket = uses[call.n_passes - 1].ticket;
	if (!busy->backward)
		OK(philox_ticket_release(busy->region, busy->stream,
					 busy->ticket));
	return call.kind;
}

static void release_busy(struct busy *busy)
{
	for (size_t i = 0; i < busy->outputs; i++)
		OK(philox_output_release(busy->r, busy->stream, &busy->out[i]));
}

/* A warm-up, a recording, and the first replay. */
static void first_replay(struct busy *busy)
{
	cr_assert_eq(call_busy(busy, 1), PHILOX_CALL_WARMUP);
	release_busy(busy);
	cr_assert_eq(call_busy(busy, 1), PHILOX_CALL_RECORD);
	release_busy(busy);
	cr_assert_eq(call_busy(busy, 1), PHILOX_CALL_REPLAY);
	release_busy(busy);
}

/* --- device calls --------------------------------------------------------- */

enum { OPERATIONS = 64 };

/* How often each operation was called. */
struct device_counts {
	uint64_t of[OPERATIONS];
};

static struct device_counts device_counts(const struct fixture *f)
{
	struct device_counts counts = {{0}};

	for (size_t i = 0; device_operations[i]; i++)
		counts.of[i] = philox_device_call_count(f->device,
							device_operations[i]);
	return counts;
}

static struct device_counts since(const struct fixture *f,
				  struct device_counts before)
{
	struct device_counts now = device_counts(f);

	for (size_t i = 0; i < OPERATIONS; i++)
		now.of[i] -= before.of[i];
	return now;
}

static struct philox_graph *capture_in_pool(struct fixture *f,
					    struct philox_region *region,
					    struct philox_pool *pool)
{
	struct philox_pool_session *session;
	struct philox_pool_block block;
	struct philox_graph *graph;
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_capture_begin(f->context, f->stream));
	OK(philox_pool_session_begin(pool, f->stream, &session));
	OK(philox_pool_alloc(pool, f->stream, BYTES, 0, "numbers", &block));
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	draw(&pass, block.address);
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	OK(philox_capture_end(f->context, f->stream, &graph));
	return graph;
}

/* Of philox_graph_launch(), for a graph that shares a pool. */
static struct device_counts counts_of_launch(struct fixture *f)
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	struct philox_region *region = make_region(f, "launched");
	struct philox_graph *graphs[2];
	struct device_counts before;
	struct philox_pool *pool;
	struct philox_launch_pass use;

	options.name = "of launches";
	OK(philox_pool_create(f->context, &options, &pool));
	for (int i = 0; i < 2; i++)
		graphs[i] = capture_in_pool(f, region, pool);
	for (int i = 0; i < 4; i++) {
		use = (struct philox_launch_pass){0};
		before = device_counts(f);
		OK(philox_graph_launch(graphs[i % 2], f->stream, &use, 1));
	}
	return since(f, before);
}

static struct device_counts counts_of_hit(struct busy *busy)
{
	struct device_counts before = device_counts(busy->f);

	cr_assert_eq(call_busy(busy, 0), PHILOX_CALL_REPLAY);
	return since(busy->f, before);
}

/* `launches` more than a launch has, and nothing else. */
static void costs(struct busy busy, struct fixture *f, struct philox_runner *r,
		  const struct device_counts *of_launch, uint64_t launches)
{
	static unsigned made;
	struct device_counts found;

	make_busy(&busy, f, r, number(++made));
	first_replay(&busy);
	counts_of_hit(&busy); /* after a release on its stream */
	found = counts_of_hit(&busy);
	for (size_t i = 0; device_operations[i]; i++) {
		const int kernels = !strcmp(device_operations[i], "launch");

		cr_assert_eq(found.of[i],
			     of_launch->of[i] + (kernels ? launches : 0),
			     "%zu + %zu inputs, %zu values, %zu outputs: %s "
			     "%u times, and %u in a launch",
			     busy.statics, busy.copied, busy.values,
			     busy.outputs, device_operations[i],
			     (unsigned)found.of[i], (unsigned)of_launch->of[i]);
	}
	free_busy(&busy);
}

/* Static inputs, values and outputs cost no call; 128 copied ones a launch, and
 * as many to be copied back. */
RUNNER_PROMISE(runner_hits, call_the_device_as_a_launch_does_and_to_copy)
{
	const struct device_counts of_launch = counts_of_launch(f);

	costs((struct busy){0}, f, r, &of_launch, 0);
	costs((struct busy){.statics = 1}, f, r, &of_launch, 0);
	costs((struct busy){.statics = 10000}, f, r, &of_launch, 0);
	costs((struct busy){.values = 1}, f, r, &of_launch, 0);
	costs((struct busy){.values = 8}, f, r, &of_launch, 0);
	costs((struct busy){.outputs = 1}, f, r, &of_launch, 0);
	costs((struct busy){.statics = 1, .outputs = 8}, f, r, &of_launch, 0);
	costs((struct busy){.backward = 1}, f, r, &of_launch, 0);
	costs((struct busy){.copied = 1}, f, r, &of_launch, 1);
	costs((struct busy){.copied = 8}, f, r, &of_launch, 1);
	costs((struct busy){.copied = 128}, f, r, &of_launch, 1);
	costs((struct busy){.copied = 129}, f, r, &of_launch, 2);
	costs((struct busy){.copied = 200, .statics = 9, .values = 2}, f, r,
	      &of_launch, 2);
	costs((struct busy){.copied = 1, .writes_back = 1}, f, r, &of_launch,
	      2);
	costs((struct busy){.copied = 200, .writes_back = 1}, f, r, &of_launch,
	      3);
	costs((struct busy){.statics = 1, .in_place = 1, .copied = 1}, f, r,
	      &of_launch, 1);
}

/* As many times as there are recordings; the last one and the first. */
RUNNER_PROMISE(runner_hits, call_the_device_as_often_with_many_recordings)
{
	struct busy busy = {.statics = 1, .limit = 64};
	const struct device_counts of_launch = counts_of_launch(f);
	char *const memory = make_memory(f, (size_t)64 * BYTES);

	make_busy(&busy, f, r, "many");
	for (int i = 0; i < 3 * 64; i++) {
		struct device_counts found;

		busy.in[0].address = memory + (i % 64) * BYTES;
		found = device_counts(f);
		call_busy(&busy, 0);
		found = since(f, found);
		for (size_t k = 0; i >= 2 * 64 && device_operations[k]; k++)
			cr_assert_eq(found.of[k], of_launch.of[k], "%s",
				     device_operations[k]);
	}
	free_busy(&busy);
}

/* A release asks whether its stream is capturing, and records an event. */
RUNNER_PROMISE(runner_hits, are_followed_by_releases_of_two_device_calls)
{
	struct busy busy = {.outputs = 8};
	struct device_counts before;
	uint64_t calls = 0;

	make_busy(&busy, f, r, "eight");
	first_replay(&busy);
	cr_assert_eq(call_busy(&busy, 1), PHILOX_CALL_REPLAY);
	before = device_counts(f);
	release_busy(&busy);
	before = since(f, before);
	for (size_t i = 0; device_operations[i]; i++)
		calls += before.of[i];
	cr_assert_leq(calls, 2 * 8);
	free_busy(&busy);
}

/* --- memory of the host --------------------------------------------------- */

Test(runner_hits, allocations_of_a_thread_can_be_counted)
{
	/* volatile, or a compiler removes it all */
	char *volatile memory;
	uint64_t before;
	struct fixture f;

	fixture_open(&f, named_device() ? named_device() : "host:sync");
	allocations_watch(f.device);
	before = allocations();
	memory = malloc(10);
	cr_assert_eq(allocations(), before + 1);
	memory = realloc(memory, 100000);
	cr_assert_eq(allocations(), before + 2);
	free(memory);
	memory = calloc(10, 10);
	cr_assert_eq(allocations(), before + 3);
	free(memory);
	cr_assert_eq(allocations(), before + 3);
	fixture_close(&f);
}

/* Calls after the first replay, with and without handles of their outputs. */
static void allocates_nothing(struct busy busy, struct fixture *f,
			      struct philox_runner *r)
{
	static unsigned made;
	uint64_t before;

	allocations_watch(f->device);
	make_busy(&busy, f, r, number(++made));
	first_replay(&busy);
	before = allocations();
	for (int i = 0; i < 50; i++) {
		cr_assert_eq(call_busy(&busy, i % 2), PHILOX_CALL_REPLAY);
		if (i % 2)
			release_busy(&busy);
	}
	cr_assert_eq(allocations(), before,
		     "%zu + %zu inputs, %zu values, %zu outputs: %u "
		     "allocations",
		     busy.statics, busy.copied, busy.values, busy.outputs,
		     (unsigned)(allocations() - before));
	free_busy(&busy);
}

RUNNER_PROMISE(runner_hits, allocate_nothing_after_the_first_replay)
{
	allocates_nothing((struct busy){0}, f, r);
	allocates_nothing((struct busy){.statics = 1000}, f, r);
	allocates_nothing((struct busy){.copied = 1}, f, r);
	allocates_nothing((struct busy){.copied = 200, .writes_back = 1}, f, r);
	allocates_nothing((struct busy){.values = 8}, f, r);
	allocates_nothing((struct busy){.outputs = 8}, f, r);
	allocates_nothing((struct busy){.statics = 1, .outputs = 2}, f, r);
	allocates_nothing((struct busy){.backward = 1}, f, r);
	allocates_nothing((struct busy){.statics = 5,
					.copied = 130,
					.values = 3,
					.outputs = 4,
					.backward = 1,
					.writes_back = 1},
			  f, r);
}

RUNNER_PROMISE(runner_hits, allocate_nothing_on_the_legacy_stream)
{
	struct busy busy = {.legacy = 1,
			    .statics = 1,
			    .copied = 2,
			    .values = 1,
			    .outputs = 2,
			    .backward = 1};

	allocates_nothing(busy, f, r);
}

/* Those of one that has many keys and recordings, taken in turn. */
RUNNER_PROMISE(runner_hits, allocate_nothing_with_many_recordings)
{
	struct busy busy = {
		.statics = 1, .outputs = 2, .values = 1, .limit = 64};
	char *const memory = make_memory(f, (size_t)64 * BYTES);
	uint64_t before = 0;

	allocations_watch(f->device);
	make_busy(&busy, f, r, "many");
	for (int i = 0; i < 5 * 64; i++) {
		if (i == 3 * 64)
			before = allocations();
		busy.in[0].address = memory + (i % 64) * BYTES;
		call_busy(&busy, 1);
		release_busy(&busy);
	}
	cr_assert_eq(allocations(), before);
	free_busy(&busy);
}
