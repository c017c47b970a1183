/*
 * lib/base/status.h - how a failing call says what failed
 *
 * The function that first knows what is wrong calls status_set() and returns
 * its result; everything above passes the status on. The text is in a
 * thread-local buffer, which philox_error_message() returns.
 */
#ifndef LIB_BASE_STATUS_H
#define LIB_BASE_STATUS_H

#include <stdint.h>
#include <philox/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* status_set() writes the thread's error message and returns `status`. */
enum philox_status status_set(enum philox_status status, const char *format,
			      ...) __attribute__((format(printf, 2, 3)));

/*
 * status_prefix() puts text, a place, in front of the thread's message. If that
 * begins with the name of a function ("philox_stream_query: "), the name goes:
 * what has a place is part of a larger call, and the caller called that.
 */
enum philox_status status_prefix(enum philox_status status, const char *format,
				 ...) __attribute__((format(printf, 2, 3)));

/* status_bare() returns the thread's message without such a name. */
const char *status_bare(void);

/*
 * The endings that go with a number in a message: "1 ticket is", "2 tickets
 * are".
 */
const char *status_s(uint64_t n);
const char *status_es(uint64_t n);
const char *status_is(uint64_t n);

/*
 * status_keep() copies the thread's message; status_restore() puts it back
 * after calls that may have written another.
 */
struct status_message {
	char text[512];
};

void status_keep(struct status_message *kept);
void status_restore(const struct status_message *kept);

#ifdef __cplusplus
}
#endif
#endif
