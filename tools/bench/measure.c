/*
 * tools/bench/measure.c - what the parts of `philox bench` measure with
 */
#include "tools/bench/bench.h"

#include <malloc.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "tools/cli/cli.h"

double bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

double bench_worked(void)
{
	struct timespec worked;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &worked);
	return (double)worked.tv_sec * 1e9 + (double)worked.tv_nsec;
}

static int compare_values(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

double bench_median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), compare_values);
	return values[count / 2];
}

int bench_rounds(int rounds, size_t n, int (*round)(void *of, double *figures),
		 void *of, double *medians)
{
	double all[BENCH_FIGURES_MAX][BENCH_ROUNDS], figures[BENCH_FIGURES_MAX];
	int failed = 0;

	/* the second round overwrites the first */
	for (int i = -1; !failed && i < rounds; i++) {
		failed = round(of, figures);
		for (size_t k = 0; !failed && k < n; k++)
			all[k][i < 0 ? 0 : i] = figures[k];
	}
	for (size_t k = 0; !failed && k < n; k++)
		medians[k] = bench_median(all[k], rounds);
	return failed;
}

int bench_try(const char *what, enum philox_status status)
{
	if (status == PHILOX_OK)
		return 0;
	complain("bench", "%s: %s", what, philox_error_message());
	return -1;
}

enum philox_status bench_wait(const struct bench *bench)
{
	return philox_stream_synchronize(bench->device, bench->stream);
}

/* mallinfo2() came with glibc 2.33; no other C library has it. */
#if __GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 33)
double bench_heap(void)
{
	struct mallinfo2 info = mallinfo2();

	return (double)info.uordblks + (double)info.hblkhd;
}
#else
double bench_heap(void)
{
	return NAN;
}
#endif

enum philox_status bench_capture_values(const struct bench *bench, uint32_t n,
					size_t bytes)
{
	static const unsigned char initial[64];
	enum philox_status status = PHILOX_OK;
	char name[32];
	void *cell;

	for (uint32_t i = 0; status == PHILOX_OK && i < n; i++) {
		snprintf(name, sizeof(name), "value %u", i);
		status = philox_capture_param(bench->context, bench->stream,
					      name, initial, bytes, &cell);
	}
	return status;
}

/* --- pieces of work ------------------------------------------------------- */

const char *bench_name(const char *format, ...)
{
	static char name[64];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(name, sizeof(name), format, arguments);
	va_end(arguments);
	return name;
}

size_t bench_series_steps(const struct bench *bench,
			  const struct bench_series *series)
{
	size_t steps = 0;

	for (size_t i = 0; i < series->n; i++)
		steps += series->wanted(bench, i) != 0;
	return steps;
}

int bench_series_run(const struct bench *bench,
		     const struct bench_series *series, void *of)
{
	int failed = 0;

	for (size_t i = 0; i < series->n && !failed; i++)
		if (series->wanted(bench, i))
			failed = series->measure(of, i);
	return failed ? -1 : 0;
}

static size_t group_steps(const struct bench *bench,
			  const struct bench_group *group)
{
	return group->series ? bench_series_steps(bench, group->series)
			     : group->steps(bench);
}

size_t bench_groups_steps(const struct bench *bench,
			  const struct bench_group *const groups[])
{
	size_t steps = 0;

	for (size_t i = 0; groups[i]; i++)
		steps += group_steps(bench, groups[i]);
	return steps;
}

int bench_groups_run(struct bench *bench,
		     const struct bench_group *const groups[])
{
	int failed = 0;

	for (size_t i = 0; groups[i] && !failed; i++)
		if (group_steps(bench, groups[i]))
			failed = groups[i]->run(bench);
	return failed;
}
