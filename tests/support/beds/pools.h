/*
 * tests/support/beds/pools.h - pools on the host device, for tests by name
 *
 * Sizes are in units of POOL_UNIT. Unless its settings say otherwise a pool
 * grows by 128 of them, the host device's granularity, and reserves 4096.
 */
#ifndef TESTS_SUPPORT_POOLS_H
#define TESTS_SUPPORT_POOLS_H

#include "alloc/pool/pool.h"
#include "tests/support/models/pool_calls.h"
#include "tests/support/support.h"

#define UNITS(n) ((size_t)(n)*POOL_UNIT)

struct pool_test {
	struct philox_device *device;
	struct pool *pool;
	size_t margin;
};

void pool_test_open(struct pool_test *t, const struct pool_settings *settings);
void pool_test_close(struct pool_test *t);

/* The pool holds together: pool_check(). */
void whole(const struct pool_test *t);

/*
 * take() takes `units` for an owner who may use SHARED's memory, growing if need
 * be; put() frees it for the owner.
 */
struct pool_block take(struct pool_test *t, size_t units, uint32_t owner);
struct pool_block take_tagged(struct pool_test *t, size_t units,
			      const char *tag);
void put(struct pool_test *t, struct pool_block block, uint32_t owner);

/* All live blocks' ids, at most n of them; returns how many there are. */
size_t live_ids(const struct pool_test *t, uint64_t *ids, size_t n);

/* What the blocks are, as a text: "L4 F60/0" is a live one of four units, then a
 * free one of sixty that owner 0 has; a new segment or a gap is "|". */
const char *picture(const struct pool_test *t);

#define PICTURE(t, text)                                             \
	cr_assert(!strcmp(picture(t), (text)), "\"%s\", not \"%s\"", \
		  picture(t), (text))

/* Runs a test in a plain pool, then in an expandable one. */
#define ON_BOTH_KINDS(t)                                                \
	for (int kind_ = POOL_PLAIN; kind_ <= POOL_EXPANDABLE; kind_++) \
		for (int open_ = (open_kind(&(t), kind_), 1); open_;    \
		     open_ = (pool_test_close(&(t)), 0))

void open_kind(struct pool_test *t, int kind);

struct pool_figures figures(const struct pool_test *t);

/* Whether two describe one block: not their padding. */
int same_block(const struct pool_block *a, const struct pool_block *b);

#endif
