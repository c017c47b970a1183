/*
 * tools/bench/runner/hits.c - calls that are replayed beside launches
 *
 * Families of functions that differ in one number: of static inputs,
 * recordings, copied inputs, values or outputs. All calls of a family take
 * turns, with launches of the same graphs, so that differences are of one run.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/bench/runner/runner.h"
#include "tools/cli/cli.h"

#define BUDGET     1.5e9  /* nanoseconds of the race of a family, about */
#define COUNTED    20     /* calls of which the device's calls are counted */
#define MEMBERS    4      /* of a family, at most */
#define AIM        1000.0 /* nanoseconds that a hit may take more */
#define COPY_TIME  2e6    /* nanoseconds of a round of copies, about */
#define FEW_INPUTS 10     /* of which one is not seen in the noise */

enum family { INPUTS, RECORDINGS, COPIED, VALUES, OUTPUTS, FAMILIES };

static const struct {
	const char *name;
	size_t n;
	uint32_t counts[MEMBERS];
} families[FAMILIES] = {{"inputs", 4, {0, 1, 100, 10000}},
			{"recordings", 4, {1, 10, 100, 1000}},
			{"copied", 4, {1, 8, 128, 200}},
			{"values", 2, {1, 8}},
			{"outputs", 2, {1, 8}}};

enum { CALL, REPLAY, DEVICE_CALLS, MORE, FIGURES };
static const char *const figures[FIGURES] = {"call", "replay", "device-calls",
					     "more"};
static const char *const units[FIGURES] = {"ns", "ns", "calls", "ns"};

/* Of a function's calls, and of launches: what is done is in race order. */
enum { OURS, LAUNCH, SIDES };

struct hits {
	struct bench *bench;
	enum family family;
	struct runner_bed beds[MEMBERS];
	double of[MEMBERS][SIDES][DEVICE_CALLS + 1];
};

static const char *hit_name(enum family family, size_t i, int figure)
{
	return bench_name("runner/%s/%u/%s", families[family].name,
			  families[family].counts[i], figures[figure]);
}

static const char *each_name(enum family family, uint32_t count)
{
	return bench_name("runner/%s/%u/each", families[family].name, count);
}

/* Whether there are so many that one of them is not lost in the noise. */
static int has_each(enum family family, uint32_t count)
{
	return (family == INPUTS || family == COPIED) && count >= FEW_INPUTS;
}

static struct runner_bed new_bed(struct bench *bench, enum family family,
				 uint32_t count)
{
	struct runner_bed bed = {.bench = bench};
	uint32_t *const of[FAMILIES] = {[INPUTS] = &bed.shape.statics,
					[RECORDINGS] = &bed.recordings,
					[COPIED] = &bed.shape.copied,
					[VALUES] = &bed.shape.values,
					[OUTPUTS] = &bed.shape.outputs};

	*of[family] = count;
	if (family == RECORDINGS)
		bed.shape.statics = 1;
	return bed;
}

/* --- measuring ------------------------------------------------------------ */

static int run_hit_calls(struct racer *racer, int times, struct race_time *time)
{
	return race_note(racer, runner_bed_call(racer->of, times, time));
}

static int run_hit_launches(struct racer *racer, int times,
			    struct race_time *time)
{
	return race_note(racer, runner_bed_launch(racer->of, times, time));
}

/* Without those of the wait. */
static enum philox_status count_hit_calls(struct runner_bed *bed, int side,
					  double *calls)
{
	struct philox_device *device = bed->bench->device;
	enum philox_status (*run)(struct runner_bed *, int,
				  struct race_time *) =
		side == OURS ? runner_bed_call : runner_bed_launch;
	uint64_t before = philox_device_call_count(device, NULL), waited;
	struct race_time time;
	enum philox_status status = run(bed, 0, &time);

	waited = philox_device_call_count(device, NULL);
	if (status == PHILOX_OK)
		status = run(bed, COUNTED, &time);
	*calls = (double)(philox_device_call_count(device, NULL) - waited -
			  (waited - before)) /
		 COUNTED;
	return status;
}

static int take_figures(struct hits *hits, const struct racer *racers)
{
	for (size_t i = 0; i < families[hits->family].n; i++)
		for (int side = 0; side < SIDES; side++) {
			const struct racer *racer = &racers[i * SIDES + side];
			double *of = hits->of[i][side];

			if (race_failed(racer, 1))
				return -1;
			of[CALL] = racer->median.call;
			of[REPLAY] = racer->median.whole;
			if (bench_try("calls",
				      count_hit_calls(&hits->beds[i], side,
						      &of[DEVICE_CALLS])))
				return -1;
		}
	return 0;
}

static int race_hits(struct hits *hits)
{
	const size_t n = families[hits->family].n;
	struct racer racers[MEMBERS * SIDES];

	for (size_t i = 0; i < n; i++) {
		struct racer *ours = &racers[i * SIDES];

		ours[OURS] = (struct racer){.name = "call",
					    .run = run_hit_calls,
					    .of = &hits->beds[i]};
		ours[LAUNCH] = (struct racer){.name = "launch",
					      .run = run_hit_launches,
					      .of = &hits->beds[i]};
	}
	race(racers, n * SIDES, hits->bench->quick ? 0 : BUDGET);
	return take_figures(hits, racers);
}

/* --- copies of what says where inputs are ----------------------------------- */

/* Address and size of an input of a call. */
enum { PLACE = 16 };

struct places {
	const struct philox_call_input *in;
	char (*to)[PLACE];
	uint32_t n;
	int times;
};

static int copy_places(void *user, double *figures)
{
	const struct places *places = user;
	double start = bench_now();

	for (int k = 0; k < places->times; k++) {
		for (uint32_t i = 0; i < places->n; i++)
			memcpy(places->to[i], &places->in[i], PLACE);
		__asm__ volatile("" ::"r"(places->to) : "memory");
	}
	figures[0] = (bench_now() - start) / places->times / places->n;
	return 0;
}

/* Nanoseconds of one of `n` copies, beside which an input is seen. */
static double copy_time(const struct hits *hits, size_t i)
{
	const uint32_t n = families[hits->family].counts[i];
	struct places places = {.in = hits->beds[i].in,
				.to = calloc(n, PLACE),
				.n = n,
				.times = (int)(COPY_TIME / n)};
	double time = 0;

	if (places.to)
		bench_rounds(hits->bench->quick ? 1 : BENCH_ROUNDS, 1,
			     copy_places, &places, &time);
	free(places.to);
	return time;
}

/* --- rows ----------------------------------------------------------------- */

/* What a call takes more than a launch of the same graph. */
static double more_of(const struct hits *hits, size_t i)
{
	return hits->of[i][OURS][CALL] - hits->of[i][LAUNCH][CALL];
}

static void print_figure(const struct hits *hits, size_t i, int figure)
{
	bench_print_wanted(
		hits->bench,
		&(struct bench_row){.name = hit_name(hits->family, i, figure),
				    .value = hits->of[i][OURS][figure],
				    .unit = units[figure],
				    .peer = "launch",
				    .peer_value = hits->of[i][LAUNCH][figure]});
}

/* What each of many inputs takes, beside a copy of where one is. */
static void print_each(const struct hits *hits, size_t i)
{
	const uint32_t *counts = families[hits->family].counts;
	const uint32_t more = counts[i] - counts[0];
	struct bench_row row = {.name = each_name(hits->family, counts[i]),
				.value = (more_of(hits, i) - more_of(hits, 0)) /
					 more,
				.unit = units[MORE],
				.peer = "copy of 16 bytes"};

	if (!bench_wants(hits->bench, row.name))
		return;
	row.peer_value = copy_time(hits, i);
	if (!(row.value > 0)) {
		row.value = row.peer_value = NAN;
		row.note = "no more than without them";
	}
	bench_print_wanted(hits->bench, &row);
}

/* Beside the aim, if there is one: without an input. */
static void print_more(const struct hits *hits, size_t i)
{
	const uint32_t count = families[hits->family].counts[i];
	const int is_aim = hits->family == INPUTS && !count;
	struct bench_row row = {.name = hit_name(hits->family, i, MORE),
				.value = more_of(hits, i),
				.unit = units[MORE],
				.peer = is_aim ? "aim" : NULL,
				.peer_value = AIM};

	bench_print_wanted(hits->bench, &row);
	if (has_each(hits->family, count))
		print_each(hits, i);
}

/* As much with many recordings as with one? */
static void print_growth(const struct hits *hits, size_t i)
{
	bench_print_wanted(
		hits->bench,
		&(struct bench_row){.name = hit_name(hits->family, i, CALL),
				    .value = hits->of[i][OURS][CALL],
				    .unit = units[CALL],
				    .peer = "of 1",
				    .peer_value = hits->of[0][OURS][CALL]});
}

static void print_hits(const struct hits *hits)
{
	for (size_t i = 0; i < families[hits->family].n; i++) {
		for (int figure = 0; figure <= DEVICE_CALLS; figure++)
			print_figure(hits, i, figure);
		print_more(hits, i);
		if (hits->family == RECORDINGS && i)
			print_growth(hits, i);
	}
}

/* --- the group ------------------------------------------------------------ */

static int measure_family(void *user, size_t place)
{
	const enum family family = (enum family)place;
	struct bench *bench = user;
	struct hits hits = {.bench = bench, .family = family};
	int failed = 0;
	size_t made = 0;

	bench_step(bench);
	while (!failed && made < families[family].n) {
		hits.beds[made] =
			new_bed(bench, family, families[family].counts[made]);
		failed = runner_bed_make(&hits.beds[made++]);
	}
	if (!failed)
		failed = race_hits(&hits);
	if (!failed)
		print_hits(&hits);
	while (made)
		runner_bed_clean(&hits.beds[--made]);
	return failed ? -1 : 0;
}

static int family_is_wanted(const struct bench *bench, size_t place)
{
	const enum family family = (enum family)place;

	for (size_t i = 0; i < families[family].n; i++) {
		const uint32_t count = families[family].counts[i];

		for (int figure = 0; figure < FIGURES; figure++)
			if (bench_wants(bench, hit_name(family, i, figure)))
				return 1;
		if (has_each(family, count) &&
		    bench_wants(bench, each_name(family, count)))
			return 1;
	}
	return 0;
}

static const struct bench_series hit_series = {FAMILIES, family_is_wanted,
					       measure_family};

static int run_hits(struct bench *bench)
{
	return bench_series_run(bench, &hit_series, bench);
}

const struct bench_group runner_hits = {.run = run_hits, .series = &hit_series};
