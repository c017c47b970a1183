/*
 * tests/support/beds/pool.c - see tests/support/beds/pool.h
 */
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/beds/pool.h"

static uint32_t kind;

uint32_t pool_kind(void)
{
	return kind;
}

struct philox_pool *make_pool(struct fixture *f, const char *name,
			      uint32_t flags)
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	struct philox_pool *pool;

	options.name = name;
	options.flags = flags;
	options.range = flags & PHILOX_POOL_EXPANDABLE ? 1 << 30 : 0;
	OK(philox_pool_create(f->context, &options, &pool));
	return pool;
}

struct philox_pool *make_limited(struct fixture *f, uint32_t flags,
				 uint64_t limit)
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	struct philox_pool *pool;

	options.name = "limited";
	options.flags = kind | flags;
	options.range = kind ? 1 << 30 : 0;
	options.limit = limit;
	OK(philox_pool_create(f->context, &options, &pool));
	return pool;
}

static void on_pool(const char *device, uint32_t flags,
		    void (*promise)(struct fixture *, struct philox_pool *))
{
	struct fixture f;

	kind = flags;
	fixture_open(&f, device);
	promise(&f, make_pool(&f, "pool", flags));
	fixture_close(&f);
}

void on_pools(void (*promise)(struct fixture *f, struct philox_pool *pool))
{
	if (named_device()) {
		on_pool(named_device(), 0, promise);
		on_pool(named_device(), PHILOX_POOL_EXPANDABLE, promise);
		return;
	}
	on_pool("host:sync", 0, promise);
	on_pool("host:sync", PHILOX_POOL_EXPANDABLE, promise);
	on_pool("host:strict", 0, promise);
	on_pool("host:strict", PHILOX_POOL_EXPANDABLE, promise);
}

struct philox_pool_block make_block(struct philox_pool *pool,
				    philox_stream stream, size_t size)
{
	struct philox_pool_block block;

	OK(philox_pool_alloc(pool, stream, size, 0, "block", &block));
	return block;
}

struct philox_pool_stats pool_look(struct philox_pool *pool)
{
	struct philox_pool_stats statistics =
		PHILOX_INIT(struct philox_pool_stats);

	OK(philox_pool_get_stats(pool, &statistics));
	return statistics;
}

uint64_t calls_of(const struct fixture *f, const char *operation)
{
	return philox_device_call_count(f->device, operation);
}

/* --- captures ------------------------------------------------------------- */

struct philox_pool_session *pool_record(struct fixture *f,
					struct philox_pool *pool)
{
	struct philox_pool_session *session;

	record_begin(f);
	OK(philox_pool_session_begin(pool, f->stream, &session));
	return session;
}

struct philox_graph *pool_recorded(struct fixture *f,
				   struct philox_pool_session *session)
{
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	return record_end(f);
}

struct philox_graph *record_user(struct fixture *f, struct philox_pool *pool,
				 size_t bytes, int value, void *out)
{
	struct philox_pool_session *session = pool_record(f, pool);
	struct philox_pool_block block = make_block(pool, f->stream, bytes);

	OK(philox_memory_set(f->device, f->stream, block.address, value,
			     bytes));
	OK(philox_memory_copy(f->device, f->stream, out, block.address, bytes));
	OK(philox_pool_free(pool, f->stream, block.address));
	return pool_recorded(f, session);
}

int holds_value(struct fixture *f, const void *memory, size_t bytes, int value)
{
	unsigned char *copy = malloc(bytes);
	size_t i = 0;

	OK(philox_device_synchronize(f->device));
	OK(philox_memory_copy(f->device, f->stream, copy, memory, bytes));
	OK(philox_stream_synchronize(f->device, f->stream));
	while (i < bytes && copy[i] == (unsigned char)value)
		i++;
	free(copy);
	return i == bytes;
}

/* --- the log -------------------------------------------------------------- */

static char events[1024];

static void keep_event(void *user, const struct philox_log_entry *entry)
{
	size_t length = strlen(events);

	(void)user;
	snprintf(events + length, sizeof(events) - length, "%s%s",
		 length ? "|" : "", entry->event);
}

void log_events(struct fixture *f)
{
	events[0] = '\0';
	OK(philox_context_set_log(f->context, keep_event, NULL));
}

const char *logged_events(void)
{
	return events;
}
