/*
 * tests/support/beds/pool.h - pools in tests
 *
 * POOL_PROMISE(suite, name) { ... } is a test that runs with plain and with
 * expandable segments, on host:sync and on host:strict, with a fixture `f` and
 * an empty pool `pool`, "pool". The blocks of make_block() have the tag "block"
 * and are written by fill_block() in stream order.
 */
#ifndef TESTS_SUPPORT_POOL_BED_H
#define TESTS_SUPPORT_POOL_BED_H

#include "tests/support/support.h"

#define POOL_PROMISE(suite, name)                                      \
	static void name(struct fixture *f, struct philox_pool *pool); \
	Test(suite, name, .timeout = 120)                              \
	{                                                              \
		on_pools(name);                                        \
	}                                                              \
	static void name(struct fixture *f,                            \
			 __attribute__((unused)) struct philox_pool *pool)

void on_pools(void (*promise)(struct fixture *f, struct philox_pool *pool));

struct philox_pool *make_pool(struct fixture *f, const char *name,
			      uint32_t flags);
/* "limited", of the kind of the promise, with flags and at most `limit` bytes. */
struct philox_pool *make_limited(struct fixture *f, uint32_t flags,
				 uint64_t limit);
/* The flag of the promise that runs now: PHILOX_POOL_EXPANDABLE or 0. */
uint32_t pool_kind(void);

struct philox_pool_block make_block(struct philox_pool *pool,
				    philox_stream stream, size_t size);
struct philox_pool_stats pool_look(struct philox_pool *pool);

/* How often an operation of the device was called. */
uint64_t calls_of(const struct fixture *f, const char *operation);

/* A capture with a session; pool_recorded() makes it a graph. */
struct philox_pool_session *pool_record(struct fixture *f,
					struct philox_pool *pool);
struct philox_graph *pool_recorded(struct fixture *f,
				   struct philox_pool_session *session);

/*
 * A graph that takes `bytes` in a pool, sets them to `value`, copies them to
 * `out` and frees them.
 */
struct philox_graph *record_user(struct fixture *f, struct philox_pool *pool,
				 size_t bytes, int value, void *out);

/* Whether `bytes` of device memory are all `value`. Waits for the device. */
int holds_value(struct fixture *f, const void *memory, size_t bytes, int value);

/* The events of the log since log_events(), with "|" between. */
void log_events(struct fixture *f);
const char *logged_events(void);

#endif
