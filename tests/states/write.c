/*
 * tests/states/write.c - states of the host are written to device memory in the
 * order of the stream
 */
#include <stdlib.h>
#include "tests/support/support.h"

enum {
	N = 1000,    /* more than a kernel takes several times over */
	KERNEL = 192 /* states of a kernel, at most */
};

static const unsigned char untouched[16] = {0xee, 0xee, 0xee, 0xee, 0xee, 0xee,
					    0xee, 0xee, 0xee, 0xee, 0xee, 0xee,
					    0xee, 0xee, 0xee, 0xee};

/* Device memory of n states, none of which is one. */
static struct philox_state *make_states(struct fixture *f, size_t n)
{
	struct philox_state *states = make_memory(f, n * sizeof(*states));

	OK(philox_memory_set(f->device, f->stream, states, 0xee,
			     n * sizeof(*states)));
	return states;
}

static struct philox_state state_of(uint64_t i)
{
	return (struct philox_state){0x9e3779b97f4a7c15ULL * (i + 1),
				     4 * (i << 33 | i)};
}

static struct philox_state *fill_states(size_t n)
{
	struct philox_state *states = malloc(n * sizeof(*states));

	cr_assert(states);
	for (size_t i = 0; i < n; i++)
		states[i] = state_of(i);
	return states;
}

static void read_states(struct fixture *f, const struct philox_state *from,
			struct philox_state *to, size_t n)
{
	OK(philox_memory_copy(f->device, f->stream, to, from, n * sizeof(*to)));
	OK(philox_stream_synchronize(f->device, f->stream));
}

static void all_untouched(struct fixture *f, const struct philox_state *states,
			  size_t n)
{
	struct philox_state *read = malloc(n * sizeof(*read));

	cr_assert(read);
	read_states(f, states, read, n);
	for (size_t i = 0; i < n; i++)
		cr_assert(!memcmp(&read[i], untouched, 16), "state %zu", i);
	free(read);
}

static uint64_t launches(struct fixture *f)
{
	return philox_device_call_count(f->device, "launch");
}

/* --- what is written ------------------------------------------------------ */

/* n states from place 1 of memory that has one more on each side. */
static void write_n(struct fixture *f, size_t n)
{
	struct philox_state *to = make_states(f, n + 2);
	struct philox_state *states = fill_states(n), *read = fill_states(n);
	const uint64_t before = launches(f);

	OK(philox_context_write_states(f->context, f->stream, to + 1, states,
				       n));
	cr_assert_eq(launches(f) - before, (n + KERNEL - 1) / KERNEL);
	memset(states, 0xff, n * sizeof(*states));
	read_states(f, to + 1, read, n);
	for (size_t i = 0; i < n; i++)
		cr_assert(read[i].seed == state_of(i).seed &&
				  read[i].offset == state_of(i).offset,
			  "state %zu of %zu", i, n);
	all_untouched(f, to, 1);
	all_untouched(f, to + 1 + n, 1);
	free(read);
	free(states);
}

PROMISE(write_states, all_of_them_and_nothing_else_from_an_array_that_is_free)
{
	static const size_t n[] = {1,          2,          KERNEL - 1, KERNEL,
				   KERNEL + 1, 2 * KERNEL, N};

	for (size_t i = 0; i < sizeof(n) / sizeof(n[0]); i++)
		write_n(f, n[i]);
}

static struct philox_fill_desc fill_to(uint32_t *out)
{
	return (struct philox_fill_desc){
		.size = sizeof(struct philox_fill_desc),
		.dist = PHILOX_DIST_BITS,
		.dtype = PHILOX_DTYPE_U32,
		.span = {.count = WORDS},
		.out = out};
}

/* The numbers of a state, from philox_block() alone. */
static struct numbers numbers_of(struct philox_state state)
{
	struct numbers numbers;

	for (uint64_t e = 0; e < WORDS; e++)
		numbers.word[e] =
			philox_block(state.seed, state.offset / 4, e / 4)
				.w[e % 4];
	return numbers;
}

PROMISE(write_states, is_work_in_the_order_of_the_stream)
{
	struct philox_state *cell = make_states(f, 1), state;
	const struct philox_rng rng = {{0, 0}, cell};
	uint32_t *arrays[3];

	for (uint64_t i = 0; i < 3; i++) {
		struct philox_fill_desc fill =
			fill_to(arrays[i] = make_array(f));

		state = state_of(i);
		OK(philox_context_write_states(f->context, f->stream, cell,
					       &state, 1));
		OK(philox_rng_fill(f->device, f->stream, rng, &fill));
	}
	for (uint64_t i = 0; i < 3; i++)
		SAME(read_numbers(f, arrays[i]), numbers_of(state_of(i)),
		     "fill %d", (int)i);
}

PROMISE(write_states, does_not_wait_and_copies_nothing)
{
	static const char *const waiting[] = {
		"copy",         "set",       "stream_sync", "device_sync",
		"event_record", "mem_alloc", "mapped_alloc"};
	enum { KINDS = sizeof(waiting) / sizeof(waiting[0]) };
	struct philox_state *to = make_states(f, N);
	struct philox_state *states = fill_states(N);
	uint64_t before[KINDS];

	for (size_t i = 0; i < KINDS; i++)
		before[i] = philox_device_call_count(f->device, waiting[i]);
	OK(philox_context_write_states(f->context, f->stream, to, states, N));
	for (size_t i = 0; i < KINDS; i++)
		cr_assert_eq(philox_device_call_count(f->device, waiting[i]),
			     before[i], "%s", waiting[i]);
	free(states);
}

PROMISE(write_states, none_needs_no_arrays)
{
	struct philox_state *to = make_states(f, 1), state = state_of(0);
	const uint64_t before = launches(f);

	OK(philox_context_write_states(f->context, f->stream, NULL, NULL, 0));
	OK(philox_context_write_states(f->context, f->stream, to, &state, 0));
	cr_assert_eq(launches(f), before);
	all_untouched(f, to, 1);
}

/* A graph of the caller's, which philox knows nothing of. */
PROMISE(write_states, a_graph_that_reads_them_draws_new_numbers)
{
	struct philox_state *cell = make_states(f, 1);
	const struct philox_rng rng = {{0, 0}, cell};
	uint32_t *array = make_array(f);
	struct philox_fill_desc fill = fill_to(array);
	philox_native_graph graph;
	philox_native_exec exec;

	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_GLOBAL));
	OK(philox_rng_fill(f->device, f->stream, rng, &fill));
	OK(philox_stream_end_capture(f->device, f->stream, &graph));
	OK(philox_native_graph_instantiate(f->device, graph, &exec));
	for (uint64_t i = 0; i < 3; i++) {
		struct philox_state state = state_of(i);

		OK(philox_context_write_states(f->context, f->stream, cell,
					       &state, 1));
		OK(philox_native_exec_launch(f->device, f->stream, exec));
		SAME(read_numbers(f, array), numbers_of(state), "launch %d",
		     (int)i);
	}
	OK(philox_native_exec_destroy(f->device, exec));
	OK(philox_native_graph_destroy(f->device, graph));
}

/* --- what is refused ------------------------------------------------------ */

PROMISE(write_states, names_the_argument_that_is_wrong)
{
	struct philox_state *to = make_states(f, 4), states[4];
	struct philox_state *odd = (struct philox_state *)((char *)to + 4);
	const uint64_t before = launches(f);

	for (uint64_t i = 0; i < 4; i++)
		states[i] = state_of(i);
	SAYS(philox_context_write_states(NULL, f->stream, to, states, 4),
	     PHILOX_ERROR_INVALID, "context is NULL");
	SAYS(philox_context_write_states(f->context, f->stream, NULL, states,
					 4),
	     PHILOX_ERROR_INVALID, "write states: to is NULL");
	FAILS(philox_context_write_states(f->context, f->stream, to, NULL, 4),
	      PHILOX_ERROR_INVALID);
	NAMES("write states: states is NULL");
	FAILS(philox_context_write_states(f->context, f->stream, odd, states,
					  3),
	      PHILOX_ERROR_INVALID);
	NAMES("is not aligned to 8 bytes");
	FAILS(philox_context_write_states(f->context, f->stream, to, states,
					  SIZE_MAX / 16 + 1),
	      PHILOX_ERROR_OVERFLOW);
	NAMES("n_states 1152921504606846976");
	for (uint64_t bad = 1; bad < 4; bad++) {
		states[2].offset = 8 + bad;
		FAILS(philox_context_write_states(f->context, f->stream, to,
						  states, 4),
		      PHILOX_ERROR_INVALID);
		NAMES("states[2].offset is");
	}
	states[2].offset = PHILOX_POISON_OFFSET;
	FAILS(philox_context_write_states(f->context, f->stream, to, states, 4),
	      PHILOX_ERROR_INVALID);
	cr_assert_eq(launches(f), before);
	all_untouched(f, to, 4);
}

/* 8 is enough. */
PROMISE(write_states, takes_memory_that_is_aligned_to_8)
{
	uint64_t *words = (uint64_t *)make_states(f, 2), read[3];
	struct philox_state state = {7, 16};

	OK(philox_context_write_states(f->context, f->stream,
				       (struct philox_state *)(words + 1),
				       &state, 1));
	OK(philox_memory_copy(f->device, f->stream, read, words, 24));
	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert(read[0] == 0xeeeeeeeeeeeeeeeeULL && read[1] == 7 &&
		  read[2] == 16);
}

/* The host cannot read it on a GPU, so it is refused everywhere. */
PROMISE(write_states, refuses_states_of_device_memory)
{
	struct philox_state *to = make_states(f, 2), *from = make_states(f, 2);

	FAILS(philox_context_write_states(f->context, f->stream, to, from, 2),
	      PHILOX_ERROR_INVALID);
	NAMES("write states: states (");
	NAMES("is memory of device");
	all_untouched(f, to, 2);
}

/* Where all memory is the host's. */
Test(write_states, refuses_arrays_that_overlap)
{
	struct philox_state array[8];
	struct fixture fixture = {0}, *f = &fixture;

	fixture_open(f, "host");
	for (uint64_t i = 0; i < 8; i++)
		array[i] = state_of(i);
	for (int from = 0; from < 8; from++)
		for (int to = 0; to < 8; to++) {
			size_t n = (size_t)(8 - (from > to ? from : to));
			int apart = abs(from - to) >= (int)n;
			enum philox_status status = philox_context_write_states(
				f->context, f->stream, array + to, array + from,
				n);

			cr_assert_eq(status,
				     apart ? PHILOX_OK : PHILOX_ERROR_INVALID,
				     "%d to %d", from, to);
			OK(philox_stream_synchronize(f->device, f->stream));
			for (size_t i = 0; i < 8; i++) {
				size_t t = (size_t)to, s = (size_t)from;
				uint64_t is = apart && i >= t && i < t + n
						      ? i - t + s
						      : i;

				cr_assert_eq(array[i].seed, state_of(is).seed);
				array[i] = state_of(i);
			}
		}
	fixture_close(f);
}

/* --- captures ------------------------------------------------------------- */

GRAPH_PROMISE(write_states, is_refused_in_a_capture_that_goes_on)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_state *to = make_states(f, 2), states[2] = {{1, 4}};
	uint32_t *array = make_array(f);
	struct philox_graph *graph;

	record_begin(f);
	FAILS(philox_context_write_states(f->context, f->stream, to, states, 2),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	NAMES("write states: the stream is in capture");
	captured_forward(f, region, PHILOX_PASS_INFERENCE, array);
	FAILS(philox_context_write_states(f->context, f->stream, to, states, 0),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	/* beside it, it is work of another stream */
	OK(philox_context_write_states(f->context, f->side, to, states, 1));
	graph = record_end(f);
	OK(philox_stream_synchronize(f->device, f->side));
	all_untouched(f, to + 1, 1);
	OK(philox_graph_launch(graph, f->stream,
			       &(struct philox_launch_pass){{0, 0}, 0, 0}, 1));
	SAME(read_numbers(f, array), predict(0, "layer", 0), "the launch");
	all_untouched(f, to + 1, 1);
	OK(philox_graph_destroy(graph));
}

PROMISE(write_states, says_that_a_capture_is_broken)
{
	struct philox_state *to = make_states(f, 1), state = {1, 4};
	philox_native_graph graph;

	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_GLOBAL));
	FAILS(philox_stream_synchronize(f->device, f->stream),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	FAILS(philox_context_write_states(f->context, f->stream, to, &state, 1),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	FAILS(philox_stream_end_capture(f->device, f->stream, &graph),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	all_untouched(f, to, 1);
	OK(philox_context_write_states(f->context, f->stream, to, &state, 1));
}

/* --- devices that fail ---------------------------------------------------- */

/* How many states were written before the n-th call of an operation failed. */
static size_t written_before(struct fixture *f, const char *operation,
			     uint64_t n)
{
	struct philox_state *to = make_states(f, N), *read = fill_states(N);
	struct philox_state *states = fill_states(N);
	size_t written = 0;

	OK(philox_device_fail(f->device, operation, n, PHILOX_ERROR_DEVICE));
	FAILS(philox_context_write_states(f->context, f->stream, to, states, N),
	      PHILOX_ERROR_DEVICE);
	OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
	read_states(f, to, read, N);
	while (written < N &&
	       !memcmp(&read[written], &states[written], sizeof(*read)))
		written++;
	for (size_t i = written; i < N; i++)
		cr_assert(!memcmp(&read[i], untouched, 16), "state %zu", i);
	OK(philox_context_write_states(f->context, f->stream, to, states, N));
	free(states);
	free(read);
	return written;
}

PROMISE(write_states, a_device_that_fails_has_written_the_first_or_none)
{
	cr_assert_eq(written_before(f, "capture_info", 1), 0);
	for (uint64_t n = 1; n <= 6; n++)
		cr_assert_eq(written_before(f, "launch", n), (n - 1) * KERNEL);
}
