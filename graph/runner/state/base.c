/*
 * graph/runner/state/base.c - what all files about runners use
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include "graph/runner/state/state.h"
#include "lib/containers/array.h"

static enum philox_status refuse(const struct philox_runner *runner,
				 uintptr_t owner)
{
	return status_set(PHILOX_ERROR_BUSY,
			  owner == callback_this_thread()
				  ? "runner '%s': this is a call from within a "
				    "body or agree() of it"
				  : "runner '%s': another thread is in it",
			  runner->name);
}

enum philox_status runner_try(struct philox_runner *runner)
{
	uintptr_t owner = 0;

	if (atomic_compare_exchange_strong(&runner->owner, &owner,
					   callback_this_thread()))
		return PHILOX_OK;
	if (owner == RUNNER_READER)
		return PHILOX_NOT_READY;
	return refuse(runner, owner);
}

/* --- readers -------------------------------------------------------------- */

/* A reader's own thread comes here by a function of the user, such as a log. */
static enum philox_status lock_after_reader(struct philox_runner *runner)
{
	enum philox_status status = PHILOX_NOT_READY;

	if (atomic_load(&runner->reader) == callback_this_thread())
		return refuse(runner, callback_this_thread());
	atomic_fetch_add(&runner->waiting, 1);
	while (status == PHILOX_NOT_READY) {
		pthread_mutex_lock(&runner->reading);
		status = runner_try(runner);
		pthread_mutex_unlock(&runner->reading);
	}
	atomic_fetch_sub(&runner->waiting, 1);
	return status;
}

enum philox_status runner_lock(struct philox_runner *runner)
{
	enum philox_status status = runner_try(runner);

	return status == PHILOX_NOT_READY ? lock_after_reader(runner) : status;
}

int runner_read_begin(struct philox_runner *runner)
{
	const uintptr_t thread = callback_this_thread();
	uintptr_t nobody = 0;

	if (atomic_load(&runner->owner) == thread ||
	    atomic_load(&runner->reader) == thread)
		return 0;
	pthread_mutex_lock(&runner->reading);
	if (atomic_load(&runner->waiting) ||
	    !atomic_compare_exchange_strong(&runner->owner, &nobody,
					    RUNNER_READER)) {
		pthread_mutex_unlock(&runner->reading);
		return 0;
	}
	atomic_store(&runner->reader, thread);
	return 1;
}

void runner_read_end(struct philox_runner *runner)
{
	atomic_store(&runner->reader, 0);
	atomic_store(&runner->owner, 0);
	pthread_mutex_unlock(&runner->reading);
}

/* --- calls ---------------------------------------------------------------- */

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

struct runner_subject runner_subject(const struct philox_runner *runner,
				     const struct philox_function *function)
{
	struct runner_subject subject = {.context = runner->context};

	snprintf(subject.runner, sizeof(subject.runner), "%s", runner->name);
	if (function)
		snprintf(subject.function, sizeof(subject.function), "%s",
			 function->name);
	return subject;
}

enum philox_status subject_report(const struct runner_subject *subject,
				  enum philox_status status)
{
	const struct philox_log_entry entry = {
		.pool = subject->runner,
		.function = *subject->function ? subject->function : NULL};

	return context_report(subject->context, status, &entry);
}

enum philox_status runner_leave(struct philox_runner *runner,
				const struct philox_function *function,
				enum philox_status status)
{
	struct philox_context *context = runner->context;
	struct runner_subject subject;

	if (status == PHILOX_OK) { /* often, so without a subject */
		runner_release(runner, status);
		return context_report(context, PHILOX_OK, NULL);
	}
	subject = runner_subject(runner, function);
	runner_release(runner, status);
	return subject_report(&subject, status);
}

enum philox_status runner_report(struct philox_runner *runner,
				 const struct philox_function *function,
				 enum philox_status status)
{
	struct philox_log_entry subject;

	if (status == PHILOX_OK)
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
