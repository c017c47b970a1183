/*
 * tests/growth/steps.c - no call's cost grows with the square of what exists
 *
 * With 8 n things, each phase of tools/bench/growth takes at most 12 times the
 * steps that it takes with n (tests/growth/count.h).
 *
 *   steps [KIND...]    names as "regions"; all of them without
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/growth/count.h"
#include "tools/bench/growth/growth.h"

#define TIMES 8
#define MOST  12

static const size_t sizes[] = {1000, 4000};

#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* --- runs ----------------------------------------------------------------- */

static unsigned passed, failed;

/* The steps of each phase of one run. */
struct counted {
	uint64_t steps[GROWTH_PHASES_MAX];
	size_t n;
};

static void begin(void *user)
{
	(void)user;
	steps = 0;
}

static void end(void *user, const struct growth_phase *phase)
{
	struct counted *counted = user;

	(void)phase;
	counted->steps[counted->n++] = steps;
}

static struct counted count(const struct growth_kind *kind,
			    struct philox_device *device, size_t n)
{
	struct counted counted = {.n = 0};
	const struct growth_watch watch = {&counted, begin, end};

	if (growth_run(kind, device, n, &watch) == PHILOX_OK)
		return counted;
	printf("FAILED  %zu %s, %s: %s\n", n, kind->name,
	       kind->phases[counted.n - 1].name, philox_error_message());
	exit(1);
}

static void check(const struct growth_kind *kind, size_t phase, size_t n,
		  uint64_t few, uint64_t many)
{
	int fine = few > 0 && many <= MOST * few;

	passed += fine;
	failed += !fine;
	printf("%s  %s, %s: %.1f steps each of %zu, %.2f times as many in all "
	       "for %d times as many\n",
	       fine ? "ok    " : "FAILED", kind->name, kind->phases[phase].name,
	       (double)few / (double)n, n, (double)many / (double)few, TIMES);
	fflush(stdout);
}

static void check_kind(const struct growth_kind *kind,
		       struct philox_device *device)
{
	for (size_t i = 0; i < N_SIZES; i++) {
		struct counted few = count(kind, device, sizes[i]);
		struct counted many = count(kind, device, TIMES * sizes[i]);

		for (size_t k = 0; k < few.n; k++)
			check(kind, k, sizes[i], few.steps[k], many.steps[k]);
	}
}

static int is_named(const struct growth_kind *kind, char **names)
{
	char **name = names;

	while (*name && strcmp(*name, kind->name))
		name++;
	return *name || !*names;
}

int main(int argc, char **argv)
{
	struct philox_device *device;

	(void)argc;
	if (philox_device_open("host:sync", &device) != PHILOX_OK)
		return 1;
	for (size_t i = 0; growth_lists[i]; i++)
		for (const struct growth_kind *kind = growth_lists[i];
		     kind->name; kind++)
			if (is_named(kind, argv + 1))
				check_kind(kind, device);
	philox_device_close(device);
	printf("%u passed, %u failed\n", passed, failed);
	return failed || !passed;
}
