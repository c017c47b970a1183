/*
 * lib/state/log.c - messages to the caller's log callback
 *
 * A message is posted where its cause is known, possibly under locks, into a
 * list of the thread, and delivered at the end of the public call, without any
 * lock. Nothing is allocated while there is nothing to report.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "lib/state/state.h"

#define NAME_SIZE 64
#define TEXT_SIZE 1024

struct message {
	struct message *next;
	struct philox_context *context;
	struct philox_log_entry entry; /* its strings follow it */
	char device[NAME_SIZE], region[NAME_SIZE], op[NAME_SIZE];
	char graph[NAME_SIZE], pool[NAME_SIZE], text[TEXT_SIZE];
	char function[NAME_SIZE], input[NAME_SIZE], kind[NAME_SIZE];
};

static _Thread_local struct message *posted, *newest; /* oldest first */

static const char *copy_name(char *copy, const char *name)
{
	if (!name)
		return NULL;
	snprintf(copy, NAME_SIZE, "%s", name);
	return copy;
}

static void append_message(struct message *message)
{
	if (posted)
		newest->next = message;
	else
		posted = message;
	newest = message;
}

void log_post(struct philox_context *context, enum philox_log_level level,
	      const char *event, const struct philox_log_entry *subject,
	      const char *format, ...)
{
	struct message *message = calloc(1, sizeof(*message));
	struct philox_log_entry *entry;
	va_list arguments;

	if (!message)
		return; /* out of memory: the call's status must be enough */
	message->context = context;
	entry = &message->entry;
	*entry = *subject;
	entry->level = level;
	entry->event = event;
	entry->device =
		copy_name(message->device, philox_device_name(context->device));
	entry->region = copy_name(message->region, subject->region);
	entry->op = copy_name(message->op, subject->op);
	entry->graph = copy_name(message->graph, subject->graph);
	entry->pool = copy_name(message->pool, subject->pool);
	entry->function = copy_name(message->function, subject->function);
	entry->input = copy_name(message->input, subject->input);
	entry->kind = copy_name(message->kind, subject->kind);
	entry->text = message->text;
	va_start(arguments, format);
	vsnprintf(message->text, TEXT_SIZE, format, arguments);
	va_end(arguments);
	append_message(message);
}

static void deliver_message(const struct message *message)
{
	struct philox_context *context = message->context;
	void (*log)(void *, const struct philox_log_entry *);
	void *user;

	context_lock(context);
	log = context->log;
	user = context->log_user;
	context_unlock(context);
	if (log)
		log(user, &message->entry);
}

/* The callback may call philox and so post: the list is taken first. */
static void deliver_posted(void)
{
	struct message *message = posted, *next;

	posted = NULL;
	for (; message; message = next) {
		next = message->next;
		deliver_message(message);
		free(message);
	}
}

/*
 * Calls of philox in the callback may fail: this call's message is kept. If it
 * names a function of philox/device.h, the library called that, and not the
 * caller, who called a function of a context: the name is left out.
 */
static enum philox_status report_error(struct philox_context *context,
				       enum philox_status status,
				       const struct philox_log_entry *subject)
{
	struct philox_log_entry about =
		subject ? *subject : (struct philox_log_entry){0};
	char text[TEXT_SIZE];

	about.status = status;
	snprintf(text, sizeof(text), "%s", status_bare());
	log_post(context, PHILOX_LOG_ERROR, "error", &about, "%s", text);
	deliver_posted();
	return status_set(status, "%s", text);
}

enum philox_status context_report(struct philox_context *context,
				  enum philox_status status,
				  const struct philox_log_entry *subject)
{
	if (status != PHILOX_OK && fork_is_child(context->device))
		return status; /* see NEED_PROCESS() */
	if (status != PHILOX_OK)
		return report_error(context, status, subject);
	if (posted)
		deliver_posted();
	return PHILOX_OK;
}

/* A device is opened before there is a log to say this. */
static void tell_limit(struct philox_context *context)
{
	const struct philox_log_entry nothing = {0};
	const struct philox_device *device = context->device;

	if (*device->head_why)
		log_post(context, PHILOX_LOG_WARNING, "limit", &nothing,
			 "a graph on device %s holds at most %u passes with "
			 "their own states: %s",
			 device->name, device->head_max, device->head_why);
}

enum philox_status philox_context_set_log(
	struct philox_context *context,
	void (*log)(void *user, const struct philox_log_entry *entry),
	void *user)
{
	if (!context)
		return context_null(NULL, "context");
	NEED_PROCESS(context);
	context_lock(context);
	context->log = log;
	context->log_user = user;
	context_unlock(context);
	tell_limit(context);
	return context_report(context, PHILOX_OK, NULL);
}

enum philox_status context_null(struct philox_context *context,
				const char *name)
{
	enum philox_status status =
		status_set(PHILOX_ERROR_INVALID, "%s is NULL", name);

	return context ? context_report(context, status, NULL) : status;
}
