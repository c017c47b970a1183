/*
 * tests/support/said/said.c - see tests/support/said/said.h
 */
#define SAID_UNCHECKED
#include "tests/support/said/said.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE = 1024, DEPTH = 128 };

/* The calls in progress, one within a callback of the other. */
static _Thread_local struct {
	char before[MESSAGE];
	unsigned failures;
	int anything;
} calls[DEPTH];
static _Thread_local int depth;

/* Of this thread's calls: how many failed, and what the last one said. */
static _Thread_local unsigned failures;
static _Thread_local char said[MESSAGE];

void said_begin(void)
{
	if (depth == DEPTH)
		abort();
	snprintf(calls[depth].before, MESSAGE, "%s", philox_error_message());
	calls[depth].failures = failures;
	calls[depth].anything = 0;
	depth++;
}

void said_anything(void)
{
	if (depth)
		calls[depth - 1].anything = 1;
}

enum philox_status said_checked(const char *function, enum philox_status status)
{
	const char *message = philox_error_message(), *expected;

	depth--;
	expected = calls[depth].failures == failures ? calls[depth].before
						     : said;
	if (status != PHILOX_OK) {
		failures++;
		snprintf(said, MESSAGE, "%s", message);
	} else if (!calls[depth].anything && strcmp(message, expected) != 0) {
		fprintf(stderr,
			"%s() succeeded, and the message is no longer \"%s\", "
			"but \"%s\"\n",
			function, expected, message);
		abort();
	}
	return status;
}
