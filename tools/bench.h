/*
 * tools/bench.h - what the parts of `philox bench` share
 *
 * A part measures something and prints rows. Times are medians of rounds that
 * are interleaved with what they are compared with, the peer; the first round
 * warms up and is not counted. What peers are, each part's legend says.
 */
#ifndef BENCH_H
#define BENCH_H

#include <philox.h>

struct bench {
	struct philox_device *device;
	struct philox_context *context;
	philox_stream stream;
	int json; /* one object per line instead of a table */
};

/* A bench function returns 0, or -1 after printing what failed. */
int bench_ledger(struct bench *bench);
int bench_replay(struct bench *bench);
int bench_schedules(struct bench *bench);

/* bench_row() prints a figure; `peer` is NULL if it is compared with nothing. */
void bench_row(const struct bench *bench, const char *name, double value,
	       const char *unit, const char *peer, double peer_value);

/* bench_plural() is "s" behind a count that is not one. */
const char *bench_plural(uint32_t count);

/* bench_now() is a clock in nanoseconds. */
double bench_now(void);

/* bench_median() sorts `values` and returns the middle one. */
double bench_median(double *values, int count);

/* bench_try() prints the message of a call that failed: 0, or -1. */
int bench_try(const char *what, enum philox_status status);

#endif
