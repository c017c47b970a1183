/*
 * philox/status.h - status codes and error messages
 *
 * Every function of philox that can fail returns an enum philox_status, and
 * PHILOX_OK is 0. A function that returns anything else has changed nothing and
 * written none of its outputs, unless its comment says otherwise.
 * philox_error_message() says what failed, and on which object.
 *
 * During capture: all functions here are legal.
 * Threads: any, at any time.
 */
#ifndef PHILOX_STATUS_H
#define PHILOX_STATUS_H

#include <stddef.h>

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
 * Return the name of a status as C spells it, "PHILOX_ERROR_LIMIT" for example.
 *
 *   status     the status; a number that is not one: "PHILOX_?"
 *
 * The string is static.
 */
PHILOX_API const char *philox_status_name(enum philox_status status);

/*
 * Return the sentence of a status, in lower case and without a full stop.
 *
 *   status     the status
 *
 * The string is static.
 */
PHILOX_API const char *philox_status_text(enum philox_status status);

/*
 * Return the message of the last call on this thread that failed.
 *
 * A call fails if it does not return PHILOX_OK. One that succeeds leaves the
 * message alone, whatever it had to try twice. The message says what failed,
 * and on which operator, region, ticket, graph or device. It is never NULL, and
 * "" before the first failure. The string belongs to the thread and is valid
 * until its next failing call. A callback that is called by a call which has
 * failed already may find that call's message.
 */
PHILOX_API const char *philox_error_message(void);

/* --- names and labels ----------------------------------------------------- */

/*
 * Names, tags, origins and labels are shown in messages, logs and texts. So a
 * control character in one is refused, PHILOX_ERROR_INVALID, wherever it is
 * given: 0x00 to 0x1f, 0x7f, and U+0080 to U+009F in UTF-8. All other bytes are
 * kept as they are.
 */

/* --- versions ------------------------------------------------------------- */

/* The version of the headers that a program is compiled with. */
#define PHILOX_VERSION_MAJOR 0
#define PHILOX_VERSION_MINOR 1
#define PHILOX_VERSION_PATCH 0

/*
 * Return the version of the library that runs, "0.1.0" for example.
 *
 * The string is static.
 */
PHILOX_API const char *philox_version(void);

/*
 * Return one line on how the library was built: compiler, devices, debug.
 *
 * The string is static.
 */
PHILOX_API const char *philox_build(void);

/* --- structs that can grow ------------------------------------------------ */

/*
 * A struct that callers fill in, or that the library fills in for them, begins
 * with `size`: the size that the struct had where the caller was compiled.
 * PHILOX_INIT() gives such a struct with its size set and everything else 0, in
 * C and in C++:
 *
 *   struct philox_fill_desc fill = PHILOX_INIT(struct philox_fill_desc);
 *
 *   fill.dist = PHILOX_DIST_NORMAL;
 *   ...
 *
 * A later version of the library may add fields at the end of these structs,
 * and 0 in a new field means what was done before. So a program need not be
 * compiled again:
 *
 *  - A smaller struct, of an older header: the fields it lacks are taken as 0.
 *    Of a report, only as many bytes as the caller has are written.
 *  - A larger struct, of a newer header: it is accepted if all bytes that this
 *    library does not know are 0. Of a report, they are written as 0.
 *  - A size below that of the first version, 0 for example, is refused with
 *    PHILOX_ERROR_INVALID, and the message names the argument.
 *
 * The same holds for arrays of structs whose element size the caller passes
 * (`op_size` in philox/region.h). struct philox_log_entry has no size: only the
 * library makes it, and it may grow at its end. Other structs stay as they are.
 */

/* An expression, for use within functions; `type` is one of these structs. */
#ifdef __cplusplus
#define PHILOX_INIT(type)                        \
	([]() {                                  \
		type philox_made = {};           \
		philox_made.size = sizeof(type); \
		return philox_made;              \
	}())
#else
#define PHILOX_INIT(type) ((type){.size = sizeof(type)})
#endif

#ifdef __cplusplus
}
#endif
#endif
