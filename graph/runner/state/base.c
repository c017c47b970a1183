/*
 * graph/runner/state/base.c - what all files about runners use
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include "graph/runner/state/state.h"
#include "lib/containers/array.h"

enum philox_status runner_lock(struct philox_runner *runner)
{
	uintptr_t nobody = 0;

	if (atomic_compare_exchange_strong(&runner->owner, &nobody,
					   callback_this_thread()))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_BUSY,
			  nobody == callback_this_thread()
				  ? "runner '%s': this is a call from within a "
				    "body or agree() of it"
				  : "runner '%s': another thread is in it",
			  runner->name);
}

int runner_is_here(const struct philox_runner *runner)
{
	return atomic_load(&runner->owner) == callback_this_thread();
}

enum philox_status runner_release(struct philox_runner *runner,
				  enum philox_status status)
{
	atomic_store(&runner->owner, 0);
	return status;
}

void runner_said(struct philox_runner *runner,
		 const struct status_message *before)
{
	if (status_is_other(before))
		runner->said = status_kept();
}

uint64_t runner_time(void)
{
	return clock_now();
}

enum philox_status runner_report(struct philox_runner *runner,
				 const struct philox_function *function,
				 enum philox_status status)
{
	struct philox_log_entry subject;

	if (status == PHILOX_OK) /* often, so without a subject */
		return context_report(runner->context, PHILOX_OK, NULL);
	subject = (struct philox_log_entry){
		.pool = runner->name,
		.function = function ? function->name : NULL};
	return context_report(runner->context, status, &subject);
}

const char *runner_kind(enum philox_call_kind kind)
{
	static const char *const names[] = {NULL, "eager", "warm-up", "record",
					    "replay"};

	return names[kind];
}

void runner_post(const struct philox_function *function,
		 enum philox_log_level level, const char *event,
		 enum philox_call_kind kind, const char *input,
		 uint64_t nanoseconds, const char *format, ...)
{
	static const char *const modes[] = {"", "backward ", "inference "};
	const struct philox_runner *runner = function->runner;
	struct philox_log_entry subject = {.pool = runner->name,
					   .function = function->name,
					   .input = input,
					   .kind = runner_kind(kind),
					   .nanoseconds = nanoseconds};
	char text[800];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	log_post(runner->context, level, event, &subject,
		 "%sfunction '%s'%s%s", modes[function->mode], function->name,
		 *text == ':' ? "" : " ", text);
}

enum philox_status runner_room(void *items, size_t *room, size_t need,
			       size_t size)
{
	size_t larger = *room ? *room : 8;

	if (need <= *room)
		return PHILOX_OK;
	while (larger < need)
		larger *= 2;
	if (!array_grow(items, *room, larger - *room, size))
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for %zu records of a runner",
				  larger);
	*room = larger;
	return PHILOX_OK;
}
