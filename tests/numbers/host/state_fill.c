/*
 * tests/numbers/host/state_fill.c - fills of host memory, by a state alone
 *
 * The numbers are those that a host device fills with, which other tests compare
 * with references of their own.
 */
#include <fenv.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/fills.h"

enum {
	LAYOUTS = PHILOX_LAYOUT_JAX + 2, /* one is unknown */
	DISTS = 14,
	DTYPES = 9,
	ROWS = 3,
	COLS = 1001,
	ELEMENTS = ROWS * COLS,
	BYTES = ELEMENTS * 8
};

static const struct philox_state state = {0x0123456789abcdef, 4096};

static struct philox_layout_desc layout_of(uint32_t kind)
{
	return (struct philox_layout_desc){
		.size = sizeof(struct philox_layout_desc),
		.kind = kind,
		.threads = 64,
		.sms = 2,
		.threads_per_sm = 256,
		.elements = 10000};
}

/* Any dist of any dtype, known or not: rows of a tensor with gaps. */
static struct philox_fill_desc fill_of(uint32_t dist, uint32_t dtype,
				       const void *in, void *out)
{
	const struct fill_name name = {.dist = dist, .dtype = dtype};
	struct philox_fill_desc fill = plain_fill(&name);

	fill.span = philox_span_rows(5, ROWS, COLS, 2000);
	fill.in = dist == PHILOX_DIST_CATEGORICAL ? plain_sums() : in;
	fill.out = out;
	return fill;
}

/* What a host device says and writes: a poisoned state is in a cell. */
static enum philox_status device_fill(struct philox_device *device,
				      struct philox_state from,
				      const struct philox_fill_desc *fill)
{
	const struct philox_rng rng = {
		from, philox_is_poison(from) ? &from : NULL};
	const enum philox_status status =
		philox_rng_fill(device, NULL, rng, fill);

	OK(philox_stream_synchronize(device, NULL));
	return status;
}

/* One fill here and on the device: the same bytes, or the same refusal. */
static int same_as_device(struct philox_device *device,
			  struct philox_state from,
			  struct philox_fill_desc fill, size_t size)
{
	char *here = malloc(size), *there = malloc(size);
	char said[512];
	enum philox_status status;

	cr_assert(here && there);
	memset(here, 0xa5, size);
	memset(there, 0xa5, size);
	fill.out = there;
	status = device_fill(device, from, &fill);
	snprintf(said, sizeof(said), "%s", philox_error_message());
	fill.out = here;
	cr_assert_eq(philox_state_fill(from, &fill, 3), status,
		     "dist %u, dtype %u", fill.dist, fill.dtype);
	if (status != PHILOX_OK)
		cr_assert_str_eq(philox_error_message(), said);
	cr_assert_arr_eq(here, there, size, "dist %u, dtype %u, layout %u",
			 fill.dist, fill.dtype,
			 fill.layout ? fill.layout->kind : 0);
	free(here);
	free(there);
	return status == PHILOX_OK;
}

Test(state_fill, gives_the_numbers_of_a_device_or_its_refusal)
{
	static char in[BYTES];
	struct philox_device *device;
	unsigned done = 0;

	OK(philox_device_open("host", &device));
	scatter(in, sizeof(in));
	for (uint32_t dist = 0; dist < DISTS; dist++)
		for (uint32_t dtype = 0; dtype < DTYPES; dtype++)
			for (uint32_t kind = 0; kind < LAYOUTS; kind++) {
				struct philox_layout_desc layout =
					layout_of(kind);
				struct philox_fill_desc fill =
					fill_of(dist, dtype, in, NULL);

				fill.layout = kind ? &layout : NULL;
				done += (unsigned)same_as_device(device, state,
								 fill, BYTES);
			}
	cr_assert(done > n_fill_names, "%u fills", done);
	philox_device_close(device);
}

Test(state_fill, a_poisoned_state_gives_no_numbers)
{
	const struct philox_state poison = {1, 5};
	static char in[BYTES];
	struct philox_device *device;

	cr_assert(philox_is_poison(poison));
	OK(philox_device_open("host", &device));
	scatter(in, sizeof(in));
	for (size_t i = 0; i < n_fill_names; i++) {
		struct philox_fill_desc fill = fill_of(
			fill_names[i].dist, fill_names[i].dtype, in, NULL);

		cr_assert(same_as_device(device, poison, fill, BYTES));
	}
	philox_device_close(device);
}

/* --- threads -------------------------------------------------------------- */

enum { MANY = (5 << 20) / 4 + 77, CALLERS = 4 };

static struct philox_fill_desc many_bits(uint32_t *out)
{
	return (struct philox_fill_desc){
		.size = sizeof(struct philox_fill_desc),
		.dist = PHILOX_DIST_BITS,
		.dtype = PHILOX_DTYPE_U32,
		.span = philox_span_elements(3, MANY),
		.out = out};
}

static uint32_t *make_many(void)
{
	uint32_t *out = calloc(MANY, sizeof(*out));

	cr_assert(out);
	return out;
}

static void expect_words(const uint32_t *out)
{
	for (uint64_t i = 0; i < MANY; i++)
		cr_assert_eq(out[i], philox_word_at(state, 3 + i),
			     "element %" PRIu64, 3 + i);
}

Test(state_fill, numbers_do_not_depend_on_threads)
{
	static const uint32_t threads[] = {1, 2, 5, 100, UINT32_MAX};
	uint32_t *out = make_many();
	const struct philox_fill_desc fill = many_bits(out);

	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		memset(out, 0, MANY * sizeof(*out));
		OK(philox_state_fill(state, &fill, threads[i]));
		expect_words(out);
	}
	free(out);
}

static void *fill_many(void *out)
{
	const struct philox_fill_desc fill = many_bits(out);

	OK(philox_state_fill(state, &fill, 2));
	return NULL;
}

Test(state_fill, threads_fill_memory_of_their_own)
{
	pthread_t callers[CALLERS];
	uint32_t *out[CALLERS];

	for (int i = 0; i < CALLERS; i++) {
		out[i] = make_many();
		cr_assert(
			!pthread_create(&callers[i], NULL, fill_many, out[i]));
	}
	for (int i = 0; i < CALLERS; i++) {
		pthread_join(callers[i], NULL);
		expect_words(out[i]);
		free(out[i]);
	}
}

/* --- the caller's thread -------------------------------------------------- */

Test(state_fill, the_callers_rounding_mode_does_not_matter_and_stays)
{
	static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
	float here[COLS], first[COLS];
	struct philox_fill_desc fill = {.size = sizeof(fill),
					.dist = PHILOX_DIST_NORMAL,
					.dtype = PHILOX_DTYPE_F32,
					.span = philox_span_elements(1, COLS),
					.mean = 0.1,
					.std = 3,
					.out = first};

	OK(philox_state_fill(state, &fill, 1));
	fill.out = here;
	for (int i = 0; i < 3; i++) {
		fesetround(modes[i]);
		OK(philox_state_fill(state, &fill, 1));
		cr_assert_eq(fegetround(), modes[i]);
		fesetround(FE_TONEAREST);
		cr_assert_arr_eq(here, first, sizeof(first));
	}
}

/* Nothing is recorded: a capture goes on, and memory is filled at once. */
PROMISE(state_fill, a_capture_does_not_record_it)
{
	struct philox_graph *graph;
	uint32_t word[2] = {0, 0};
	struct philox_fill_desc fill = {.size = sizeof(fill),
					.dist = PHILOX_DIST_BITS,
					.dtype = PHILOX_DTYPE_U32,
					.span = philox_span_elements(7, 1),
					.out = word};

	OK(philox_capture_begin(f->context, f->stream));
	OK(philox_state_fill(state, &fill, 1));
	cr_assert_eq(word[0], philox_word_at(state, 7));
	OK(philox_capture_end(f->context, f->stream, &graph));
	word[0] = 0;
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert_eq(word[0], 0);
	cr_assert_eq(word[1], 0);
}

/* --- refusals ------------------------------------------------------------- */

static void refused(struct philox_state from, struct philox_fill_desc fill,
		    uint32_t threads, const char *name)
{
	uint32_t out[4] = {7, 7, 7, 7};

	fill.out = fill.out ? out : NULL;
	FAILS(philox_state_fill(from, &fill, threads), PHILOX_ERROR_INVALID);
	NAMES(name);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(out[i], 7);
}

Test(state_fill, what_is_out_of_range_is_refused_by_name)
{
	const struct philox_state odd = {1, 6};
	uint32_t word;
	struct philox_fill_desc fill = {.size = sizeof(fill),
					.dist = PHILOX_DIST_BITS,
					.dtype = PHILOX_DTYPE_U32,
					.span = philox_span_elements(0, 4),
					.out = &word};

	FAILS(philox_state_fill(state, NULL, 1), PHILOX_ERROR_INVALID);
	NAMES("fill");
	refused(state, fill, 0, "threads");
	refused(odd, fill, 1, "offset");
	fill.dist = 77;
	refused(state, fill, 1, "dist");
	fill.dist = PHILOX_DIST_BITS;
	fill.out = NULL;
	refused(state, fill, 1, "out");
}

Test(state_fill, nothing_is_asked_of_an_empty_span)
{
	const struct philox_fill_desc fill = {.size = sizeof(fill),
					      .dist = PHILOX_DIST_NORMAL,
					      .dtype = PHILOX_DTYPE_F32,
					      .std = 1};

	OK(philox_state_fill(state, &fill, 1));
}
