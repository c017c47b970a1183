/*
 * tools/bench/pools/pairs.c - freeing a block and allocating another
 *
 * So many blocks are live; one of them, anywhere, is freed and another one of
 * some size takes its place. Allocators of host memory do the same with the
 * same sizes. A pool asks the stream for its capture in each call, as no host
 * allocator does: that is measured alone, and taken off. All of it is work of one
 * thread, whose own time counts: another program beside it does not.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "tools/bench/pools/pools.h"
#include "tools/cli/cli.h"

#define BUDGET       1e9  /* nanoseconds of one race, about */
#define QUICK_BUDGET 20e6 /* enough for a median */
#define COUNTED      1000 /* pairs whose device calls are counted */

enum { FEW, MANY, COUNTS };

static const uint32_t live[COUNTS] = {[FEW] = 10000, [MANY] = 1000000};

/* A hundredth of the blocks in a quick run. */
static uint32_t blocks_of(const struct bench *bench, size_t count)
{
	return bench->quick ? live[count] / 100 : live[count];
}

/* --- live blocks ---------------------------------------------------------- */

static void empty_entry(struct pair_entry *entry)
{
	for (uint32_t i = 0; entry->blocks && i < entry->of->live; i++)
		if (entry->blocks[i])
			entry->drop(entry, entry->blocks[i]);
	free(entry->blocks);
	entry->blocks = NULL;
}

static int fill_entry(struct pair_entry *entry)
{
	entry->at = 0;
	entry->blocks = calloc(entry->of->live, sizeof(*entry->blocks));
	if (!entry->blocks)
		return -1;
	for (uint32_t i = 0; i < entry->of->live; i++) {
		entry->blocks[i] = entry->make(entry, bench_pool_size(i));
		if (!entry->blocks[i])
			return -1;
	}
	return 0;
}

static void make_trace(struct pairs *of)
{
	for (uint32_t i = 0; i < TRACE; i++) {
		struct philox_words words = philox_block(2, i, 0);

		of->trace[i].place = philox_mulhi(words.w[0], of->live);
		of->trace[i].size =
			(uint32_t)bench_pool_size((uint64_t)of->live + i);
	}
}

/* --- the race ------------------------------------------------------------- */

static int run_pairs(struct racer *racer, int times, struct race_time *time)
{
	struct pair_entry *entry = racer->of;
	double start = bench_worked();

	for (int i = 0; i < times; i++) {
		struct pair pair = entry->of->trace[entry->at++ % TRACE];
		void **block = &entry->blocks[pair.place];

		if (entry->drop(entry, *block) ||
		    !(*block = entry->make(entry, pair.size))) {
			*block = NULL;
			snprintf(racer->note, RACE_NOTE_MAX, "it fails");
			return -1;
		}
	}
	time->call = time->whole = bench_worked() - start;
	return 0;
}

/* A pool's two calls ask once each. */
static int run_queries(struct racer *racer, int times, struct race_time *time)
{
	const struct pair_entry *entry = racer->of;
	const struct bench *bench = entry->of->bench;
	double start = bench_worked();

	for (int i = 0; i < 2 * times; i++)
		philox_stream_capture_info(bench->device, bench->stream, NULL,
					   NULL);
	time->call = time->whole = bench_worked() - start;
	return 0;
}

static void print_pairs(const struct pairs *of, const char *figure,
			double value, const char *unit, const char *peer,
			double peer_value, const char *note)
{
	bench_print_wanted(of->bench,
			   &(struct bench_row){bench_name("pool/pair/%u/%s",
							  of->live, figure),
					       value, unit, peer, peer_value,
					       note});
}

static void print_race(struct pairs *of, const struct racer *racers)
{
	double whole = racers[OURS].median.whole;
	double query = racers[QUERY].median.whole, net = whole - query;
	int small = !(net > 0);
	const char *less = "no more than the queries alone";
	char few[32];

	snprintf(few, sizeof(few), "of %u", blocks_of(of->bench, FEW));
	for (int i = GLIBC; i < RACERS; i++)
		print_pairs(of, "net", small ? NAN : net, "ns", racers[i].name,
			    small || racers[i].out ? NAN
						   : racers[i].median.whole,
			    racers[i].out   ? racers[i].note
			    : small         ? less
			    : i == MIMALLOC ? of->note
					    : NULL);
	if (of->live == blocks_of(of->bench, FEW))
		of->few = net;
	else if (!small && of->few > 0)
		print_pairs(of, "net", net, "ns", few, of->few, NULL);
	print_pairs(of, "whole", whole, "ns", "capture queries", query, NULL);
}

/* Once the pool has grown, asking for the capture is all. */
static int count_calls(struct pairs *of, struct racer *ours)
{
	const struct philox_device *device = of->bench->device;
	uint64_t all = philox_device_call_count(device, NULL);
	uint64_t queries = philox_device_call_count(device, "capture_info");
	struct race_time time;

	if (run_pairs(ours, COUNTED, &time))
		return -1;
	all = philox_device_call_count(device, NULL) - all;
	queries = philox_device_call_count(device, "capture_info") - queries;
	print_pairs(of, "calls", (double)all / COUNTED, "calls",
		    "capture queries", (double)queries / COUNTED, NULL);
	return 0;
}

static int race_pairs(struct pairs *of)
{
	struct racer racers[RACERS] = {
		[OURS] = {.name = "philox", .run = run_pairs},
		[QUERY] = {.name = "capture query", .run = run_queries},
		[GLIBC] = {.name = "glibc", .run = run_pairs},
		[MIMALLOC] = {.name = "mimalloc", .run = run_pairs}};
	int failed;

	for (int i = 0; i < RACERS; i++)
		racers[i].of = &of->entries[i];
	if (!of->malloc)
		snprintf(racers[MIMALLOC].note, RACE_NOTE_MAX, "%s", of->note);
	race(racers, RACERS, of->bench->quick ? QUICK_BUDGET : BUDGET);
	failed = racers[OURS].out;
	if (!failed) {
		print_race(of, racers);
		failed = count_calls(of, &racers[OURS]);
	}
	if (failed)
		complain("bench", "pool: %s", philox_error_message());
	return failed ? -1 : 0;
}

/* --- the group ------------------------------------------------------------ */

static int fill_entries(struct pairs *of)
{
	for (int i = 0; i < RACERS; i++) {
		of->entries[i] = pair_allocators[i];
		of->entries[i].of = of;
		if (!pair_allocators[i].make || (i == MIMALLOC && !of->malloc))
			continue;
		if (!fill_entry(&of->entries[i]))
			continue;
		complain("bench", "pool: no memory for %u blocks", of->live);
		return -1;
	}
	return 0;
}

static int measure_pairs(void *user, size_t count)
{
	struct pairs *of = user;
	int failed;

	bench_step(of->bench);
	of->live = blocks_of(of->bench, count);
	make_trace(of);
	if (bench_try("pool", bench_pool_make(of->bench, 0, &of->pool)))
		return -1;
	failed = fill_entries(of) || race_pairs(of);
	for (int i = 0; i < RACERS; i++)
		empty_entry(&of->entries[i]);
	return bench_try("pool", philox_pool_destroy(of->pool)) || failed ? -1
									  : 0;
}

static int pairs_are_wanted(const struct bench *bench, size_t count)
{
	static const char *const figures[] = {"net", "whole", "calls"};

	for (int i = 0; i < 3; i++)
		if (bench_wants(bench, bench_name("pool/pair/%u/%s",
						  blocks_of(bench, count),
						  figures[i])))
			return 1;
	return 0;
}

static const struct bench_series pairs_series = {COUNTS, pairs_are_wanted,
						 measure_pairs};

static int run_all_pairs(struct bench *bench)
{
	struct pairs *of = calloc(1, sizeof(*of));
	int failed;

	if (!of) {
		perror("philox bench");
		return -1;
	}
	of->bench = bench;
	of->few = NAN;
	pair_open_mimalloc(of);
	failed = bench_series_run(bench, &pairs_series, of);
	free(of); /* the library stays: it may have a thread's ends to see */
	return failed;
}

const struct bench_group bench_pool_pairs = {.run = run_all_pairs,
					     .series = &pairs_series};
