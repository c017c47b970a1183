/*
 * tests/stress/fork.c - a process of busy threads forks again and again
 *
 * At each fork the threads hold whatever locks they hold. The child uses its
 * parent's objects, which are refused; its own, which work; and ends by exit()
 * with a handler that closes what its parent opened. An alarm ends a child that
 * waits for ever. A plain program, to be built with sanitizers as well.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <philox.h>
#include "tests/support/programs/sanitized.h"

/*
 * With SANITIZED a child only uses its parent's objects: after a fork the thread
 * sanitizer permits no new threads, the address sanitizer's allocator may be
 * locked for ever, and the leak sanitizer takes what the threads that are gone
 * had allocated for leaks.
 */

#define THREADS 3
#define FORKS   200
#define WORDS   256
#define ALARM   60 /* seconds, against waiting for ever */

#define OK(call)                                                              \
	do {                                                                  \
		enum philox_status status_ = call;                            \
		if (status_) {                                                \
			fprintf(stderr, "%s:%d: %s: %s: %s\n", __FILE__,      \
				__LINE__, #call, philox_status_name(status_), \
				philox_error_message());                      \
			_exit(1);                                             \
		}                                                             \
	} while (0)

#define CHECK(condition)                                                 \
	do {                                                             \
		if (!(condition)) {                                      \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, \
				__LINE__, #condition);                   \
			_exit(1);                                        \
		}                                                        \
	} while (0)

#define REFUSED(call)                                               \
	do {                                                        \
		CHECK((call) == PHILOX_ERROR_STATE);                \
		CHECK(strstr(philox_error_message(), "is a fork")); \
	} while (0)

static struct philox_device *device;
static struct philox_context *context;
static struct philox_region *regions[THREADS];
static atomic_int stop;
static atomic_uint rounds;

static struct philox_region *make_region(struct philox_context *in,
					 const char *name)
{
	const struct philox_op_desc op = {.name = "op"};
	const struct philox_region_desc options = {
		.size = sizeof(options), .name = name, .ops = &op, .n_ops = 1};
	struct philox_region *region;

	OK(philox_region_create(in, &options, &region));
	return region;
}

/* A forward on a device of one's own, with all that it takes. */
static void draw_once(struct philox_device *on, struct philox_region *region,
		      philox_stream stream)
{
	struct philox_ticket ticket;
	struct philox_pass pass;
	void *words;

	OK(philox_memory_alloc(on, WORDS * sizeof(uint32_t), &words));
	OK(philox_forward_begin(region, stream, 0, &pass));
	OK(philox_pass_bits(&pass, 0, PHILOX_DTYPE_U32,
			    philox_span_elements(0, WORDS), words));
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_ticket_release(region, stream, ticket));
	OK(philox_stream_synchronize(on, stream));
	OK(philox_memory_free(on, words));
}

static void *work(void *argument)
{
	struct philox_region *region = argument;

	while (!atomic_load(&stop)) {
		struct philox_generator *generator;
		philox_stream stream;

		OK(philox_stream_create(device, 0, &stream));
		draw_once(device, region, stream);
		OK(philox_generator_create(context, 1, &generator));
		OK(philox_generator_destroy(generator));
		OK(philox_context_set_journal(context, "/dev/null"));
		OK(philox_stream_destroy(device, stream));
		atomic_fetch_add(&rounds, 1);
	}
	return NULL;
}

/* --- in the child --------------------------------------------------------- */

static void use_parents(philox_stream stream)
{
	struct philox_generator *generator;
	struct philox_pass pass;
	uint64_t digest;
	size_t pending;
	void *memory;

	for (int i = 0; i < THREADS; i++) {
		REFUSED(philox_forward_begin(regions[i], stream, 0, &pass));
		REFUSED(philox_region_pending_count(regions[i], &pending));
	}
	REFUSED(philox_memory_alloc(device, 1, &memory));
	REFUSED(philox_stream_synchronize(device, stream));
	REFUSED(philox_device_synchronize(device));
	REFUSED(philox_generator_create(context, 1, &generator));
	REFUSED(philox_context_digest(context, &digest));
	REFUSED(philox_context_set_journal(context, NULL));
}

static void use_own(void)
{
	struct philox_device *own;
	struct philox_context *in;
	philox_stream stream;

	OK(philox_device_open("host", &own));
	OK(philox_context_create(own, &in));
	OK(philox_context_set_journal(in, "/dev/null"));
	OK(philox_stream_create(own, 0, &stream));
	draw_once(own, make_region(in, "own"), stream);
	philox_context_destroy(in);
	OK(philox_device_close(own));
}

/* Of the parent too, where both are gone by then. */
static void close_at_exit(void)
{
	philox_context_destroy(context);
	if (device)
		REFUSED(philox_device_close(device));
}

static void run_child(philox_stream stream)
{
	alarm(ALARM);
	use_parents(stream);
	if (SANITIZED)
		_exit(0);
	use_own();
	exit(0);
}

int main(void)
{
	pthread_t threads[THREADS];
	philox_stream stream;
	unsigned before = 0;
	int ended;

	CHECK(!atexit(close_at_exit));
	OK(philox_device_open("host", &device));
	OK(philox_context_create(device, &context));
	OK(philox_stream_create(device, 0, &stream));
	for (int i = 0; i < THREADS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "region %d", i);
		regions[i] = make_region(context, name);
		CHECK(!pthread_create(&threads[i], NULL, work, regions[i]));
	}
	for (int i = 0; i < FORKS; i++) {
		pid_t child;

		while (atomic_load(&rounds) == before)
			;
		before = atomic_load(&rounds);
		child = fork();
		CHECK(child >= 0);
		if (!child)
			run_child(stream);
		CHECK(waitpid(child, &ended, 0) == child);
		if (ended) {
			fprintf(stderr, "a child ended with 0x%x\n",
				(unsigned)ended);
			_exit(1);
		}
	}
	atomic_store(&stop, 1);
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	OK(philox_stream_destroy(device, stream));
	philox_context_destroy(context);
	OK(philox_device_close(device));
	context = NULL;
	device = NULL;
	if (SANITIZED)
		puts("with a sanitizer no child makes a device of its own");
	printf("%d forks beside %d threads that made %u rounds\n", FORKS,
	       THREADS, atomic_load(&rounds));
	return 0;
}
