/*
 * tests/tools/bench_fill.c - fills that are timed: what a peer does and is told
 *
 * The GPU's part is played by a clock of our own, which says how long it took;
 * the work is put on a host device's stream.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "tools/bench/cuda.h"
#include "tools/bench/fill.h"
#include "tests/support/support.h"

enum { BYTES = 4096 };

static struct fill_kind kind = {PHILOX_UNIFORM, "uniform", PHILOX_F32, "f32"};

static struct fixture fixture;
static struct bench bench;
static struct fill_bench of;

static void begin(void)
{
	fixture_open(&fixture, "host");
	bench.device = fixture.device;
	bench.stream = fixture.stream;
	of = (struct fill_bench){.bench = &bench,
				 .kind = &kind,
				 .bytes = BYTES,
				 .count = BYTES / 4,
				 .in = make_memory(&fixture, 2 * BYTES),
				 .out = make_memory(&fixture, BYTES)};
}

static void end(void)
{
	fixture_close(&fixture);
}

TestSuite(bench_fill, .init = begin, .fini = end, .timeout = 60);

static struct racer racer_of(const struct fill_entry *entry)
{
	return (struct racer){.run = fill_run, .of = (void *)entry};
}

/* --- peers that count ----------------------------------------------------- */

static int worked, fails_at;

static int count_work(const struct fill_peer *peer, const struct fill_bench *it)
{
	cr_assert_eq(it, &of);
	cr_assert_str_eq(peer->name, "counting");
	return ++worked == fails_at ? 77 : 0;
}

static const struct fill_peer counting = {.name = "counting",
					  .work = count_work};

Test(bench_fill, a_peer_works_as_often_as_it_is_asked)
{
	struct fill_entry entry = {&counting, &of};
	struct racer racer = racer_of(&entry);
	struct race_time time;

	cr_assert_eq(fill_run(&racer, 5, &time), 0);
	cr_assert_eq(worked, 5);
	cr_assert_geq(time.whole, time.call);
}

Test(bench_fill, a_peer_that_fails_is_stopped_and_its_error_told)
{
	struct fill_entry entry = {&counting, &of};
	struct racer racer = racer_of(&entry);
	struct race_time time;

	fails_at = 3;
	cr_assert_eq(fill_run(&racer, 5, &time), -1);
	cr_assert_eq(worked, 3);
	cr_assert_str_eq(racer.note, "it fails with error 77");
}

Test(bench_fill, our_fill_gives_our_numbers)
{
	struct fill_entry entry = {&fill_ours, &of};
	struct racer racer = racer_of(&entry);
	struct race_time time;
	const float *out = of.out;

	cr_assert_eq(fill_run(&racer, 1, &time), 0);
	for (uint64_t i = 0; i < of.count; i++) {
		struct philox_words w =
			philox_draw4((struct philox_state){1, 0}, i / 4);

		cr_assert_eq(out[i], philox_uniform_f32(w.w[i % 4]),
			     "element %d", (int)i);
	}
}

Test(bench_fill, our_failure_has_our_message)
{
	struct fill_entry entry = {&fill_ours, &of};
	struct racer racer = racer_of(&entry);
	struct race_time time;

	of.out = NULL;
	cr_assert_eq(fill_run(&racer, 1, &time), -1);
	cr_assert(strstr(racer.note, "out is NULL"), "%s", racer.note);
}

/* --- a GPU's clock -------------------------------------------------------- */

static char clock_calls[16];
static int clock_fails_at;

static int clock_call(char letter)
{
	size_t length = strlen(clock_calls);

	clock_calls[length] = letter;
	return (int)length + 1 == clock_fails_at ? 9 : 0;
}

static int clock_start(struct bench_cuda *cuda, philox_stream stream)
{
	(void)cuda;
	cr_assert_eq(stream, bench.stream);
	return clock_call('(');
}

static int clock_stop(struct bench_cuda *cuda, philox_stream stream)
{
	(void)cuda;
	cr_assert_eq(stream, bench.stream);
	return clock_call(')');
}

static int clock_elapsed(struct bench_cuda *cuda, double *elapsed)
{
	(void)cuda;
	*elapsed = 123;
	return clock_call('=');
}

static int clock_scale(struct bench_cuda *cuda, philox_stream stream,
		       const char *from, const char *to, const void *in,
		       void *out, size_t bytes)
{
	(void)cuda;
	cr_assert(stream == bench.stream && in == of.in && out == of.out);
	cr_assert(bytes == BYTES && !strcmp(from, "f32") &&
		  !strcmp(to, kind.dtype_name));
	return clock_call('x');
}

static const char *clock_message(int error)
{
	return error == 9 ? "nine" : "another";
}

static struct bench_cuda the_clock = {.start = clock_start,
				      .stop = clock_stop,
				      .elapsed = clock_elapsed,
				      .scale = clock_scale,
				      .message = clock_message};

Test(bench_fill, a_gpu_tells_the_time_of_its_work)
{
	struct fill_entry entry = {&fill_scale, &of};
	struct racer racer = racer_of(&entry);
	struct race_time time;

	of.cuda = &the_clock;
	cr_assert_eq(fill_run(&racer, 3, &time), 0);
	cr_assert_str_eq(clock_calls, "(xxx)=");
	cr_assert_eq(time.whole, 123);
}

Test(bench_fill, a_gpu_that_fails_is_quoted)
{
	for (int at = 1; at <= 4; at++) {
		struct fill_entry entry = {&fill_scale, &of};
		struct racer racer = racer_of(&entry);
		struct race_time time;

		memset(clock_calls, 0, sizeof(clock_calls));
		of.cuda = &the_clock;
		clock_fails_at = at;
		cr_assert_eq(fill_run(&racer, 1, &time), -1);
		cr_assert_str_eq(racer.note,
				 at == 2 ? "it fails with error 9" : "nine");
	}
}

/* --- limits --------------------------------------------------------------- */

static void run_limit(struct fill_peer *limit, enum philox_dist dist,
		      const char *dtype)
{
	struct fill_entry entry = {limit, &of};
	struct racer racer = racer_of(&entry);
	struct race_time time;

	kind = (struct fill_kind){dist, "any", PHILOX_F32, dtype};
	cr_assert(limit->has(limit, &of), "%s", limit->name);
	cr_assert_eq(fill_run(&racer, 1, &time), 0, "%s", racer.note);
}

Test(bench_fill, memset_and_copy_write_all_there_is)
{
	unsigned char *in = of.in, *out = of.out;

	for (int i = 0; i < BYTES; i++)
		in[i] = (unsigned char)(i * 7);
	run_limit(&fill_copy, PHILOX_DROPOUT, "f32");
	cr_assert_eq(memcmp(in, out, BYTES), 0);
	run_limit(&fill_memset, PHILOX_NORMAL, "f32");
	for (int i = 0; i < BYTES; i++)
		cr_assert_eq(out[i], 1);
}

Test(bench_fill, limits_belong_to_what_they_limit)
{
	kind = (struct fill_kind){PHILOX_DROPOUT, "dropout", PHILOX_F32, "f32"};
	cr_assert_not(fill_memset.has(&fill_memset, &of));
	kind.dist = PHILOX_UNIFORM;
	cr_assert_not(fill_copy.has(&fill_copy, &of));
	cr_assert_not(fill_scale.has(&fill_scale, &of));
}

Test(bench_fill, scale_multiplies_every_f32)
{
	float *in = of.in, *out = of.out;

	for (int i = 0; i < BYTES / 4; i++)
		in[i] = (float)(i - 500) / 3;
	run_limit(&fill_scale, PHILOX_DROPOUT, "f32");
	for (int i = 0; i < BYTES / 4; i++)
		cr_assert_eq(out[i], in[i] * 1.25f, "element %d", i);
}

Test(bench_fill, scale_multiplies_every_f64)
{
	double *in = of.in, *out = of.out;

	for (int i = 0; i < BYTES / 8; i++)
		in[i] = (double)(i - 250) / 3;
	run_limit(&fill_scale, PHILOX_DROPOUT, "f64");
	for (int i = 0; i < BYTES / 8; i++)
		cr_assert_eq(out[i], in[i] * 1.25, "element %d", i);
}

Test(bench_fill, scale_rounds_every_bf16_to_nearest_even)
{
	uint16_t *in = of.in, *out = of.out;

	for (int i = 0; i < BYTES / 2; i++)
		in[i] = (uint16_t)(0x3f00 + i % 256 + (i % 2 ? 0x8000 : 0));
	run_limit(&fill_scale, PHILOX_DROPOUT, "bf16");
	for (int i = 0; i < BYTES / 2; i++) {
		float scaled = philox_bf16_to_f32(in[i]) * 1.25f;

		cr_assert_eq(out[i], philox_f32_to_bf16(scaled), "element %d",
			     i);
	}
}

/* From 1 to 2 halves are whole steps of 2^-10. */
Test(bench_fill, scale_rounds_every_f16_to_nearest_even)
{
	uint16_t *in = of.in, *out = of.out;

	kind = (struct fill_kind){PHILOX_DROPOUT, "any", PHILOX_F32, "f16"};
	if (!fill_scale.has(&fill_scale, &of))
		cr_skip_test("no f16 on this processor");
	for (int i = 0; i < BYTES / 2; i++)
		in[i] = (uint16_t)(0x3c00 + i % 512);
	run_limit(&fill_scale, PHILOX_DROPOUT, "f16");
	for (int i = 0; i < BYTES / 2; i++) {
		double steps = rint((1024 + i % 512) * 1.25);

		cr_assert_eq(out[i], 0x3c00 + (int)steps - 1024, "element %d",
			     i);
	}
}

Test(bench_fill, scale_for_rounding_reads_f32)
{
	float *in = of.in;
	uint16_t *out = of.out;

	for (int i = 0; i < BYTES / 2; i++)
		in[i] = 1 + (float)(i % 1900) / 8192;
	run_limit(&fill_scale, PHILOX_STOCHASTIC_ROUND, "bf16");
	for (int i = 0; i < BYTES / 2; i++)
		cr_assert_eq(out[i], philox_f32_to_bf16(in[i] * 1.25f),
			     "element %d", i);
	kind.dtype_name = "f16";
	if (!fill_scale.has(&fill_scale, &of))
		return;
	run_limit(&fill_scale, PHILOX_STOCHASTIC_ROUND, "f16");
	for (int i = 0; i < BYTES / 2; i++) {
		double steps = rint((double)in[i] * 1.25 * 1024);

		cr_assert_eq(out[i], 0x3c00 + (int)steps - 1024, "element %d",
			     i);
	}
}
