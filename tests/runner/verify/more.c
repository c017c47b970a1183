/*
 * tests/runner/verify/more.c - verified replays of many outputs, at any place,
 * with forks, by several runners and threads
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/beds/verify.h"

enum { BYTES = ACT_BYTES, MANY = 300, SMALL = 64 };

/* --- many outputs --------------------------------------------------------- */

struct many {
	struct fixture *f;
	struct philox_function *function;
	unsigned
		odd; /* output or input that is not as the others are; MANY: none */
	struct philox_call call;
	struct philox_call_input inputs[MANY];
	struct philox_output outputs[MANY];
};

/* Output i is all i; input i is mutated to i + 1. */
static enum philox_status many_body(void *user, struct philox_run *run)
{
	struct many *many = user;
	struct philox_device *device = many->f->device;
	philox_stream stream = philox_run_stream(run);

	for (unsigned i = 0; i < MANY; i++) {
		const int word = (int)(i == many->odd ? 255 : i % 250);
		void *x, *y;

		TRY_(philox_run_input(run, i, &x, NULL));
		TRY_(philox_run_alloc(run, SMALL, 0, "y", &y));
		TRY_(philox_memory_set(device, stream, y, word, SMALL));
		TRY_(philox_memory_set(
			device, stream, x,
			i + MANY == many->odd ? 255 : (int)i % 250, SMALL));
		TRY_(philox_run_output(run, i, y, SMALL));
	}
	return PHILOX_OK;
}

static void make_many(struct many *many, struct philox_runner *r)
{
	static char names[2][MANY][8];
	struct philox_input_desc inputs[MANY];
	struct philox_output_desc outputs[MANY];
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	char *memory = make_memory(many->f, MANY * SMALL);

	memset(inputs, 0, sizeof(inputs));
	memset(outputs, 0, sizeof(outputs));
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(names[0][i], 8, "x%u", i);
		snprintf(names[1][i], 8, "y%u", i);
		inputs[i].name = names[0][i];
		inputs[i].flags = PHILOX_INPUT_MUTATED;
		outputs[i].name = names[1][i];
		many->inputs[i] = (struct philox_call_input){
			.address = memory + (size_t)i * SMALL, .bytes = SMALL};
	}
	options.name = "many";
	options.body = many_body;
	options.user = many;
	options.inputs = inputs;
	options.outputs = outputs;
	options.n_inputs = options.n_outputs = MANY;
	options.policy.verify = 1;
	OK(philox_function_create(r, &options, &many->function));
	many->call = PHILOX_INIT(struct philox_call);
	many->call.stream = many->f->stream;
	many->call.inputs = many->inputs;
	many->call.outputs = many->outputs;
	many->call.n_inputs = many->call.n_outputs = MANY;
}

static void call_many(struct many *many, struct philox_runner *r)
{
	OK(philox_function_call(many->function, &many->call));
	for (unsigned i = 0; i < MANY; i++)
		OK(philox_output_release(r, many->f->stream,
					 &many->outputs[i]));
}

RUNNER_PROMISE(runner_verify_more, finds_one_output_of_many)
{
	static const unsigned odd[] = {0, 1, 127, 128, 255, 256, MANY - 1};
	struct many *many = calloc(1, sizeof(*many));
	struct philox_function_stats counts =
		PHILOX_INIT(struct philox_function_stats);

	cr_assert(many);
	many->f = f;
	many->odd = 2 * MANY;
	make_many(many, r);
	for (int i = 0; i < 4; i++)
		call_many(many, r);
	for (unsigned i = 0; i < 14; i++) {
		char name[16];

		many->odd = odd[i / 2] + (i % 2 ? MANY : 0);
		FAILS(philox_function_call(many->function, &many->call),
		      PHILOX_ERROR_DIFFERS);
		snprintf(name, sizeof(name), "%s%u'", i % 2 ? "'x" : "'y",
			 odd[i / 2]);
		NAMES(name);
		many->odd = 2 * MANY;
		call_many(many, r);
	}
	call_many(many, r);
	OK(philox_function_get_stats(many->function, &counts));
	cr_assert_eq(counts.differed, 14);
	cr_assert_eq(counts.verified, 2 + 14 + 1);
	LIVE(f, r, 0);
	OK(philox_device_synchronize(f->device));
	OK(philox_function_destroy(many->function));
	free(many);
}

/* --- any place ------------------------------------------------------------ */

/* Byte n of x is set, and of y, which is x's `n_bytes` from an odd place on. */
struct place {
	unsigned odd, bytes, at;
	int word;
};

static enum philox_status place_script(struct act *act, struct props *props)
{
	const struct place *place = act->prop;
	struct philox_device *device = act->f->device;
	char *y;

	TRY_(prop_copy(act, props, props->out[0], act->in[1].address));
	y = (char *)props->out[0] + place->odd;
	props->out[0] = (uint32_t *)y;
	props->bytes[0] = place->bytes;
	if (act->n)
		return philox_memory_set(device, props->stream,
					 (char *)props->in[0] + place->at,
					 place->word, 1);
	return philox_memory_set(device, props->stream, y + place->at,
				 place->word, 1);
}

static void find_at(struct fixture *f, struct philox_runner *r,
		    const struct place *where, int input)
{
	struct place place = *where;
	struct act act = new_act(f, r, place_script);
	char *x = (char *)make_words(f, 3);
	char text[32];

	act.prop = &place;
	act.n = (unsigned)input;
	act.n_uses = 0;
	act.elements = act.inputs[0].elements = 0;
	act.inputs[0].flags = PHILOX_INPUT_MUTATED;
	act.in[0].address = x + place.odd;
	act.in[0].bytes = place.bytes;
	act.in[1].address = make_words(f, 4);
	make_act(&act, "act");
	rehearse(&act);
	play_act(&act, PHILOX_CALL_REPLAY);
	place.word++;
	FAILS(call_act(&act), PHILOX_ERROR_DIFFERS);
	NAMES(input ? "input 'x'" : "output 'y'");
	snprintf(text, sizeof(text), "byte %u of %u", place.at, place.bytes);
	NAMES(text);
	VERIFIED(&act, 2, 1, 0);
	OK(philox_device_synchronize(f->device));
	OK(philox_function_destroy(act.function));
}

RUNNER_PROMISE(runner_verify_more, finds_a_byte_at_any_place)
{
	for (unsigned odd = 0; odd < 17; odd++)
		for (unsigned i = 0; i < 4; i++) {
			const struct place place = {
				odd, 33 + odd,
				(unsigned[4]){0, 15 + odd % 3, 32, 32 + odd}[i],
				7};

			find_at(f, r, &place, (int)(odd + i) % 2);
		}
}

/* --- alignment in copies -------------------------------------------------- */

/* w is in x, which is mutated, and is aligned wherever a body finds it. */
static enum philox_status aligned_script(struct act *act, struct props *props)
{
	struct philox_fill_desc fill = PHILOX_INIT(struct philox_fill_desc);
	const struct philox_rng rng = {.state = {5, 8}};

	cr_assert_eq((uintptr_t)props->in[1] % act->n, 0,
		     "%p is not aligned to %u", (void *)props->in[1], act->n);
	TRY_(prop_copy(act, props, props->out[0], props->in[1]));
	TRY_(philox_memory_set(act->f->device, props->stream, props->in[0], 7,
			       2));
	fill.dist = PHILOX_DIST_BITS;
	fill.dtype = PHILOX_DTYPE_U32;
	fill.span.count = 4;
	fill.out = props->in[1];
	return philox_rng_fill(act->f->device, props->stream, rng, &fill);
}

static void tell_aligned(struct story *s, size_t before, size_t alignment)
{
	struct act act = new_act(s->f, s->r, aligned_script);
	char *memory = make_memory(s->f, 4096);
	char *w = memory + 1024 - (uintptr_t)memory % 1024;

	act.n = (unsigned)(alignment ? alignment : 4);
	act.n_uses = 0;
	act.n_inputs = 2;
	act.inputs[0].flags = act.inputs[1].flags = PHILOX_INPUT_MUTATED;
	act.inputs[1].alignment = alignment;
	act.in[0].address = w - before;
	act.in[1].address = w;
	OK(philox_memory_set(s->f->device, s->f->stream, memory, 1, 4096));
	cast(s, &act, "act");
	for (int i = 0; i < 4; i++)
		scene_of(s, &act);
}

STORY(runner_verify_more, inputs_in_others_are_aligned)
{
	tell_aligned(s, 2, 0);
}

STORY(runner_verify_more, inputs_in_others_are_aligned_as_they_ask)
{
	tell_aligned(s, 32, 512);
}

/* One that is not aligned is aligned for the body, whatever kind of run it is. */
static enum philox_status moved_script(struct act *act, struct props *props)
{
	cr_assert_eq((uintptr_t)props->in[0] % 256, 0, "%p is not aligned",
		     (void *)props->in[0]);
	TRY_(prop_copy(act, props, props->out[0], props->in[0]));
	if (!act->inputs[0].flags)
		return PHILOX_OK;
	return philox_memory_set(act->f->device, props->stream,
				 props->in[0] + 3, 7, 8);
}

static void tell_moved(struct story *s, uint32_t flags)
{
	struct act act = new_act(s->f, s->r, moved_script);
	char *memory = make_memory(s->f, 4096);

	act.n_uses = 0;
	act.inputs[0].flags = flags;
	act.inputs[0].alignment = 256;
	act.in[0].address = memory + 1024 - (uintptr_t)memory % 1024 + 8;
	cast(s, &act, "act");
	for (int i = 0; i < 5; i++) {
		OK(philox_memory_set(s->f->device, s->f->stream,
				     act.in[0].address, i + 1, BYTES));
		scene_of(s, &act);
	}
}

STORY(runner_verify_more, inputs_that_are_not_aligned)
{
	tell_moved(s, 0);
}

STORY(runner_verify_more, mutated_inputs_that_are_not_aligned)
{
	tell_moved(s, PHILOX_INPUT_MUTATED | PHILOX_INPUT_WRITE_BACK);
}

/* --- forks ---------------------------------------------------------------- */

static enum philox_status fork_script(struct act *act, struct props *props)
{
	struct philox_device *device = act->f->device;
	philox_event *events = act->prop;
	struct philox_ticket ticket;
	struct philox_pass pass, view;

	TRY_(philox_run_forward_begin(props->run, act->region, 0, &pass));
	TRY_(philox_event_record(device, props->stream, events[0]));
	TRY_(philox_event_wait(device, act->f->side, events[0]));
	TRY_(philox_pass_on(&pass, act->f->side, &view));
	TRY_(draw_or_fail(&view, props->out[1]));
	TRY_(draw_or_fail(&pass, props->out[0]));
	TRY_(philox_event_record(device, act->f->side, events[1]));
	TRY_(philox_event_wait(device, props->stream, events[1]));
	return philox_pass_commit(&pass, 0, &ticket);
}

STORY(runner_verify_more, bodies_that_fork)
{
	struct act act = new_act(s->f, s->r, fork_script);
	philox_event events[2];

	for (int i = 0; i < 2; i++)
		OK(philox_event_create(s->f->device, &events[i]));
	act.prop = events;
	act.region = make_region(s->f, "layer");
	act.n_outputs = 2;
	act.in[0].address = make_words(s->f, 3);
	cast(s, &act, "act");
	for (int i = 0; i < 6; i++)
		scene_of(s, &act);
	OK(philox_device_synchronize(s->f->device));
	for (int i = 0; i < 2; i++)
		OK(philox_event_destroy(s->f->device, events[i]));
}

/* --- several runners ------------------------------------------------------ */

/* Names of 63 bytes that differ in the last one. */
RUNNER_PROMISE(runner_verify_more, runners_with_long_names)
{
	char name[64];

	memset(name, 'n', 63);
	name[63] = '\0';
	for (int i = 0; i < 3; i++) {
		struct act act;

		name[62] = (char)('a' + i);
		act = new_act(f, make_runner_of(f, name, 0), echo_script);
		act.n_uses = 0;
		act.in[0].address = make_words(f, 3);
		make_act(&act, "act");
		rehearse(&act);
		play_act(&act, PHILOX_CALL_REPLAY);
		VERIFIED(&act, 1, 0, 0);
	}
}

struct racer {
	struct act act;
	pthread_barrier_t *ready;
};

static void *race(void *user)
{
	struct racer *racer = user;

	pthread_barrier_wait(racer->ready);
	for (unsigned i = 0; i < 100; i++) {
		OK(call_act(&racer->act));
		release_act(&racer->act);
		OK(philox_ticket_release(racer->act.region, racer->act.stream,
					 racer->act.uses[0].ticket));
		racer->act.uses[0].ticket = (struct philox_ticket){0, 0};
	}
	return NULL;
}

/* What is on trial is a thread's alone. */
RUNNER_PROMISE(runner_verify_more, runners_of_two_threads)
{
	static const char *const names[2] = {"one", "two"};
	struct racer racers[2];
	pthread_barrier_t ready;
	pthread_t threads[2];

	pthread_barrier_init(&ready, NULL, 2);
	for (int i = 0; i < 2; i++) {
		struct act *act = &racers[i].act;

		*act = new_act(f, i ? make_runner_of(f, "second", 0) : r,
			       forward_script);
		act->region = make_region(f, names[i]);
		act->in[0].address = make_words(f, 3);
		act->stream = i ? f->side : f->stream;
		act->policy.differs = i ? PHILOX_DIFFERS_EAGER : 0;
		racers[i].ready = &ready;
		make_act(act, names[i]);
		rehearse(act);
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, race, &racers[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&ready);
	for (int i = 0; i < 2; i++) {
		VERIFIED(&racers[i].act, 100, 0, 0);
		SAME(peek(f, racers[i].act.region), predict(0, names[i], 408),
		     "%s", names[i]);
	}
}

/* --- memory that is taken in another way ---------------------------------- */

static enum philox_status other_way_script(struct act *act, struct props *props)
{
	struct philox_pool_block block;

	if (act->n)
		TRY_(philox_pool_alloc(philox_runner_pool(act->runner),
				       props->stream, 64, 0, "other", &block));
	return echo_script(act, props);
}

RUNNER_PROMISE(runner_verify_more, bodies_that_take_memory_in_another_way_fail)
{
	struct act act = new_act(f, r, other_way_script);

	act.n_uses = 0;
	act.in[0].address = make_words(f, 3);
	make_act(&act, "act");
	rehearse(&act);
	act.n = 1;
	FAILS(call_act(&act), PHILOX_ERROR_STATE);
	LIVE(f, r, 0);
	act.n = 0;
	play_act(&act, PHILOX_CALL_REPLAY);
	VERIFIED(&act, 1, 0, 0);
}

/* --- when there is no memory to find out why ------------------------------ */

enum { LARGE = 5 << 20, MEDIUM = 5 << 19 };

static enum philox_status large_script(struct act *act, struct props *props)
{
	void *y;

	TRY_(philox_run_alloc(props->run, act->in[0].bytes, 0, "y", &y));
	props->out[0] = y;
	props->bytes[0] = act->in[0].bytes;
	return philox_memory_set(act->f->device, props->stream, y, (int)act->n,
				 act->in[0].bytes);
}

static struct act make_large(struct fixture *f, const char *name, size_t bytes)
{
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);
	struct philox_runner *runner;
	struct act act;

	options.name = name;
	options.pool_limit = 8 << 20;
	OK(philox_runner_create(f->context, &options, &runner));
	act = new_act(f, runner, large_script);
	act.n_uses = 0;
	act.no_alloc = 1;
	act.in[0].address = make_memory(f, bytes);
	act.in[0].bytes = bytes;
	act.n = 1;
	return act;
}

/* Each of the runs that find out why has the memory of the one before. */
RUNNER_PROMISE(runner_verify_more, finds_out_why_in_little_memory)
{
	struct act act = make_large(f, "small", MEDIUM);

	make_act(&act, "act");
	rehearse(&act);
	act.n = 2;
	FAILS(call_act(&act), PHILOX_ERROR_DIFFERS);
	NAMES("frozen");
}

RUNNER_PROMISE(runner_verify_more, finds_without_knowing_why)
{
	struct act act = make_large(f, "small", LARGE);

	make_act(&act, "act");
	rehearse(&act);
	play_act(&act, PHILOX_CALL_REPLAY);
	act.n = 2;
	FAILS(call_act(&act), PHILOX_ERROR_DIFFERS);
	NAMES("element 0");
	cr_assert(!strstr(philox_error_message(), "frozen") &&
			  !strstr(philox_error_message(), "deterministic") &&
			  !strstr(philox_error_message(), "nobody"),
		  "%s", philox_error_message());
	VERIFIED(&act, 2, 1, 0);
	play_act(&act, PHILOX_CALL_RECORD);
	play_act(&act, PHILOX_CALL_REPLAY);
	VERIFIED(&act, 3, 1, 0);
}

/* Then a replay is not taken for one that is as good as its body. */
RUNNER_PROMISE(runner_verify_more, falls_back_without_knowing_why)
{
	struct act act = make_large(f, "small", LARGE);

	act.policy.differs = PHILOX_DIFFERS_EAGER;
	make_act(&act, "act");
	rehearse(&act);
	act.n = 2;
	OK(call_act(&act));
	cr_assert_eq(act.call.kind, PHILOX_CALL_EAGER);
	SAME(read_numbers(f, act.out[0].address), all_words(0x02020202), "y");
	release_act(&act);
}
