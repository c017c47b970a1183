/*
 * graph/pool/pool.c - a pool's locks and messages
 */
#include <stdarg.h>
#include <stdio.h>
#include "graph/pool/pool.h"

void pool_lock(struct philox_pool *pool)
{
	int recorded = atomic_load_explicit(&pool->context->recorded,
					    memory_order_relaxed);

	if (recorded)
		context_lock(pool->context);
	pthread_mutex_lock(&pool->lock);
	pool->context_locked = recorded;
}

void pool_unlock(struct philox_pool *pool)
{
	int locked = pool->context_locked;

	pool->context_locked = 0;
	pthread_mutex_unlock(&pool->lock);
	if (locked)
		context_unlock(pool->context);
}

void pool_lock_both(struct philox_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->context_locked = 1;
}

void pool_unlock_pool(struct philox_pool *pool)
{
	pool->context_locked = 0;
	pthread_mutex_unlock(&pool->lock);
}

enum philox_status pool_refuse_owned(const struct philox_pool *pool)
{
	if (!pool->runner)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_STATE,
			  "pool '%s' is that of a runner, which alone changes "
			  "it; a body takes memory with philox_run_alloc()",
			  pool->name);
}

enum philox_status pool_report(const struct philox_pool *pool,
			       enum philox_status status, uint64_t bytes)
{
	struct philox_log_entry subject;

	if (status == PHILOX_OK)
		return context_report(pool->context, status, NULL);
	subject = (struct philox_log_entry){.pool = pool->name, .bytes = bytes};
	return context_report(pool->context, status, &subject);
}

void pool_post(struct philox_pool *pool, enum philox_log_level level,
	       const char *event, uint64_t bytes, uint64_t nanoseconds,
	       const char *format, ...)
{
	struct philox_log_entry subject = {
		.pool = pool->name, .bytes = bytes, .nanoseconds = nanoseconds};
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	log_post(pool->context, level, event, &subject, "pool '%s' %s",
		 pool->name, text);
}
