/*
 * tools/contract/device/capture.c - the rules of capture, each with its status
 *
 * A check breaks one rule and looks at the status, at the capture (it goes on,
 * or it is invalidated and has to be ended), and at the stream, which must be
 * usable afterwards.
 */
#include <pthread.h>
#include <string.h>
#include "tools/contract/contract.h"

#define SIZE 4096

/* A stream that captures, and some memory to work on. */
struct capturing {
	philox_stream stream;
	void *memory;
	uint64_t id;
};

static void begin_on(struct contract *c, struct capturing *capturing,
		     unsigned flags, enum philox_capture_mode mode)
{
	enum philox_capture_status status;

	EXPECT_OK(contract_memory(c, SIZE, &capturing->memory));
	EXPECT_OK(contract_stream(c, flags, &capturing->stream));
	EXPECT_OK(philox_stream_begin_capture(c->device, capturing->stream,
					      mode));
	EXPECT_OK(philox_stream_capture_info(c->device, capturing->stream,
					     &status, &capturing->id));
	EXPECT(status == PHILOX_CAPTURE_ACTIVE && capturing->id);
	EXPECT_OK(
		contract_set(c, capturing->memory, 1, SIZE, capturing->stream));
}

static void begin_capturing(struct contract *c, struct capturing *capturing)
{
	begin_on(c, capturing, 0, PHILOX_CAPTURE_THREAD_LOCAL);
}

/* The stream runs work, captures and replays as if nothing had happened. */
static void expect_usable(struct contract *c, struct capturing *capturing)
{
	enum philox_capture_status status = PHILOX_CAPTURE_ACTIVE;
	philox_stream stream = capturing->stream;
	void *memory = capturing->memory;
	philox_native_graph graph;
	philox_native_exec exec;
	uint64_t id = 1;

	EXPECT_OK(philox_stream_capture_info(c->device, stream, &status, &id));
	EXPECT(status == PHILOX_CAPTURE_NONE && id == 0);
	EXPECT_OK(contract_set(c, memory, 7, SIZE, stream));
	EXPECT_BYTES(stream, memory, 7, SIZE);
	EXPECT_OK(contract_begin(c, stream));
	EXPECT_OK(contract_set(c, memory, 8, SIZE, stream));
	EXPECT_OK(contract_end_exec(c, stream, &graph, &exec));
	EXPECT_BYTES(stream, memory, 7, SIZE);
	EXPECT_OK(philox_native_exec_launch(c->device, stream, exec));
	EXPECT_BYTES(stream, memory, 8, SIZE);
}

/* The capture was not harmed: it ends in a graph of `nodes` nodes. */
static void expect_unharmed(struct contract *c, struct capturing *capturing,
			    size_t nodes)
{
	philox_native_graph graph;
	size_t count;

	EXPECT_OK(contract_end_capture(c, capturing->stream, &graph));
	EXPECT_OK(philox_native_graph_node_count(c->device, graph, &count));
	EXPECT(count == nodes);
	EXPECT_PART(expect_usable(c, capturing));
}

/* The capture takes no more work and can only end with an error. */
static void expect_invalidated(struct contract *c, struct capturing *capturing)
{
	enum philox_capture_status status = PHILOX_CAPTURE_NONE;
	philox_stream stream = capturing->stream;
	philox_native_graph graph = NULL;
	uint64_t id = 0;

	EXPECT_OK(philox_stream_capture_info(c->device, stream, &status, &id));
	EXPECT(status == PHILOX_CAPTURE_INVALIDATED);
	EXPECT_ERROR(CAPTURE_INVALIDATED,
		     philox_memory_set(c->device, stream, capturing->memory, 1,
				       SIZE));
	EXPECT_ERROR(CAPTURE_INVALIDATED,
		     philox_stream_end_capture(c->device, stream, &graph));
	EXPECT(!graph);
	EXPECT_PART(expect_usable(c, capturing));
}

/* --- beginning and asking ------------------------------------------------- */

static void the_legacy_stream_cannot_capture(struct contract *c)
{
	EXPECT_ERROR(CAPTURE_UNSUPPORTED,
		     philox_stream_begin_capture(c->device, NULL,
						 PHILOX_CAPTURE_RELAXED));
}

static void a_capture_begins_once(struct contract *c)
{
	struct capturing capturing;

	EXPECT_PART(begin_capturing(c, &capturing));
	EXPECT_ERROR(STATE,
		     philox_stream_begin_capture(c->device, capturing.stream,
						 PHILOX_CAPTURE_THREAD_LOCAL));
	EXPECT_PART(expect_unharmed(c, &capturing, 1));
}

static void ending_needs_a_capture(struct contract *c)
{
	philox_native_graph graph;
	philox_stream stream;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_ERROR(STATE,
		     philox_stream_end_capture(c->device, stream, &graph));
}

static void captures_have_ids_of_their_own(struct contract *c)
{
	enum philox_capture_status status;
	struct capturing first, second;
	philox_stream fork;
	philox_event event;
	uint64_t id = 0;

	EXPECT_OK(contract_stream(c, 0, &fork));
	EXPECT_OK(contract_event(c, &event));
	EXPECT_PART(begin_on(c, &first, 0, PHILOX_CAPTURE_RELAXED));
	EXPECT_PART(begin_on(c, &second, 0, PHILOX_CAPTURE_RELAXED));
	EXPECT(first.id != second.id);
	EXPECT_OK(contract_order(c, event, first.stream, fork));
	EXPECT_OK(philox_stream_capture_info(c->device, fork, &status, &id));
	EXPECT(status == PHILOX_CAPTURE_ACTIVE && id == first.id);
	EXPECT_PART(expect_unharmed(c, &first, 1));
	EXPECT_OK(philox_stream_capture_info(c->device, fork, &status, &id));
	EXPECT(status == PHILOX_CAPTURE_NONE && id == 0);
	EXPECT_PART(expect_unharmed(c, &second, 1));
}

/* One question answers both which capture it is and where it has come to. */
static void expect_tips(struct contract *c, philox_stream stream, size_t n)
{
	struct capture_info info;
	device_node tips[2];
	size_t n_tips = 2;

	EXPECT_OK(device_capture_info(c->device, stream, &info));
	EXPECT_OK(device_capture_tips(c->device, stream, tips, &n_tips));
	EXPECT_TEXT(info.tips.n == n && n_tips == n, "%zu, %zu, not %zu tips",
		    info.tips.n, n_tips, n);
	EXPECT(!memcmp(info.tips.nodes, tips, n * sizeof(tips[0])));
	EXPECT(n < 2 || tips[0] != tips[1]);
}

static void a_capture_tells_what_its_next_node_waits_for(struct contract *c)
{
	struct capturing capturing;
	philox_stream fork;
	philox_event event;

	EXPECT_OK(contract_stream(c, 0, &fork));
	EXPECT_OK(contract_event(c, &event));
	EXPECT_PART(begin_on(c, &capturing, 0, PHILOX_CAPTURE_RELAXED));
	EXPECT_PART(expect_tips(c, capturing.stream, 1));
	EXPECT_OK(contract_order(c, event, capturing.stream, fork));
	EXPECT_OK(contract_set(c, capturing.memory, 1, 1, fork));
	EXPECT_OK(contract_set(c, (char *)capturing.memory + 1, 1, 1,
			       capturing.stream));
	EXPECT_OK(contract_order(c, event, fork, capturing.stream));
	EXPECT_PART(expect_tips(c, capturing.stream, 2));
	EXPECT_PART(expect_tips(c, fork, 1));
	EXPECT_PART(expect_unharmed(c, &capturing, 3));
}

static void legal_calls_are_legal(struct contract *c)
{
	struct capturing capturing;
	struct capture_info info;
	philox_native_graph graph;
	philox_native_exec exec;
	philox_stream stream, plain;
	philox_event event;
	void *memory;
	size_t nodes;

	EXPECT_OK(contract_memory(c, SIZE, &memory));
	EXPECT_OK(contract_stream(c, 0, &plain));
	EXPECT_OK(philox_stream_begin_capture(c->device, plain,
					      PHILOX_CAPTURE_GLOBAL));
	EXPECT_OK(contract_set(c, memory, 3, SIZE, plain));
	EXPECT_OK(contract_end_capture(c, plain, &graph));
	EXPECT_PART(begin_on(c, &capturing, 0, PHILOX_CAPTURE_GLOBAL));
	EXPECT_OK(contract_event(c, &event));
	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_instantiate(c, graph, &exec));
	EXPECT_OK(philox_native_exec_launch(c->device, plain, exec));
	EXPECT_OK(contract_order(c, event, plain, stream));
	EXPECT_OK(philox_stream_synchronize(c->device, plain));
	EXPECT_OK(philox_stream_query(c->device, plain));
	EXPECT_OK(philox_event_synchronize(c->device, event));
	EXPECT_OK(device_capture_info(c->device, capturing.stream, &info));
	EXPECT_OK(
		philox_native_graph_node_count(c->device, info.graph, &nodes));
	EXPECT(nodes == 1);
	EXPECT_PART(expect_unharmed(c, &capturing, 1));
}

/* --- refusals of a capturing stream --------------------------------------- */

static void a_capturing_stream_is_not_synchronized(struct contract *c)
{
	struct capturing capturing;

	EXPECT_PART(begin_capturing(c, &capturing));
	EXPECT_ERROR(CAPTURE_UNSUPPORTED,
		     philox_stream_synchronize(c->device, capturing.stream));
	EXPECT_PART(expect_invalidated(c, &capturing));
}

static void a_capturing_stream_is_not_queried(struct contract *c)
{
	struct capturing capturing;

	EXPECT_PART(begin_capturing(c, &capturing));
	EXPECT_ERROR(CAPTURE_UNSUPPORTED,
		     philox_stream_query(c->device, capturing.stream));
	EXPECT_PART(expect_invalidated(c, &capturing));
}

static void a_capturing_stream_is_not_destroyed(struct contract *c)
{
	struct capturing capturing;

	EXPECT_PART(begin_capturing(c, &capturing));
	EXPECT_ERROR(CAPTURE_UNSUPPORTED,
		     philox_stream_destroy(c->device, capturing.stream));
	EXPECT_PART(expect_invalidated(c, &capturing));
}

static void a_capturing_stream_takes_no_launch(struct contract *c)
{
	struct capturing first, second;
	philox_native_graph graph;
	philox_native_exec exec;

	EXPECT_PART(begin_capturing(c, &first));
	EXPECT_OK(contract_end_exec(c, first.stream, &graph, &exec));
	EXPECT_PART(begin_capturing(c, &second));
	EXPECT_ERROR(CAPTURE_UNSUPPORTED,
		     philox_native_exec_launch(c->device, second.stream, exec));
	EXPECT_PART(expect_unharmed(c, &second, 1));
}

/* --- unsafe calls during a capture ---------------------------------------- */

static enum philox_status try_device_sync(struct philox_device *device,
					  void *memory)
{
	(void)memory;
	return philox_device_synchronize(device);
}

static enum philox_status try_alloc(struct philox_device *device, void *memory)
{
	void *other;

	(void)memory;
	return philox_memory_alloc(device, SIZE, &other);
}

/* memory[0] is plain, memory[1] mapped. */
static enum philox_status try_free(struct philox_device *device, void *memory)
{
	return philox_memory_free(device, ((void **)memory)[0]);
}

static enum philox_status try_mapped_free(struct philox_device *device,
					  void *memory)
{
	return device_mapped_free(device, ((void **)memory)[1]);
}

static enum philox_status try_mapped_alloc(struct philox_device *device,
					   void *memory)
{
	void *host, *mapped;

	(void)memory;
	return device_mapped_alloc(device, SIZE, &host, &mapped);
}

/* memory[2] is a space of two units, of which the first is mapped. */
static enum philox_status try_reserve(struct philox_device *device,
				      void *memory)
{
	size_t unit;
	void *base;

	(void)memory;
	return device_space_granularity(device, &unit)
		       ? PHILOX_ERROR_DEVICE
		       : device_space_reserve(device, unit, &base);
}

static enum philox_status try_map(struct philox_device *device, void *memory)
{
	size_t unit;

	return device_space_granularity(device, &unit)
		       ? PHILOX_ERROR_DEVICE
		       : device_space_map(device, ((void **)memory)[2], unit,
					  unit);
}

static enum philox_status try_unmap(struct philox_device *device, void *memory)
{
	size_t unit;

	return device_space_granularity(device, &unit)
		       ? PHILOX_ERROR_DEVICE
		       : device_space_unmap(device, ((void **)memory)[2], 0,
					    unit);
}

static enum philox_status try_release(struct philox_device *device,
				      void *memory)
{
	return device_space_release(device, ((void **)memory)[2]);
}

struct unsafe_call {
	const char *name;
	enum philox_status (*call)(struct philox_device *device, void *memory);
};

static const struct unsafe_call unsafe_space_calls[] = {
	{"space_reserve", try_reserve},
	{"space_map", try_map},
	{"space_unmap", try_unmap},
	{"space_release", try_release},
};

#define UNSAFE_SPACE_COUNT \
	(sizeof(unsafe_space_calls) / sizeof(unsafe_space_calls[0]))

static const struct unsafe_call unsafe_calls[] = {
	{"philox_device_synchronize", try_device_sync},
	{"philox_memory_alloc", try_alloc},
	{"philox_memory_free", try_free},
	{"mapped_alloc", try_mapped_alloc},
	{"mapped_free", try_mapped_free},
};

#define UNSAFE_COUNT (sizeof(unsafe_calls) / sizeof(unsafe_calls[0]))

static void expect_refused(struct contract *c, const struct unsafe_call *calls,
			   size_t count, void *memory)
{
	static const enum philox_capture_mode modes[] = {
		PHILOX_CAPTURE_GLOBAL, PHILOX_CAPTURE_THREAD_LOCAL};
	struct capturing capturing;

	for (size_t i = 0; i < 2 * count; i++) {
		enum philox_status status;

		EXPECT_PART(begin_on(c, &capturing, 0, modes[i % 2]));
		status = calls[i / 2].call(c->device, memory);
		EXPECT_TEXT(status == PHILOX_ERROR_CAPTURE_UNSUPPORTED,
			    "%s gave %s", calls[i / 2].name,
			    philox_status_name(status));
		EXPECT_PART(expect_invalidated(c, &capturing));
	}
}

static void unsafe_calls_are_refused(struct contract *c)
{
	void *memory[2], *mapped;

	EXPECT_OK(contract_memory(c, SIZE, &memory[0]));
	EXPECT_OK(contract_mapped(c, SIZE, &memory[1], &mapped));
	EXPECT_PART(expect_refused(c, unsafe_calls, UNSAFE_COUNT, memory));
}

/* A space of two units, the first of which is mapped. */
static void make_space(struct contract *c, char **base, size_t *unit)
{
	SKIP_IF(device_space_granularity(c->device, unit) ==
			PHILOX_ERROR_UNSUPPORTED,
		"%.150s", philox_error_message());
	EXPECT_OK(contract_reserve(c, 2 * *unit, base));
	EXPECT_OK(contract_map(c, *base, 0, *unit));
}

static void unsafe_calls_on_spaces_are_refused(struct contract *c)
{
	void *memory[3] = {0};
	size_t unit;
	char *base;

	EXPECT_PART(make_space(c, &base, &unit));
	memory[2] = base;
	EXPECT_PART(expect_refused(c, unsafe_space_calls, UNSAFE_SPACE_COUNT,
				   memory));
	/* All of it is as it was. */
	EXPECT_ERROR(STATE, device_space_release(c->device, base));
	EXPECT_OK(contract_map(c, base, unit, unit));
}

/* A graph that works in memory mapped while it was captured. */
static void spaces_grow_in_relaxed_mode(struct contract *c)
{
	enum philox_capture_mode mode = PHILOX_CAPTURE_RELAXED;
	struct capturing capturing;
	philox_native_graph graph;
	philox_native_exec exec;
	size_t unit;
	char *base;

	EXPECT_PART(make_space(c, &base, &unit));
	EXPECT_PART(begin_on(c, &capturing, 0, PHILOX_CAPTURE_GLOBAL));
	EXPECT_OK(philox_capture_exchange_mode(c->device, &mode));
	EXPECT_OK(contract_map(c, base, unit, unit));
	EXPECT_OK(philox_capture_exchange_mode(c->device, &mode));
	EXPECT_OK(contract_set(c, base, 9, 2 * unit, capturing.stream));
	EXPECT_OK(contract_end_exec(c, capturing.stream, &graph, &exec));
	EXPECT_OK(philox_native_exec_launch(c->device, capturing.stream, exec));
	EXPECT_BYTES(capturing.stream, base, 9, 2 * unit);
	EXPECT_PART(expect_usable(c, &capturing));
}

static void memory_info_is_legal(struct contract *c)
{
	size_t free_bytes, total_bytes, unit;
	struct capturing capturing;
	char *base;

	EXPECT_PART(make_space(c, &base, &unit));
	EXPECT_PART(begin_on(c, &capturing, 0, PHILOX_CAPTURE_GLOBAL));
	EXPECT_OK(philox_device_memory_info(c->device, &free_bytes,
					    &total_bytes));
	EXPECT_OK(device_space_granularity(c->device, &unit));
	EXPECT_PART(expect_unharmed(c, &capturing, 1));
}

/* Whatever the mode of the capture and of the thread that waits. */
static void the_device_is_not_synchronized_during_captures(struct contract *c)
{
	enum philox_capture_mode mode;
	struct capturing capturing;

	for (int i = 0; i < 9; i++) {
		EXPECT_PART(begin_on(c, &capturing, 0, i % 3));
		mode = i / 3;
		EXPECT_OK(philox_capture_exchange_mode(c->device, &mode));
		EXPECT_ERROR(CAPTURE_UNSUPPORTED,
			     philox_device_synchronize(c->device));
		EXPECT_OK(philox_capture_exchange_mode(c->device, &mode));
		EXPECT_PART(expect_invalidated(c, &capturing));
	}
	EXPECT_OK(philox_device_synchronize(c->device));
}

static void an_event_query_is_unsafe(struct contract *c)
{
	struct capturing capturing;
	philox_event event;

	EXPECT_OK(contract_event(c, &event));
	EXPECT_PART(begin_capturing(c, &capturing));
	EXPECT_OK(philox_event_record(c->device, NULL, event));
	EXPECT_ERROR(CAPTURE_UNSUPPORTED, philox_event_query(c->device, event));
	EXPECT_PART(expect_invalidated(c, &capturing));
}

static void unsafe_calls_are_legal_in_a_relaxed_capture(struct contract *c)
{
	struct capturing capturing;
	void *memory, *host, *mapped;

	EXPECT_PART(begin_on(c, &capturing, 0, PHILOX_CAPTURE_RELAXED));
	EXPECT_OK(contract_memory(c, SIZE, &memory));
	EXPECT_OK(contract_mapped(c, SIZE, &host, &mapped));
	EXPECT_PART(expect_unharmed(c, &capturing, 1));
}

static void unsafe_calls_are_legal_in_relaxed_mode(struct contract *c)
{
	enum philox_capture_mode mode = PHILOX_CAPTURE_RELAXED;
	struct capturing capturing;
	void *memory;

	EXPECT_PART(begin_on(c, &capturing, 0, PHILOX_CAPTURE_GLOBAL));
	EXPECT_OK(philox_capture_exchange_mode(c->device, &mode));
	EXPECT(mode == PHILOX_CAPTURE_GLOBAL);
	EXPECT_OK(contract_memory(c, SIZE, &memory));
	EXPECT_OK(philox_capture_exchange_mode(c->device, &mode));
	EXPECT(mode == PHILOX_CAPTURE_RELAXED);
	EXPECT_PART(expect_unharmed(c, &capturing, 1));
}

/* --- other threads -------------------------------------------------------- */

struct errand {
	struct philox_device *device;
	enum philox_status (*call)(struct philox_device *device, void *object);
	void *object;
	enum philox_status status;
};

static void *run_errand(void *argument)
{
	struct errand *errand = argument;

	errand->status = errand->call(errand->device, errand->object);
	return NULL;
}

static enum philox_status elsewhere(
	struct contract *c,
	enum philox_status (*call)(struct philox_device *device, void *object),
	void *object)
{
	struct errand errand = {c->device, call, object, PHILOX_ERROR_STATE};
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_errand, &errand))
		contract_fail(c, __FILE__, __LINE__, "no thread");
	else
		pthread_join(thread, NULL);
	return errand.status;
}

static enum philox_status try_end(struct philox_device *device, void *stream)
{
	philox_native_graph graph;
	enum philox_status status =
		philox_stream_end_capture(device, stream, &graph);

	return status ? status : philox_native_graph_destroy(device, graph);
}

static enum philox_status try_alloc_and_free(struct philox_device *device,
					     void *unused)
{
	enum philox_status status;
	void *memory;

	(void)unused;
	status = philox_memory_alloc(device, SIZE, &memory);
	return status ? status : philox_memory_free(device, memory);
}

static void a_capture_ends_on_its_thread(struct contract *c)
{
	static const enum philox_capture_mode modes[] = {
		PHILOX_CAPTURE_GLOBAL, PHILOX_CAPTURE_THREAD_LOCAL};
	struct capturing capturing;

	for (int i = 0; i < 2; i++) {
		EXPECT_PART(begin_on(c, &capturing, 0, modes[i]));
		EXPECT_ERROR(CAPTURE_WRONG_THREAD,
			     elsewhere(c, try_end, capturing.stream));
		if (philox_device_is_host(c->device))
			EXPECT_PART(expect_unharmed(c, &capturing, 1));
		else /* CUDA ends the capture all the same */
			EXPECT_PART(expect_usable(c, &capturing));
	}
}

static void a_relaxed_capture_ends_anywhere(struct contract *c)
{
	struct capturing capturing;

	EXPECT_PART(begin_on(c, &capturing, 0, PHILOX_CAPTURE_RELAXED));
	EXPECT_OK(elsewhere(c, try_end, capturing.stream));
	EXPECT_PART(expect_usable(c, &capturing));
}

static void a_global_capture_binds_all_threads(struct contract *c)
{
	struct capturing capturing;

	EXPECT_PART(begin_on(c, &capturing, 0, PHILOX_CAPTURE_GLOBAL));
	EXPECT_ERROR(CAPTURE_UNSUPPORTED,
		     elsewhere(c, try_alloc_and_free, NULL));
	EXPECT_PART(expect_invalidated(c, &capturing));
}

static void a_local_capture_binds_its_thread_alone(struct contract *c)
{
	struct capturing capturing;

	EXPECT_PART(begin_capturing(c, &capturing));
	EXPECT_OK(elsewhere(c, try_alloc_and_free, NULL));
	EXPECT_PART(expect_unharmed(c, &capturing, 1));
}

static void no_thread_synchronizes_the_device_of_a_capture(struct contract *c)
{
	struct capturing capturing;

	for (int mode = 0; mode < 3; mode++) {
		EXPECT_PART(begin_on(c, &capturing, 0, mode));
		EXPECT_ERROR(CAPTURE_UNSUPPORTED,
			     elsewhere(c, try_device_sync, NULL));
		EXPECT_PART(expect_invalidated(c, &capturing));
	}
}

/*
 * --- events from inside and outside
 * ---------------------------------------------
 */

static void a_capture_cannot_wait_for_uncaptured_work(struct contract *c)
{
	struct capturing capturing;
	philox_stream plain;
	philox_event event;

	EXPECT_OK(contract_event(c, &event));
	EXPECT_OK(contract_stream(c, 0, &plain));
	EXPECT_OK(philox_event_record(c->device, plain, event));
	EXPECT_PART(begin_capturing(c, &capturing));
	EXPECT_ERROR(CAPTURE_ISOLATION,
		     philox_event_wait(c->device, capturing.stream, event));
	EXPECT_PART(expect_invalidated(c, &capturing));
}

static void two_captures_do_not_merge(struct contract *c)
{
	struct capturing first, second;
	philox_event event;

	EXPECT_OK(contract_event(c, &event));
	EXPECT_PART(begin_on(c, &first, 0, PHILOX_CAPTURE_RELAXED));
	EXPECT_PART(begin_on(c, &second, 0, PHILOX_CAPTURE_RELAXED));
	EXPECT_OK(philox_event_record(c->device, first.stream, event));
	EXPECT_ERROR(CAPTURE_MERGE,
		     philox_event_wait(c->device, second.stream, event));
	EXPECT_PART(expect_invalidated(c, &first));
	EXPECT_PART(expect_invalidated(c, &second));
}

static void a_captured_event_is_not_synchronized(struct contract *c)
{
	struct capturing capturing;
	philox_event event;

	EXPECT_OK(contract_event(c, &event));
	EXPECT_PART(begin_capturing(c, &capturing));
	EXPECT_OK(philox_event_record(c->device, capturing.stream, event));
	EXPECT_ERROR(CAPTURED_EVENT,
		     philox_event_synchronize(c->device, event));
	EXPECT_PART(expect_invalidated(c, &capturing));
}

static void a_captured_event_is_not_queried(struct contract *c)
{
	struct capturing capturing;
	philox_event event;

	EXPECT_OK(contract_event(c, &event));
	EXPECT_PART(begin_on(c, &capturing, 0, PHILOX_CAPTURE_RELAXED));
	EXPECT_OK(philox_event_record(c->device, capturing.stream, event));
	EXPECT_ERROR(CAPTURED_EVENT, philox_event_query(c->device, event));
	EXPECT_PART(expect_invalidated(c, &capturing));
}

static void an_event_is_plain_again_once_recorded_plainly(struct contract *c)
{
	struct capturing capturing;
	philox_stream plain;
	philox_event event;

	EXPECT_OK(contract_event(c, &event));
	EXPECT_OK(contract_stream(c, 0, &plain));
	EXPECT_PART(begin_capturing(c, &capturing));
	EXPECT_OK(philox_event_record(c->device, capturing.stream, event));
	EXPECT_OK(philox_event_record(c->device, plain, event));
	EXPECT_OK(philox_event_synchronize(c->device, event));
	EXPECT_PART(expect_unharmed(c, &capturing, 1));
}

static void an_event_of_an_ended_capture_stands_for_nothing(struct contract *c)
{
	struct capturing capturing;
	philox_native_graph graph;
	philox_stream plain;
	philox_event event;

	SKIP_IF(!philox_device_is_host(c->device),
		"CUDA does not define what such an event does");
	EXPECT_OK(contract_event(c, &event));
	EXPECT_OK(contract_stream(c, 0, &plain));
	EXPECT_PART(begin_capturing(c, &capturing));
	EXPECT_OK(philox_event_record(c->device, capturing.stream, event));
	EXPECT_OK(contract_end_capture(c, capturing.stream, &graph));
	EXPECT_ERROR(CAPTURED_EVENT,
		     philox_event_wait(c->device, plain, event));
	EXPECT_ERROR(CAPTURED_EVENT,
		     philox_event_synchronize(c->device, event));
	EXPECT_PART(begin_capturing(c, &capturing));
	EXPECT_ERROR(CAPTURE_ISOLATION,
		     philox_event_wait(c->device, capturing.stream, event));
	EXPECT_PART(expect_invalidated(c, &capturing));
}

/* --- the legacy stream ---------------------------------------------------- */

static void the_legacy_stream_does_not_wait_for_captures(struct contract *c)
{
	struct capturing capturing;
	void *memory;

	EXPECT_OK(contract_memory(c, SIZE, &memory));
	EXPECT_PART(begin_on(c, &capturing, PHILOX_STREAM_BLOCKING,
			     PHILOX_CAPTURE_RELAXED));
	EXPECT_ERROR(CAPTURE_IMPLICIT,
		     philox_memory_set(c->device, NULL, memory, 1, SIZE));
	EXPECT_PART(expect_invalidated(c, &capturing));
}

static void asking_the_legacy_stream_breaks_nothing(struct contract *c)
{
	static const enum philox_capture_mode modes[] = {
		PHILOX_CAPTURE_GLOBAL, PHILOX_CAPTURE_THREAD_LOCAL,
		PHILOX_CAPTURE_RELAXED};
	enum philox_capture_status status;
	struct capturing capturing;
	device_node node;
	size_t n;
	uint64_t id;

	for (int i = 0; i < 3; i++) {
		EXPECT_PART(begin_on(c, &capturing, PHILOX_STREAM_BLOCKING,
				     modes[i]));
		EXPECT_ERROR(CAPTURE_IMPLICIT,
			     philox_stream_capture_info(c->device, NULL,
							&status, &id));
		n = 1;
		EXPECT_ERROR(CAPTURE_IMPLICIT,
			     device_capture_tips(c->device, NULL, &node, &n));
		EXPECT_PART(expect_unharmed(c, &capturing, 1));
	}
}

static void the_legacy_stream_ignores_other_captures(struct contract *c)
{
	enum philox_capture_status status = PHILOX_CAPTURE_ACTIVE;
	struct capturing capturing;
	void *memory;

	EXPECT_OK(contract_memory(c, SIZE, &memory));
	EXPECT_PART(begin_capturing(c, &capturing));
	EXPECT_OK(contract_set(c, memory, 5, SIZE, NULL));
	EXPECT_OK(philox_stream_capture_info(c->device, NULL, &status, NULL));
	EXPECT(status == PHILOX_CAPTURE_NONE);
	EXPECT_PART(expect_unharmed(c, &capturing, 1));
	EXPECT_BYTES(NULL, memory, 5, SIZE);
}

/* --- forks ---------------------------------------------------------------- */

/* Makes `fork` part of the capture and puts a node on it. */
static void fork_off(struct contract *c, struct capturing *capturing,
		     philox_stream fork)
{
	philox_event event;

	EXPECT_OK(contract_event(c, &event));
	EXPECT_OK(contract_order(c, event, capturing->stream, fork));
	EXPECT_OK(
		philox_memory_set(c->device, fork, capturing->memory, 2, SIZE));
}

static void a_capture_ends_on_its_stream(struct contract *c)
{
	struct capturing capturing;
	philox_native_graph graph;
	philox_stream fork;

	EXPECT_OK(contract_stream(c, 0, &fork));
	EXPECT_PART(begin_capturing(c, &capturing));
	EXPECT_PART(fork_off(c, &capturing, fork));
	EXPECT_ERROR(CAPTURE_UNMATCHED,
		     philox_stream_end_capture(c->device, fork, &graph));
	EXPECT_PART(expect_invalidated(c, &capturing));
	EXPECT_OK(philox_stream_synchronize(c->device, fork));
}

static void a_fork_must_be_joined(struct contract *c)
{
	struct capturing capturing;
	philox_native_graph graph;
	philox_stream fork;

	EXPECT_OK(contract_stream(c, 0, &fork));
	EXPECT_PART(begin_capturing(c, &capturing));
	EXPECT_PART(fork_off(c, &capturing, fork));
	EXPECT_ERROR(
		CAPTURE_UNJOINED,
		philox_stream_end_capture(c->device, capturing.stream, &graph));
	EXPECT_OK(philox_stream_synchronize(c->device, fork));
	EXPECT_PART(expect_usable(c, &capturing));
}

static void work_after_the_join_must_be_joined_too(struct contract *c)
{
	struct capturing capturing;
	philox_native_graph graph;
	philox_stream fork;
	philox_event event;

	EXPECT_OK(contract_stream(c, 0, &fork));
	EXPECT_OK(contract_event(c, &event));
	EXPECT_PART(begin_capturing(c, &capturing));
	EXPECT_PART(fork_off(c, &capturing, fork));
	EXPECT_OK(contract_order(c, event, fork, capturing.stream));
	EXPECT_OK(
		philox_memory_set(c->device, fork, capturing.memory, 3, SIZE));
	EXPECT_ERROR(
		CAPTURE_UNJOINED,
		philox_stream_end_capture(c->device, capturing.stream, &graph));
	EXPECT_PART(expect_usable(c, &capturing));
}

static void a_fork_may_be_joined_through_another(struct contract *c)
{
	struct capturing capturing;
	philox_stream first, second;
	philox_event event;

	EXPECT_OK(contract_stream(c, 0, &first));
	EXPECT_OK(contract_stream(c, 0, &second));
	EXPECT_OK(contract_event(c, &event));
	EXPECT_PART(begin_capturing(c, &capturing));
	EXPECT_PART(fork_off(c, &capturing, first));
	EXPECT_OK(contract_order(c, event, first, second));
	EXPECT_OK(contract_set(c, capturing.memory, 3, SIZE, second));
	EXPECT_OK(contract_order(c, event, second, capturing.stream));
	EXPECT_PART(expect_unharmed(c, &capturing, 3));
	EXPECT_OK(philox_stream_synchronize(c->device, first));
	EXPECT_OK(philox_stream_synchronize(c->device, second));
}

/* --- after a rule was broken ---------------------------------------------- */

static void an_invalidated_capture_takes_nothing(struct contract *c)
{
	struct capturing capturing;
	struct capture_info info;
	philox_stream fork;
	philox_event event;

	EXPECT_OK(contract_stream(c, 0, &fork));
	EXPECT_OK(contract_event(c, &event));
	EXPECT_PART(begin_capturing(c, &capturing));
	EXPECT_PART(fork_off(c, &capturing, fork));
	EXPECT_ERROR(CAPTURE_UNSUPPORTED, philox_stream_query(c->device, fork));
	EXPECT_ERROR(CAPTURE_INVALIDATED,
		     philox_memory_copy(c->device, fork, capturing.memory,
					(char *)capturing.memory + SIZE / 2,
					SIZE / 2));
	EXPECT_ERROR(CAPTURE_INVALIDATED,
		     philox_event_record(c->device, fork, event));
	EXPECT_OK(device_capture_info(c->device, fork, &info));
	EXPECT(info.status == PHILOX_CAPTURE_INVALIDATED && !info.graph);
	EXPECT_PART(expect_invalidated(c, &capturing));
	EXPECT_OK(philox_stream_synchronize(c->device, fork));
}

static void the_message_says_what_broke_a_capture(struct contract *c)
{
	struct capturing capturing;
	philox_native_graph graph;

	SKIP_IF(!philox_device_is_host(c->device),
		"CUDA keeps no reason for an invalidated capture");
	EXPECT_PART(begin_capturing(c, &capturing));
	EXPECT_ERROR(CAPTURE_UNSUPPORTED,
		     philox_stream_synchronize(c->device, capturing.stream));
	EXPECT_ERROR(CAPTURE_INVALIDATED,
		     philox_memory_set(c->device, capturing.stream,
				       capturing.memory, 1, SIZE));
	EXPECT_ERROR(
		CAPTURE_INVALIDATED,
		philox_stream_end_capture(c->device, capturing.stream, &graph));
	EXPECT_TEXT(strstr(philox_error_message(),
			   "invalidated by philox_stream_synchronize on a "
			   "capturing stream"),
		    "the message is: %s", philox_error_message());
}

const struct contract_check contract_capture[] = {
	{"the legacy stream cannot capture",
	 .run = the_legacy_stream_cannot_capture},
	{"a capture begins once", .run = a_capture_begins_once},
	{"ending needs a capture", .run = ending_needs_a_capture},
	{"captures have ids of their own",
	 .run = captures_have_ids_of_their_own},
	{"a capture tells what its next node waits for",
	 .run = a_capture_tells_what_its_next_node_waits_for},
	{"calls that are legal during capture are",
	 .run = legal_calls_are_legal},
	{"a capturing stream is not synchronized",
	 .run = a_capturing_stream_is_not_synchronized},
	{"a capturing stream is not queried",
	 .run = a_capturing_stream_is_not_queried},
	{"a capturing stream is not destroyed",
	 .run = a_capturing_stream_is_not_destroyed},
	{"a capturing stream takes no launch",
	 .run = a_capturing_stream_takes_no_launch},
	{"unsafe calls are refused during capture",
	 .run = unsafe_calls_are_refused},
	{"unsafe calls on spaces are refused",
	 .run = unsafe_calls_on_spaces_are_refused},
	{"spaces grow in relaxed mode", .run = spaces_grow_in_relaxed_mode},
	{"asking for free memory is legal", .run = memory_info_is_legal},
	{"the device is not synchronized during captures",
	 .run = the_device_is_not_synchronized_during_captures},
	{"an event query is unsafe", .run = an_event_query_is_unsafe},
	{"unsafe calls are legal in a relaxed capture",
	 .run = unsafe_calls_are_legal_in_a_relaxed_capture},
	{"unsafe calls are legal in relaxed mode",
	 .run = unsafe_calls_are_legal_in_relaxed_mode},
	{"a capture ends on its thread", .run = a_capture_ends_on_its_thread},
	{"a relaxed capture ends anywhere",
	 .run = a_relaxed_capture_ends_anywhere},
	{"a global capture binds all threads",
	 .run = a_global_capture_binds_all_threads},
	{"a thread-local capture binds its thread alone",
	 .run = a_local_capture_binds_its_thread_alone},
	{"no thread synchronizes the device of a capture",
	 .run = no_thread_synchronizes_the_device_of_a_capture},
	{"a capture cannot wait for uncaptured work",
	 .run = a_capture_cannot_wait_for_uncaptured_work},
	{"two captures do not merge", .run = two_captures_do_not_merge},
	{"a captured event is not synchronized",
	 .run = a_captured_event_is_not_synchronized},
	{"a captured event is not queried",
	 .run = a_captured_event_is_not_queried},
	{"an event is plain again once recorded plainly",
	 .run = an_event_is_plain_again_once_recorded_plainly},
	{"an event of an ended capture means nothing",
	 .run = an_event_of_an_ended_capture_stands_for_nothing},
	{"the legacy stream does not wait for captures",
	 .run = the_legacy_stream_does_not_wait_for_captures},
	{"asking the legacy stream breaks nothing",
	 .run = asking_the_legacy_stream_breaks_nothing},
	{"the legacy stream ignores other captures",
	 .run = the_legacy_stream_ignores_other_captures},
	{"a capture ends on its stream", .run = a_capture_ends_on_its_stream},
	{"a fork must be joined", .run = a_fork_must_be_joined},
	{"work after the join must be joined too",
	 .run = work_after_the_join_must_be_joined_too},
	{"a fork may be joined through another",
	 .run = a_fork_may_be_joined_through_another},
	{"an invalidated capture takes nothing",
	 .run = an_invalidated_capture_takes_nothing},
	{"the message says what broke a capture",
	 .run = the_message_says_what_broke_a_capture},
	{0}};
