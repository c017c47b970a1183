/*
 * tests/support/said/said.c - see tests/support/said/said.h
 */
#include <philox.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/support/said/said.h"

static _Thread_local char said[1024]; /* by the last call that failed */
static _Thread_local int anything;

void said_anything(void)
{
	anything = 1;
}

enum philox_status said_checked(const char *function, enum philox_status status)
{
	if (status != PHILOX_OK || anything) {
		snprintf(said, sizeof(said), "%s", philox_error_message());
		anything = 0;
	} else if (strcmp(philox_error_message(), said) != 0) {
		fprintf(stderr,
			"%s() succeeded, and the message is no longer \"%s\", "
			"but \"%s\"\n",
			function, said, philox_error_message());
		abort();
	}
	return status;
}
