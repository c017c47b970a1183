/*
 * tests/support/said/said.h - calls that succeed leave philox_error_message() alone
 *
 * In each file that includes this one every call of a public function that
 * returns a status is checked: once it has succeeded, the message is what it was
 * before, or that of a call within it which failed. So all tests try this, those
 * that have allocations and device calls fail too.
 */
#ifndef TESTS_SUPPORT_SAID_H
#define TESTS_SUPPORT_SAID_H

#include <philox.h>

/* Before a call: remembers the message. */
void said_begin(void);

/* Returns `status`, of the call of `function` that has just returned. */
enum philox_status said_checked(const char *function,
				enum philox_status status);

/* The call in progress is not checked: it calls, on purpose, what fails. */
void said_anything(void);

/* philox_forward_begin(...) and so on, each between these two */
#ifndef SAID_UNCHECKED
#include "said_calls.h"
#endif

#endif
