/*
 * tests/stress/ranks.c - processes that run one program with collectives in it
 *
 * Three ranks make the same calls of functions whose bodies sum over all of
 * them, by work on the stream as a kernel of a collective library would. One of
 * them is odd: its inputs move, its outputs are kept, its memory is short, a
 * key of its own takes the place of another, its body refuses to be recorded,
 * and so on; in the end all of them are. All the same each call is of one kind
 * in all ranks, each sum is made of sums of that call and kind, and the numbers
 * are those of plain passes in another context. Then one rank is killed, at
 * each point of a call, and the others go on without it.
 *
 * A plain program, so that it also runs with the thread sanitizer. With
 * PHILOX_RANKS_SEED=n in the environment it plays the random program of that
 * seed alone, and with PHILOX_RANKS_LOG=1 it shows each call.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <philox.h>
#include "tests/support/ranks/world.h"

enum {
	RANKS = 3,
	ODD = 1,
	PLACES = 4,
	KEPT = 3,
	KEYS = 2,
	STEPS = 80,
	PROGRAMS = 60 /* of random events */
};

#define COUNT WORLD_WORDS
#define BYTES (COUNT * sizeof(uint32_t))

#define CHECK(condition)                                                       \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__,  \
				__LINE__, #condition, philox_error_message()); \
			_exit(1);                                              \
		}                                                              \
	} while (0)

#define OK(call) CHECK((call) == PHILOX_OK)

#define TRY(call)                                   \
	do {                                        \
		enum philox_status tried_ = (call); \
		if (tried_ != PHILOX_OK)            \
			return tried_;              \
	} while (0)

/* What may happen on one side, as bits. */
enum event {
	MOVES = 1,
	KEEPS = 2,
	SHORT = 4,  /* of memory, for recordings */
	OTHERS = 8, /* other keys */
	REFUSES = 16,
	BREAKS = 32,
	ERRS = 64,
	EAGER = 128,
	REMAKES = 256, /* regions */
	DAWDLES = 512
};

/* Where a rank is killed. */
enum point { NOWHERE, FIRST, SECOND, BODY, SUM, POINTS };

struct scene {
	const char *name;
	unsigned events;
	int all; /* ranks are odd */
	struct philox_policy policy;
	enum point dies; /* the odd rank, in this call */
	unsigned dies_in;
	const char *device;
	uint32_t seed;
};

/* What world_tally() counts; calls of each kind, too. */
enum {
	TALLY_BROKEN,
	TALLY_AGREED = PHILOX_CALL_REPLAY + 1,
	TALLY_FAILED,
	TALLY_SUMS
};

struct rank {
	struct world *world;
	const struct scene *scene;
	unsigned events;      /* that happen here */
	uint32_t shared, own; /* random */

	struct philox_device *device;
	struct philox_context *context, *plain;
	struct philox_region *region, *of_plain;
	philox_stream stream;
	struct philox_runner *runner;
	struct philox_function *forth, *back;
	uint32_t *x[PLACES], *numbers;
	struct philox_output kept[KEPT][2];
	unsigned n_kept;

	unsigned calls;     /* so far, of all functions */
	unsigned questions; /* of this call */
	int failed;         /* agree() has, in this call */
	int wrong;          /* an argument of this call is */
};

/* The host's work has no argument but what was captured. */
static struct rank *me;

static uint32_t next_of(uint32_t *random, uint32_t n)
{
	*random = *random * 1664525 + 1013904223;
	return (*random >> 16) % n;
}

/* Now and then an event happens here; not as often if it does elsewhere, too. */
static int happens(struct rank *rank, enum event event, uint32_t once_in)
{
	const uint32_t ranks = rank->scene->all ? 8 : 1;

	return (rank->events & event) &&
	       next_of(&rank->own, once_in * ranks) == 0;
}

static void die_at(const struct rank *rank, enum point point)
{
	if (rank->world->rank == ODD && rank->scene->dies == point &&
	    rank->scene->dies_in == rank->calls)
		kill(getpid(), SIGKILL);
}

/* --- functions ------------------------------------------------------------ */

static enum philox_status agree(void *user, uint32_t wanted, uint32_t *agreed)
{
	(void)user;
	die_at(me, me->questions++ ? SECOND : FIRST);
	if (world_least(me->world, wanted, agreed))
		return PHILOX_OK;
	me->failed = 1;
	return PHILOX_ERROR_DEVICE;
}

struct addition {
	uint32_t kind;
	uint32_t *words;
};

/* Where a collective would be. */
static void add_up(const void *args)
{
	const struct addition *addition = args;

	die_at(me, SUM);
	world_sum(me->world, addition->kind, addition->words);
}

static enum philox_status sum(struct philox_run *run, const void *x, void *to)
{
	const struct addition addition = {.kind = philox_run_kind(run),
					  .words = to};
	philox_stream stream = philox_run_stream(run);

	TRY(philox_memory_copy(me->device, stream, to, x, BYTES));
	return philox_stream_launch_host(me->device, stream, add_up, &addition,
					 sizeof(addition));
}

static enum philox_status draw(const struct philox_pass *pass, void *to)
{
	struct philox_fill_desc fill = PHILOX_INIT(struct philox_fill_desc);

	fill.dist = PHILOX_DIST_BITS;
	fill.dtype = PHILOX_DTYPE_U32;
	fill.span.count = COUNT;
	fill.out = to;
	return philox_pass_fill(pass, 0, 0, &fill);
}

static enum philox_status draw_of(struct philox_run *run, int back, void *y)
{
	struct philox_ticket ticket = {0, 0};
	struct philox_pass pass;

	if (back)
		TRY(philox_run_backward_begin(run, me->region, ticket, 0,
					      &pass));
	else
		TRY(philox_run_forward_begin(run, me->region, 0, &pass));
	TRY(draw(&pass, y));
	return back ? philox_pass_commit(&pass, 0, NULL)
		    : philox_pass_commit(&pass, 0, &ticket);
}

/* What must not be in a recording, or asks not to be. */
static enum philox_status spoil(struct philox_run *run)
{
	if (philox_run_kind(run) != PHILOX_CALL_RECORD)
		return PHILOX_OK;
	if (happens(me, REFUSES, 2))
		return philox_run_refuse(run, "it is odd");
	if (happens(me, BREAKS, 2))
		return philox_stream_synchronize(me->device,
						 philox_run_stream(run));
	return PHILOX_OK;
}

static enum philox_status body(void *user, struct philox_run *run)
{
	void *x, *y, *total;

	die_at(me, BODY);
	TRY(philox_run_input(run, 0, &x, NULL));
	TRY(philox_run_alloc(run, BYTES, 0, "y", &y));
	TRY(philox_run_alloc(run, BYTES, 0, "sum", &total));
	TRY(draw_of(run, user == &me->back, y));
	TRY(spoil(run));
	TRY(sum(run, x, total));
	TRY(philox_run_output(run, 0, y, BYTES));
	return philox_run_output(run, 1, total, BYTES);
}

static void make_function(struct rank *rank, const char *name,
			  struct philox_function **function)
{
	const struct philox_input_desc x = {
		.name = "x",
		.kind = rank->scene->events & SHORT ? PHILOX_INPUT_COPIED
						    : PHILOX_INPUT_STATIC};
	const struct philox_output_desc outputs[] = {{.name = "y"},
						     {.name = "sum"}};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	options.name = name;
	options.flags = PHILOX_FUNCTION_COLLECTIVE;
	options.agree = agree;
	options.body = body;
	options.user = function; /* by which the body knows it */
	options.inputs = &x;
	options.n_inputs = 1;
	options.outputs = outputs;
	options.n_outputs = 2;
	options.policy = rank->scene->policy;
	OK(philox_function_create(rank->runner, &options, function));
}

/* --- a rank --------------------------------------------------------------- */

static struct philox_region *make_region(struct philox_context *context)
{
	static const char *const ops[] = {"draw"};
	struct philox_region *region;

	OK(philox_region_create_named(context, "layer", ops, 1, &region));
	return region;
}

static void begin_rank(struct rank *rank, struct world *world,
		       const struct scene *scene)
{
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);

	*rank = (struct rank){.world = world,
			      .scene = scene,
			      .shared = scene->seed,
			      .own = scene->seed + 77 * (uint32_t)world->rank};
	if (world->rank == ODD || scene->all)
		rank->events = scene->events;
	me = rank;
	OK(philox_device_open(scene->device, &rank->device));
	OK(philox_context_create(rank->device, &rank->context));
	OK(philox_context_create(rank->device, &rank->plain));
	rank->region = make_region(rank->context);
	rank->of_plain = make_region(rank->plain);
	OK(philox_stream_create(rank->device, 0, &rank->stream));
	options.name = "ranks";
	if (rank->events & SHORT) { /* enough for two blocks, and no third */
		options.pool_step = 512;
		options.pool_limit = 1024;
	}
	if (rank->events & EAGER)
		setenv("PHILOX_RUNNER", "eager", 1);
	OK(philox_runner_create(rank->context, &options, &rank->runner));
	make_function(rank, "forth", &rank->forth);
	make_function(rank, "back", &rank->back);
	for (int i = 0; i < PLACES; i++)
		OK(philox_memory_alloc(rank->device, BYTES,
				       (void **)&rank->x[i]));
	OK(philox_memory_alloc(rank->device, BYTES, (void **)&rank->numbers));
}

static void count_calls(struct philox_function *function)
{
	struct philox_function_stats counts =
		PHILOX_INIT(struct philox_function_stats);

	OK(philox_function_get_stats(function, &counts));
	if (me->scene->policy.verify == 1)
		CHECK(counts.verified >= counts.replay);
	CHECK(counts.differed == 0 && counts.unverified == 0);
	world_tally(PHILOX_CALL_EAGER, counts.eager);
	world_tally(PHILOX_CALL_WARMUP, counts.warmup);
	world_tally(PHILOX_CALL_RECORD, counts.record);
	world_tally(PHILOX_CALL_REPLAY, counts.replay);
	world_tally(TALLY_FAILED, counts.failed);
	/* of those that needed no care themselves */
	if (me->world->rank != ODD || me->scene->all)
		world_tally(TALLY_AGREED, counts.missed_agreed);
}

static void end_rank(struct rank *rank)
{
	count_calls(rank->forth);
	count_calls(rank->back);
	OK(philox_device_synchronize(rank->device));
	OK(philox_runner_destroy(rank->runner));
	philox_context_destroy(rank->context);
	philox_context_destroy(rank->plain);
	for (int i = 0; i < PLACES; i++)
		OK(philox_memory_free(rank->device, rank->x[i]));
	OK(philox_memory_free(rank->device, rank->numbers));
	OK(philox_stream_destroy(rank->device, rank->stream));
	OK(philox_device_close(rank->device));
}

/* --- calls ---------------------------------------------------------------- */

static void read_words(const struct rank *rank, uint32_t words[COUNT],
		       const void *from)
{
	OK(philox_memory_copy(rank->device, rank->stream, words, from, BYTES));
	OK(philox_stream_synchronize(rank->device, rank->stream));
}

/* The next numbers of one eager program. */
static void draw_plainly(struct rank *rank, uint32_t words[COUNT])
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(rank->of_plain, rank->stream, 0, &pass));
	OK(draw(&pass, rank->numbers));
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_ticket_release(rank->of_plain, rank->stream, ticket));
	read_words(rank, words, rank->numbers);
}

/* Each rank gives a word that tells the call and the rank. */
static uint32_t word_of(unsigned call, int rank)
{
	return 10 * call + (uint32_t)rank;
}

static void check_sum(const struct rank *rank, const void *output)
{
	const struct world *world = rank->world;
	uint32_t words[COUNT], expected = 0;

	read_words(rank, words, output);
	if (world->broken) {
		world_tally(TALLY_BROKEN, 1);
		return;
	}
	for (int i = 0; i < RANKS; i++)
		if (world->members & 1u << i)
			expected += word_of(rank->calls, i);
	for (int i = 0; i < COUNT; i++)
		CHECK(words[i] == expected);
	world_tally(TALLY_SUMS, 1);
}

static void release(struct rank *rank, const struct philox_output *outputs)
{
	for (int i = 0; i < 2; i++)
		OK(philox_output_release(rank->runner, rank->stream,
					 &outputs[i]));
}

static void keep_or_release(struct rank *rank,
			    const struct philox_output *outputs)
{
	if (rank->n_kept < KEPT && happens(rank, KEEPS, 3)) {
		memcpy(rank->kept[rank->n_kept++], outputs,
		       sizeof(rank->kept[0]));
		return;
	}
	release(rank, outputs);
	if (rank->n_kept && next_of(&rank->own, 3) == 0)
		release(rank, rank->kept[--rank->n_kept]);
}

/* The input and the key of a call, of this rank. */
struct given {
	struct philox_call call;
	struct philox_call_input x;
	struct philox_launch_pass use;
	struct philox_output outputs[2];
	uint32_t key;
};

static void give(struct rank *rank, struct given *given, uint32_t key)
{
	const uint32_t place =
		happens(rank, MOVES, 3) ? next_of(&rank->own, PLACES) : 0;
	uint32_t words[COUNT];

	*given = (struct given){.call = PHILOX_INIT(struct philox_call),
				.key = key};
	if (happens(rank, OTHERS, 3))
		given->key = KEYS + next_of(&rank->own, 2);
	rank->wrong = happens(rank, ERRS, 4);
	for (int i = 0; i < COUNT; i++)
		words[i] = word_of(rank->calls, rank->world->rank);
	given->x = (struct philox_call_input){.address = rank->x[place],
					      .bytes = BYTES};
	OK(philox_memory_copy(rank->device, rank->stream, rank->x[place], words,
			      BYTES));
	OK(philox_stream_synchronize(rank->device, rank->stream));
	given->call.stream = rank->stream;
	given->call.key = &given->key;
	given->call.key_bytes = sizeof(given->key);
	given->call.inputs = &given->x;
	given->call.n_inputs = rank->wrong ? 2 : 1;
	given->call.passes = &given->use;
	given->call.n_passes = 1;
	given->call.outputs = given->outputs;
	given->call.n_outputs = 2;
	rank->questions = rank->failed = 0;
}

/* A call that failed says whose fault it was, and gave nothing out. */
static void check_failure(const struct rank *rank, enum philox_status status)
{
	if (rank->wrong) {
		CHECK(status == PHILOX_ERROR_INVALID);
	} else if (rank->failed) {
		CHECK(status == PHILOX_ERROR_DEVICE);
		CHECK(strstr(philox_error_message(),
			     "its processes cannot agree"));
	} else {
		CHECK(status == PHILOX_ERROR_STATE);
		CHECK(strstr(philox_error_message(),
			     "other processes cannot make the call"));
	}
}

/* 1 if it went well. Whatever it was, it was that everywhere. */
static int make_call(struct rank *rank, struct philox_function *function,
		     struct given *given, uint32_t numbers[COUNT])
{
	enum philox_status status =
		philox_function_call(function, &given->call);
	uint32_t kind = 9;

	if (getenv("PHILOX_RANKS_LOG"))
		fprintf(stderr, "rank %d, call %u: %u %s\n", rank->world->rank,
			rank->calls, given->call.kind,
			status ? philox_error_message()
			       : philox_function_reason(function));
	if (status == PHILOX_OK) {
		kind = given->call.kind;
		read_words(rank, numbers, given->outputs[0].address);
		check_sum(rank, given->outputs[1].address);
		keep_or_release(rank, given->outputs);
	} else {
		check_failure(rank, status);
	}
	world_same(rank->world, kind);
	rank->world->broken = 0;
	rank->calls++;
	return status == PHILOX_OK;
}

static void step(struct rank *rank)
{
	const int dies = rank->scene->dies != NOWHERE;
	const uint32_t key = next_of(&rank->shared, 4) || dies ? 0 : KEYS - 1;
	const int back = next_of(&rank->shared, 2) || dies;
	uint32_t numbers[COUNT], expected[COUNT];
	struct philox_ticket ticket;
	struct given given;

	give(rank, &given, key);
	if (!make_call(rank, rank->forth, &given, numbers))
		return;
	draw_plainly(rank, expected);
	CHECK(memcmp(numbers, expected, BYTES) == 0);
	ticket = given.use.ticket;
	if (back) {
		give(rank, &given, key);
		given.use.ticket = ticket;
		if (make_call(rank, rank->back, &given, numbers)) {
			CHECK(memcmp(numbers, expected, BYTES) == 0);
			return;
		}
	}
	OK(philox_ticket_release(rank->region, rank->stream, ticket));
}

static void prepare(struct rank *rank)
{
	struct given given;
	enum philox_status status;

	give(rank, &given, next_of(&rank->shared, KEYS));
	status = philox_function_prepare(rank->forth, &given.call, 1, NULL);
	if (status != PHILOX_OK)
		check_failure(rank, status);
	world_same(rank->world, status != PHILOX_OK);
	rank->calls++;
}

static void remake_regions(struct rank *rank)
{
	OK(philox_region_destroy(rank->region));
	OK(philox_region_destroy(rank->of_plain));
	rank->region = make_region(rank->context);
	rank->of_plain = make_region(rank->plain);
}

static void play(struct world *world, void *user)
{
	struct rank rank;

	begin_rank(&rank, world, user);
	for (unsigned i = 0; i < STEPS; i++) {
		if (next_of(&rank.shared, 16) == 0 && !rank.scene->dies)
			prepare(&rank);
		if (happens(&rank, REMAKES, 8))
			remake_regions(&rank);
		if (happens(&rank, DAWDLES, 4))
			usleep(next_of(&rank.own, 3000));
		step(&rank);
	}
	while (rank.n_kept)
		release(&rank, rank.kept[--rank.n_kept]);
	end_rank(&rank);
}

/* --- scenes --------------------------------------------------------------- */

static void play_scene(const struct scene *scene, uint64_t tallies[])
{
	struct scene copy = *scene;
	const uint32_t killed = world_run(RANKS, play, &copy, tallies);

	printf("%s on %s, seed %u: %" PRIu64 " eager, %" PRIu64
	       " warm-ups, %" PRIu64 " recorded, %" PRIu64 " replayed, %" PRIu64
	       " failed, %" PRIu64 " for others\n",
	       scene->name, scene->device, scene->seed,
	       tallies[PHILOX_CALL_EAGER], tallies[PHILOX_CALL_WARMUP],
	       tallies[PHILOX_CALL_RECORD], tallies[PHILOX_CALL_REPLAY],
	       tallies[TALLY_FAILED], tallies[TALLY_AGREED]);
	fflush(stdout);
	CHECK(killed == (scene->dies ? 1u << ODD : 0));
	CHECK(tallies[TALLY_SUMS] > 0);
}

/* One kind of event, of one rank: the others take care for it. */
static void play_event(const char *name, unsigned events,
		       struct philox_policy policy, const char *device)
{
	uint64_t tallies[WORLD_TALLIES];
	const struct scene scene = {.name = name,
				    .events = events,
				    .policy = policy,
				    .device = device,
				    .seed = 1 + events};

	play_scene(&scene, tallies);
	CHECK((events & (ERRS | DAWDLES) ? tallies[TALLY_FAILED]
					 : tallies[TALLY_AGREED]) > 0 ||
	      events == DAWDLES);
	CHECK(tallies[PHILOX_CALL_WARMUP] > 0 || events & EAGER);
	CHECK(tallies[PHILOX_CALL_REPLAY] > 0 || events & (EAGER | SHORT));
}

static void play_events(const char *device)
{
	const struct philox_policy usual = {.retry = 4};
	const struct philox_policy one = {.recordings = 1};
	const struct philox_policy few = {.keys = KEYS};
	const struct philox_policy verified = {.verify = 1};
	const struct philox_policy sometimes = {.verify = 3};

	play_event("nothing odd", DAWDLES, usual, device);
	play_event("inputs that move", MOVES, usual, device);
	play_event("inputs that move often", MOVES, one, device);
	play_event("outputs that are kept", KEEPS, usual, device);
	play_event("outputs beside one recording", KEEPS, one, device);
	play_event("memory that is short", SHORT, usual, device);
	play_event("keys too many", OTHERS, few, device);
	play_event("bodies that refuse", REFUSES, usual, device);
	play_event("captures that break", BREAKS, usual, device);
	play_event("arguments that are wrong", ERRS, usual, device);
	play_event("a rank that is eager", EAGER, usual, device);
	play_event("regions made anew", REMAKES, usual, device);
	play_event("replays that are verified", MOVES, verified, device);
	play_event("some of them", KEEPS, sometimes, device);
}

static void play_random(uint32_t seed, const char *device, uint64_t all[])
{
	uint64_t tallies[WORLD_TALLIES];
	uint32_t random = seed;
	struct scene scene = {.name = "all at once",
			      .all = 1,
			      .device = device,
			      .seed = seed};

	scene.events =
		next_of(&random, 2 * DAWDLES) & ~(unsigned)(EAGER | SHORT);
	scene.policy =
		(struct philox_policy){.recordings = next_of(&random, 5),
				       .warmups = next_of(&random, 3),
				       .keys = next_of(&random, 2) ? KEYS : 0,
				       .retry = 1 + next_of(&random, 5),
				       .verify = next_of(&random, 4)};
	play_scene(&scene, tallies);
	for (int i = 0; i < WORLD_TALLIES; i++)
		all[i] += tallies[i];
}

/* All of it has happened often enough to be worth the trouble. */
static void play_programs(void)
{
	const char *const seed = getenv("PHILOX_RANKS_SEED");
	uint64_t all[WORLD_TALLIES] = {0};

	for (uint32_t i = 1; i <= PROGRAMS; i++)
		if (!seed || strtoul(seed, NULL, 10) == i)
			play_random(i, i % 2 ? "host" : "host:sync", all);
	if (seed)
		exit(0);
	for (int kind = PHILOX_CALL_EAGER; kind <= PHILOX_CALL_REPLAY; kind++)
		CHECK(all[kind] > 1000);
	CHECK(all[TALLY_AGREED] > 1000);
	CHECK(all[TALLY_FAILED] > 500);
}

/*
 * Forth and back, in turn: two warm-ups, two recordings, two replays. Before
 * the work is launched the death fails the call of the others; a sum that it
 * breaks is theirs to find.
 */
static void play_death(const char *device, enum point point, unsigned call)
{
	static const char *const names[] = {
		"", "a death before it answers", "a death when it has captured",
		"a death in a body", "a death in the work"};
	const int recorded = call / 2 == 1;
	const int fails = point <= SECOND || (point == BODY && recorded);
	uint64_t tallies[WORLD_TALLIES];
	const struct scene scene = {.name = names[point],
				    .device = device,
				    .dies = point,
				    .dies_in = call,
				    .seed = 3};

	if ((point == SECOND && !recorded) || (point == BODY && call > 3))
		return;
	play_scene(&scene, tallies);
	CHECK(tallies[TALLY_FAILED] == (fails ? RANKS - 1 : 0));
	CHECK(tallies[TALLY_BROKEN] == (fails ? 0 : RANKS - 1));
	CHECK(tallies[PHILOX_CALL_REPLAY] > (RANKS - 1) * STEPS);
}

static void play_deaths(const char *device)
{
	for (unsigned call = 0; call < 6; call++)
		for (int point = FIRST; point < POINTS; point++)
			play_death(device, (enum point)point, call);
}

int main(void)
{
	play_programs();
	play_events("host");
	play_events("host:sync");
	play_deaths("host");
	play_deaths("host:sync");
	return 0;
}
