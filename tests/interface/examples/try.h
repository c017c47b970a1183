/*
 * examples/try.h - what the examples do about errors: say which, and stop
 */
#ifndef EXAMPLES_TRY_H
#define EXAMPLES_TRY_H

#include <stdio.h>
#include <stdlib.h>
#include <philox.h>

#define TRY(call)                                                          \
	do {                                                               \
		if ((call) != PHILOX_OK) {                                 \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
				philox_error_message());                   \
			exit(1);                                           \
		}                                                          \
	} while (0)

#endif
