/*
 * tests/device/fork.c - what a child of fork() can do with its parent's objects
 *
 * While the parent forks, another thread of it holds every lock that a call
 * could wait for. In the child these locks are never released, so a call that
 * does not look first whether it is in a fork waits for ever: an alarm ends it.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "graph/launch/launch.h"
#include "lib/device/host/host.h"
#include "tests/support/support.h"

#define ALARM 30 /* seconds, against waiting for ever */

/* The thread sanitizer permits no new threads after a fork. */
#if defined(__SANITIZE_THREAD__)
#define THREADS_AFTER_FORK 0
#elif defined(__has_feature)
#define THREADS_AFTER_FORK !__has_feature(thread_sanitizer)
#else
#define THREADS_AFTER_FORK 1
#endif

/* One of everything, made in the parent. */
struct estate {
	struct philox_device *device;
	struct philox_context *context;
	struct philox_generator *generator;
	struct philox_region *region;
	struct philox_rows *rows;
	struct philox_graph *graph;
	struct philox_ticket ticket; /* pending */
	struct philox_pass pass;     /* an open forward */
	philox_stream stream, capturing;
	philox_event event;
	philox_native_graph native; /* with a pass, not adopted */
	philox_native_exec exec;
	uint64_t capture_id;
	uint32_t *words;
	void *memory;
};

static int logged, wrong;

static void count_message(void *user, const struct philox_log_entry *entry)
{
	(void)user;
	(void)entry;
	logged++;
}

static void draw_words(const struct philox_pass *pass, uint32_t *words)
{
	OK(philox_pass_bits(pass, 0, PHILOX_DTYPE_U32,
			    philox_span_elements(0, COUNT), words));
}

static void capture_pass(struct estate *e)
{
	struct philox_ticket placeholder;
	struct philox_pass pass;

	OK(philox_forward_begin(e->region, e->stream, 0, &pass));
	draw_words(&pass, e->memory);
	OK(philox_pass_commit(&pass, 0, &placeholder));
}

static void make_graphs(struct estate *e)
{
	OK(philox_capture_begin(e->context, e->stream));
	capture_pass(e);
	OK(philox_capture_end(e->context, e->stream, &e->graph));
	OK(philox_stream_begin_capture(e->device, e->stream,
				       PHILOX_CAPTURE_THREAD_LOCAL));
	OK(philox_stream_capture_info(e->device, e->stream, NULL,
				      &e->capture_id));
	capture_pass(e);
	OK(philox_stream_end_capture(e->device, e->stream, &e->native));
	OK(philox_native_graph_instantiate(e->device, e->native, &e->exec));
}

static void make_context(struct estate *e, const char *device)
{
	const struct philox_op_desc op = {.name = "only"};
	const struct philox_region_desc options = {.size = sizeof(options),
						   .name = "layer",
						   .ops = &op,
						   .n_ops = 1};

	OK(philox_device_open(device, &e->device));
	OK(philox_context_create(e->device, &e->context));
	OK(philox_region_create(e->context, &options, &e->region));
	OK(philox_stream_create(e->device, 0, &e->stream));
	OK(philox_memory_alloc(e->device, COUNT * sizeof(uint32_t),
			       (void **)&e->words));
	OK(philox_forward_begin(e->region, e->stream, 0, &e->pass));
	draw_words(&e->pass, e->words);
	OK(philox_pass_commit(&e->pass, 0, &e->ticket));
	OK(philox_stream_synchronize(e->device, e->stream));
}

static void make_estate(struct estate *e, const char *device)
{
	const struct philox_rows_desc options = {
		.size = sizeof(options), .name = "rows", .count = 4};

	make_context(e, device);
	OK(philox_context_set_log(e->context, count_message, NULL));
	OK(philox_generator_create(e->context, 7, &e->generator));
	OK(philox_rows_create(e->context, &options, &e->rows));
	OK(philox_stream_create(e->device, 0, &e->capturing));
	OK(philox_event_create(e->device, &e->event));
	OK(philox_memory_alloc(e->device, 4096, &e->memory));
	make_graphs(e);
	OK(philox_forward_begin(e->region, e->stream, 0, &e->pass));
	OK(philox_stream_begin_capture(e->device, e->capturing,
				       PHILOX_CAPTURE_THREAD_LOCAL));
}

/* --- in the child --------------------------------------------------------- */

static void expect_refused(enum philox_status status, const char *call)
{
	if (status == PHILOX_ERROR_STATE &&
	    strstr(philox_error_message(), "fork"))
		return;
	fprintf(stderr, "%s gave %s: %s\n", call, philox_status_name(status),
		philox_error_message());
	wrong++;
}

static void expect_so(int so, const char *condition)
{
	if (so)
		return;
	fprintf(stderr, "not so: %s (%s)\n", condition, philox_error_message());
	wrong++;
}

#define REFUSED(call)     expect_refused(call, #call)
#define EXPECT(condition) expect_so(condition, #condition)

static void do_nothing(const void *args)
{
	(void)args;
}

static void use_device(struct estate *e)
{
	struct philox_device *device = e->device;
	struct philox_context *context;
	enum philox_capture_mode mode = PHILOX_CAPTURE_RELAXED;
	philox_native_graph native;
	philox_native_exec exec;
	philox_stream stream;
	philox_event event;
	void *memory;
	size_t nodes;

	REFUSED(philox_device_synchronize(device));
	REFUSED(philox_device_set_threads(device, 2));
	REFUSED(philox_memory_alloc(device, 1, &memory));
	REFUSED(philox_memory_free(device, e->memory));
	REFUSED(philox_device_memory_info(device, &nodes, NULL));
	REFUSED(philox_device_limit_memory(device, 1));
	REFUSED(device_space_granularity(device, &nodes));
	REFUSED(device_space_reserve(device, 1 << 16, &memory));
	REFUSED(device_space_map(device, e->memory, 0, 1 << 16));
	REFUSED(device_space_unmap(device, e->memory, 0, 1 << 16));
	REFUSED(device_space_release(device, e->memory));
	REFUSED(philox_memory_copy(device, e->stream, e->memory, &mode, 1));
	REFUSED(philox_memory_set(device, e->stream, e->memory, 0, 1));
	REFUSED(philox_stream_create(device, 0, &stream));
	REFUSED(philox_stream_destroy(device, e->stream));
	REFUSED(philox_stream_synchronize(device, e->stream));
	REFUSED(philox_stream_query(device, e->stream));
	REFUSED(philox_event_create(device, &event));
	REFUSED(philox_event_destroy(device, e->event));
	REFUSED(philox_event_record(device, e->stream, e->event));
	REFUSED(philox_event_wait(device, e->stream, e->event));
	REFUSED(philox_event_synchronize(device, e->event));
	REFUSED(philox_event_query(device, e->event));
	REFUSED(philox_stream_begin_capture(device, e->stream, mode));
	REFUSED(philox_stream_end_capture(device, e->capturing, &native));
	REFUSED(philox_stream_capture_info(device, e->stream, NULL, NULL));
	REFUSED(philox_capture_exchange_mode(device, &mode));
	REFUSED(philox_native_graph_instantiate(device, e->native, &exec));
	REFUSED(philox_native_exec_launch(device, e->stream, e->exec));
	REFUSED(philox_native_exec_destroy(device, e->exec));
	REFUSED(philox_native_graph_destroy(device, e->native));
	REFUSED(philox_native_graph_node_count(device, e->native, &nodes));
	REFUSED(philox_stream_launch_host(device, e->stream, do_nothing, &mode,
					  1));
	REFUSED(philox_context_create(device, &context));
	REFUSED(philox_device_close(device));
}

static void use_context(struct estate *e)
{
	const struct philox_op_desc op = {.name = "op"};
	const struct philox_region_desc options = {.size = sizeof(options),
						   .name = "other",
						   .ops = &op,
						   .n_ops = 1};
	struct philox_generator *generator;
	struct philox_region *region;
	struct philox_state state = {1, 0};
	uint64_t digest;
	char *text;

	REFUSED(philox_context_set_log(e->context, NULL, NULL));
	REFUSED(philox_context_set_journal(e->context, "/dev/null"));
	REFUSED(philox_context_digest(e->context, &digest));
	REFUSED(philox_context_save_text(e->context, &text, NULL));
	REFUSED(philox_context_load_text(e->context, "", 0));
	REFUSED(philox_context_save(e->context, "/dev/null"));
	REFUSED(philox_context_load(e->context, "/dev/null"));
	REFUSED(philox_context_check(e->context, NULL));
	REFUSED(philox_generator_create(e->context, 1, &generator));
	REFUSED(philox_generator_create_flags(e->context, 1, 0, &generator));
	REFUSED(philox_generator_destroy(e->generator));
	REFUSED(philox_generator_seed(e->generator, 1));
	REFUSED(philox_generator_get_state(e->generator, &state));
	REFUSED(philox_generator_set_state(e->generator,
					   (struct philox_state){1, 0}));
	REFUSED(philox_generator_advance(e->generator, 4, &state));
	REFUSED(philox_generator_fold(e->generator, 1));
	REFUSED(philox_generator_copy_state(e->generator, e->stream,
					    e->memory));
	REFUSED(philox_context_write_states(e->context, e->stream, e->memory,
					    &state, 1));
	REFUSED(philox_region_create(e->context, &options, &region));
}

static void use_region(struct estate *e)
{
	struct philox_ticket tickets[4];
	const struct philox_reserve_desc reserve = {.size = sizeof(reserve),
						    .regions = &e->region,
						    .n_regions = 1,
						    .tickets = tickets};
	struct philox_state state;
	struct philox_pass pass;
	size_t n;
	void *saved;

	REFUSED(philox_region_pending_count(e->region, &n));
	REFUSED(philox_region_tickets(e->region, tickets, 4, &n));
	EXPECT(philox_region_cell_count(e->region) == 0);
	EXPECT(philox_region_cell_index(e->region, 0, 0) == SIZE_MAX);
	REFUSED(philox_forward_begin(e->region, e->stream, 0, &pass));
	REFUSED(philox_backward_begin(e->region, e->stream, e->ticket, 0,
				      &pass));
	REFUSED(philox_backward_begin(e->region, e->stream, e->ticket,
				      PHILOX_PASS_RETAIN, &pass));
	REFUSED(philox_context_reserve(e->context, e->stream, &reserve));
	REFUSED(philox_ticket_state(e->region, e->ticket, 0, 0, &state));
	REFUSED(philox_ticket_attach(e->region, e->ticket, &n,
				     (void (*)(void *, philox_stream))abort));
	REFUSED(philox_ticket_context(e->region, e->ticket, &saved));
	REFUSED(philox_ticket_release(e->region, e->stream, e->ticket));
	REFUSED(philox_region_destroy(e->region));
}

static void use_pass(struct estate *e)
{
	const struct philox_fill_desc fill = {
		.size = sizeof(fill),
		.span = philox_span_elements(0, 4),
		.out = e->memory};
	const struct philox_state *states;
	struct philox_ticket ticket;
	struct philox_pass view;
	struct philox_rng rng = {.state = {1, 0}};

	REFUSED(philox_pass_on(&e->pass, e->capturing, &view));
	REFUSED(philox_pass_states(&e->pass, &states));
	REFUSED(philox_pass_ticket(&e->pass, &ticket));
	REFUSED(philox_pass_cell(&e->pass, 0, 0, &states));
	REFUSED(philox_pass_rng(&e->pass, 0, 0, &rng));
	REFUSED(philox_pass_fill(&e->pass, 0, 0, &fill));
	REFUSED(philox_pass_commit(&e->pass, 0, &ticket));
	REFUSED(philox_pass_abort(&e->pass));
	REFUSED(philox_rng_fill(e->device, e->stream, rng, &fill));
}

static void use_rows(struct estate *e)
{
	const struct philox_rows_desc options = {
		.size = sizeof(options), .name = "more", .count = 4};
	const struct philox_row_fill_desc fill = {.size = sizeof(fill),
						  .dist = PHILOX_DIST_BITS,
						  .dtype = PHILOX_DTYPE_U32,
						  .count = 4,
						  .pitch = 4,
						  .out = e->memory};
	const struct philox_sample_desc sample = {.size = sizeof(sample),
						  .dtype = PHILOX_DTYPE_F32,
						  .logits = (float *)e->memory +
							    64,
						  .vocab = 4,
						  .pitch = 4,
						  .tokens = e->memory};
	struct philox_state states[4] = {{1, 0}};
	const uint32_t row = 0;
	struct philox_rows *rows;

	REFUSED(philox_rows_create(e->context, &options, &rows));
	REFUSED(philox_rows_set(e->rows, e->stream, &row, states, 1));
	REFUSED(philox_rows_get(e->rows, e->stream, 0, 4, states));
	REFUSED(philox_rows_fill(e->rows, e->stream, NULL, &fill));
	REFUSED(philox_rows_advance(e->rows, e->stream, NULL, 4));
	REFUSED(philox_rows_advance_by(e->rows, e->stream, NULL, 4,
				       (const uint32_t *)e->memory + 128));
	REFUSED(philox_rows_restart(e->rows, e->stream));
	REFUSED(philox_rows_check(e->rows, NULL));
	REFUSED(philox_sample_rows(e->rows, e->stream, NULL, &sample));
	REFUSED(philox_sample_states(
		e->device, e->stream,
		(const struct philox_state *)e->memory + 16, 1, &sample));
	REFUSED(philox_rows_destroy(e->rows));
}

static void use_graph(struct estate *e)
{
	struct philox_graph_pass_info info = {.size = sizeof(info)};
	struct philox_launch_pass use = {0};
	struct philox_graph *graph;

	REFUSED(philox_capture_begin(e->context, e->stream));
	REFUSED(philox_capture_end(e->context, e->capturing, &graph));
	REFUSED(philox_graph_adopt(e->context, e->capture_id, e->native,
				   e->exec, &graph));
	REFUSED(philox_capture_drop(e->context, e->capture_id));
	REFUSED(philox_graph_prologue(e->graph, e->stream, &use, 1));
	REFUSED(philox_graph_epilogue(e->graph, PHILOX_OK));
	REFUSED(philox_graph_launch(e->graph, e->stream, &use, 1));
	REFUSED(philox_graph_get_pass_info(e->graph, 0, &info));
	REFUSED(philox_graph_set_name(e->graph, "name"));
	REFUSED(philox_graph_destroy(e->graph));
}

/* What only reads works. */
static void look_at(struct estate *e, const char *device)
{
	struct philox_state *states;

	EXPECT(!strcmp(philox_device_name(e->device), device));
	EXPECT(philox_device_description(e->device)[0]);
	EXPECT(philox_device_is_host(e->device));
	EXPECT(philox_context_device(e->context) == e->device);
	EXPECT(philox_context_generator(e->context) != NULL);
	EXPECT(!strcmp(philox_region_name(e->region), "layer"));
	EXPECT(!strcmp(philox_rows_name(e->rows), "rows"));
	EXPECT(philox_rows_count(e->rows) == 4);
	EXPECT(philox_rows_states(e->rows, &states) == PHILOX_OK);
	EXPECT(!strcmp(philox_graph_name(e->graph), "graph 1"));
	EXPECT(philox_graph_pass_count(e->graph) == 1);
	EXPECT(philox_graph_native(e->graph, NULL, NULL) == PHILOX_OK);
	EXPECT(philox_memory_free(e->device, NULL) == PHILOX_OK);
}

static int end_of(pid_t process)
{
	int ended;

	cr_assert(process > 0 && waitpid(process, &ended, 0) == process);
	cr_assert_not(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGALRM,
		      "the child waits for ever");
	cr_assert(WIFEXITED(ended), "the child crashed: %d", ended);
	return WEXITSTATUS(ended);
}

/* A device of the child's own draws the same numbers, and dies with a fork. */
static void use_own(const uint32_t *words, const char *device)
{
	struct estate own;
	pid_t grandchild;

	make_context(&own, THREADS_AFTER_FORK ? device : "host:sync");
	EXPECT(!memcmp(own.words, words, COUNT * sizeof(*words)));
	grandchild = fork();
	if (!grandchild) {
		alarm(ALARM);
		wrong = 0;
		REFUSED(philox_device_close(own.device));
		REFUSED(philox_context_check(own.context, NULL));
		_exit(wrong);
	}
	EXPECT(end_of(grandchild) == 0);
	EXPECT(philox_device_close(own.device) == PHILOX_ERROR_BUSY);
	philox_context_destroy(own.context);
	EXPECT(philox_device_close(own.device) == PHILOX_OK);
}

static int run_child(struct estate *e, const char *device)
{
	alarm(ALARM);
	logged = 0;
	wrong = 0;
	for (int round = 0; round < 2; round++) {
		use_device(e);
		use_context(e);
		use_region(e);
		use_pass(e);
		use_rows(e);
		use_graph(e);
		look_at(e, device);
		philox_context_destroy(e->context);
		if (!round)
			use_own(e->words, device);
	}
	EXPECT(!logged);
	return wrong != 0;
}

/* --- in the parent -------------------------------------------------------- */

struct holder {
	struct estate *e;
	sem_t held, done;
};

static void *hold_locks(void *argument)
{
	struct holder *holder = argument;
	struct host_device *device = host_of(holder->e->device);
	pthread_mutex_t *locks[] = {&holder->e->graph->lock,
				    &holder->e->context->lock, &device->lock,
				    &device->turn};

	for (int i = 0; i < 4; i++)
		pthread_mutex_lock(locks[i]);
	sem_post(&holder->held);
	while (sem_wait(&holder->done))
		;
	for (int i = 4; i-- > 0;)
		pthread_mutex_unlock(locks[i]);
	return NULL;
}

/* Forks while all locks are held. */
static pid_t fork_locked(struct estate *e)
{
	struct holder holder = {.e = e};
	pthread_t thread;
	pid_t child;

	sem_init(&holder.held, 0, 0);
	sem_init(&holder.done, 0, 0);
	cr_assert(!pthread_create(&thread, NULL, hold_locks, &holder));
	while (sem_wait(&holder.held))
		;
	child = fork();
	if (!child)
		return 0;
	sem_post(&holder.done);
	pthread_join(thread, NULL);
	sem_destroy(&holder.held);
	sem_destroy(&holder.done);
	return child;
}

/* Everything goes on in the parent as if nothing had happened. */
static void go_on(struct estate *e)
{
	struct philox_launch_pass use = {0};
	struct philox_graph *graph;
	struct philox_ticket ticket;
	philox_native_graph native;

	draw_words(&e->pass, e->memory);
	OK(philox_pass_commit(&e->pass, 0, &ticket));
	OK(philox_graph_launch(e->graph, e->stream, &use, 1));
	OK(philox_stream_end_capture(e->device, e->capturing, &native));
	OK(philox_graph_adopt(e->context, e->capture_id, e->native, e->exec,
			      &graph));
	OK(philox_ticket_release(e->region, e->stream, e->ticket));
	OK(philox_device_synchronize(e->device));
	philox_context_destroy(e->context);
	OK(philox_device_close(e->device));
}

static void fork_with(const char *device)
{
	struct estate e;
	pid_t child;

	make_estate(&e, device);
	child = fork_locked(&e);
	if (!child)
		_exit(run_child(&e, device));
	cr_assert_eq(end_of(child), 0, "see what the child wrote");
	go_on(&e);
}

Test(fork, calls_of_the_child_fail_and_never_wait, .timeout = 300)
{
	fork_with("host");
	fork_with("host:sync");
}
