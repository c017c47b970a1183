/*
 * tools/contract/device/device.c - memory, streams, events, counting, handles,
 * and what keeps a device from being used or closed
 *
 * The promises of lib/device/contract.h and philox/device.h for eager work. The
 * work is copies and sets, which every device has.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tools/contract/contract.h"

#define SIZE 65536

/* --- memory --------------------------------------------------------------- */

static void memory_is_aligned(struct contract *c)
{
	void *memory;

	for (size_t size = 1; size < 5000; size += 611) {
		EXPECT_OK(contract_memory(c, size, &memory));
		EXPECT((uintptr_t)memory % 256 == 0);
	}
}

static void copies_go_both_ways(struct contract *c)
{
	unsigned char out[SIZE], back[SIZE];
	philox_stream stream;
	void *first, *second;

	for (size_t i = 0; i < SIZE; i++)
		out[i] = (unsigned char)(i * 7 + i / 256);
	memset(back, 0, sizeof(back));
	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_memory(c, SIZE, &first));
	EXPECT_OK(contract_memory(c, SIZE, &second));
	EXPECT_OK(contract_copy(c, first, out, SIZE, stream));
	EXPECT_OK(contract_copy(c, second, first, SIZE, stream));
	EXPECT_OK(contract_read(c, stream, second, back, SIZE));
	EXPECT(!memcmp(out, back, SIZE));
}

static void set_touches_its_bytes_alone(struct contract *c)
{
	philox_stream stream;
	char *memory;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_memory(c, 300, (void **)&memory));
	EXPECT_OK(contract_set(c, memory, 1, 300, stream));
	EXPECT_OK(
		philox_memory_set(c->device, stream, memory + 100, 0x1ff, 100));
	EXPECT_BYTES(stream, memory, 1, 100);
	EXPECT_BYTES(stream, memory + 100, 0xff, 100);
	EXPECT_BYTES(stream, memory + 200, 1, 100);
}

static void mapped_memory_is_shared(struct contract *c)
{
	volatile unsigned char *host;
	void *memory, *mapped;
	philox_stream stream;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_mapped(c, 64, &memory, &mapped));
	host = memory;
	EXPECT(host[0] == 0 && host[63] == 0);
	EXPECT_OK(contract_set(c, mapped, 5, 32, stream));
	EXPECT_OK(philox_stream_synchronize(c->device, stream));
	EXPECT(host[0] == 5 && host[31] == 5 && host[32] == 0);
	host[1] = 9;
	EXPECT_BYTES(stream, (char *)mapped + 1, 9, 1);
}

static void free_waits_for_work(struct contract *c)
{
	philox_stream stream;
	void *memory;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(philox_memory_alloc(c->device, SIZE, &memory));
	EXPECT_OK(contract_delay(c, stream));
	EXPECT_OK(contract_set(c, memory, 1, SIZE, stream));
	EXPECT_OK(philox_memory_free(c->device, memory));
	EXPECT_OK(philox_stream_query(c->device, stream));
}

/* --- order ---------------------------------------------------------------- */

static void streams_run_in_order(struct contract *c)
{
	philox_stream stream;
	void *a, *b, *d;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_memory(c, SIZE, &a));
	EXPECT_OK(contract_memory(c, SIZE, &b));
	EXPECT_OK(contract_memory(c, SIZE, &d));
	for (int i = 1; i < 100; i += 2) {
		EXPECT_OK(contract_set(c, a, i, SIZE, stream));
		EXPECT_OK(contract_copy(c, b, a, SIZE, stream));
		EXPECT_OK(contract_set(c, a, i + 1, SIZE, stream));
		EXPECT_OK(contract_copy(c, d, a, SIZE, stream));
	}
	EXPECT_BYTES(stream, b, 99, SIZE);
	EXPECT_BYTES(stream, d, 100, SIZE);
}

static void events_order_streams(struct contract *c)
{
	philox_stream first, second;
	philox_event event;
	void *a, *b;

	EXPECT_OK(contract_stream(c, 0, &first));
	EXPECT_OK(contract_stream(c, 0, &second));
	EXPECT_OK(contract_event(c, &event));
	EXPECT_OK(contract_memory(c, SIZE, &a));
	EXPECT_OK(contract_memory(c, SIZE, &b));
	for (int i = 1; i <= 5; i++) {
		EXPECT_OK(contract_delay(c, first));
		EXPECT_OK(contract_set(c, a, i, SIZE, first));
		EXPECT_OK(contract_order(c, event, first, second));
		EXPECT_OK(contract_copy(c, b, a, SIZE, second));
		/* The same event again, in the other direction. */
		EXPECT_OK(contract_order(c, event, second, first));
	}
	EXPECT_BYTES(second, b, 5, SIZE);
}

static void an_event_never_recorded_is_no_wait(struct contract *c)
{
	philox_stream stream;
	philox_event event;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_event(c, &event));
	EXPECT_OK(philox_event_wait(c->device, stream, event));
	EXPECT_OK(philox_event_query(c->device, event));
	EXPECT_OK(philox_event_synchronize(c->device, event));
	EXPECT_OK(philox_stream_synchronize(c->device, stream));
}

static void recording_again_replaces_the_point(struct contract *c)
{
	philox_stream first, second;
	philox_event event;
	void *a, *b;

	EXPECT_OK(contract_stream(c, 0, &first));
	EXPECT_OK(contract_stream(c, 0, &second));
	EXPECT_OK(contract_event(c, &event));
	EXPECT_OK(contract_memory(c, SIZE, &a));
	EXPECT_OK(contract_memory(c, SIZE, &b));
	EXPECT_OK(contract_set(c, a, 1, SIZE, first));
	EXPECT_OK(philox_event_record(c->device, first, event));
	EXPECT_OK(contract_delay(c, first));
	EXPECT_OK(contract_set(c, a, 2, SIZE, first));
	EXPECT_OK(contract_order(c, event, first, second));
	EXPECT_OK(contract_copy(c, b, a, SIZE, second));
	EXPECT_BYTES(second, b, 2, SIZE);
}

static void synchronize_waits(struct contract *c)
{
	philox_stream stream;
	philox_event event;
	void *host, *mapped;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_event(c, &event));
	EXPECT_OK(contract_mapped(c, 4, &host, &mapped));
	EXPECT_OK(contract_delay(c, stream));
	EXPECT_OK(contract_set(c, mapped, 1, 1, stream));
	EXPECT_OK(philox_stream_synchronize(c->device, stream));
	EXPECT(((volatile char *)host)[0] == 1);
	EXPECT_OK(philox_stream_query(c->device, stream));
	EXPECT_OK(contract_delay(c, stream));
	EXPECT_OK(contract_set(c, mapped, 2, 1, stream));
	EXPECT_OK(philox_event_record(c->device, stream, event));
	EXPECT_OK(philox_event_synchronize(c->device, event));
	EXPECT(((volatile char *)host)[0] == 2);
	EXPECT_OK(philox_event_query(c->device, event));
	EXPECT_OK(contract_delay(c, stream));
	EXPECT_OK(contract_set(c, mapped, 3, 1, stream));
	EXPECT_OK(philox_device_synchronize(c->device));
	EXPECT(((volatile char *)host)[0] == 3);
}

static void the_legacy_stream_waits_and_is_waited_for(struct contract *c)
{
	philox_stream stream;
	void *a, *b;

	EXPECT_OK(contract_stream(c, PHILOX_STREAM_BLOCKING, &stream));
	EXPECT_OK(contract_memory(c, SIZE, &a));
	EXPECT_OK(contract_memory(c, SIZE, &b));
	EXPECT_OK(contract_delay(c, stream));
	EXPECT_OK(contract_set(c, a, 1, SIZE, stream));
	EXPECT_OK(contract_copy(c, b, a, SIZE, NULL));
	EXPECT_BYTES(NULL, b, 1, SIZE);
	EXPECT_OK(contract_delay(c, NULL));
	EXPECT_OK(contract_set(c, a, 2, SIZE, NULL));
	EXPECT_OK(contract_copy(c, b, a, SIZE, stream));
	EXPECT_BYTES(stream, b, 2, SIZE);
	EXPECT_OK(contract_delay(c, stream));
	EXPECT_OK(philox_stream_synchronize(c->device, NULL));
	EXPECT_OK(philox_stream_query(c->device, stream));
}

static void destroying_a_stream_finishes_its_work(struct contract *c)
{
	philox_stream stream;
	void *memory;

	EXPECT_OK(contract_memory(c, SIZE, &memory));
	EXPECT_OK(philox_stream_create(c->device, 0, &stream));
	EXPECT_OK(contract_delay(c, stream));
	EXPECT_OK(contract_set(c, memory, 4, SIZE, stream));
	EXPECT_OK(philox_stream_destroy(c->device, stream));
	EXPECT_OK(philox_device_synchronize(c->device));
	EXPECT_BYTES(NULL, memory, 4, SIZE);
}

static void an_event_outlives_its_stream(struct contract *c)
{
	philox_stream stream, other;
	philox_event event;
	void *memory;

	EXPECT_OK(contract_memory(c, SIZE, &memory));
	EXPECT_OK(contract_stream(c, 0, &other));
	EXPECT_OK(contract_event(c, &event));
	EXPECT_OK(philox_stream_create(c->device, 0, &stream));
	EXPECT_OK(contract_delay(c, stream));
	EXPECT_OK(contract_set(c, memory, 6, SIZE, stream));
	EXPECT_OK(philox_event_record(c->device, stream, event));
	EXPECT_OK(philox_stream_destroy(c->device, stream));
	EXPECT_OK(philox_event_wait(c->device, other, event));
	EXPECT_BYTES(other, memory, 6, SIZE);
	EXPECT_OK(philox_event_synchronize(c->device, event));
}

static void timed_events_tell_how_long_work_took(struct contract *c)
{
	philox_event begin, end;
	philox_stream stream;
	uint64_t time = 0, back = 1;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_timed_event(c, &begin));
	EXPECT_OK(contract_timed_event(c, &end));
	EXPECT_OK(philox_event_record(c->device, stream, begin));
	EXPECT_OK(contract_delay(c, stream));
	EXPECT_OK(philox_event_record(c->device, stream, end));
	EXPECT_OK(philox_event_synchronize(c->device, end));
	EXPECT_OK(device_event_elapsed(c->device, begin, end, &time));
	EXPECT_OK(device_event_elapsed(c->device, end, begin, &back));
	EXPECT_TEXT(time > 0 && back == 0, "%" PRIu64 " ns, %" PRIu64 " back",
		    time, back);
}

static void only_timed_events_that_were_recorded_have_times(struct contract *c)
{
	philox_event plain, timed, new;
	philox_stream stream;
	uint64_t time;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_event(c, &plain));
	EXPECT_OK(contract_timed_event(c, &timed));
	EXPECT_OK(contract_timed_event(c, &new));
	EXPECT_OK(philox_event_record(c->device, stream, plain));
	EXPECT_OK(philox_event_record(c->device, stream, timed));
	EXPECT_OK(philox_stream_synchronize(c->device, stream));
	EXPECT_ERROR(INVALID,
		     device_event_elapsed(c->device, plain, timed, &time));
	EXPECT_ERROR(INVALID,
		     device_event_elapsed(c->device, timed, plain, &time));
	EXPECT_ERROR(INVALID,
		     device_event_elapsed(c->device, timed, new, &time));
}

/* --- asynchrony: needs work that stops until it is told to go on ---------- */

struct gate {
	atomic_int *open;
};

/* Gives up after a while, so that a broken device fails instead of hanging. */
static void wait_at_gate(const void *args)
{
	const struct gate *gate = args;
	const struct timespec moment = {.tv_nsec = 1000000};

	for (int i = 0; i < 5000 && !atomic_load(gate->open); i++)
		nanosleep(&moment, NULL);
}

static void calls_return_before_their_work_has_run(struct contract *c)
{
	static atomic_int open;
	struct gate gate = {&open};
	philox_stream stuck, other;
	philox_event event;
	void *memory;

	SKIP_IF(!philox_device_is_host(c->device),
		"work that waits for the host needs philox_stream_launch_host()");
	SKIP_IF(contract_is_synchronous(c), "all calls wait on this device");
	atomic_store(&open, 0);
	EXPECT_OK(contract_stream(c, 0, &stuck));
	EXPECT_OK(contract_stream(c, 0, &other));
	EXPECT_OK(contract_event(c, &event));
	EXPECT_OK(contract_memory(c, SIZE, &memory));
	EXPECT_OK(philox_stream_launch_host(c->device, stuck, wait_at_gate,
					    &gate, sizeof(gate)));
	EXPECT_OK(philox_event_record(c->device, stuck, event));
	EXPECT_STATUS(PHILOX_NOT_READY, philox_stream_query(c->device, stuck));
	EXPECT_STATUS(PHILOX_NOT_READY, philox_event_query(c->device, event));
	/*
	 * It does not delay another stream, nor does either delay the legacy
	 * stream.
	 */
	EXPECT_OK(contract_set(c, memory, 1, SIZE, other));
	EXPECT_BYTES(other, memory, 1, SIZE);
	EXPECT_OK(contract_set(c, memory, 2, SIZE, NULL));
	EXPECT_BYTES(NULL, memory, 2, SIZE);
	/* A stream that waits is delayed. */
	EXPECT_OK(philox_event_wait(c->device, other, event));
	EXPECT_STATUS(PHILOX_NOT_READY, philox_stream_query(c->device, other));
	atomic_store(&open, 1);
	EXPECT_OK(philox_stream_synchronize(c->device, other));
	EXPECT_OK(philox_event_query(c->device, event));
}

static void a_wait_is_for_the_point_recorded_by_then(struct contract *c)
{
	static atomic_int open;
	struct gate gate = {&open};
	philox_stream first, second;
	philox_event event;

	SKIP_IF(!philox_device_is_host(c->device),
		"work that waits for the host needs philox_stream_launch_host()");
	SKIP_IF(contract_is_synchronous(c), "all calls wait on this device");
	atomic_store(&open, 0);
	EXPECT_OK(contract_stream(c, 0, &first));
	EXPECT_OK(contract_stream(c, 0, &second));
	EXPECT_OK(contract_event(c, &event));
	EXPECT_OK(contract_order(c, event, first, second));
	EXPECT_OK(philox_stream_launch_host(c->device, first, wait_at_gate,
					    &gate, sizeof(gate)));
	EXPECT_OK(philox_event_record(c->device, first, event));
	EXPECT_OK(philox_stream_synchronize(c->device, second));
	EXPECT_STATUS(PHILOX_NOT_READY, philox_stream_query(c->device, first));
	atomic_store(&open, 1);
	EXPECT_OK(philox_stream_synchronize(c->device, first));
}

static void an_event_not_reached_has_no_time(struct contract *c)
{
	static atomic_int open;
	struct gate gate = {&open};
	philox_stream stream;
	philox_event begin, end;
	uint64_t time = 0;

	SKIP_IF(!philox_device_is_host(c->device),
		"work that waits for the host needs philox_stream_launch_host()");
	SKIP_IF(contract_is_synchronous(c), "all calls wait on this device");
	atomic_store(&open, 0);
	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_timed_event(c, &begin));
	EXPECT_OK(contract_timed_event(c, &end));
	EXPECT_OK(philox_event_record(c->device, stream, begin));
	EXPECT_OK(philox_stream_launch_host(c->device, stream, wait_at_gate,
					    &gate, sizeof(gate)));
	EXPECT_OK(philox_event_record(c->device, stream, end));
	EXPECT_STATUS(PHILOX_NOT_READY,
		      device_event_elapsed(c->device, begin, end, &time));
	atomic_store(&open, 1);
	EXPECT_OK(philox_stream_synchronize(c->device, stream));
	EXPECT_OK(device_event_elapsed(c->device, begin, end, &time));
	EXPECT(time > 0);
}

/* --- counting, failing, refusing ------------------------------------------ */

static void calls_are_counted(struct contract *c)
{
	philox_stream stream;
	uint64_t queries, all;

	EXPECT_OK(contract_stream(c, 0, &stream));
	queries = philox_device_call_count(c->device, "stream_query");
	all = philox_device_call_count(c->device, NULL);
	EXPECT_OK(philox_stream_query(c->device, stream));
	EXPECT_OK(philox_stream_query(c->device, stream));
	EXPECT_OK(philox_stream_synchronize(c->device, stream));
	EXPECT(philox_device_call_count(c->device, "stream_query") ==
	       queries + 2);
	EXPECT(philox_device_call_count(c->device, NULL) == all + 3);
	EXPECT(philox_device_call_count(c->device, "no_such_operation") == 0);
}

static void a_failure_ordered_happens_once(struct contract *c)
{
	philox_stream stream;
	void *memory;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_memory(c, SIZE, &memory));
	EXPECT_OK(contract_set(c, memory, 1, SIZE, stream));
	EXPECT_OK(philox_device_fail(c->device, "set", 2, PHILOX_ERROR_DEVICE));
	EXPECT_OK(contract_set(c, memory, 2, SIZE, stream));
	EXPECT_OK(philox_stream_synchronize(c->device, stream));
	EXPECT_ERROR(DEVICE,
		     philox_memory_set(c->device, stream, memory, 3, SIZE));
	EXPECT(strstr(philox_error_message(), "set"));
	EXPECT_BYTES(stream, memory, 2, SIZE);
	EXPECT_OK(contract_set(c, memory, 4, SIZE, stream));
	EXPECT_BYTES(stream, memory, 4, SIZE);
}

static void a_failure_of_any_operation_can_be_ordered(struct contract *c)
{
	philox_stream stream;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(philox_device_fail(c->device, NULL, 1, PHILOX_ERROR_BUSY));
	EXPECT_ERROR(BUSY, philox_stream_synchronize(c->device, stream));
	EXPECT_OK(philox_stream_synchronize(c->device, stream));
	EXPECT_OK(philox_device_fail(c->device, NULL, 1, PHILOX_ERROR_BUSY));
	EXPECT_OK(philox_device_fail(c->device, NULL, 0, PHILOX_OK));
	EXPECT_OK(philox_stream_synchronize(c->device, stream));
}

static void own_work_runs_on_host_devices_alone(struct contract *c)
{
	static atomic_int open = 1;
	struct gate gate = {&open};
	philox_stream stream;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_STATUS(philox_device_is_host(c->device)
			      ? PHILOX_OK
			      : PHILOX_ERROR_UNSUPPORTED,
		      philox_stream_launch_host(c->device, stream, wait_at_gate,
						&gate, sizeof(gate)));
}

static void destroyed_handles_are_refused(struct contract *c)
{
	philox_stream stream;
	philox_event event;
	void *memory;

	SKIP_IF(!philox_device_is_host(c->device),
		"CUDA leaves the use of destroyed handles undefined");
	EXPECT_OK(philox_stream_create(c->device, 0, &stream));
	EXPECT_OK(philox_event_create(c->device, &event));
	EXPECT_OK(philox_memory_alloc(c->device, 16, &memory));
	EXPECT_ERROR(INVALID,
		     philox_event_record(c->device, (philox_stream)event,
					 (philox_event)stream));
	EXPECT_ERROR(INVALID,
		     philox_memory_free(c->device, (char *)memory + 8));
	EXPECT_OK(philox_stream_destroy(c->device, stream));
	EXPECT_OK(philox_event_destroy(c->device, event));
	EXPECT_OK(philox_memory_free(c->device, memory));
	EXPECT_ERROR(INVALID, philox_stream_destroy(c->device, stream));
	EXPECT_ERROR(INVALID, philox_stream_synchronize(c->device, stream));
	EXPECT_ERROR(INVALID, philox_event_query(c->device, event));
	EXPECT_ERROR(INVALID, philox_memory_free(c->device, memory));
}

/* --- contexts and forks --------------------------------------------------- */

static void a_context_keeps_its_device_open(struct contract *c)
{
	struct philox_context *context;
	struct philox_device *device;

	EXPECT_OK(philox_device_open(philox_device_name(c->device), &device));
	EXPECT_OK(philox_context_create(device, &context));
	EXPECT_ERROR(BUSY, philox_device_close(device));
	EXPECT_OK(philox_context_check(context, NULL));
	philox_context_destroy(context);
	EXPECT_OK(philox_device_close(device));
}

/* CUDA itself would say that the child is not initialised, or crash. */
static int is_refused(struct philox_device *device, philox_stream stream)
{
	struct philox_context *context;
	void *memory;

	return philox_stream_synchronize(device, stream) ==
		       PHILOX_ERROR_STATE &&
	       philox_memory_alloc(device, 16, &memory) == PHILOX_ERROR_STATE &&
	       philox_context_create(device, &context) == PHILOX_ERROR_STATE &&
	       philox_device_close(device) == PHILOX_ERROR_STATE &&
	       strstr(philox_error_message(), "fork");
}

static void a_fork_cannot_use_the_device(struct contract *c)
{
	philox_stream stream;
	pid_t child;
	int ended;

	EXPECT_OK(contract_stream(c, 0, &stream));
	child = fork();
	EXPECT(child >= 0);
	if (!child) {
		alarm(60); /* a call that waits in the child waits for ever */
		_exit(!is_refused(c->device, stream));
	}
	EXPECT(waitpid(child, &ended, 0) == child);
	EXPECT_TEXT(!ended, "in the child %s",
		    WIFEXITED(ended) ? "a call is not refused"
				     : "a call waits or crashes");
	EXPECT_OK(philox_stream_synchronize(c->device, stream));
}

const struct contract_check contract_device[] = {
	{"memory is aligned to 256 bytes", .run = memory_is_aligned},
	{"copies go both ways", .run = copies_go_both_ways},
	{"a set touches its own bytes only",
	 .run = set_touches_its_bytes_alone},
	{"mapped memory is shared with the host",
	 .run = mapped_memory_is_shared},
	{"freeing memory waits for its work", .run = free_waits_for_work},
	{"streams run in order", .run = streams_run_in_order},
	{"events order streams", .run = events_order_streams},
	{"an event never recorded is not waited for",
	 .run = an_event_never_recorded_is_no_wait},
	{"recording again replaces the point",
	 .run = recording_again_replaces_the_point},
	{"synchronizing waits", .run = synchronize_waits},
	{"the legacy stream waits and is waited for",
	 .run = the_legacy_stream_waits_and_is_waited_for},
	{"destroying a stream finishes its work",
	 .run = destroying_a_stream_finishes_its_work},
	{"an event outlives its stream", .run = an_event_outlives_its_stream},
	{"timed events tell how long work took",
	 .run = timed_events_tell_how_long_work_took},
	{"only timed events that were recorded have times",
	 .run = only_timed_events_that_were_recorded_have_times},
	{"calls return before their work has run",
	 .run = calls_return_before_their_work_has_run},
	{"a wait is for the point recorded by then",
	 .run = a_wait_is_for_the_point_recorded_by_then},
	{"an event that is not reached has no time",
	 .run = an_event_not_reached_has_no_time},
	{"calls are counted", .run = calls_are_counted},
	{"an injected failure happens once",
	 .run = a_failure_ordered_happens_once},
	{"a failure of any operation can be injected",
	 .run = a_failure_of_any_operation_can_be_ordered},
	{"your own functions run on host devices only",
	 .run = own_work_runs_on_host_devices_alone},
	{"destroyed handles are refused", .run = destroyed_handles_are_refused},
	{"a context keeps its device open",
	 .run = a_context_keeps_its_device_open},
	{"a fork cannot use the device", .run = a_fork_cannot_use_the_device},
	{0}};
