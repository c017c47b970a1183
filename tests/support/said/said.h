/*
 * tests/support/said/said.h - calls that succeed leave philox_error_message() alone
 *
 * In each file that includes this one, after <philox.h>, every call of a public
 * function that returns a status is checked: the message is that of this
 * thread's last call which failed. So all tests try this, those that have
 * allocations and device calls fail too.
 */
#ifndef TESTS_SUPPORT_SAID_H
#define TESTS_SUPPORT_SAID_H

#include <philox.h>

/* Returns `status`, of a call of `function` that has just returned. */
enum philox_status said_checked(const char *function,
				enum philox_status status);

/*
 * The next call is not checked. For what is called within a call that may have
 * failed already, at its beginning, and at its end if calls in it fail.
 */
void said_anything(void);

#endif
