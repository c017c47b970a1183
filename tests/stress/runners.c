/*
 * tests/stress/runners.c - runners used by several threads
 *
 * Each thread has a runner; all have one context, and one region whose tickets
 * go from a thread's forwards to its backwards, while a journal comes and goes
 * and monitors read the runners' pools. Then all share one runner, which
 * refuses whoever comes second; outputs are saved while their pool is read;
 * and runners are destroyed as soon as nobody is in them. Then they are on two
 * devices, with a context on each. A plain program, so that it also runs with
 * the thread sanitizer: an order that the library promises and does not keep
 * is a race.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <philox.h>

enum { WORKERS = 3, ROUNDS = 600, COUNT = 64, PLACES = 2 };

#define CHECK(condition)                                                       \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__,  \
				__LINE__, #condition, philox_error_message()); \
			exit(1);                                               \
		}                                                              \
	} while (0)

#define OK(call) CHECK((call) == PHILOX_OK)

#define BYTES    (COUNT * sizeof(uint32_t))

/* A device with a context; each thread is at one of them. */
struct place {
	struct philox_device *of;
	struct philox_context *on;
	struct philox_region *in;
};

static struct place places[2];
static _Thread_local struct place *here;

#define device  (here->of)
#define context (here->on)
#define region  (here->in)

struct worker {
	pthread_t thread;
	int number;
	struct place *at;
	philox_stream stream, side;
	struct philox_runner *runner;
	struct philox_function *forth, *back;
	uint32_t *x[PLACES];
	unsigned done, refused;
};

static struct worker workers[WORKERS];
static atomic_int running;

/* --- a function, forth and back ------------------------------------------- */

#define TRY(call)                                   \
	do {                                        \
		enum philox_status tried_ = (call); \
		if (tried_ != PHILOX_OK)            \
			return tried_;              \
	} while (0)

static enum philox_status draw_words(struct philox_run *run,
				     const struct philox_pass *pass)
{
	struct philox_fill_desc fill = PHILOX_INIT(struct philox_fill_desc);
	void *x, *y, *echo;

	TRY(philox_run_input(run, 0, &x, NULL));
	TRY(philox_run_alloc(run, BYTES, 0, "y", &y));
	TRY(philox_run_alloc(run, BYTES, 0, "echo", &echo));
	fill.dist = PHILOX_DIST_BITS;
	fill.dtype = PHILOX_DTYPE_U32;
	fill.span.count = COUNT;
	fill.out = y;
	TRY(philox_pass_fill(pass, 0, 0, &fill));
	TRY(philox_memory_copy(device, philox_run_stream(run), echo, x, BYTES));
	TRY(philox_run_output(run, 0, y, BYTES));
	return philox_run_output(run, 1, echo, BYTES);
}

static enum philox_status go_forth(void *user, struct philox_run *run)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	(void)user;
	TRY(philox_run_forward_begin(run, region, 0, &pass));
	TRY(draw_words(run, &pass));
	return philox_pass_commit(&pass, 0, &ticket);
}

static enum philox_status go_back(void *user, struct philox_run *run)
{
	const struct philox_ticket named = {0, 0};
	struct philox_pass pass;

	(void)user;
	TRY(philox_run_backward_begin(run, region, named, 0, &pass));
	TRY(draw_words(run, &pass));
	return philox_pass_commit(&pass, 0, NULL);
}

static struct philox_function *make_function(struct worker *worker, int back)
{
	const struct philox_input_desc x = {.name = "x",
					    .kind = back ? PHILOX_INPUT_COPIED
							 : PHILOX_INPUT_STATIC};
	const struct philox_output_desc outputs[] = {{.name = "y"},
						     {.name = "echo"}};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_function *function;
	char name[16];

	snprintf(name, sizeof(name), "%s %d", back ? "back" : "forth",
		 worker->number);
	options.name = name;
	options.body = back ? go_back : go_forth;
	options.inputs = &x;
	options.n_inputs = 1;
	options.outputs = outputs;
	options.n_outputs = 2;
	OK(philox_function_create(worker->runner, &options, &function));
	return function;
}

static enum philox_status call(struct worker *worker,
			       struct philox_function *function, int place,
			       struct philox_launch_pass *use,
			       struct philox_output outputs[2])
{
	struct philox_call_input x = {.address = worker->x[place],
				      .bytes = BYTES};
	struct philox_call made = PHILOX_INIT(struct philox_call);

	made.stream = worker->stream;
	made.inputs = &x;
	made.n_inputs = 1;
	made.passes = use;
	made.n_passes = 1;
	made.outputs = outputs;
	made.n_outputs = outputs ? 2 : 0;
	return philox_function_call(function, &made);
}

/* The numbers, and x is checked; the outputs are released on `stream`. */
static void take(struct worker *worker, int place,
		 struct philox_output outputs[2], philox_stream stream,
		 uint32_t words[COUNT])
{
	uint32_t echo[COUNT];

	OK(philox_memory_copy(device, worker->stream, words, outputs[0].address,
			      BYTES));
	OK(philox_memory_copy(device, worker->stream, echo, outputs[1].address,
			      BYTES));
	OK(philox_stream_synchronize(device, worker->stream));
	for (int i = 0; i < COUNT; i++)
		CHECK(echo[i] == (uint32_t)(10 * worker->number + place));
	for (int i = 0; i < 2; i++)
		OK(philox_output_release(worker->runner, stream, &outputs[i]));
}

/* --- a runner for each thread --------------------------------------------- */

static void *use_runner(void *user)
{
	struct worker *worker = user;

	here = worker->at;
	for (int round = 0; round < ROUNDS; round++) {
		const int place = round / 5 % PLACES;
		struct philox_launch_pass use = {{0, 0}, 0, 0};
		struct philox_output outputs[2];
		uint32_t saw[COUNT], again[COUNT];

		OK(call(worker, worker->forth, place, &use, outputs));
		take(worker, place, outputs, worker->stream, saw);
		use.flags = round % 3 ? 0 : PHILOX_PASS_RETAIN;
		OK(call(worker, worker->back, place, &use, outputs));
		take(worker, place, outputs, worker->side, again);
		CHECK(memcmp(saw, again, BYTES) == 0);
		if (use.flags)
			OK(philox_ticket_release(region, worker->stream,
						 use.ticket));
		worker->done++;
	}
	atomic_fetch_sub(&running, 1);
	return NULL;
}

static void write_journals(void)
{
	char path[] = "/tmp/philox-runners-XXXXXX";
	int file = mkstemp(path);

	for (unsigned i = 0; atomic_load(&running); i++) {
		if (i % 8 == 0)
			OK(philox_context_set_journal(context, path));
		if (i % 8 == 4)
			OK(philox_context_set_journal(context, NULL));
		usleep(200);
	}
	OK(philox_context_set_journal(context, NULL));
	close(file);
	unlink(path);
}

static void run_all(void *(*work)(void *))
{
	atomic_store(&running, WORKERS);
	for (int i = 0; i < WORKERS; i++)
		CHECK(pthread_create(&workers[i].thread, NULL, work,
				     &workers[i]) == 0);
}

static void join_all(void)
{
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
}

/* A monitor reads pools at any time, and no call is refused for it. */
static void *read_pools(void *user)
{
	for (unsigned i = 0; atomic_load(&running); i++) {
		struct philox_pool *pool =
			philox_runner_pool(workers[i % WORKERS].runner);
		struct philox_pool_stats stats =
			PHILOX_INIT(struct philox_pool_stats);
		struct philox_pool_block_info info =
			PHILOX_INIT(struct philox_pool_block_info);
		char *text;
		int live;

		OK(philox_pool_get_stats(pool, &stats));
		CHECK(stats.live <= stats.mapped);
		CHECK(philox_pool_find(pool, &live, &info) ==
		      PHILOX_ERROR_NOT_FOUND);
		OK(philox_pool_is_live(pool, NULL, 0, &live));
		if (i % 16)
			continue;
		OK(philox_pool_snapshot_text(pool, &text, NULL));
		free(text);
	}
	return user;
}

static void a_runner_for_each_thread(void)
{
	pthread_t monitors[2];

	run_all(use_runner);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&monitors[i], NULL, read_pools, NULL) ==
		      0);
	write_journals();
	for (int i = 0; i < 2; i++)
		pthread_join(monitors[i], NULL);
	join_all();
	for (int i = 0; i < WORKERS; i++) {
		struct philox_function_stats counts =
			PHILOX_INIT(struct philox_function_stats);

		CHECK(workers[i].done == ROUNDS);
		OK(philox_function_get_stats(workers[i].forth, &counts));
		CHECK(counts.replay > ROUNDS / 2);
	}
}

/* --- one runner for all --------------------------------------------------- */

static void *share_runner(void *user)
{
	struct worker *worker = user;

	here = worker->at;
	for (int round = 0; round < ROUNDS; round++) {
		struct philox_launch_pass use = {{0, 0}, 0, 0};
		enum philox_status status =
			call(worker, workers[0].forth, 0, &use, NULL);

		CHECK(status == PHILOX_OK || status == PHILOX_ERROR_BUSY);
		if (status == PHILOX_OK) {
			worker->done++;
			OK(philox_ticket_release(region, worker->stream,
						 use.ticket));
		} else {
			worker->refused++;
		}
	}
	atomic_fetch_sub(&running, 1);
	return NULL;
}

static void one_runner_for_all(void)
{
	unsigned done = 0, refused = 0;

	for (int i = 0; i < WORKERS; i++)
		workers[i].done = workers[i].refused = 0;
	run_all(share_runner);
	join_all();
	for (int i = 0; i < WORKERS; i++) {
		done += workers[i].done;
		refused += workers[i].refused;
	}
	CHECK(done + refused == WORKERS * ROUNDS && done > 0);
}

/* --- saves beside monitors ------------------------------------------------ */

static atomic_int saving;

static void *read_a_pool(void *user)
{
	struct philox_pool *pool = philox_runner_pool(user);
	struct philox_pool_stats stats = PHILOX_INIT(struct philox_pool_stats);

	while (atomic_load(&saving))
		OK(philox_pool_get_stats(pool, &stats));
	return NULL;
}

/* The outputs are named by the context's text, whoever reads their pool. */
static void saves_of_outputs_that_are_read(void)
{
	struct worker *worker = &workers[0];
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_output outputs[2];
	char path[] = "/tmp/philox-outputs-XXXXXX";
	int file = mkstemp(path);
	pthread_t monitors[2];
	char *text;

	OK(call(worker, worker->forth, 0, &use, outputs));
	OK(philox_outputs_save(worker->runner, worker->stream, path));
	atomic_store(&saving, 1);
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&monitors[i], NULL, read_a_pool,
				      worker->runner));
	for (int i = 0; i < 10 * ROUNDS; i++) {
		if (i % 50 == 0)
			OK(philox_context_set_journal(
				context, i % 100 ? NULL : "/dev/null"));
		OK(philox_context_save_text(context, &text, NULL));
		CHECK(strstr(text, "\noutputs \"runner 0\" digest "));
		free(text);
	}
	OK(philox_context_set_journal(context, NULL));
	atomic_store(&saving, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(monitors[i], NULL);
	for (int i = 0; i < 2; i++)
		OK(philox_output_release(worker->runner, worker->stream,
					 &outputs[i]));
	OK(philox_ticket_release(region, worker->stream, use.ticket));
	close(file);
	unlink(path);
}

/* --- runners that are destroyed as soon as nobody is in them -------------- */

static atomic_int inside;

static enum philox_status tell_and_end(void *user, struct philox_run *run)
{
	(void)run;
	atomic_store(&inside, 1);
	return user ? PHILOX_ERROR_DEVICE : PHILOX_OK;
}

static void *call_once(void *user)
{
	struct philox_call made = PHILOX_INIT(struct philox_call);

	made.stream = workers[0].stream;
	philox_function_call(user, &made);
	return NULL;
}

static void a_call_that_ends_in_a_runner_that_is_destroyed(int fails)
{
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);
	struct philox_function_desc brief =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_runner *runner;
	struct philox_function *function;
	enum philox_status status = PHILOX_ERROR_BUSY;
	pthread_t thread;

	options.name = "short";
	OK(philox_runner_create(context, &options, &runner));
	brief.name = "brief";
	brief.body = tell_and_end;
	brief.user = fails ? &inside : NULL;
	OK(philox_function_create(runner, &brief, &function));
	atomic_store(&inside, 0);
	CHECK(!pthread_create(&thread, NULL, call_once, function));
	while (!atomic_load(&inside))
		;
	while (status == PHILOX_ERROR_BUSY)
		status = philox_runner_destroy(runner);
	OK(status);
	pthread_join(thread, NULL);
}

static void calls_that_end_in_runners_that_are_destroyed(void)
{
	for (int round = 0; round < ROUNDS; round++)
		a_call_that_ends_in_a_runner_that_is_destroyed(round % 2);
}

static void open_place(struct place *place, const char *name)
{
	static const char *const ops[] = {"draw"};

	here = place;
	OK(philox_device_open(name, &device));
	OK(philox_context_create(device, &context));
	OK(philox_region_create_named(context, "layer", ops, 1, &region));
}

static void close_place(struct place *place)
{
	here = place;
	OK(philox_device_synchronize(device));
	philox_context_destroy(context);
	OK(philox_device_close(device));
}

static void make_input(struct worker *worker, int k)
{
	uint32_t words[COUNT];

	for (int n = 0; n < COUNT; n++)
		words[n] = (uint32_t)(10 * worker->number + k);
	OK(philox_memory_alloc(device, BYTES, (void **)&worker->x[k]));
	OK(philox_memory_copy(device, worker->stream, worker->x[k], words,
			      BYTES));
	OK(philox_stream_synchronize(device, worker->stream));
}

static void begin_worker(struct worker *worker, int number, struct place *place)
{
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);
	char name[16];

	here = place;
	snprintf(name, sizeof(name), "runner %d", number);
	options.name = name;
	*worker = (struct worker){.number = number, .at = place};
	OK(philox_runner_create(context, &options, &worker->runner));
	OK(philox_stream_create(device, 0, &worker->stream));
	OK(philox_stream_create(device, 0, &worker->side));
	worker->forth = make_function(worker, 0);
	worker->back = make_function(worker, 1);
	for (int k = 0; k < PLACES; k++)
		make_input(worker, k);
}

static void end_worker(struct worker *worker)
{
	here = worker->at;
	OK(philox_device_synchronize(device));
	OK(philox_runner_destroy(worker->runner));
	for (int k = 0; k < PLACES; k++)
		OK(philox_memory_free(device, worker->x[k]));
	OK(philox_stream_destroy(device, worker->stream));
	OK(philox_stream_destroy(device, worker->side));
}

static void begin(int devices)
{
	for (int i = 0; i < WORKERS; i++)
		begin_worker(&workers[i], i, &places[i % devices]);
	here = &places[0];
}

static void end(void)
{
	for (int i = 0; i < WORKERS; i++)
		end_worker(&workers[i]);
	here = &places[0];
}

/* Where a cell is written by two stores, as it is here, none may be left out. */
static void values_are_any_bytes(void)
{
	const philox_stream stream = workers[0].stream;
	unsigned char bytes[PHILOX_PARAM_BYTES], found[PHILOX_PARAM_BYTES];
	struct philox_graph *graph;
	void *cell, *to;

	OK(philox_memory_alloc(device, sizeof(bytes), &to));
	memset(bytes, 0, sizeof(bytes));
	OK(philox_capture_begin(context, stream));
	OK(philox_capture_param(context, stream, "any", bytes, sizeof(bytes),
				&cell));
	OK(philox_memory_copy(device, stream, to, cell, sizeof(bytes)));
	OK(philox_capture_end(context, stream, &graph));
	for (unsigned i = 0; i < 512; i++) {
		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (unsigned char)(i * 37 + k * 101 + i / 256);
		OK(philox_graph_set_param(graph, 0, bytes, sizeof(bytes)));
		OK(philox_graph_launch(graph, stream, NULL, 0));
		OK(philox_memory_copy(device, stream, found, to,
				      sizeof(found)));
		OK(philox_stream_synchronize(device, stream));
		CHECK(memcmp(found, bytes, sizeof(bytes)) == 0);
	}
	OK(philox_graph_destroy(graph));
	OK(philox_memory_free(device, to));
}

int main(void)
{
	open_place(&places[1], "host:strict");
	open_place(&places[0], "host");
	begin(1);
	values_are_any_bytes();
	a_runner_for_each_thread();
	one_runner_for_all();
	saves_of_outputs_that_are_read();
	calls_that_end_in_runners_that_are_destroyed();
	end();
	begin(2);
	a_runner_for_each_thread();
	end();
	close_place(&places[0]);
	close_place(&places[1]);
	return 0;
}
