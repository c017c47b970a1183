/*
 * tests/runner/plan/random.c - random programs that go on in another process,
 * by the plan of their runner, beside themselves in the process that went on
 *
 * Both processes are forks of the test, one after the other, which open their
 * devices themselves; they give each other the saved context, the plan and the
 * tickets that are pending, and no more. PHILOX_PLAN_SEED=n in the environment
 * plays the program of one seed alone, and PHILOX_PLAN_HERE=1 has no processes:
 * there a check that fails can be seen. What each call is executed as is what
 * tests/support/programs/model.h says, and its numbers are the same in both.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/support/programs/model.h"
#include "tests/support/programs/recipe.h"
#include "tests/support/beds/runner_scene.h"
#include "tests/support/programs/sanitized.h"

enum {
	PROGRAMS = SANITIZED ? 30 : 100,
	FUNCTIONS = 4,
	STEPS = 240,
	HELD = 6,
	TEXT = 1 << 18
};

struct held {
	struct philox_ticket ticket;
	struct numbers saw;
};

/* What happened in a step. */
struct done {
	uint32_t kind;
	unsigned function, bodies; /* of that function, so far */
	struct numbers saw;
};

/* In memory that all processes share. */
struct shared {
	struct done went_on[STEPS], again[STEPS];
	char context[TEXT], plan[TEXT];
	struct held held[HELD];
	unsigned n_held;
	struct model model;
	struct model_function models[FUNCTIONS];
	struct model_function ends[2][FUNCTIONS]; /* of both processes */
	uint64_t counts[2][PHILOX_CALL_REPLAY + 1], simple;
};

struct program {
	uint64_t seed;
	unsigned saved_at;
	struct shared *shared;
	int again; /* the process that goes on with the plan */
	struct fixture f;
	struct philox_runner *r;
	struct layer layers[FUNCTIONS]; /* the last one is of backwards */
	struct model model;
	struct model_function models[FUNCTIONS];
	uint32_t *x[MODEL_PLACES];
	struct held held[HELD];
	unsigned n_held;
	int refuses;
};

/* --- functions ------------------------------------------------------------ */

static struct philox_policy choose_policy(struct chance *chance)
{
	static const uint32_t recordings[] = {0, 1, 1, 2, 3, 4, PHILOX_NEVER};
	static const uint32_t warmups[] = {0, 0, 2, 3, PHILOX_NEVER};
	static const uint32_t dry[] = {0, 0, 0, 1, 2};
	static const uint32_t retries[] = {0, 1, 3, 6, PHILOX_NEVER};
	static const uint32_t keys[] = {0, 0, 0, 2, 3};

	return (struct philox_policy){.recordings = recordings[pick(chance, 7)],
				      .warmups = warmups[pick(chance, 5)],
				      .dry = dry[pick(chance, 5)],
				      .retry = retries[pick(chance, 5)],
				      .keys = keys[pick(chance, 5)]};
}

static struct program *playing;

static enum philox_status may_refuse(struct layer *layer,
				     struct philox_run *run)
{
	(void)layer;
	return playing->refuses ? philox_run_refuse(run, "as chance has it")
				: PHILOX_OK;
}

static void make_layers(struct program *p)
{
	static const char *const names[FUNCTIONS] = {"one", "two", "three",
						     "back"};
	struct chance chance = chance_of(p->seed, 1 << 20);

	for (unsigned i = 0; i < FUNCTIONS; i++) {
		struct layer *layer = &p->layers[i];
		struct philox_function_desc options;
		struct philox_input_desc input = {
			.name = "x",
			.kind = (uint32_t)pick(&chance, 6) % 4 % 3};

		*layer = (struct layer){
			.f = &p->f, .runner = p->r, .hook = may_refuse};
		layer->backward = i == FUNCTIONS - 1;
		layer->region = layer->backward ? p->layers[0].region
						: make_region(&p->f, names[i]);
		options = layer_options(names[i], layer);
		options.inputs = &input;
		options.policy = choose_policy(&chance);
		make_function_of(layer, p->r, &options);
		p->models[i].policy = options.policy;
		p->models[i].input = (enum philox_input_kind)input.kind;
		p->models[i].backward = layer->backward;
	}
}

static void open_program(struct program *p, const char *device)
{
	fixture_open(&p->f, device);
	for (uint32_t i = 0; i < MODEL_PLACES; i++) {
		if (p->again) /* nothing is where it was */
			make_memory(&p->f, 4096 + 512 * i);
		p->x[i] = make_words(&p->f, i);
	}
	p->r = make_runner_of(&p->f, "runner", 0);
	make_layers(p);
}

/* --- steps ---------------------------------------------------------------- */

static void prepare_one(struct program *p, unsigned function,
			const struct model_call *call)
{
	struct layer *layer = &p->layers[function];
	struct layer_call made = new_call(layer, p->x[call->place], call->key);
	const int recorded =
		model_prepare(&p->model, &p->models[function], call);

	OK(try_prepare(layer, &made, 1, NULL));
	cr_assert_eq(made.call.kind,
		     recorded ? PHILOX_CALL_RECORD : PHILOX_CALL_NONE);
}

static void hold(struct program *p, struct chance *chance, unsigned function,
		 struct philox_ticket ticket, const struct numbers *saw)
{
	if (!function && p->n_held < HELD && one_in(chance, 2))
		p->held[p->n_held++] = (struct held){ticket, *saw};
	else
		OK(philox_ticket_release(p->layers[function].region,
					 p->f.stream, ticket));
}

/* For the model: backwards are of the first function's forwards. */
static uint64_t ticket_number(unsigned function, struct philox_ticket ticket)
{
	return ticket.serial * FUNCTIONS + function;
}

static void call_one(struct program *p, struct chance *chance,
		     unsigned function, struct model_call *call,
		     struct done *done)
{
	struct layer *layer = &p->layers[function];
	struct layer_call made = new_call(layer, p->x[call->place], call->key);
	unsigned which = 0;
	int bars;

	if (layer->backward) {
		if (!p->n_held)
			return;
		which = pick(chance, p->n_held);
		made.use.ticket = p->held[which].ticket;
		call->ticket = ticket_number(0, made.use.ticket);
	}
	done->kind = model_call(&p->model, &p->models[function], call, &bars);
	OK(try_call(layer, &made));
	cr_assert_eq(made.call.kind, done->kind,
		     "program %" PRIu64 ", process %d, function %u, key %u: "
		     "kind %u, not %u: %s",
		     p->seed, p->again, function, call->key, made.call.kind,
		     done->kind, philox_function_reason(layer->function));
	done->saw = read_numbers(&p->f, made.outputs[0].address);
	release_outputs(layer, &made);
	if (layer->backward) {
		SAME(done->saw, p->held[which].saw, "another backward");
		p->held[which] = p->held[--p->n_held];
		return;
	}
	if (bars)
		model_bar(&p->model, ticket_number(function, made.use.ticket));
	hold(p, chance, function, made.use.ticket, &done->saw);
}

static void play_step(struct program *p, unsigned step, struct done *done)
{
	struct chance chance = chance_of(p->seed, step);
	const unsigned function = pick(&chance, FUNCTIONS);
	struct model_call call = {
		.key = pick(&chance, pick(&chance, 2) ? 2 : MODEL_KEYS),
		.place = pick(&chance, pick(&chance, 2) ? 2 : MODEL_PLACES),
		.refuses = one_in(&chance, 12) && p->seed % 2};

	*done = (struct done){.function = function};
	p->refuses = call.refuses;
	if (one_in(&chance, 20))
		prepare_one(p, function, &call);
	else
		call_one(p, &chance, function, &call, done);
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		cr_assert_eq(p->layers[i].bodies, p->models[i].bodies,
			     "program %" PRIu64 ", step %u: %u bodies, not %u",
			     p->seed, step, p->layers[i].bodies,
			     p->models[i].bodies);
		cr_assert_eq(counts_of(&p->layers[i]).keys_dropped,
			     p->models[i].dropped);
	}
	done->bodies = p->models[function].bodies;
	p->shared->counts[p->again][done->kind] += step >= p->saved_at;
}

/* --- processes ------------------------------------------------------------ */

static void save_program(struct program *p)
{
	struct shared *shared = p->shared;
	char *text;

	OK(philox_context_save_text(p->f.context, &text, NULL));
	cr_assert_lt(strlen(text), (size_t)TEXT);
	memcpy(shared->context, text, strlen(text) + 1);
	free(text);
	OK(philox_plan_save_text(p->r, &text, NULL));
	cr_assert_lt(strlen(text), (size_t)TEXT);
	memcpy(shared->plan, text, strlen(text) + 1);
	free(text);
	memcpy(shared->held, p->held, sizeof(p->held));
	shared->n_held = p->n_held;
	shared->model = p->model;
	memcpy(shared->models, p->models, sizeof(p->models));
}

static void load_program(struct program *p)
{
	const struct shared *shared = p->shared;
	char *again;

	OK(philox_context_load_text(p->f.context, shared->context,
				    strlen(shared->context)));
	OK(philox_plan_load_text(p->r, shared->plan, strlen(shared->plan)));
	OK(philox_plan_save_text(p->r, &again, NULL));
	cr_assert_str_eq(again, shared->plan);
	free(again);
	memcpy(p->held, shared->held, sizeof(p->held));
	p->n_held = shared->n_held;
	p->model = shared->model;
	memcpy(p->models, shared->models, sizeof(p->models));
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		model_reload(&p->models[i]);
	}
}

static void go_on(struct program *p, const char *device)
{
	struct shared *shared = p->shared;

	playing = p;
	open_program(p, device);
	for (unsigned i = 0; !p->again && i < p->saved_at; i++)
		play_step(p, i, &shared->went_on[i]);
	if (p->again)
		load_program(p);
	else
		save_program(p);
	for (unsigned i = p->saved_at; i < STEPS; i++)
		play_step(p, i,
			  p->again ? &shared->again[i] : &shared->went_on[i]);
	memcpy(shared->ends[p->again], p->models, sizeof(p->models));
	fixture_close(&p->f);
}

static void in_a_process(struct program *p, const char *device)
{
	pid_t child;
	int status;

	if (getenv("PHILOX_PLAN_HERE")) {
		go_on(p, device);
		return;
	}
	fflush(NULL);
	child = fork();
	cr_assert_geq(child, 0);
	if (!child) {
		alarm(20);
		go_on(p, device);
		_exit(0);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0, "program %" PRIu64 ", process %d ended with %d",
		     p->seed, p->again, status);
}

/* --- what both did -------------------------------------------------------- */

/*
 * Where nothing was evicted and no call refused, what differs is a body that
 * runs once for its process, and one for each recording that is made again.
 */
static int is_simple(const struct model_function *end)
{
	return !end->evictions && !end->holds && !end->refusals;
}

static void compare_kinds(const struct program *p, unsigned step)
{
	const struct shared *shared = p->shared;
	const struct done *was = &shared->went_on[step];
	const struct done *is = &shared->again[step];
	const struct model_function *then = &shared->models[was->function];

	cr_assert_eq(was->kind == PHILOX_CALL_NONE,
		     is->kind == PHILOX_CALL_NONE);
	if (!is_simple(&shared->ends[0][was->function]) ||
	    !is_simple(&shared->ends[1][was->function]))
		return;
	if (then->backward &&
	    (shared->ends[0][0].refusals || shared->ends[1][0].refusals))
		return; /* of forwards that were not recorded */
	cr_assert(was->kind != PHILOX_CALL_WARMUP || is->kind == was->kind,
		  "program %" PRIu64 ", step %u: a warm-up is %u", p->seed,
		  step, is->kind);
	cr_assert(was->kind != PHILOX_CALL_REPLAY ||
			  is->kind != PHILOX_CALL_EAGER,
		  "program %" PRIu64 ", step %u: a replay is eager", p->seed,
		  step);
	if (then->input == PHILOX_INPUT_AUTOMATIC)
		return; /* which moved later */
	cr_assert_leq(is->bodies,
		      was->bodies - then->bodies + model_again(then),
		      "program %" PRIu64 ", step %u: %u bodies", p->seed, step,
		      is->bodies);
	p->shared->simple++;
}

static void compare(const struct program *p)
{
	const struct shared *shared = p->shared;

	for (unsigned i = p->saved_at; i < STEPS; i++) {
		SAME(shared->went_on[i].saw, shared->again[i].saw,
		     "program %" PRIu64 ", step %u", p->seed, i);
		compare_kinds(p, i);
	}
}

static void play_programs(const char *device, unsigned first)
{
	const char *alone = getenv("PHILOX_PLAN_SEED");
	struct shared *shared =
		mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq((void *)shared, MAP_FAILED);
	for (unsigned i = 0; i < (alone ? 1 : PROGRAMS); i++) {
		struct program *p = calloc(1, sizeof(*p));

		cr_assert(p);
		p->seed = alone ? strtoull(alone, NULL, 0) : first + i;
		p->shared = shared;
		p->saved_at = (unsigned)(p->seed * 2654435761u >> 8) % 200;
		in_a_process(p, device);
		p->again = 1;
		in_a_process(p, device);
		compare(p);
		free(p);
	}
	for (int again = 0; again < 2 && !alone; again++)
		for (int kind = PHILOX_CALL_EAGER; kind <= PHILOX_CALL_REPLAY;
		     kind++)
			cr_assert_geq(shared->counts[again][kind],
				      5u * PROGRAMS,
				      "only %" PRIu64 " of kind %d",
				      shared->counts[again][kind], kind);
	cr_assert(alone || shared->simple > 10 * PROGRAMS,
		  "only %" PRIu64 " simple steps", shared->simple);
	munmap(shared, sizeof(*shared));
}

Test(runner_plan_random, programs_go_on_as_they_would_have_on_host_sync,
     .timeout = 300)
{
	play_programs(named_device() ? named_device() : "host:sync", 1);
}

Test(runner_plan_random, programs_go_on_as_they_would_have_on_host_strict,
     .timeout = 300)
{
	play_programs(named_device() ? named_device() : "host:strict", 10001);
}
