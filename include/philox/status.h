/*
 * philox/status.h - status codes and error messages
 *
 * Every function of philox that can fail returns an enum philox_status.
 * PHILOX_OK is 0; a function that returns anything else has changed nothing
 * and written none of its outputs, unless its comment says otherwise. What
 * failed, and on which object, is in philox_error_message().
 */
#ifndef PHILOX_STATUS_H
#define PHILOX_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* PHILOX_API marks the functions that the shared library exports. */
#ifndef PHILOX_API
#define PHILOX_API __attribute__((visibility("default")))
#endif

/*
 * The one list of statuses: name, value, sentence. Values never change; new
 * ones are added with a new number.
 */
#define PHILOX_STATUS_LIST(X)                                                 \
	X(OK, 0, "success")                                                   \
	X(ERROR_INVALID, 1, "an argument is invalid")                         \
	X(ERROR_MEMORY, 2, "out of memory")                                   \
	X(ERROR_NO_DEVICE, 3, "no such device, or no driver for it")          \
	X(ERROR_DEVICE, 4, "the device reported an error")                    \
	X(ERROR_UNSUPPORTED, 5, "not offered by device, build or layout")     \
	X(ERROR_LIMIT, 6, "a table or a limit is full")                       \
	X(ERROR_OVERFLOW, 7, "a count, an index or an offset overflows")      \
	X(ERROR_EXISTS, 8, "the name is taken")                               \
	X(ERROR_NOT_FOUND, 9, "no such object")                               \
	X(ERROR_RELEASED, 10, "the ticket was used up or released")           \
	X(ERROR_MISMATCH, 11, "the object belongs to something else")         \
	X(ERROR_STALE, 12, "the object was destroyed")                        \
	X(ERROR_BUSY, 13, "the object is in use")                             \
	X(ERROR_STATE, 14, "the call does not fit the object's state")        \
	X(ERROR_UNANNOUNCED, 15, "a graph was launched without philox")       \
	X(NOT_READY, 16, "work is still running")                             \
	X(ERROR_FILE, 17, "a file cannot be read or written")                 \
	X(ERROR_DIFFERS, 18, "a replay is not what its eager form does")      \
	X(ERROR_CAPTURE_UNSUPPORTED, 20, "not permitted during a capture")    \
	X(ERROR_CAPTURE_INVALIDATED, 21, "the capture was invalidated")       \
	X(ERROR_CAPTURE_MERGE, 22, "two captures would become one")           \
	X(ERROR_CAPTURE_UNMATCHED, 23, "the capture began on another stream") \
	X(ERROR_CAPTURE_UNJOINED, 24, "a fork was not joined to its capture") \
	X(ERROR_CAPTURE_ISOLATION, 25, "a capture depends on outside work")   \
	X(ERROR_CAPTURE_IMPLICIT, 26, "the legacy stream meets a capture")    \
	X(ERROR_CAPTURED_EVENT, 27, "the event was recorded in a capture")    \
	X(ERROR_CAPTURE_WRONG_THREAD, 28, "another thread began the capture")

enum philox_status {
#define PHILOX_STATUS_ENUM(name, value, sentence) PHILOX_##name = value,
	PHILOX_STATUS_LIST(PHILOX_STATUS_ENUM)
#undef PHILOX_STATUS_ENUM
};

/*
 * philox_status_name() returns the name of a status as it is spelled in C,
 * "PHILOX_ERROR_LIMIT" for example, or "PHILOX_?" for a number that is not a
 * status. The string is static. Any thread; legal during capture.
 */
PHILOX_API const char *philox_status_name(enum philox_status status);

/*
 * philox_status_text() returns the sentence of a status, in lower case and
 * without a full stop. The string is static. Any thread; legal during capture.
 */
PHILOX_API const char *philox_status_text(enum philox_status status);

/*
 * philox_error_message() returns the detail of the last call on this thread
 * that did not return PHILOX_OK: what failed, and on which operator, region,
 * ticket, graph or device. It is never NULL ("" before the first failure). The
 * string belongs to the thread and is valid until its next failing call. Any
 * thread; legal during capture.
 */
PHILOX_API const char *philox_error_message(void);

#ifdef __cplusplus
}
#endif
#endif
