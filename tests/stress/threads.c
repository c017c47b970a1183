/*
 * tests/stress/threads.c - contexts, regions and graphs used by several threads
 *
 * Each promise lets its threads run against each other on the host device, for
 * a fixed number of rounds. Backwards must draw their forward's numbers, and no
 * two forwards the same ones. A plain program, so that it also runs with the
 * thread sanitizer: arrays are read without locks wherever the library promises
 * an order, so a broken promise shows as a race.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox.h>

enum {
	WORKERS = 3,
	ROUNDS = 400,
	CAPTURES = 20,
	REPLAYS = 20,
	WORDS = 16, /* drawn by each pass: four blocks */
	BLOCKS = WORDS / 4,
	SEEN_MAX = 4096
};

#define CHECK(condition)                                                       \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__,  \
				__LINE__, #condition, philox_error_message()); \
			exit(1);                                               \
		}                                                              \
	} while (0)

#define OK(call) CHECK((call) == PHILOX_OK)

struct numbers {
	uint32_t word[WORDS];
};

static struct philox_device *device;
static struct philox_context *context;

/* --- numbers -------------------------------------------------------------- */

/* The numbers of all forwards of a promise. */
static struct {
	atomic_uint count;
	struct numbers numbers[SEEN_MAX];
} seen;

static void see(struct numbers drawn)
{
	unsigned place = atomic_fetch_add(&seen.count, 1);

	CHECK(place < SEEN_MAX);
	seen.numbers[place] = drawn;
}

static int compare_blocks(const void *a, const void *b)
{
	return memcmp(a, b, 16);
}

static void all_are_fresh(unsigned expected)
{
	size_t blocks = (size_t)BLOCKS * atomic_load(&seen.count);
	char *block = (char *)seen.numbers;

	CHECK(blocks == (size_t)BLOCKS * expected);
	qsort(block, blocks, 16, compare_blocks);
	for (size_t i = 1; i < blocks; i++)
		CHECK(memcmp(block + 16 * (i - 1), block + 16 * i, 16) != 0);
	atomic_store(&seen.count, 0);
}

static int same(struct numbers a, struct numbers b)
{
	return memcmp(&a, &b, sizeof(a)) == 0;
}

static int all_poison(struct numbers numbers)
{
	for (unsigned i = 0; i < WORDS; i++)
		if (numbers.word[i] != UINT32_MAX)
			return 0;
	return 1;
}

/* --- shared by the promises ----------------------------------------------- */

static struct numbers *make_array(void)
{
	void *array;

	OK(philox_memory_alloc(device, sizeof(struct numbers), &array));
	return array;
}

static philox_stream make_stream(void)
{
	philox_stream stream;

	OK(philox_stream_create(device, 0, &stream));
	return stream;
}

static struct philox_region *make_region(const char *name)
{
	const struct philox_op_desc op = {"draw", 1, 0};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = name,
					     .ops = &op,
					     .n_ops = 1,
					     .pending = 1024};
	struct philox_region *region;

	OK(philox_region_create(context, &options, &region));
	return region;
}

static void draw(const struct philox_pass *pass, struct numbers *array)
{
	struct philox_span span = {.first = 0, .count = WORDS};

	OK(philox_pass_bits(pass, 0, PHILOX_DTYPE_U32, span, array));
}

static struct philox_ticket forward(struct philox_region *region,
				    philox_stream stream, struct numbers *array)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(region, stream, 0, &pass));
	draw(&pass, array);
	OK(philox_pass_commit(&pass, 0, &ticket));
	return ticket;
}

static void backward(struct philox_region *region, struct philox_ticket ticket,
		     philox_stream stream, unsigned flags,
		     struct numbers *array)
{
	struct philox_pass pass;

	OK(philox_backward_begin(region, stream, ticket, flags, &pass));
	draw(&pass, array);
	OK(philox_pass_commit(&pass, 0, NULL));
}

/*
 * A save waits for the device, which no capture survives: captures read, saves
 * write.
 */
static pthread_rwlock_t captures = PTHREAD_RWLOCK_INITIALIZER;

/* A thread with two streams and two arrays of its own. */
struct worker {
	pthread_t thread;
	unsigned number;
	void *shared;
	philox_stream stream, other;
	struct numbers *first, *again;
};

static void finish_streams(const struct worker *worker)
{
	OK(philox_stream_synchronize(device, worker->stream));
	OK(philox_stream_synchronize(device, worker->other));
}

static void run(void *(*work)(void *worker), void *shared)
{
	struct worker workers[WORKERS];

	for (unsigned i = 0; i < WORKERS; i++) {
		workers[i] = (struct worker){.number = i,
					     .shared = shared,
					     .stream = make_stream(),
					     .other = make_stream(),
					     .first = make_array(),
					     .again = make_array()};
		CHECK(!pthread_create(&workers[i].thread, NULL, work,
				      &workers[i]));
	}
	for (unsigned i = 0; i < WORKERS; i++) {
		CHECK(!pthread_join(workers[i].thread, NULL));
		OK(philox_stream_destroy(device, workers[i].stream));
		OK(philox_stream_destroy(device, workers[i].other));
		OK(philox_memory_free(device, workers[i].first));
		OK(philox_memory_free(device, workers[i].again));
	}
}

/* --- passes --------------------------------------------------------------- */

static atomic_uint contexts_alive;

static void release_context(void *saved, philox_stream stream)
{
	(void)stream;
	free(saved);
	atomic_fetch_sub(&contexts_alive, 1);
}

static void attach_context(struct philox_region *region,
			   struct philox_ticket ticket)
{
	atomic_fetch_add(&contexts_alive, 1);
	OK(philox_ticket_attach(region, ticket, malloc(16), release_context));
}

static void *use_one_region(void *argument)
{
	const struct worker *worker = argument;
	struct philox_region *region = worker->shared;

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct philox_ticket ticket;

		ticket = forward(region, worker->stream, worker->first);
		attach_context(region, ticket);
		backward(region, ticket, worker->stream, PHILOX_PASS_RETAIN,
			 worker->again);
		OK(philox_stream_synchronize(device, worker->stream));
		CHECK(same(*worker->first, *worker->again));
		see(*worker->first);
		backward(region, ticket, worker->stream, 0, worker->again);
		OK(philox_stream_synchronize(device, worker->stream));
		CHECK(same(*worker->first, *worker->again));
	}
	return NULL;
}

static void one_region_serves_all_threads(void)
{
	run(use_one_region, make_region("layer"));
	all_are_fresh(WORKERS * ROUNDS);
	CHECK(!atomic_load(&contexts_alive));
}

/* Forward and backward on different streams, which swap. */
static void *move_between_streams(void *argument)
{
	const struct worker *worker = argument;
	struct philox_region *region = worker->shared;

	for (unsigned round = 0; round < ROUNDS; round++) {
		int odd = round & 1;
		struct philox_ticket ticket;

		ticket = forward(region, odd ? worker->other : worker->stream,
				 worker->first);
		backward(region, ticket, odd ? worker->stream : worker->other,
			 0, worker->again);
		finish_streams(worker);
		CHECK(same(*worker->first, *worker->again));
		see(*worker->first);
	}
	return NULL;
}

static void a_region_moves_between_streams(void)
{
	run(move_between_streams, make_region("layer"));
	all_are_fresh(WORKERS * ROUNDS);
}

/* A region's numbers do not depend on what other threads do meanwhile. */
static void *use_own_region(void *argument)
{
	const struct worker *worker = argument;
	char name[16];
	struct philox_region *region;

	snprintf(name, sizeof(name), "layer %u", worker->number);
	region = make_region(name);
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct philox_state state = {
			philox_op_seed(
				philox_fold(0, PHILOX_FOLD_REGION,
					    forward(region, worker->stream,
						    worker->first)
						    .region_key),
				0, 0),
			4 * round};
		struct philox_words words = philox_draw4(state, 0);

		OK(philox_stream_synchronize(device, worker->stream));
		CHECK(!memcmp(worker->first, &words, sizeof(words)));
		see(*worker->first);
	}
	OK(philox_region_destroy(region));
	return NULL;
}

static void regions_do_not_disturb_one_another(void)
{
	run(use_own_region, NULL);
	all_are_fresh(WORKERS * ROUNDS);
}

/* --- passes that change threads ------------------------------------------- */

struct hand {
	struct philox_pass pass;
	struct numbers *first, *again;
};

/* Hands in order; a thread takes those that the previous one has passed on. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned passed_on[WORKERS];
	struct hand hands[ROUNDS];
} chain = {.lock = PTHREAD_MUTEX_INITIALIZER,
	   .changed = PTHREAD_COND_INITIALIZER};

static struct hand *take_hand(unsigned worker, unsigned round)
{
	pthread_mutex_lock(&chain.lock);
	while (worker && chain.passed_on[worker - 1] <= round)
		pthread_cond_wait(&chain.changed, &chain.lock);
	pthread_mutex_unlock(&chain.lock);
	return &chain.hands[round];
}

static void pass_on_hand(unsigned worker)
{
	pthread_mutex_lock(&chain.lock);
	chain.passed_on[worker]++;
	pthread_cond_broadcast(&chain.changed);
	pthread_mutex_unlock(&chain.lock);
}

/* The first begins forwards, the next commits and begins backwards, ... */
static void work_on_hand(const struct worker *worker, struct hand *hand)
{
	struct philox_region *region = worker->shared;
	struct philox_ticket ticket;

	if (worker->number == 0) {
		hand->first = make_array();
		hand->again = make_array();
		OK(philox_forward_begin(region, worker->stream, 0,
					&hand->pass));
		draw(&hand->pass, hand->first);
		OK(philox_stream_synchronize(device, worker->stream));
	} else if (worker->number == 1) {
		OK(philox_pass_commit(&hand->pass, 0, &ticket));
		OK(philox_backward_begin(region, worker->stream, ticket, 0,
					 &hand->pass));
		draw(&hand->pass, hand->again);
		OK(philox_stream_synchronize(device, worker->stream));
	} else {
		OK(philox_pass_commit(&hand->pass, 0, NULL));
		CHECK(same(*hand->first, *hand->again));
		see(*hand->first);
		OK(philox_memory_free(device, hand->first));
		OK(philox_memory_free(device, hand->again));
	}
}

static void *work_on_hands(void *argument)
{
	const struct worker *worker = argument;

	for (unsigned round = 0; round < ROUNDS; round++) {
		work_on_hand(worker, take_hand(worker->number, round));
		pass_on_hand(worker->number);
	}
	return NULL;
}

static void passes_end_on_another_thread(void)
{
	run(work_on_hands, make_region("layer"));
	all_are_fresh(ROUNDS);
}

/* --- graphs --------------------------------------------------------------- */

static pthread_barrier_t barrier; /* of all workers */

/* A forward and its backward in one graph; all threads capture at once. */
static struct philox_graph *capture_pair(const struct worker *worker)
{
	struct philox_graph *graph;
	struct philox_ticket ticket;

	pthread_rwlock_rdlock(&captures);
	OK(philox_capture_begin(context, worker->stream));
	pthread_barrier_wait(&barrier);
	ticket = forward(worker->shared, worker->stream, worker->first);
	backward(worker->shared, ticket, worker->stream, 0, worker->again);
	pthread_barrier_wait(&barrier);
	OK(philox_capture_end(context, worker->stream, &graph));
	pthread_rwlock_unlock(&captures);
	return graph;
}

static void replay_pair(const struct worker *worker, struct philox_graph *graph)
{
	struct philox_launch_pass uses[2];

	memset(uses, 0, sizeof(uses));
	OK(philox_graph_launch(graph, worker->stream, uses, 2));
	OK(philox_stream_synchronize(device, worker->stream));
	CHECK(same(*worker->first, *worker->again));
	see(*worker->first);
}

static void *capture_and_replay(void *argument)
{
	const struct worker *worker = argument;

	for (unsigned i = 0; i < CAPTURES; i++) {
		struct philox_graph *graph = capture_pair(worker);

		for (unsigned replay = 0; replay < REPLAYS; replay++)
			replay_pair(worker, graph);
		OK(philox_graph_destroy(graph));
	}
	return NULL;
}

static void captures_overlap_on_threads(void)
{
	run(capture_and_replay, make_region("layer"));
	all_are_fresh(WORKERS * CAPTURES * REPLAYS);
}

/* The device runs launches of one graph one after the other: no lock. */
struct list {
	unsigned count;
	struct numbers numbers[WORKERS * ROUNDS];
};

struct append {
	struct list *list;
	const struct numbers *drawn;
};

static void append(const void *argument)
{
	const struct append *to = argument;

	to->list->numbers[to->list->count++] = *to->drawn;
}

/* Two graphs: a forward, and a backward named at launch. */
struct graphs {
	struct philox_region *region;
	struct philox_graph *forward, *backward;
	struct list forwards, backwards;
};

static struct philox_graph *capture_one(struct philox_region *region,
					philox_stream stream, int is_backward,
					struct append *to)
{
	const struct philox_ticket named_at_launch = {0};
	struct philox_graph *graph;

	pthread_rwlock_rdlock(&captures);
	OK(philox_capture_begin(context, stream));
	if (is_backward)
		backward(region, named_at_launch, stream, 0,
			 (struct numbers *)to->drawn);
	else
		forward(region, stream, (struct numbers *)to->drawn);
	OK(philox_stream_launch_host(device, stream, append, to, sizeof(*to)));
	OK(philox_capture_end(context, stream, &graph));
	pthread_rwlock_unlock(&captures);
	return graph;
}

static void *launch_shared_graphs(void *argument)
{
	const struct worker *worker = argument;
	const struct graphs *graphs = worker->shared;

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct philox_launch_pass use = {{0}, 0, 0};

		OK(philox_graph_launch(graphs->forward, worker->stream, &use,
				       1));
		OK(philox_graph_launch(graphs->backward, worker->other, &use,
				       1));
	}
	finish_streams(worker);
	return NULL;
}

static int compare_numbers(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct numbers));
}

static void one_graph_is_launched_by_all_threads(void)
{
	static struct graphs graphs;
	struct append forwards = {&graphs.forwards, make_array()};
	struct append backwards = {&graphs.backwards, make_array()};
	philox_stream stream = make_stream();
	const unsigned all = WORKERS * ROUNDS;

	graphs.region = make_region("layer");
	graphs.forward = capture_one(graphs.region, stream, 0, &forwards);
	graphs.backward = capture_one(graphs.region, stream, 1, &backwards);
	run(launch_shared_graphs, &graphs);
	CHECK(graphs.forwards.count == all && graphs.backwards.count == all);
	qsort(graphs.forwards.numbers, all, sizeof(struct numbers),
	      compare_numbers);
	qsort(graphs.backwards.numbers, all, sizeof(struct numbers),
	      compare_numbers);
	CHECK(!memcmp(graphs.forwards.numbers, graphs.backwards.numbers,
		      sizeof(graphs.forwards.numbers)));
	for (unsigned i = 0; i < all; i++)
		see(graphs.forwards.numbers[i]);
	all_are_fresh(all);
	OK(philox_stream_destroy(device, stream));
	OK(philox_memory_free(device, (void *)forwards.drawn));
	OK(philox_memory_free(device, (void *)backwards.drawn));
}

/* --- watching ------------------------------------------------------------- */

static struct {
	struct philox_region *region;
	atomic_uint running, messages;
	atomic_ullong unannounced; /* launches found */
} watched;

/* Called on all threads at once; it may call philox. */
static void on_message(void *user, const struct philox_log_entry *entry)
{
	size_t pending;

	CHECK(user == &watched && entry->text && entry->device);
	OK(philox_region_pending_count(watched.region, &pending));
	atomic_fetch_add(&watched.messages, 1);
}

static void note_unannounced(void)
{
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);

	if (philox_context_check(context, &report) == PHILOX_ERROR_UNANNOUNCED)
		atomic_fetch_add(&watched.unannounced, report.launches);
}

/* A save waits for the device, and is refused while passes are open. */
static void try_to_save(void)
{
	char *text;
	enum philox_status status;

	pthread_rwlock_wrlock(&captures);
	status = philox_context_save_text(context, &text, NULL);
	pthread_rwlock_unlock(&captures);
	if (status == PHILOX_OK)
		free(text);
	else
		CHECK(status == PHILOX_ERROR_BUSY ||
		      status == PHILOX_ERROR_UNANNOUNCED);
}

static void *watch(void *argument)
{
	struct philox_state state;
	uint64_t digest;
	size_t n;

	(void)argument;
	while (atomic_load(&watched.running)) {
		note_unannounced();
		OK(philox_context_set_log(context, on_message, &watched));
		OK(philox_context_set_journal(context, "/dev/null"));
		OK(philox_context_digest(context, &digest));
		OK(philox_region_tickets(watched.region, NULL, 0, &n));
		OK(philox_context_set_journal(context, NULL));
		OK(philox_generator_get_state(philox_context_generator(context),
					      &state));
		try_to_save();
	}
	return NULL;
}

/* An unannounced launch, and a call that fails. */
static void misbehave(const struct worker *worker, struct philox_graph *graph)
{
	philox_native_exec exec;
	struct philox_ticket ticket;

	OK(philox_graph_native(graph, NULL, &exec));
	OK(philox_native_exec_launch(device, worker->stream, exec));
	OK(philox_stream_synchronize(device, worker->stream));
	CHECK(all_poison(*worker->first) && all_poison(*worker->again));
	ticket = forward(worker->shared, worker->stream, worker->first);
	OK(philox_ticket_release(worker->shared, worker->stream, ticket));
	CHECK(philox_ticket_release(worker->shared, worker->stream, ticket) ==
	      PHILOX_ERROR_RELEASED);
}

static void *work_while_watched(void *argument)
{
	const struct worker *worker = argument;
	struct philox_graph *graph = capture_pair(worker);

	for (unsigned round = 0; round < ROUNDS; round++) {
		replay_pair(worker, graph);
		if (round % 8 == 0)
			misbehave(worker, graph);
	}
	note_unannounced(); /* a destroyed graph reports no more */
	OK(philox_graph_destroy(graph));
	return NULL;
}

static void another_thread_can_watch(void)
{
	const unsigned each = ROUNDS / 8;
	pthread_t watcher;

	watched.region = make_region("layer");
	atomic_store(&watched.running, 1);
	CHECK(!pthread_create(&watcher, NULL, watch, NULL));
	run(work_while_watched, watched.region);
	atomic_store(&watched.running, 0);
	CHECK(!pthread_join(watcher, NULL));
	CHECK(atomic_load(&watched.unannounced) == WORKERS * each);
	CHECK(atomic_load(&watched.messages) > 0);
	all_are_fresh(WORKERS * ROUNDS);
}

/* --- all ------------------------------------------------------------------ */

static void (*const promises[])(void) = {
	one_region_serves_all_threads,
	a_region_moves_between_streams,
	regions_do_not_disturb_one_another,
	passes_end_on_another_thread,
	captures_overlap_on_threads,
	one_graph_is_launched_by_all_threads,
	another_thread_can_watch,
};

int main(void)
{
	const size_t count = sizeof(promises) / sizeof(promises[0]);

	OK(philox_device_open("host:strict", &device));
	CHECK(!pthread_barrier_init(&barrier, NULL, WORKERS));
	for (size_t i = 0; i < count; i++) {
		OK(philox_context_create(device, &context));
		promises[i](); /* a broken one ends the program */
		philox_context_destroy(context);
	}
	pthread_barrier_destroy(&barrier);
	philox_device_close(device);
	printf("%zu passed, 0 failed, 0 skipped\n", count);
	return 0;
}
