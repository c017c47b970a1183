/*
 * tests/stress/pools.c - pools used by several threads
 *
 * Each promise lets its threads run against each other on the host device. What
 * a thread wrote into its blocks it must read there, and so must graphs that
 * share memory. A plain program, so that it also runs with the thread
 * sanitizer: an order that the library promises and does not keep is a race.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <philox.h>

enum { WORKERS = 3, ROUNDS = 200, LAUNCHES = 200, SESSIONS = 30, BYTES = 3000 };
enum { TAGS = 100000, KEPT = 64 };

#define CHECK(condition)                                                       \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__,  \
				__LINE__, #condition, philox_error_message()); \
			exit(1);                                               \
		}                                                              \
	} while (0)

#define OK(call) CHECK((call) == PHILOX_OK)

static struct philox_device *device;
static struct philox_context *context;

struct worker {
	pthread_t thread;
	int number;
	philox_stream stream;
	struct philox_pool *pool;
	struct philox_graph *graph;
	unsigned char *out;
};

static struct worker workers[WORKERS];
static atomic_int running;

static void begin(void)
{
	OK(philox_device_open("host", &device));
	OK(philox_context_create(device, &context));
	for (int i = 0; i < WORKERS; i++) {
		workers[i].number = i;
		OK(philox_stream_create(device, 0, &workers[i].stream));
		OK(philox_memory_alloc(device, BYTES,
				       (void **)&workers[i].out));
	}
}

static void end(void)
{
	OK(philox_device_synchronize(device));
	philox_context_destroy(context);
	for (int i = 0; i < WORKERS; i++) {
		OK(philox_memory_free(device, workers[i].out));
		OK(philox_stream_destroy(device, workers[i].stream));
	}
	OK(philox_device_close(device));
}

static struct philox_pool *make_pool(const char *name, uint32_t flags)
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	struct philox_pool *pool;

	options.name = name;
	options.flags = flags;
	options.range = flags & PHILOX_POOL_EXPANDABLE ? 1 << 28 : 0;
	OK(philox_pool_create(context, &options, &pool));
	return pool;
}

static void *ended(void *user)
{
	atomic_fetch_sub(&running, 1);
	return user;
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

static void holds(struct worker *worker, const void *memory, int value)
{
	unsigned char copy[BYTES];

	OK(philox_memory_copy(device, worker->stream, copy, memory, BYTES));
	OK(philox_stream_synchronize(device, worker->stream));
	for (int i = 0; i < BYTES; i++)
		CHECK(copy[i] == (unsigned char)value);
}

/* --- blocks --------------------------------------------------------------- */

static void *use_blocks(void *user)
{
	struct worker *worker = user;

	for (int round = 0; round < ROUNDS; round++) {
		const int value = 10 * worker->number + round % 10;
		struct philox_pool_block block;

		OK(philox_pool_alloc(worker->pool, worker->stream, BYTES, 0,
				     "block", &block));
		OK(philox_memory_set(device, worker->stream, block.address,
				     value, BYTES));
		holds(worker, block.address, value);
		OK(philox_pool_free(worker->pool, worker->stream,
				    block.address));
	}
	return ended(user);
}

/* What can be asked at any time; a journal comes and goes. */
static void look(struct philox_pool *pool)
{
	struct philox_pool_stats statistics =
		PHILOX_INIT(struct philox_pool_stats);
	char path[] = "/tmp/philox-pools-XXXXXX";
	int file = mkstemp(path);

	for (unsigned i = 0; atomic_load(&running); i++) {
		OK(philox_pool_get_stats(pool, &statistics));
		CHECK(statistics.live <= statistics.mapped);
		if (i % 8 == 0)
			OK(philox_context_set_journal(context, path));
		if (i % 8 == 4)
			OK(philox_context_set_journal(context, NULL));
	}
	OK(philox_context_set_journal(context, NULL));
	close(file);
	unlink(path);
}

static void blocks_of_several_threads(uint32_t flags)
{
	struct philox_pool *pool;

	begin();
	pool = make_pool("pool", flags);
	for (int i = 0; i < WORKERS; i++)
		workers[i].pool = pool;
	run_all(use_blocks);
	look(pool);
	join_all();
	end();
}

/* --- launches ------------------------------------------------------------- */

static struct philox_graph *capture(struct worker *worker, int value)
{
	struct philox_pool_session *session;
	struct philox_graph *graph;
	struct philox_pool_block block;

	OK(philox_capture_begin(context, worker->stream));
	OK(philox_pool_session_begin(worker->pool, worker->stream, &session));
	OK(philox_pool_alloc(worker->pool, worker->stream, BYTES, 0, "shared",
			     &block));
	OK(philox_memory_set(device, worker->stream, block.address, value,
			     BYTES));
	OK(philox_memory_copy(device, worker->stream, worker->out,
			      block.address, BYTES));
	OK(philox_pool_free(worker->pool, worker->stream, block.address));
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	OK(philox_capture_end(context, worker->stream, &graph));
	return graph;
}

static void *launch_graph(void *user)
{
	struct worker *worker = user;

	for (int i = 0; i < LAUNCHES; i++) {
		OK(philox_graph_launch(worker->graph, worker->stream, NULL, 0));
		if (i % 20 == 0)
			holds(worker, worker->out, worker->number + 1);
	}
	return ended(user);
}

static void graphs_that_share_memory(uint32_t flags)
{
	struct philox_pool *pool;

	begin();
	pool = make_pool("pool", flags);
	for (int i = 0; i < WORKERS; i++) {
		workers[i].pool = pool;
		workers[i].graph = capture(&workers[i], i + 1);
	}
	run_all(launch_graph);
	look(pool);
	join_all();
	end();
}

/* --- sessions ------------------------------------------------------------- */

/* One pool's session is one thread's; the others are told so, and try again. */
static void *have_sessions(void *user)
{
	struct worker *worker = user;
	int had = 0;

	while (had < SESSIONS) {
		struct philox_pool_session *session;
		enum philox_status status = philox_pool_session_begin(
			worker->pool, worker->stream, &session);
		struct philox_pool_block block;

		if (status == PHILOX_ERROR_BUSY)
			continue;
		OK(status);
		OK(philox_pool_alloc(worker->pool, worker->stream, BYTES, 0,
				     "warm", &block));
		OK(philox_memory_set(device, worker->stream, block.address,
				     worker->number, BYTES));
		OK(philox_memory_copy(device, worker->stream, worker->out,
				      block.address, BYTES));
		OK(philox_pool_free(worker->pool, worker->stream,
				    block.address));
		OK(philox_pool_session_end(
			session, had % 5 ? PHILOX_OK : PHILOX_ERROR_DEVICE,
			NULL));
		holds(worker, worker->out, worker->number);
		had++;
	}
	return ended(user);
}

static void sessions_of_several_threads(uint32_t flags)
{
	struct philox_pool *pool;

	begin();
	pool = make_pool("pool", flags);
	for (int i = 0; i < WORKERS; i++)
		workers[i].pool = pool;
	run_all(have_sessions);
	look(pool);
	join_all();
	end();
}

/* --- checkpoints ---------------------------------------------------------- */

static void has_tag(struct philox_pool *pool, void *address, int number)
{
	struct philox_pool_block_info info =
		PHILOX_INIT(struct philox_pool_block_info);
	char tag[16];

	snprintf(tag, sizeof(tag), "%d", number);
	OK(philox_pool_find(pool, address, &info));
	CHECK(!strcmp(info.tag, tag));
}

/* Blocks keep their own tags, whoever ends checkpoints of them meanwhile. */
static void *use_tags(void *user)
{
	struct worker *worker = user;
	struct philox_pool_block blocks[KEPT] = {{.address = NULL}};

	for (int round = 0; round < TAGS; round++) {
		struct philox_pool_block *block = &blocks[round % KEPT];
		char tag[16];

		if (block->address)
			has_tag(worker->pool, block->address, round - KEPT);
		OK(philox_pool_free(worker->pool, worker->stream,
				    block->address));
		snprintf(tag, sizeof(tag), "%d", round);
		OK(philox_pool_alloc(worker->pool, worker->stream, BYTES, 0,
				     tag, block));
	}
	for (int i = 0; i < KEPT; i++)
		OK(philox_pool_free(worker->pool, worker->stream,
				    blocks[i].address));
	return ended(user);
}

static void *keep_checkpoints(void *user)
{
	struct worker *worker = user;
	struct philox_pool_checkpoint *kept[4] = {NULL};

	for (int round = 0; atomic_load(&running) == WORKERS; round++) {
		struct philox_pool_checkpoint **one = &kept[round % 4];

		OK(philox_pool_checkpoint_destroy(*one));
		OK(philox_pool_checkpoint_create(worker->pool, one));
	}
	for (int i = 0; i < 4; i++)
		OK(philox_pool_checkpoint_destroy(kept[i]));
	return user;
}

static void *use_tags_or_keep(void *user)
{
	const struct worker *worker = user;

	return worker->number ? keep_checkpoints(user) : use_tags(user);
}

static void *destroy_the_checkpoint(void *user)
{
	OK(philox_pool_checkpoint_destroy(user));
	return NULL;
}

/* The last to end is the pool or any of them. */
static void end_beside_the_pool(uint32_t flags)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct philox_pool *pool = make_pool("short", flags);
		struct philox_pool_checkpoint *checkpoints[2];
		struct philox_pool_block block;
		pthread_t threads[2];

		OK(philox_pool_alloc(pool, workers[0].stream, BYTES, 0, "kept",
				     &block));
		for (int i = 0; i < 2; i++)
			OK(philox_pool_checkpoint_create(pool,
							 &checkpoints[i]));
		OK(philox_pool_free(pool, workers[0].stream, block.address));
		for (int i = 0; i < 2; i++)
			CHECK(pthread_create(&threads[i], NULL,
					     destroy_the_checkpoint,
					     checkpoints[i]) == 0);
		OK(philox_pool_destroy(pool));
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
	}
}

static void checkpoints_of_several_threads(uint32_t flags)
{
	struct philox_pool *pool;

	begin();
	pool = make_pool("pool", flags);
	for (int i = 0; i < WORKERS; i++)
		workers[i].pool = pool;
	run_all(use_tags_or_keep);
	join_all();
	end_beside_the_pool(flags);
	end();
}

/* --- scarce memory -------------------------------------------------------- */

/* Each takes what the others' pools must give back first, if they can. */
static void *take_much(void *user)
{
	struct worker *worker = user;

	for (int i = 0; i < ROUNDS / 4; i++) {
		struct philox_pool_block block;
		enum philox_status status =
			philox_pool_alloc(worker->pool, worker->stream, 5 << 20,
					  0, "much", &block);

		if (status == PHILOX_ERROR_MEMORY)
			continue;
		OK(status);
		OK(philox_memory_set(device, worker->stream, block.address,
				     worker->number, BYTES));
		holds(worker, block.address, worker->number);
		OK(philox_pool_free(worker->pool, worker->stream,
				    block.address));
	}
	return ended(user);
}

static void pools_that_take_from_each_other(uint32_t flags)
{
	char name[16];

	begin();
	for (int i = 0; i < WORKERS; i++) {
		snprintf(name, sizeof(name), "pool %d", i);
		workers[i].pool = make_pool(name, flags);
	}
	OK(philox_device_limit_memory(device, 11 << 20));
	run_all(take_much);
	look(workers[0].pool);
	join_all();
	OK(philox_device_limit_memory(device, 0));
	end();
}

/* --------------------------------------------------------------------------- */

static void promise(const char *name, void (*run)(uint32_t flags))
{
	run(0);
	run(PHILOX_POOL_EXPANDABLE);
	printf("ok      %s\n", name);
}

int main(void)
{
	promise("blocks of several threads", blocks_of_several_threads);
	promise("graphs that share memory, launched by several threads",
		graphs_that_share_memory);
	promise("sessions of several threads", sessions_of_several_threads);
	promise("pools that take memory from each other",
		pools_that_take_from_each_other);
	promise("checkpoints that threads make and destroy",
		checkpoints_of_several_threads);
	puts("5 passed, 0 failed, 0 skipped"); /* a broken one ends the program */
	return 0;
}
