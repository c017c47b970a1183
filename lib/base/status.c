/*
 * lib/base/status.c - the texts of statuses, and each thread's error message
 *
 * Names and sentences come only from PHILOX_STATUS_LIST. The message is
 * thread-local and has a fixed size, so that setting it cannot fail; a longer
 * text is cut. Nothing here is shared, so nothing is locked.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lib/base/base.h"

#define MESSAGE_SIZE 512

static _Thread_local char message[MESSAGE_SIZE];
static _Thread_local uint64_t written; /* messages of the thread, ever */
static _Thread_local uint64_t number;  /* of the message, which counts them */

_Static_assert(sizeof(((struct status_message *)0)->text) == MESSAGE_SIZE,
	       "a message can be kept");

static void replace(const char text[MESSAGE_SIZE])
{
	memcpy(message, text, sizeof(message));
	number = ++written;
}

const char *philox_status_name(enum philox_status status)
{
	switch ((int)status) {
#define STATUS_NAME(name, value, sentence) \
	case value:                        \
		return "PHILOX_" #name;
		PHILOX_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
	}
	return "PHILOX_?";
}

const char *philox_status_text(enum philox_status status)
{
	switch ((int)status) {
#define STATUS_TEXT(name, value, sentence) \
	case value:                        \
		return sentence;
		PHILOX_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
	}
	return "unknown status";
}

const char *philox_error_message(void)
{
	return message;
}

enum philox_status status_set(enum philox_status status, const char *format,
			      ...)
{
	char text[MESSAGE_SIZE]; /* an argument may be the message itself */
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	replace(text);
	return status;
}

const char *status_bare(void)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	size_t name = strspn(message, letters);

	if (strncmp(message, "philox_", 7) || strncmp(message + name, ": ", 2))
		return message;
	return message + name + 2;
}

const char *status_s(uint64_t n)
{
	return n == 1 ? "" : "s";
}

const char *status_es(uint64_t n)
{
	return n == 1 ? "" : "es";
}

const char *status_is(uint64_t n)
{
	return n == 1 ? "is" : "are";
}

enum philox_status status_prefix(enum philox_status status, const char *format,
				 ...)
{
	char text[MESSAGE_SIZE];
	va_list arguments;
	size_t length;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	length = strlen(text);
	memccpy(text + length, status_bare(), 0, sizeof(text) - length);
	text[sizeof(text) - 1] = 0;
	replace(text);
	return status;
}

struct status_message status_kept(void)
{
	struct status_message kept;

	memcpy(kept.text, message, strlen(message) + 1);
	kept.number = number;
	return kept;
}

void status_restore(const struct status_message *kept)
{
	memcpy(message, kept->text, strlen(kept->text) + 1);
	number = kept->number;
}

int status_is_other(const struct status_message *than)
{
	return number != than->number;
}

enum philox_status status_first(enum philox_status first,
				const struct status_message *kept,
				enum philox_status second)
{
	if (first == PHILOX_OK)
		return second;
	status_restore(kept);
	return first;
}
