/*
 * tools/bench/growth/measure.c - the time of n things, 2 n, 4 n, ...
 *
 * On a device of its own, host:sync, where all is done by one thread; its CPU
 * time counts. The peer of each is a list of as many nodes from malloc(), which
 * are made, walked in another order, and freed.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tools/bench/bench.h"
#include "tools/bench/growth/growth.h"

#define SIZES  4 /* the last is the most that are wanted */
#define ROUNDS 3
#define QUICK  1000 /* a quick run has so many times less */

/* A node as large as a small object of the library. */
struct node {
	struct node *next;
	char bytes[56];
};

struct measuring {
	struct bench *bench;
	const struct growth_kind *kind;
	size_t n;
	int round, phase;
	double began;
	double times[GROWTH_PHASES_MAX][ROUNDS];
	double list[ROUNDS];
};

static double cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static size_t size_of(const struct bench *bench, const struct growth_kind *kind,
		      int size)
{
	return (kind->most >> (SIZES - 1 - size)) / (bench->quick ? QUICK : 1);
}

/* Without the blanks that the names of kinds and phases have. */
static const char *row_name(const struct growth_kind *kind,
			    const struct growth_phase *phase, size_t n)
{
	static char name[64];

	snprintf(name, sizeof(name), "growth/%s/%s/%zu", kind->name,
		 phase->name, n);
	for (char *at = name; *at; at++)
		if (*at == ' ')
			*at = '-';
	return name;
}

/* --- the peer ------------------------------------------------------------- */

static struct node *make_list(size_t n)
{
	struct node *list = NULL, *node;

	while (n-- && (node = malloc(sizeof(*node)))) {
		memset(node->bytes, (int)n, sizeof(node->bytes));
		node->next = list;
		list = node;
	}
	return list;
}

static size_t walk_list(const struct node *list)
{
	size_t sum = 0;

	for (; list; list = list->next)
		sum += (size_t)list->bytes[0];
	return sum;
}

static void free_list(struct node *list)
{
	struct node *next;

	for (; list; list = next) {
		next = list->next;
		free(list);
	}
}

static double list_time(size_t n)
{
	static volatile size_t walked; /* so that the walk is not left out */
	const double began = cpu_now();
	struct node *list = make_list(n);

	walked = walk_list(list);
	free_list(list);
	(void)walked;
	return cpu_now() - began;
}

/* --- rounds --------------------------------------------------------------- */

static void begin(void *user)
{
	struct measuring *of = user;

	of->began = cpu_now();
}

static void end(void *user, const struct growth_phase *phase)
{
	struct measuring *of = user;

	(void)phase;
	of->times[of->phase++][of->round] = cpu_now() - of->began;
}

static int run_rounds(struct measuring *of, struct philox_device *device)
{
	const struct growth_watch watch = {of, begin, end};
	const int rounds = of->bench->quick ? 1 : ROUNDS;

	for (of->round = 0; of->round < rounds; of->round++) {
		of->phase = 0;
		if (bench_try(of->kind->name, growth_run(of->kind, device,
							 of->n, &watch)))
			return -1;
		of->list[of->round] = list_time(of->n);
	}
	return 0;
}

static void print_phase(struct measuring *of, int phase, double list)
{
	double *times = of->times[phase];

	bench_print_wanted(
		of->bench,
		&(struct bench_row){
			.name = row_name(of->kind, &of->kind->phases[phase],
					 of->n),
			.value = bench_median(times, of->round) / (double)of->n,
			.unit = "ns",
			.peer = "list",
			.peer_value = list});
}

static int measure(struct bench *bench, const struct growth_kind *kind,
		   size_t n)
{
	struct measuring of = {.bench = bench, .kind = kind, .n = n};
	struct philox_device *device;
	double list;
	int failed;

	bench_step(bench);
	if (bench_try("device", philox_device_open("host:sync", &device)))
		return -1;
	failed = run_rounds(&of, device);
	list = failed ? NAN : bench_median(of.list, of.round) / (double)n;
	for (int i = 0; !failed && i < of.phase; i++)
		print_phase(&of, i, list);
	return bench_try("device", philox_device_close(device)) || failed ? -1
									   : 0;
}

/* --- the part ------------------------------------------------------------- */

static int is_wanted(const struct bench *bench, const struct growth_kind *kind,
		     size_t n)
{
	const struct growth_phase *phase = kind->phases;

	while (phase->name && !bench_wants(bench, row_name(kind, phase, n)))
		phase++;
	return phase->name != NULL;
}

/* Each wanted kind and size; NULL: they are only counted. */
static int run_all(const struct bench *bench, struct bench *measured,
		   size_t *steps)
{
	int failed = 0;

	for (size_t i = 0; growth_lists[i]; i++)
		for (const struct growth_kind *kind = growth_lists[i];
		     kind->name; kind++)
			for (int k = 0; !failed && k < SIZES; k++) {
				const size_t n = size_of(bench, kind, k);

				if (!is_wanted(bench, kind, n))
					continue;
				++*steps;
				if (measured)
					failed = measure(measured, kind, n);
			}
	return failed;
}

size_t bench_growth_steps(const struct bench *bench)
{
	size_t steps = 0;

	run_all(bench, NULL, &steps);
	return steps;
}

int bench_growth(struct bench *bench)
{
	size_t steps = 0;

	return run_all(bench, bench, &steps);
}
